"""What the model is really sent before and along with a prompt: rules, notes, facts, references."""

import json
import re
import subprocess
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import (
    KEY,
    PROMPT,
    Place,
    assert_each_extends_the_one_before,
    call,
    calls,
    entries,
    messages,
)


def put(root: Path, name: str, text: str) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def system(server: ModelServer, number: int = -1) -> str:
    return str(messages(server, number)[0]["content"])


def said(server: ModelServer, number: int = -1) -> list[str]:
    return [str(message["content"]) for message in messages(server, number) if message["role"] == "user"]


@pytest.fixture
def rich(place: Place) -> Place:
    put(place.home, ".config/overt/AGENTS.md", "GLOBAL rules")
    put(place.work, "AGENTS.md", "PROJECT rules")
    put(place.work, "OVERT.md", "KEPT in the project")
    put(place.work, "CLAUDE.md", "rules of ANOTHER agent")
    put(place.work, ".git/HEAD", "ref: refs/heads/topic\n")
    put(place.work, "pkg/AGENTS.md", "PKG rules")
    put(place.work, "pkg/a.py", "x = 1\n")
    put(place.work, "pkg/deep/AGENTS.md", "DEEP rules")
    put(place.work, "pkg/deep/b.py", "y = 1\n")
    return place


def order(text: str, *words: str) -> list[str]:
    """Those of the words that occur, in the order in which they do."""
    return sorted((word for word in words if word in text), key=text.index)


WORDS = ("You are Overt", "GLOBAL", "PROJECT", "KEPT", "ANOTHER", "PKG", "DEEP", "Git branch: topic", "a NOTE")


def test_rules_notes_and_facts_stand_before_the_prompt_the_nearest_last(rich: Place) -> None:
    assert rich.run("memory", "add", "a", "NOTE").code == 0
    with ModelServer([Turn(text="ok")]) as server:
        assert rich.run("run", "hello", server=server).code == 0
    expected = ["You are Overt", "GLOBAL", "PROJECT", "KEPT", "a NOTE", "Git branch: topic"]
    assert order(system(server), *WORDS) == expected
    assert "the later one holds: ~/.config/overt/AGENTS.md, AGENTS.md" in system(server)
    rich.work = rich.work / "pkg"
    with ModelServer([Turn(text="ok")]) as server:
        assert rich.run("run", "hello", server=server).code == 0
    assert order(system(server), *WORDS) == [*expected[:3], "PKG", *expected[3:]]


def test_a_trusted_recipe_reorders_and_strict_leaves_out_what_is_not_of_the_project(rich: Place) -> None:
    recipe = "[context]\nsources = ['environment', 'CLAUDE.md', 'global', 'memory', 'system']\nstrict = true\n"
    put(rich.work, "overt.toml", recipe)
    rich.run("memory", "add", "a", "NOTE")
    rich.run("memory", "add", "--global", "a", "NOTE")
    with ModelServer([Turn(text="ok")] * 2) as server:
        ran = rich.run("run", "hello", server=server)
        assert "`context.sources` ignored, because this folder is not trusted" in ran.err
        assert order(system(server), *WORDS) == ["You are Overt", "PROJECT", "KEPT", "Git branch: topic"]
        assert rich.run("trust").code == 0
        assert rich.run("run", "hello", server=server).code == 0
    assert order(system(server), *WORDS) == ["Git branch: topic", "ANOTHER", "KEPT", "You are Overt"]


def test_the_default_recipe_is_shown_and_a_wrong_one_is_named(rich: Place) -> None:
    shown = rich.run("config").out
    assert re.search(r"^context\.sources +\S*system.*default$", shown, re.M)
    assert re.search(r"^context\.caps\.memory +8000 +default$", shown, re.M)
    put(rich.work, "overt.toml", "[context]\nsources = ['sistem']\n")
    assert rich.run("trust").code == 0
    ran = rich.run("config")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(
        "overt: overt.toml:2: `sources` holds 'sistem', which is no source; did you mean `system`?"
    )


def test_rules_further_down_join_once_when_a_file_below_is_read(rich: Place) -> None:
    turns = [
        calls(call("read", path="pkg/deep/b.py")),
        calls(call("read", path="pkg/a.py")),
        Turn(text="done"),
        calls(call("read", path="pkg/a.py")),
        Turn(text="again"),
    ]
    with ModelServer(turns) as server:
        assert rich.run("run", "look", server=server).code == 0
        joined = [text for text in said(server, 1) if text.startswith("[overt] Rules for")]
        assert [text.partition("\n")[2] for text in joined] == ["PKG rules", "DEEP rules"]
        assert joined[0].startswith("[overt] Rules for the files below pkg/, from pkg/AGENTS.md; ")
        assert rich.run("run", "-c", "look again", server=server).code == 0
    assert said(server) == ["look", *joined, "look again"]
    assert_each_extends_the_one_before(server)
    users = [entry["data"]["message"]["origin"] for entry in entries(rich.session()) if entry["type"] == "user"]
    assert [(origin["kind"], origin.get("where", "")) for origin in users] == [
        ("user", ""),
        ("file", "pkg/AGENTS.md"),
        ("file", "pkg/deep/AGENTS.md"),
        ("user", ""),
    ]


def test_a_denied_file_of_rules_does_not_join(rich: Place) -> None:
    with ModelServer([calls(call("read", path="pkg/deep/b.py")), Turn(text="done")]) as server:
        rich.run("run", "look", "--disallowedTools", "read(pkg/AGENTS.md)", server=server)
    assert [text.partition("\n")[2] for text in said(server)[1:]] == ["DEEP rules"]


def test_a_reference_goes_before_the_prompt_with_the_rules_that_hold_for_it_and_can_be_edited(rich: Place) -> None:
    turns = [calls(call("edit", path="pkg/a.py", old="x = 1", new="x = 2")), Turn(text="done")]
    with ModelServer(turns) as server:
        ran = rich.run("run", "改@pkg/a.py里的数 me@example.com @property @pkg/no.py", "--yolo", server=server)
    assert ran.code == 0
    assert said(server, 0) == [
        "[overt] The user refers to pkg/a.py:\n     1\tx = 1",
        "[overt] Rules for the files below pkg/, from pkg/AGENTS.md; there they hold over the rules before:\nPKG rules",
        "改@pkg/a.py里的数 me@example.com @property @pkg/no.py",
    ]
    assert "@pkg/no.py: nothing is there" in ran.err
    assert (rich.work / "pkg/a.py").read_text() == "x = 2\n"
    assert_each_extends_the_one_before(server)


def test_no_key_goes_out_with_a_reference_a_rule_or_a_note(rich: Place) -> None:
    for name in ("AGENTS.md", "OVERT.md", "pkg/AGENTS.md", "pkg/a.py"):
        put(rich.work, name, f"key {KEY}\n")
    with ModelServer([Turn(text="ok")]) as server:
        rich.run("run", "see @pkg/a.py", server=server)
    assert KEY.encode() not in server.posts[0].body
    assert json.dumps(said(server)).count("key ") == 2


def test_nothing_of_a_hostile_repository_runs_or_is_waited_for(place: Place) -> None:
    subprocess.run(["mkfifo", str(place.work / "AGENTS.md"), str(place.work / "OVERT.md")], check=True)
    (place.work / ".git").mkdir()
    (place.work / ".git/HEAD").symlink_to("/etc/hostname")
    put(place.work, ".git/config", "[core]\n\tfsmonitor = touch pwned\n")
    put(place.home, "secret", "SECRET text")
    (place.work / "pkg").mkdir()
    (place.work / "pkg/AGENTS.md").symlink_to(place.home / "secret")
    put(place.work, "pkg/a.py", "x\n")
    with ModelServer([calls(call("read", path="pkg/a.py")), Turn(text="ok")]) as server:
        assert place.run("run", "see @AGENTS.md", server=server).code == 0
    assert "SECRET" not in server.posts[-1].body.decode()
    assert "Git branch" not in system(server)
    assert not (place.work / "pwned").exists()


def test_notes_are_kept_from_the_chat_and_from_the_shell(place: Place) -> None:
    with ModelServer([Turn(text="ok")]) as server, place.chat(server=server) as chat:
        chat.expect(PROMPT)
        chat.line("/memory add 先跑测试")
        chat.expect("project/先跑测试")
        chat.expect(PROMPT)
        chat.line("/memory frobnicate")
        chat.expect("/memory takes:")
        chat.expect(PROMPT)
        chat.line("/memory")
        chat.expect("先跑测试")
        chat.expect(PROMPT)
        chat.line("/exit")
        assert chat.wait() == 0
    listed = place.run("memory", "--json")
    assert [json.loads(line)["name"] for line in listed.out.splitlines()] == ["project/先跑测试"]
    (path,) = place.home.rglob("先跑测试.md")
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert place.run("memory", "remove", "先跑测试").code == 0
    assert place.run("memory", "remove", "先跑测试").code == 1
    assert place.run("memory", "nonsense").code == 2
    assert not path.exists()


def test_claude_md_is_read_in_a_trusted_folder_without_agents_md(place: Place) -> None:
    put(place.work, "CLAUDE.md", "rules of ANOTHER agent, see @docs/more.md")
    put(place.work, "docs/more.md", "IMPORTED rules")
    put(place.work, "pkg/CLAUDE.md", "PKG rules")
    put(place.work, "pkg/a.py", "x = 1\n")
    words = ("ANOTHER", "IMPORTED")
    with ModelServer([Turn(text="ok")] * 3 + [calls(call("read", path="pkg/a.py")), Turn(text="ok")]) as server:
        ran = place.run("run", "hello", server=server)
        assert "CLAUDE.md was not read, because this folder is not trusted. Run `overt trust`" in ran.err
        assert order(system(server), *words) == []
        assert place.run("trust").code == 0
        for setting in ("strict = true", "foreign = false"):
            put(place.home, ".config/overt/config.toml", f"[context]\n{setting}\n")
            assert place.run("run", "hello", server=server).err == ""
            assert order(system(server), *words) == []
        put(place.home, ".config/overt/config.toml", "")
        assert place.run("run", "look", server=server).code == 0
    assert order(system(server), *words) == ["IMPORTED", "ANOTHER"]
    assert "# Rules of this project (CLAUDE.md)\n" in system(server)
    assert any(text.endswith("\nPKG rules") and "from pkg/CLAUDE.md;" in text for text in said(server))
    shown = place.run("context").out
    assert re.search(r"\bproject\b.* docs/more\.md:1-1 #", shown) and re.search(
        r"\bproject\b.* CLAUDE\.md:1-1 #", shown
    )
    names = [json.loads(line)["name"] for line in place.run("memory", "--json").out.splitlines()]
    assert names == ["docs/more.md", "CLAUDE.md"]
