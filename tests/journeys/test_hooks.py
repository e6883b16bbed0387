"""Hooks as a user configures them: what they read, what they may change, and where they come from."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tests.fakes.model_server import ModelServer, Recorded, Turn
from tests.journeys.journey_kit import (
    PATIENT,
    PROMPT,
    Place,
    assert_each_extends_the_one_before,
    call,
    calls,
    messages,
    results,
)

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "hooks" / "protect-main"
KEEP = 'python3 -c \'import json, sys; open("seen.jsonl", "a").write(json.dumps(json.load(sys.stdin)) + "\\n")\''
"""A hook that writes down what it reads."""


def configure(place: Place, **events: Any) -> None:
    """Hooks of the user: an event → a command, or a group as in the file."""
    groups = {
        event: [{"hooks": [{"type": "command", "command": given}]}] if isinstance(given, str) else given
        for event, given in events.items()
    }
    path = place.home / ".config" / "overt" / "config.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"hooks": groups}))


def seen(place: Place) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place.work / "seen.jsonl").read_text().splitlines()]


def ledger(place: Place) -> list[dict[str, Any]]:
    return [json.loads(line) for line in place.run("hooks", "log", "--json").out.splitlines()]


def test_a_session_fires_its_events_in_order_and_the_prefix_stays(place: Place) -> None:
    events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "Stop"]
    configure(place, **dict.fromkeys([*events, "SessionEnd"], KEEP))
    turns = [calls(call("bash", command="echo hi")), calls(call("bash", command="false")), Turn(text="done")]
    with ModelServer(turns) as server:
        assert place.run("run", "go", server=server).code == 0
        assert_each_extends_the_one_before(server)
    read = seen(place)
    assert [each["hook_event_name"] for each in read] == [
        *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"),
        *("PreToolUse", "PostToolUseFailure", "Stop", "SessionEnd"),
    ]
    assert all(each["cwd"] == str(place.work) and each["session_id"] for each in read)
    assert (read[0]["source"], read[1]["prompt"], read[-1]["reason"]) == ("startup", "go", "other")
    assert (read[2]["tool_name"], read[2]["tool_input"]) == ("Bash", {"command": "echo hi"})
    assert read[3]["tool_response"]["stdout"] == "hi" and "exit code 1" in read[5]["error"]
    assert (read[6]["stop_hook_active"], read[6]["last_assistant_message"]) == (False, "done")
    assert [line["event"] for line in ledger(place)] == [each["hook_event_name"] for each in read]


def test_the_transcript_can_be_read_by_a_hook_and_is_gone_afterwards(place: Place) -> None:
    copy = 'python3 -c \'import json, sys, shutil; shutil.copy(json.load(sys.stdin)["transcript_path"], "copy.jsonl")\''
    configure(place, Stop=copy)
    with ModelServer([calls(call("read", path="a.txt")), Turn(text="It says x.")]) as server:
        (place.work / "a.txt").write_text("x\n")
        assert place.run("run", "look", server=server).code == 0
    lines = [json.loads(line) for line in (place.work / "copy.jsonl").read_text().splitlines()]
    blocks = [(line["type"], line["message"]["content"][0]["type"]) for line in lines]
    expected = [("user", "text"), ("assistant", "tool_use"), ("user", "tool_result"), ("assistant", "text")]
    assert blocks == expected
    assert lines[1]["message"]["content"][0]["name"] == "Read"
    assert lines[3]["parentUuid"] == lines[2]["uuid"] and lines[0]["parentUuid"] is None
    assert list(place.home.rglob("transcripts/*.jsonl")) == []


def test_file_tools_have_the_names_of_claude_code_and_a_patch_is_an_edit_for_each_file(place: Place) -> None:
    configure(place, PreToolUse=[{"matcher": "Edit|Write|Read", "hooks": [{"type": "command", "command": KEEP}]}])
    for name in "abc":
        (place.work / name).write_text("old\n")
    patch = "*** Begin Patch\n*** Update File: b\n@@\n-old\n+new\n*** Delete File: c\n*** End Patch"
    turns = [
        calls(call("read", path="a")),
        calls(call("multiedit", path="a", edits=[{"old_string": "old", "new_string": "new"}])),
        calls(call("patch", patch=patch)),
        calls(call("write", path="d", content="x")),
        Turn(text="done"),
    ]
    with ModelServer(turns) as server:
        assert place.run("run", "go", "--yolo", server=server).code == 0
    at = str(place.work)
    read = sorted(  # those of one patch run at the same time
        ((each["tool_name"], each["tool_input"]) for each in seen(place)), key=lambda each: each[1]["file_path"]
    )
    read.sort(key=lambda each: each[0] != "Read")
    assert [(name, given["file_path"]) for name, given in read] == [
        *(("Read", f"{at}/a"), ("Edit", f"{at}/a")),
        *(("Edit", f"{at}/b"), ("Edit", f"{at}/c"), ("Write", f"{at}/d")),
    ]
    assert read[1][1]["edits"] == [{"old_string": "old", "new_string": "new", "replace_all": False}]
    assert (read[2][1]["old_string"], read[2][1]["new_string"]) == ("old", "new")
    assert (place.work / "b").read_text() == "new\n" and not (place.work / "c").exists()


def deciding(decision: str, **more: Any) -> str:
    output = json.dumps({"hookSpecificOutput": {"permissionDecision": decision, **more}})
    return f"cat > /dev/null; echo '{output}'"


def test_what_a_hook_allows_is_still_denied_by_a_rule_and_asked_about_if_it_is_final(place: Place) -> None:
    (place.work / "precious.txt").write_text("precious\n")
    (place.work / ".gitignore").write_text("precious.txt\n")
    configure(place, PreToolUse=deciding("allow"))
    made = [
        call("bash", command="touch denied"),
        call("bash", command="rm precious.txt"),
        call("bash", command="echo a"),
    ]
    with ModelServer([calls(*made), Turn(text="done")]) as server:
        place.run("run", "go", "--disallowedTools", "Bash(touch *)", server=server)
        denied, final, asked = results(server)
    assert "Denied (bash(touch *)" in denied and "Denied (final" in final
    assert not (place.work / "denied").exists() and (place.work / "precious.txt").exists()
    assert asked == "a"
    assert [line["tool"] for line in ledger(place)] == ["Bash", "Bash"]  # a rule had denied the first


def test_a_hook_allows_what_the_mode_would_ask_about_but_not_what_a_rule_asks_about(place: Place) -> None:
    configure(place, PreToolUse=deciding("allow"))
    made = [call("bash", command="touch a"), call("bash", command="mkdir b")]
    with ModelServer([calls(*made), Turn(text="done")]) as server:
        rules = place.home / ".config" / "overt" / "config.toml"
        rules.write_text('[permissions]\nask = ["bash(mkdir *)"]\n')
        place.run("run", "go", "--permission-mode", "dontAsk", server=server)
        first, second = results(server)
    assert (place.work / "a").exists() and "Denied" not in first
    assert not (place.work / "b").exists() and "asked by the rule" in second


def test_changed_arguments_are_judged_again(place: Place) -> None:
    configure(place, PreToolUse=deciding("allow", updatedInput={"command": "touch forbidden"}))
    with ModelServer([calls(call("bash", command="echo a")), Turn(text="done")]) as server:
        place.run("run", "go", "--disallowedTools", "Bash(touch *)", server=server)
        assert "Denied (bash(touch *)" in results(server)[0]
    configure(place, PreToolUse=deciding("allow", updatedInput={"cmnd": 1}))
    with ModelServer([calls(call("bash", command="echo a")), Turn(text="done")]) as server:
        place.run("run", "go", server=server)
        assert "cannot run: Invalid arguments for bash" in results(server)[0]


def test_the_strictest_of_several_hooks_decides_and_all_run(place: Place) -> None:
    commands = [deciding("allow"), deciding("deny", permissionDecisionReason="first no"), deciding("ask")]
    configure(place, PreToolUse=[{"hooks": [{"type": "command", "command": each} for each in commands]}])
    with ModelServer([calls(call("bash", command="echo a")), Turn(text="done")]) as server:
        place.run("run", "go", "--yolo", server=server)
        assert "first no" in results(server)[0]
    (line,) = ledger(place)
    assert [each["verdict"] for each in line["hooks"]] == ["allow", "deny", "ask"]


def test_a_handler_that_is_not_supported_closes_a_gate_and_is_named(place: Place) -> None:
    group = [{"matcher": "Bash", "hooks": [{"type": "http", "url": "https://example.org"}]}]
    configure(place, PreToolUse=group, Stop=group, UserPromptExpansion="true")
    listed = place.run("hooks").out
    assert "it denies every call that it matches" in listed and "does not fire this event" in listed
    with ModelServer([calls(call("bash", command="echo a")), Turn(text="done")]) as server:
        place.run("run", "go", "--yolo", server=server)
        assert "handlers of type 'http' are not supported" in results(server)[0]


def test_the_log_and_the_chat_show_what_ran(place: Place) -> None:
    configure(place, PreToolUse=f"{KEEP}; exit 7", Stop="true")
    with ModelServer([calls(call("bash", command="echo a")), Turn(text="done")]) as server:
        place.run("run", "go", "--yolo", server=server)
        with place.chat(server=server) as terminal:
            terminal.expect(PROMPT)
            terminal.line("/hooks")
            shown = terminal.expect(PROMPT)
            assert "Last firings:" in shown
            terminal.line("/exit")
            assert terminal.wait() == 0
    log = place.run("hooks", "log").out
    for text in (shown, log):
        assert "PreToolUse  Bash  deny" in text and "exit 7" in text and "(~/.config/overt/config.json:1)" in text
    (path,) = place.home.rglob("hooks.jsonl")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_condition_limits_a_hook_to_some_commands(place: Place) -> None:
    handler = {"type": "command", "command": "exit 2", "if": "Bash(git push:*)"}
    configure(place, PreToolUse=[{"matcher": "Bash", "hooks": [handler]}])
    made = [call("bash", command="echo a"), call("bash", command="echo b && git push --force")]
    with ModelServer([calls(*made), Turn(text="done")]) as server:
        place.run("run", "go", "--yolo", server=server)
        first, second = results(server)
    assert first == "a" and "hook PreToolUse" in second


def test_a_hook_after_a_call_speaks_to_the_model_and_a_broken_one_only_warns(place: Place) -> None:
    configure(place, PostToolUse="echo run the formatter >&2; exit 2", PreCompact="true", UserPromptSubmit="exit 9")
    with ModelServer([calls(call("bash", command="echo a")), Turn(text="done")]) as server:
        ran = place.run("run", "go", server=server)
        assert results(server) == ["a\n[overt] run the formatter"]
    assert ran.code == 0 and "Hook of UserPromptSubmit failed" in ran.err


def test_undo_takes_back_what_a_formatter_did_after_an_edit(place: Place) -> None:
    place.under = PATIENT
    (place.work / "a.py").write_text("x=1\n")
    group = {"matcher": "Edit", "hooks": [{"type": "command", "command": "sed -i 's/=/ = /' a.py"}]}
    configure(place, PostToolUse=[group])
    turns = [calls(call("read", path="a.py")), calls(call("edit", path="a.py", old_string="x=1", new_string="x=2"))]
    with ModelServer([*turns, Turn(text="done")]) as server:
        assert place.run("run", "go", server=server).code == 0
    assert (place.work / "a.py").read_text() == "x = 2\n", json.dumps(ledger(place)[0]["hooks"])
    undone = place.run("undo")
    assert (place.work / "a.py").read_text() == "x=1\n", undone


def test_a_blocked_prompt_is_not_sent_and_ends_with_code_3(place: Place) -> None:
    configure(place, UserPromptSubmit="grep -q secret && { echo no secrets >&2; exit 2; }; echo be brief")
    with ModelServer([Turn(text="fine")]) as server:
        blocked = place.run("run", "tell a secret", server=server)
        assert (blocked.code, blocked.out, server.posts) == (3, "", [])
        assert "A hook blocked this prompt: no secrets" in blocked.err
        assert place.run("run", "hello", server=server).code == 0
        said = [each["content"] for each in messages(server)][1:]
    assert said == ["[overt] A hook of UserPromptSubmit adds:\nbe brief", "hello"]


def test_a_stop_hook_keeps_the_turn_going_a_bounded_number_of_times(place: Place) -> None:
    configure(place, Stop=f"{KEEP}; echo 'run the tests' >&2; exit 2")
    with ModelServer([Turn(text=f"answer {n}") for n in range(12)]) as server:
        ran = place.run("run", "go", server=server)
        assert ran.out == "answer 8\n" and "objected 8 times" in ran.err
        assert [each["content"] for each in messages(server)][3] == "[overt] run the tests"
    assert [each["stop_hook_active"] for each in seen(place)] == [False, *[True] * 8]


def test_a_hook_can_end_the_turn(place: Place) -> None:
    configure(place, PostToolUse='echo \'{"continue": false, "stopReason": "enough for today"}\'')
    with ModelServer([calls(call("bash", command="echo a")), Turn(text="never")]) as server:
        ran = place.run("run", "go", server=server)
        assert (ran.code, ran.out, len(server.posts)) == (3, "", 1)
    assert "ended the turn: enough for today" in ran.err


def test_hooks_stay_in_the_sandbox(place: Place) -> None:
    outside = place.home / "outside"
    configure(place, SessionStart=f"touch {outside}; echo wrote > inside; cat {place.home}/.local/share/overt/* 2>&1")
    with ModelServer([Turn(text="fine")]) as server:
        assert place.run("run", "hello", server=server).code == 0
    assert not outside.exists() and (place.work / "inside").exists()
    assert ledger(place)[0]["event"] == "SessionStart"


def test_a_permission_request_is_answered_by_a_hook_and_the_question_notifies_another(place: Place) -> None:
    answer = {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}}
    handlers = [{"type": "command", "command": f"echo '{json.dumps(answer)}'", "if": "Bash(touch *)"}]
    configure(place, PermissionRequest=[{"hooks": handlers}], Notification=KEEP)
    made = [call("bash", command="touch a"), call("bash", command="mkdir b")]
    with ModelServer([calls(*made), Turn(text="done")]) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("go")
        assert "mkdir b" in terminal.expect("Allow? ")
        terminal.line("y")
        terminal.expect("done")
        terminal.line("/exit")
        assert terminal.wait() == 0
    assert (place.work / "a").exists() and (place.work / "b").is_dir()
    assert [(each["notification_type"], "mkdir b" in each["message"]) for each in seen(place)] == [
        ("permission_prompt", True)
    ]


def test_sessions_say_how_they_began_and_compaction_is_told(place: Place) -> None:
    configure(place, SessionStart=KEEP, PreCompact=KEEP, PostCompact=KEEP)
    long = " ".join(f"word{number}" for number in range(2000))

    def choose(request: Recorded, number: int) -> Turn:
        asked = str(request.json()["messages"][-1]["content"])
        return Turn(text="The user counts." if "conversation above is long" in asked else long)

    with ModelServer(choose=choose) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        for line in ("one", "two", "/compact", "/new", "three"):
            terminal.line(line)
            terminal.expect(PROMPT)
        terminal.line("/exit")
        assert terminal.wait() == 0
    fired = [(each["hook_event_name"], each.get("source") or each.get("trigger")) for each in seen(place)]
    assert fired == [
        *(("SessionStart", "startup"), ("PreCompact", "manual"), ("PostCompact", "manual")),
        *(("SessionStart", "compact"), ("SessionStart", "clear")),
    ]


# ── where hooks come from ────────────────────────────────────────────────────────────────────────────────


def install(place: Place) -> None:
    """As the README of the example says, in a repository."""
    (place.work / ".claude" / "hooks").mkdir(parents=True)
    shutil.copy(EXAMPLE / "protect_main.py", place.work / ".claude" / "hooks")
    shutil.copy(EXAMPLE / "settings.json", place.work / ".claude" / "settings.json")
    for words in (["init", "-qb", "main"], ["config", "user.email", "a@b.c"], ["config", "user.name", "A"]):
        subprocess.run(["git", *words], cwd=place.work, check=True, env={**os.environ, "HOME": str(place.home)})


def commit(place: Place) -> str:
    turns = [calls(call("bash", command="git commit -q --allow-empty -m x")), Turn(text="done")]
    with ModelServer(turns) as server:
        place.run("run", "commit", "--permission-mode", "acceptEdits", server=server)
        return results(server)[0]


def test_the_example_protects_main_once_the_folder_is_trusted(place: Place) -> None:
    install(place)
    words = ("hooks", "test", "PreToolUse", "--tool", "Bash", "--input", '{"command": "git commit -m x"}')
    assert "No hook matches" in place.run(*words).out
    assert place.run("trust").code == 0
    tested = place.run(*words)
    assert tested.code == 3 and "The branch main is protected" in tested.out and "Verdict: deny" in tested.out
    assert "The branch main is protected" in commit(place)
    subprocess.run(["git", "switch", "-qc", "topic"], cwd=place.work, check=True)
    assert "protected" not in commit(place)


def test_a_hook_script_that_has_changed_is_not_trusted_any_more(place: Place) -> None:
    install(place)
    assert place.run("trust").code == 0
    script = place.work / ".claude" / "hooks" / "protect_main.py"
    turns = [
        calls(call("bash", command="echo 'exit()' > .claude/hooks/protect_main.py")),
        calls(call("bash", command="git commit -q --allow-empty -m x")),
        Turn(text="done"),
    ]
    with ModelServer(turns) as server:
        place.run("run", "commit", "--yolo", server=server)
        assert "protect_main.py has changed since this folder was trusted" in results(server)[1]
    assert script.read_text() == "exit()\n"
    with ModelServer([Turn(text="hi")]) as server:
        assert "protect_main.py changed since" in place.run("run", "hi", server=server).err


def test_hooks_of_other_programs_are_left_out_if_the_user_says_so(place: Place) -> None:
    (place.home / ".claude").mkdir()
    (place.home / ".claude" / "settings.json").write_text('{"hooks": {"Stop": [{"hooks": [{"command": "true"}]}]}}')
    assert "~/.claude/settings.json:1" in place.run("hooks").out
    (place.home / ".config" / "overt").mkdir(parents=True)
    (place.home / ".config" / "overt" / "config.toml").write_text("[context]\nforeign = false\n")
    assert "No hooks are configured" in place.run("hooks").out
