"""`overt mcp`: servers are added, listed and removed in the file of their scope, and nothing else there changes."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.journeys.journey_kit import OVERT, Place, Terminal

RUNS = "This program will run in the sandbox: "
NO_NETWORK = "The program gets no network access. To allow it, remove the server and add it again with --network.\n"


def user_file(place: Place) -> Path:
    path = place.home / ".config/overt/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def listed(place: Place, **more: Any) -> dict[str, dict[str, Any]]:
    done = place.run("mcp", "list", "--json", **more)
    assert done.code == 0
    return {row["name"]: row for row in json.loads(done.out)}


def test_a_server_is_added_for_the_user_in_this_project_unless_a_scope_is_named(place: Place) -> None:
    done = place.run("mcp", "add", "db", "-e", "KEY=a=b", "TOKEN=${TOKEN}", "--", "npx", "-y", "a db", "--flag")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith(f"{RUNS}npx -y 'a db' --flag\n{NO_NETWORK}Added the MCP server db to ~/.local/share/")
    (file,) = (place.home / ".local/share/overt/projects").glob("*/mcp.json")
    assert file.stat().st_mode & 0o777 == 0o600
    assert json.loads(file.read_text()) == {
        "mcpServers": {
            "db": {
                "command": "npx",
                "args": ["-y", "a db", "--flag"],
                "env": {"KEY": "a=b", "TOKEN": "${TOKEN}"},
            }
        }
    }
    row = listed(place, env={"TOKEN": "s3cret"})["db"]
    assert (row["scope"], row["target"], row["used"], row["network"]) == ("local", "npx -y 'a db' --flag", True, False)
    assert row["environment"] == ["KEY", "TOKEN"]
    shown = place.run("mcp", "get", "db", env={"TOKEN": "s3cret"}).out
    assert "environment: KEY, TOKEN" in shown and "a=b" not in shown and "s3cret" not in shown
    assert place.run("mcp", "remove", "db").code == 0
    assert listed(place) == {}


def test_the_project_file_keeps_what_it_holds_and_a_trusted_folder_stays_trusted(place: Place) -> None:
    file = place.work / ".mcp.json"
    file.write_text('{\n    "x": 1,\n    "mcpServers": {"a": {"command": "old"}}\n}\n')
    assert place.run("trust").code == 0
    words = ("-t", "http", "-s", "project", "web", "https://x.example/mcp", "-H", "Authorization: Bearer ${TOKEN:-t}")
    done = place.run("mcp", "add", *words, "--timeout", "9000", "--client-id", "me")
    assert done.out == ("Overt will connect to: https://x.example/mcp\nAdded the MCP server web to .mcp.json.\n")
    web = {
        "type": "http",
        "url": "https://x.example/mcp",
        "headers": {"Authorization": "Bearer ${TOKEN:-t}"},
        "timeout": 9000,
        "oauth": {"clientId": "me"},
    }
    assert json.loads(file.read_text()) == {"x": 1, "mcpServers": {"a": {"command": "old"}, "web": web}}
    assert file.read_text().startswith('{\n    "x": 1,\n')
    assert {name: row["used"] for name, row in listed(place).items()} == {"a": True, "web": True}
    assert place.run("mcp", "remove", "web", "-s", "project").code == 0
    assert json.loads(file.read_text()) == {"x": 1, "mcpServers": {"a": {"command": "old"}}}
    file.write_text(file.read_text().replace("old", "worse"))
    row = listed(place)["a"]
    assert (row["target"], row["used"]) == ("worse", False) and "not trusted" in row["reason"]


def test_the_users_file_keeps_its_comments(place: Place) -> None:
    path = user_file(place)
    path.write_text('# mine\nlanguage = "en" # really\n\n[mcp.first]\ncommand = "x" # keep\n')
    before = path.read_text()
    words = ("-s", "user", "--network", "git.one", "--", "uvx", "mcp-server-git")
    assert place.run("mcp", "add", *words).out == (
        f"{RUNS}uvx mcp-server-git\nAdded the MCP server git.one to ~/.config/overt/config.toml.\n"
    )
    assert path.read_text().startswith(before)
    assert tomllib.loads(path.read_text())["mcp"] == {
        "first": {"command": "x"},
        "git.one": {"command": ["uvx", "mcp-server-git"], "network": True},
    }
    assert {name: row["origin"] for name, row in listed(place).items()} == {
        "first": "~/.config/overt/config.toml:4",
        "git.one": "~/.config/overt/config.toml:7",
    }
    assert place.run("mcp", "remove", "git.one").out == (
        "Removed the MCP server git.one from ~/.config/overt/config.toml.\n"
    )
    assert path.read_text().rstrip("\n") == before.rstrip("\n")


@pytest.mark.parametrize(("answer", "network"), [("y", True), ("", False), ("no", False)])
def test_a_terminal_is_asked_whether_the_program_may_use_the_network(place: Place, answer: str, network: bool) -> None:
    argv = [OVERT, "mcp", "add", "db", "--", "npx", "\x1b[2Jdb"]
    terminal = Terminal(argv, cwd=place.work, env=place.environment())
    try:
        asked = terminal.expect("May it use the network? [y/N] ")
        assert f"{RUNS}npx '\\x1b[2Jdb'" in asked
        terminal.line(answer)
        terminal.expect("Added the MCP server db")
        assert terminal.wait() == 0
    finally:
        terminal.close()
    assert listed(place)["db"]["network"] is network


def test_the_list_says_why_a_server_is_not_used(place: Place) -> None:
    user_file(place).write_text("[mcp.a]\ncommand = 'x'\n[mcp.b]\ncommand = 'x'\nenabled = false\n")
    (place.work / ".mcp.json").write_text(
        json.dumps({"mcpServers": {"a": {"command": "y"}, "c": {"command": "${NONE}"}, "d": {"type": "ws"}}})
    )
    (place.work / "overt.toml").write_text("[mcp.e]\nurl = 'http://127.0.0.1:9/mcp'\n")
    place.distrust()
    assert {(row["scope"], row["name"]): row["reason"] for row in rows(place)} == {
        ("user", "a"): "",
        ("user", "b"): "disabled",
        ("project", "a"): "not trusted; read it, then run `overt trust`",
        ("project", "c"): "not trusted; read it, then run `overt trust`",
        ("project", "e"): "not trusted; read it, then run `overt trust`",
    }
    assert place.run("trust").code == 0
    assert {(row["scope"], row["name"]): row["reason"] for row in rows(place)} == {
        ("user", "a"): "replaced by .mcp.json",
        ("user", "b"): "disabled",
        ("project", "a"): "",
        ("project", "c"): "the variable `NONE` is not set; set it, or write `${NONE:-default}`",
        ("project", "e"): "",
    }
    done = place.run("mcp")
    assert done.err == (
        "overt: .mcp.json:1: `type` is 'ws', which Overt does not support; use 'http' if the server offers it; "
        "this server is not used\n"
    )
    assert "  http://127.0.0.1:9/mcp\n" in done.out


def rows(place: Place) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(place.run("mcp", "--json").out)
    return found


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("add", "db"), "Usage: overt mcp [list"),
        (("add", "a/b", "--", "x"), "an MCP server needs a name of at most 64 letters"),
        (("add", "my db", "--", "x"), "the MCP server 'my db' is called `my_db` here"),
        (("add", "-t", "http", "a", "ftp://x"), "`url` must be an address that begins with http://"),
        (("add", "-t", "http", "a", "http://x", "more"), "Usage: overt mcp add NAME URL -t http"),
        (("add", "-e", "A", "a", "--", "x"), "Usage: --env NAME=VALUE"),
        (("add-json", "a", "[]"), "Expected a JSON object with a `command` or a `url`."),
        (("add-json", "a", '{"comand": "x"}'), "unknown key `comand` in [mcp.a]; did you mean `command`?"),
        (("add-json", "a", '{"enabled": true}'), "needs a `command` or a `url`"),
        (("remove", "none"), "There is no MCP server none."),
        (("get", "none"), "There is no MCP server none."),
        (("remove", "own"), "Cannot remove the MCP server own: it is set in overt.toml:1. Edit that file."),
        (("add", "-s", "project", "here", "--", "x"), "There is already an MCP server here in the scope project."),
    ],
)
def test_a_mistake_is_explained_and_nothing_is_written(place: Place, words: tuple[str, ...], says: str) -> None:
    (place.work / "overt.toml").write_text("[mcp.own]\ncommand = 'x'\n")
    text = '{"mcpServers": {"here": {"command": "x"}}}'
    (place.work / ".mcp.json").write_text(text)
    done = place.run("mcp", *words)
    assert done.code in (1, 2) and says in done.err
    assert (place.work / ".mcp.json").read_text() == text
    assert list((place.home / ".local/share/overt").glob("projects/*/mcp.json")) == []


def test_a_project_file_with_comments_is_left_to_the_user(place: Place) -> None:
    text = '{\n  // mine\n  "mcpServers": {}\n}\n'
    (place.work / ".mcp.json").write_text(text)
    done = place.run("mcp", "add", "-s", "project", "a", "--", "x")
    assert done.code == 1 and "or it has comments. Edit it by hand." in done.err
    assert (place.work / ".mcp.json").read_text() == text


def test_a_name_in_two_scopes_is_removed_from_the_one_that_is_named(place: Place) -> None:
    for scope in ("user", "local"):
        assert place.run("mcp", "add", "-s", scope, "a", "--", "x").code == 0
    assert "in several scopes: user, local" in place.run("mcp", "remove", "a").err
    assert place.run("mcp", "remove", "a", "--scope", "local").code == 0
    assert listed(place)["a"]["scope"] == "user"


def test_an_added_project_server_waits_for_trust_in_a_folder_that_is_not_trusted(place: Place) -> None:
    (place.work / "overt.toml").write_text("[sandbox]\nnetwork = true\n")
    place.distrust()
    done = place.run("mcp", "add", "-s", "project", "a", "--", "x")
    assert "This folder is not trusted, so no session uses the server yet. Run `overt trust` here." in done.out
    assert listed(place)["a"]["used"] is False
