"""Entries of earlier versions, which wrote some facts only as sentences, load with the fields of this version.

The lines below are what those versions wrote.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from overt.agent.loop import LIMIT, NUDGE
from overt.core.events import Compacted, Event, Noticed, PrefixReset, PrefixSet, Replied, ToolFinished, UserSpoke
from overt.core.history import INTERRUPTED
from overt.core.messages import Message, Result, SummaryFacts, Text, own_message, said
from overt.core.requests import Prefix
from overt.core.settings import Calls
from overt.core.spending.usage import Usage
from overt.core.text_fragments import HARNESS, STEERED, USER, Fragment, Origin, own_origin
from overt.core.views import Diffs, Failure, FileDiff, Output
from overt.sessions.entries import decode_line, encode_line, seal_line
from overt.sessions.load import load
from overt.sessions.resume import resume


def line_of(kind: str, data: dict[str, Any], *, seq: int = 1, chain: int = 0) -> tuple[bytes, int]:
    head = f'{{"v":1,"seq":{seq},"ts":1.000,"agent":"main","turn":1,"step":1,"type":"{kind}","data":'
    return seal_line(head.encode() + json.dumps(data).encode(), chain)


def spoken(text: str, **origin: str) -> dict[str, Any]:
    return {"message": {"role": "user", "parts": [{"type": "text", "text": text}], "origin": origin}}


def outcome(text: str, view: dict[str, Any], *, code: str = "", **result: Any) -> dict[str, Any]:
    parts = [{"type": "text", "text": text}]
    return {"result": {"type": "result", "call_id": "c", "parts": parts} | result, "view": view} | (
        {"code": code} if code else {}
    )


def refusal(text: str, code: str) -> dict[str, Any]:
    return outcome(text, {"type": "failure", "text": text}, code=code, error=True, harness=True)


def refused(text: str, code: str, **facts: Any) -> ToolFinished:
    result = Result(call_id="c", parts=(Text(text=f"[overt] {text}"),), error=True, harness=True, **facts)
    return ToolFinished(result=result, view=Failure(text=f"[overt] {text}", label=8), code=code)


def edited(change: Any) -> tuple[dict[str, Any], Diffs]:
    view = {"type": "diffs", "files": [{"type": "diff", "path": "a", "diff": "", "change": change}]}
    return outcome(f"{change} a", view), Diffs(files=(FileDiff(path="a", diff="", change=change),))


def printed(text: str, code: int | None, *, hint: str = "", **facts: Any) -> tuple[str, dict[str, Any], ToolFinished]:
    view = {"type": "output", "command": "x", "text": ""} | ({} if code is None else {"code": code})
    result = Result(call_id="c", parts=(Text(text=text),), **facts)
    return (
        "outcome",
        outcome(text, view),
        ToolFinished(result=result, view=Output(command="x", text="", code=code, hint=hint)),
    )


def typed(text: str, *, label: int, detail: str) -> tuple[str, dict[str, Any], Replied]:
    origin = Origin(kind="tool", where="!", label=label, detail=detail)
    parts = [{"type": "text", "text": text}]
    message = {"role": "assistant", "parts": parts, "origin": {"kind": "tool", "where": "!"}}
    event = Replied(message=said(text, role="assistant", origin=origin), finish="stop", usage=Usage())
    return "reply", {"message": message, "finish": "stop", "usage": {}}, event


def described(calls: Calls, text: str, *names: str) -> tuple[str, dict[str, Any], PrefixSet]:
    system = [{"key": "system", "text": text, "origin": {"kind": "harness"}}]
    event = PrefixSet(
        prefix=Prefix(system=(Fragment(key="system", text=text, origin=HARNESS),), tools=()),
        provider="p",
        model="m",
        wire="openai",
        encoder=1,
        fingerprint="f",
        calls=calls,
        tool_names=names,
    )
    prefix = {"system": system, "tools": []}
    data = {"prefix": prefix, "provider": "p", "model": "m", "wire": "openai", "encoder": 1, "fingerprint": "f"}
    return "prefix", data | {"calls": calls}, event


def summarised(*sections: str, facts: SummaryFacts | None) -> tuple[str, dict[str, Any], Compacted]:
    texts = ("[overt] Summary of turn 1: …\n", *sections)
    origin = Origin(kind="summary", where="turn 1")
    summary = Message(role="user", parts=tuple(Text(text=text) for text in texts), origin=origin, facts=facts)
    parts = [{"type": "text", "text": text} for text in texts]
    message = {"role": "user", "parts": parts, "origin": {"kind": "summary", "where": "turn 1"}}
    prompt = {"role": "user", "parts": [{"type": "text", "text": "go"}], "origin": {"kind": "user"}}
    event = Compacted(cause="asked", start=0, end=9, summary=(said("go", origin=USER), summary))
    return "compaction", {"cause": "asked", "start": 0, "end": 9, "summary": [prompt, message]}, event


HINT = "all of it is in /o/1.txt, for read and grep"
DOUBT = "[overt] Not believed: no file was changed."
RULES = "[overt] Rules for the files below a/, from a/AGENTS.md; there they hold over the rules before:\nx"
OLD_LIMIT = (
    "[overt] The step limit is reached and no more calls are possible. "
    "Summarise what is done, what is not, and what to do next."
)
JOB = "[overt] job-1 (make) ended with exit code 0 after 2 s; it printed nothing"
SAME_CALL = "Refused: this is the same read call for the third time and its result will not change. Use the result."
CASES: list[tuple[str, dict[str, Any], Event]] = [
    summarised(
        "\n# Pinned by the user, word for word\n> no\n",
        "\n# What the user said, oldest first\n> [overt: 3 messages are left out here]\n\n> a: b\n>\n>  c\n\n> d\n",
        "\n# Files touched\n- … and 2 before these\n- a: b.py: read, edited\n- c.py: shown with a prompt\n",
        "\n# Commands run, oldest first\n- `ls: x`: exit code 2\n- `make`: ok, typed by the user\n",
        "\n# Summary\n## Objective\nA parser.\n",
        facts=SummaryFacts(
            quotes=("a: b\n\n c", "d"),
            left_out=3,
            files={"a: b.py": ("read", "edited"), "c.py": ("shown with a prompt",)},
            commands={"`ls: x`": "exit code 2", "`make`": "ok, typed by the user"},
            written="## Objective\nA parser.",
        ),
    ),
    summarised(facts=None),
    ("user", spoken(f"[overt] {NUDGE}", kind="harness"), UserSpoke(message=own_message(NUDGE, "nudge"))),
    ("user", spoken(f"[overt] {LIMIT}", kind="harness"), UserSpoke(message=own_message(LIMIT, "limit"))),
    ("user", spoken(OLD_LIMIT, kind="harness"), UserSpoke(message=said(OLD_LIMIT, origin=own_origin("limit")))),
    ("user", spoken(DOUBT, kind="harness"), UserSpoke(message=said(DOUBT, origin=own_origin("objection")))),
    ("user", spoken(JOB, kind="harness"), UserSpoke(message=said(JOB, origin=own_origin("")))),
    ("user", spoken("go on", kind="harness"), UserSpoke(message=said("go on", origin=HARNESS))),
    ("user", spoken(DOUBT, kind="user"), UserSpoke(message=said(DOUBT, origin=USER))),
    ("user", spoken(RULES, kind="user", where="steered"), UserSpoke(message=said(RULES, origin=STEERED))),
    (
        "user",
        spoken(RULES, kind="file", where="a/AGENTS.md"),
        UserSpoke(message=said(RULES, origin=Origin(kind="file", where="a/AGENTS.md", detail="rules"))),
    ),
    (
        "user",
        spoken("[overt] The user refers to a.py:\nx", kind="file", where="a.py"),
        UserSpoke(message=said("[overt] The user refers to a.py:\nx", origin=Origin(kind="file", where="a.py"))),
    ),
    (
        "user",
        spoken("[overt] Mode is now: plan: look", kind="environment", where="Mode"),
        UserSpoke(
            message=said(
                "[overt] Mode is now: plan: look",
                origin=Origin(kind="environment", where="Mode", label=8, detail="plan: look"),
            )
        ),
    ),
    (
        "user",
        spoken("[overt] Git when this session began;\nBranch: main", kind="environment", where="git"),
        UserSpoke(
            message=said(
                "[overt] Git when this session began;\nBranch: main",
                origin=Origin(kind="environment", where="git", label=8),
            )
        ),
    ),
    (
        "outcome",
        refusal("[overt] The user denied this call: not\nnow ", "denied"),
        refused("The user denied this call: not\nnow ", "denied", cause="denied", reason="not\nnow"),
    ),
    (
        "outcome",
        refusal("[overt] The user denied this call.", "denied"),
        refused("The user denied this call.", "denied", cause="denied"),
    ),
    (
        "outcome",
        refusal("[overt] Denied (plan, mode): no", "denied"),
        refused("Denied (plan, mode): no", "denied", cause="denied"),
    ),
    ("outcome", refusal(f"[overt] {SAME_CALL}", "invalid"), refused(SAME_CALL, "invalid", cause="repeated")),
    ("outcome", refusal("[overt] No such tool: x", "invalid"), refused("No such tool: x", "invalid")),
    (
        "outcome",
        outcome("[overt] Refused: x", {"type": "failure", "text": "[overt] Refused: x"}, code="failed", error=True),
        ToolFinished(
            result=Result(call_id="c", parts=(Text(text="[overt] Refused: x"),), error=True),
            view=Failure(text="[overt] Refused: x"),
            code="failed",
        ),
    ),
    (
        "outcome",
        outcome(f"x\n{INTERRUPTED}", {"type": "failure", "text": "x\ninterrupted"}, code="interrupted", error=True),
        ToolFinished(
            result=Result(call_id="c", parts=(Text(text=f"x\n{INTERRUPTED}"),), error=True, cause="interrupted"),
            view=Failure(text="x\ninterrupted"),
            code="interrupted",
        ),
    ),
    printed("no\n[exit code 2]\n[overt] network access was blocked", 2, ended="exit code 2"),
    printed("half\n[timed out after 1.5 s and was killed]", None, ended="timed out after 1.5 s and was killed"),
    printed("[job-1 runs in the background]", None),
    printed("a log that says [exit code 3]", 0),
    printed("a\n[… 9 lines left out; all of it is in /o/1.txt, for read and grep]\nb", 0, hint=HINT),
    printed(f"a\n[{HINT}]\nb\n[exit code 1]", 1, hint=HINT, ended="exit code 1"),
    (
        "outcome",
        edited("unchanged")[0],
        ToolFinished(
            result=Result(call_id="c", parts=(Text(text="unchanged a"),), unchanged=True), view=edited("unchanged")[1]
        ),
    ),
    (
        "outcome",
        edited("updated")[0],
        ToolFinished(result=Result(call_id="c", parts=(Text(text="updated a"),)), view=edited("updated")[1]),
    ),
    (
        "outcome",
        outcome(
            "updated a",
            {
                "type": "diffs",
                "files": [
                    {
                        "type": "diff",
                        "path": "a",
                        "diff": "@@ -1 +1 @@\n+x\n\\ 12 more lines not shown\n",
                        "change": "updated",
                    },
                    {"type": "diff", "path": "b", "diff": "+ 7 more lines not shown\n", "change": "created"},
                ],
            },
        ),
        ToolFinished(
            result=Result(call_id="c", parts=(Text(text="updated a"),)),
            view=Diffs(
                files=(
                    FileDiff(
                        path="a", diff="@@ -1 +1 @@\n+x\n\\ 12 more lines not shown\n", change="updated", hidden=12
                    ),
                    FileDiff(path="b", diff="+ 7 more lines not shown\n", change="created"),
                )
            ),
        ),
    ),
    described("schema", "# Tools\n- read PATH: reads\n- bash COMMAND: runs", "read", "bash"),
    described("native", "- read the rules"),
    typed("$ make\nno\n[exit code 2]", label=7, detail="exit code 2"),
    typed("$ make\nfine", label=7, detail=""),
    (
        "reset",
        {"cause": "rewind to before turn 7", "keep": 3, "era": 0},
        PrefixReset(cause="rewind to before turn 7", keep=3, era=0, turn=7),
    ),
    ("reset", {"cause": "retry", "keep": 3}, PrefixReset(cause="retry", keep=3)),
    ("reset", {"cause": "rewind to before turn seven"}, PrefixReset(cause="rewind to before turn seven")),
    (
        "note",
        {"text": "This session may cost $2.50.", "budget": 2.5},
        Noticed(text="This session may cost $2.50.", budget=2.5),
    ),
    ("note", {"text": "No limit.", "budget": 0.5}, Noticed(text="No limit.", budget=0.5)),
    (
        "note",
        {"text": "No answer for 30 s, still waiting (Ctrl-C stops).", "level": "warning"},
        Noticed(text="No answer for 30 s, still waiting (Ctrl-C stops).", level="warning", kind="waiting"),
    ),
    (
        "note",
        {"text": "30 秒没有响应，仍在等待（Ctrl-C 可停止）。", "level": "warning"},
        Noticed(text="30 秒没有响应，仍在等待（Ctrl-C 可停止）。", level="warning", kind="waiting"),
    ),
    ("note", {"text": "No answer for 30 s"}, Noticed(text="No answer for 30 s")),
]


@pytest.mark.parametrize(("kind", "data", "expected"), CASES)
def test_an_old_entry_gets_its_facts(kind: str, data: dict[str, Any], expected: Event) -> None:
    assert decode_line(line_of(kind, data)[0]).data == expected


@pytest.mark.parametrize("event", [expected for _, _, expected in CASES])
def test_an_entry_of_this_version_comes_back_as_it_was_written(event: Event) -> None:
    line, _ = encode_line(event, seq=1, turn=1, step=1, chain=0)
    assert decode_line(line).data == event


def test_a_whole_old_file_loads_with_its_facts(tmp_path: Path) -> None:
    opened = {"id": "x", "format": 1, "overt": "0.1.0", "workspace": "/w", "project": "/w", "created": "now"}
    whole, chain = line_of("session", opened)
    for seq, (kind, data, _) in enumerate(CASES, 2):
        line, chain = line_of(kind, data, seq=seq, chain=chain)
        whole += line
    path = tmp_path / "20260101T000000Z-abcdef01.jsonl"
    path.write_bytes(whole)
    loaded = load(str(path))
    assert loaded.damage == ()
    assert [entry.data for entry in loaded.entries[1:]] == [expected for _, _, expected in CASES]
    assert resume(loaded.entries).history.spend_limit == 0.5


def test_an_odd_reason_is_read_as_it_was_given() -> None:
    text = "[overt] The user denied this call: a\udcff"
    denied = ToolFinished(
        result=Result(call_id="c", parts=(Text(text=text),), error=True, harness=True),
        view=Failure(text=text),
        code="denied",
    )
    upgraded = decode_line(encode_line(denied, seq=1, turn=1, step=1, chain=0)[0]).data
    assert isinstance(upgraded, ToolFinished) and upgraded.result.reason == "a\udcff"


def test_people_read_a_message_without_its_label() -> None:
    (message,) = [
        event.message
        for _, _, event in CASES
        if isinstance(event, UserSpoke) and event.message.origin == own_origin("nudge")
    ]
    assert isinstance(message, Message) and message.shown() == NUDGE
