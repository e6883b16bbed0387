"""The sessions of the fixture, each recorded by the previous version: one function a session."""

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

from tests.fakes.model_server import FakeCall, Fault, ModelServer, Recorded, Turn
from tests.journeys.journey_kit import OVERT, PROMPT, Place, Ran, Terminal, call, calls, until
from tests.journeys.previous_kit import FOLDER, PORT
from tests.journeys.tty_kit import tty

PATCH = """\
*** Begin Patch
*** Update File: notes.md
*** Move to: docs/notes.md
@@
-ONE
+eins
*** End Patch"""
SECRET = "sk-proj-" + "Ab3dEf6hIj9kLm2nOp5qRs8tUv1w"
STALLED = Turn(text="One word after another, and then", chunk=4, fault=Fault(stall_after=5))
BUSY = Turn(fault=Fault(status=503, headers={"Retry-After": "0"}))
NO_TOOLS = Turn(fault=Fault(status=400, body='{"error": {"message": "registry/m does not support tools"}}'))
NO_FORM = Turn(fault=Fault(status=400, body='{"error": {"message": "response_format json_schema is not supported"}}'))
WRONG_KEY = Turn(fault=Fault(status=401, body='{"error": {"message": "no such key"}}'))
GARBLED = Turn(events=('{"choices":[{"index":0,"delta":{"content":"so far"}}]}', *["{not json"] * 5))
LOOK = calls(call("read", path="calc.py"))
READS = (calls(call("read", path="long.txt")), Turn(text="Read it.")) * 6
SUMMARY = Turn(text="## Objective\nRead the file.\n## Next steps\nNone.")


class Maker:
    """The previous version at work. `bodies` are the digests of what the model server received, by session."""

    def __init__(self, place: Place, version: dict[str, str]) -> None:
        self.place = place
        self.version = version
        self.bodies: dict[str, list[str]] = {}

    def run(self, *words: str) -> Ran:
        return self.place.run(*words, env=self.version)

    @contextmanager
    def serve(self, session: str, *turns: Turn) -> Iterator[ModelServer]:
        """Play the turns in order; a request for a title has an answer of its own."""
        script = iter(turns)

        def choose(request: Recorded, _number: int) -> Turn:
            if request.json()["model"] == "small-model":
                return Turn(text=f"A title for {session}")
            return next(script)

        with ModelServer(choose=choose, models=("fake-model",), port=PORT) as server:
            yield server
        assert next(script, None) is None, f"{session}: a turn was not played"
        digests = [sha256(post.body).hexdigest() for post in server.posts]
        self.bodies.setdefault(session, []).extend(digests)

    def task(self, session: str, *turns: Turn, words: Sequence[str] = ("--yolo",), code: int = 0) -> None:
        """One prompt in a session of this name, which is begun if it does not exist."""
        begun = any(path.stem.endswith(f"-{session}") for path in self.place.sessions())
        which = "--resume" if begun else "--session-id"
        with self.serve(session, *turns):
            done = self.run("run", which, session, *words, "--", f"work on {session}")
        assert done.code == code, (session, done)

    @contextmanager
    def chat(
        self, session: str, *turns: Turn, words: Sequence[str] = (), work: Path | None = None
    ) -> Iterator[Terminal]:
        """The plain chat; it is left with /exit."""
        env = self.place.environment(None, {"TERM": "xterm", "NO_COLOR": "1", **self.version})
        argv = [OVERT, "--plain", "--session-id", session, *words]
        with self.serve(session, *turns):
            terminal = Terminal(argv, cwd=work or self.place.work, env=env)
            try:
                yield terminal
                terminal.expect(PROMPT)
                terminal.line("/exit")
                assert terminal.wait() == 0
            finally:
                terminal.close()


def say(terminal: Terminal, *pairs: tuple[str, str]) -> None:
    """Type each line at the prompt and wait for what comes of it."""
    for typed, wanted in pairs:
        terminal.expect(PROMPT)
        terminal.line(typed)
        terminal.expect(wanted)


def use_job(action: str) -> FakeCall:
    return FakeCall(name="jobs", arguments={"action": action, "id": "job1"})


# ── the sessions ─────────────────────────────────────────────────────────────────────────────────────────


def record_tools(maker: Maker) -> None:
    """Every tool, in parallel and alone; rules of a folder further down; calls that had to be repaired."""
    todo = call("todowrite", todos=[{"content": "count", "status": "in_progress", "active_form": "counting"}])
    readers = (
        call("read", path="shop/cart.py"),
        call("grep", pattern="return"),
        call("glob", pattern="*.py"),
        call("list"),
    )
    replaced = [{"old_string": "one", "new_string": "ONE"}, {"old_string": "two", "new_string": "zwei"}]
    maker.task("tools", calls(*readers, text="I look."), calls(todo), Turn(text="Seen.", reasoning="Short files."))
    maker.task(
        "tools",
        LOOK,
        calls(call("edit", path="calc.py", old_string="return 0", new_string="return sum(xs)")),
        calls(call("write", path="shop/new.txt", content="neu, 新\n"), call("read", path="notes.md")),
        calls(call("multiedit", path="notes.md", edits=replaced)),
        calls(call("patch", patch=PATCH)),
        Turn(text="Changed."),
    )
    maker.task(
        "tools",
        calls(call("Read", file_path="calc.py")),
        Turn(text='Let me look.\n<tool_call>{"name": "read", "arguments": {"path": "calc.py"}}</tool_call>'),
        calls(call("nosuch", x=1), call("read"), call("read", path="secrets/key.txt")),
        Turn(text=""),
        Turn(text="Mended."),
        code=3,
    )
    command = "rm shop/doomed.txt; chmod 755 shop/run.sh; mkdir -p shop/out && echo made > shop/out/made.txt"
    maker.task(
        "tools",
        calls(call("bash", command=command, description="tidy up")),
        calls(call("bash", command="seq 9000"), call("bash", command="echo bad >&2; exit 3")),
        calls(call("bash", command="echo listening; sleep 300", run_in_background=True)),
        calls(call("bash", command="sleep 4; echo over", run_in_background=True)),
        calls(call("bash", command="sleep 5"), use_job("output")),
        calls(use_job("stop"), call("jobs", action="list")),
        Turn(text="Done."),
    )


def record_chat(maker: Maker) -> None:
    """What a person does in a chat: answers, commands of their own, another model, back and forth."""
    write = call("write", path="chat/notes.txt", content="first\n")
    edit = call("edit", path="chat/notes.txt", old_string="first", new_string="second")
    with maker.chat(
        "chat",
        *(calls(write), Turn(text="Written.")),
        *(calls(call("bash", command="touch chat/touched")), Turn(text="Touched.")),
        *(calls(call("bash", command="rm chat/old.txt")), Turn(text="It stays.")),
        *(Turn(text="As the other."), Turn(text="Once more.")),
        *(calls(edit), Turn(text="Edited.")),
        *(BUSY, Turn(text="I have seen it.")),
        *(Turn(text="Forget this."), Turn(text="After the rewind."), Turn(text="Still here.")),
    ) as terminal:
        say(terminal, ("write the notes", "Allow? "))
        terminal.line("a")
        terminal.expect("Written.")
        say(terminal, ("touch a file", "Allow? "))
        terminal.line("a")
        terminal.expect("Touched.")
        say(terminal, ("remove the old one", "Allow? "))
        terminal.line("n")
        terminal.expect("Reason")
        terminal.line("I still need it")
        terminal.expect("It stays.")
        until(lambda: "A title for chat" in maker.run("sessions").out)
        say(
            terminal,
            ("/budget 5", "$5"),
            ("/pin write the notes", "Pinned"),
            ("/mode auto", "auto"),
            ("/model fake/other-model", "other-model"),
            ("who are you?", "As the other."),
            ("/retry", "Once more."),
            ("/model fake/fake-model", "fake-model"),
            ("edit the notes", "Edited."),
            ("/undo", "chat/notes.txt"),
            ("/redo", "chat/notes.txt"),
            ("!echo typed > chat/typed.txt; echo hello", "hello"),
            ("what was it?", "I have seen it."),
            ("a mistake", "Forget this."),
            ("/rewind 8 conversation", "8"),
            ("a better prompt", "After the rewind."),
            ("/rename 店里的 notes", "notes"),
            ("and now?", "Still here."),
        )


def record_forked(maker: Maker) -> None:
    """A copy of another session that went its own way."""
    with maker.serve("forked", Turn(text="Apart.")):
        done = maker.run("run", "--resume", "chat", "--fork-session", "--session-id", "forked", "work on forked")
    assert done.code == 0, done


def record_stopped(maker: Maker) -> None:
    """A reply and a command that a person interrupted, and a run that was killed during a call."""

    def sleeps() -> bool:
        return any(line.split()[1:2] == ["sleep"] for line in maker.place.alive())

    sleep = call("bash", command="sleep 61")
    with maker.chat(
        "stopped", STALLED, calls(LOOK.calls[0], sleep), Turn(text="Still here."), words=["--yolo"]
    ) as terminal:
        say(terminal, ("tell me", "One word after a"))
        terminal.interrupt_until(PROMPT)
        terminal.line("and now?")
        until(sleeps)
        terminal.interrupt_until(PROMPT)
        terminal.line("once more")
        terminal.expect("Still here.")
    with maker.serve("stopped", calls(call("todoread"), sleep, call("bash", command="touch never"))):
        env = maker.place.environment(None, maker.version)
        argv = [OVERT, "run", "--yolo", "--resume", "stopped", "work on stopped"]
        child = subprocess.Popen(
            argv, cwd=maker.place.work, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(sleeps)
        child.kill()
        child.wait(20)
    until(lambda: maker.place.alive() == [])


def record_git(maker: Maker) -> None:
    """Commands that moved HEAD and a branch."""
    maker.task(
        "git",
        calls(call("bash", command="git switch -q -c feature && echo more >> calc.py && git commit -q -am more")),
        calls(call("bash", command="git tag v1")),
        Turn(text="Committed."),
    )


def record_compacted(maker: Maker) -> None:
    """A person asks for a summary."""
    with maker.chat("compacted", *READS, SUMMARY, Turn(text="After all."), words=["--yolo"]) as terminal:
        say(terminal, *((f"read {number}", "Read it.") for number in range(6)))
        say(terminal, ("/pin read 0", "Pinned"), ("/compact the file", "tokens"), ("and now?", "After all."))


def record_rewound(maker: Maker) -> None:
    """The person goes back to a turn that a summary has replaced."""
    with maker.chat("rewound", *READS, SUMMARY, Turn(text="From there."), words=["--yolo"]) as terminal:
        say(terminal, *((f"read {number}", "Read it.") for number in range(6)))
        say(terminal, ("/compact", "tokens"), ("/rewind 3 conversation", "3"), ("go from there", "From there."))


def record_narrow(maker: Maker) -> None:
    """A short window: results give way, then a summary takes the place of messages, in the middle of a turn."""
    steps = 0

    def choose(request: Recorded, _number: int) -> Turn:
        nonlocal steps
        if request.json().get("tool_choice") == "none":
            return Turn(text="## Objective\nRead the file again and again.")
        steps += 1
        return calls(call("read", path="long.txt", offset=steps, limit=120)) if steps < 16 else Turn(text="All read.")

    with ModelServer(choose=choose, port=PORT) as server:
        done = maker.run("run", "--yolo", "--session-id", "narrow", "-m", "fake/narrow-model", "work on narrow")
    assert done.code == 0, done
    maker.bodies["narrow"] = [sha256(post.body).hexdigest() for post in server.posts]


def record_limits(maker: Maker) -> None:
    """Turns that did not end well: the limit of steps, errors of the server, a model that repeats itself."""
    maker.task("limits", LOOK, LOOK, Turn(text="Not done."), words=["--max-turns", "2"], code=4)
    maker.task("limits", BUSY, Turn(text="At last."))
    maker.task("limits", WRONG_KEY, code=1)
    maker.task("limits", GARBLED, code=1)
    maker.task("limits", *[calls(call("read", path="missing.txt"))] * 5, code=1)
    maker.task("limits", calls(call("bash", command=f"echo {SECRET} | wc -c")), Turn(text="Counted."))


def record_schema(maker: Maker) -> None:
    """A server without tools: calls are JSON objects."""
    read, end = '{"tool": "read", "path": "calc.py"}', '{"tool": "final", "text": "It says {\\"one\\": 1}."}'
    maker.task("schema", NO_TOOLS, Turn(text=read), Turn(text=end))


def record_text(maker: Maker) -> None:
    """A server without tools and without schemas: calls are written in the text."""
    leaked = 'Let me look.\n<tool_call>{"name": "read", "arguments": {"path": "calc.py"}}</tool_call>'
    maker.task("text", NO_TOOLS, NO_FORM, Turn(text=leaked), Turn(text="It sums."))


def record_messages(maker: Maker) -> None:
    """The Anthropic wire, with reasoning that is signed."""

    def reply(stop: str, *blocks: tuple[dict[str, Any], dict[str, Any]]) -> Turn:
        usage = {"input_tokens": 900, "output_tokens": 1, "cache_read_input_tokens": 100}
        start = {"id": "msg_1", "role": "assistant", "content": [], "model": "messages-model", "usage": usage}
        events: list[dict[str, Any]] = [{"type": "message_start", "message": start}]
        for index, (block, delta) in enumerate(blocks):
            events.append({"type": "content_block_start", "index": index, "content_block": block})
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
            if block["type"] == "thinking":
                signed = {"type": "signature_delta", "signature": "c2lnbmVk"}
                events.append({"type": "content_block_delta", "index": index, "delta": signed})
            events.append({"type": "content_block_stop", "index": index})
        events.append({"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 20}})
        events.append({"type": "message_stop"})
        return Turn(events=tuple(map(json.dumps, events)))

    thought = {"type": "thinking", "thinking": "", "signature": ""}, {"type": "thinking_delta", "thinking": "Look."}
    use = {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}}
    read = use, {"type": "input_json_delta", "partial_json": '{"path": "calc.py"}'}
    said = {"type": "text", "text": ""}, {"type": "text_delta", "text": "It sums."}
    words = ["--yolo", "-m", "messages/messages-model"]
    maker.task("messages", reply("tool_use", thought, read), reply("end_turn", said), words=words)


def record_responses(maker: Maker) -> None:
    """The Responses wire, with reasoning that only the server can read."""

    def reply(*items: dict[str, Any]) -> Turn:
        events: list[dict[str, Any]] = [{"type": "response.created", "response": {"id": "resp_1"}}]
        for index, item in enumerate(items):
            events.append({"type": "response.output_item.added", "output_index": index, "item": item})
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        usage = {"input_tokens": 900, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 100}}
        response = {"id": "resp_1", "status": "completed", "model": "responses-model", "output": items, "usage": usage}
        events.append({"type": "response.completed", "response": response})
        return Turn(events=tuple(map(json.dumps, events)))

    thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk"}
    arguments = '{"path": "calc.py"}'
    read = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "read", "arguments": arguments}
    content = [{"type": "output_text", "text": "It sums.", "annotations": []}]
    said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    words = ["--yolo", "-m", "responses/responses-model"]
    maker.task("responses", reply(thought, read), reply(said), words=words)


def record_terminal(maker: Maker) -> None:
    """The terminal chat: a file and an image in a prompt, and a text that steers a turn."""
    sleep = calls(call("bash", command="sleep 2; echo slept"))
    env = maker.place.environment(None, maker.version)
    with (
        maker.serve("terminal", Turn(text="I read it."), Turn(text="Grey."), sleep, Turn(text="Steered.")),
        tty(maker.place, "--yolo", "--session-id", "terminal", env=env) as chat,
    ):
        chat.expect("fake-model")
        chat.idle()
        chat.type("look at @shop/cart.py \r")
        chat.expect("I read it.")
        chat.type("look at @pixel.png \r")
        chat.expect("Grey.")
        chat.type("sleep a while\r")
        until(lambda: any(line.split()[1:2] == ["sleep"] for line in maker.place.alive()))
        chat.type("and then stop\r")
        chat.expect("Steered.")
        chat.idle()
        chat.type("\x04")
        assert chat.wait() == 0


def record_budget(maker: Maker) -> None:
    """A session that has spent more than its person allowed."""
    usage = {"prompt_tokens": 10_000, "completion_tokens": 1_000}
    with maker.chat("budget", Turn(text="Cheap.", usage=usage)) as terminal:
        say(terminal, ("work on budget", "Cheap."), ("/budget 0.01", "0.01"))


def record_elsewhere(maker: Maker) -> None:
    """Another project, which its person does not trust."""
    with maker.chat("elsewhere", Turn(text="Hello."), work=FOLDER / "other") as terminal:
        terminal.expect("[n]")
        terminal.line("n")
        say(terminal, ("hello", "Hello."))


SESSIONS: tuple[Callable[[Maker], None], ...] = (
    record_tools,
    record_chat,
    record_forked,
    record_stopped,
    record_git,
    record_compacted,
    record_rewound,
    record_narrow,
    record_limits,
    record_schema,
    record_text,
    record_messages,
    record_responses,
    record_terminal,
    record_budget,
    record_elsewhere,
)
