"""MCP servers of all files and flags become one list; a mistake in one of them costs only that one."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from overt.config.describe_files import server_target
from overt.config.load import load
from overt.config.mcp_servers import load_servers
from overt.config.paths import Environment
from overt.config.server_sources import ServerFlags, Servers, local_servers_file
from overt.core.errors import ConfigError
from overt.core.settings import OAuthClient, ServerEntry


@pytest.fixture
def where(tmp_path: Path) -> Environment:
    for name in ("project", "home/.config/overt"):
        (tmp_path / name).mkdir(parents=True)
    return Environment(
        home=str(tmp_path / "home"),
        config_dir=str(tmp_path / "home/.config/overt"),
        data_dir=str(tmp_path / "data"),
        cache_dir=str(tmp_path / "cache"),
        cwd=str(tmp_path / "project"),
        variables={"TOKEN": "s3cret", "HOST": "tools.example", "EMPTY": "", "BROKEN": "a\nb"},
    )


def put(where: Environment, source: str, text: str | dict[str, Any]) -> None:
    paths = {
        "user": f"{where.config_dir}/config.toml",
        "local": local_servers_file(where, where.cwd),
        "mcp": f"{where.cwd}/.mcp.json",
        "project": f"{where.cwd}/overt.toml",
    }
    path = Path(paths.get(source, f"{where.cwd}/{source}"))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text if isinstance(text, str) else json.dumps({"mcpServers": text}, indent=2))
    path.chmod(0o600)


def servers(where: Environment, *configs: str, trusted: bool = True, strict: bool = False) -> Servers:
    config = load(where, project=where.cwd, trusted=trusted)
    flags = ServerFlags(configs=configs, strict=strict)
    return load_servers(where, config, project=where.cwd, trusted=trusted, flags=flags)


def test_an_entry_in_claudes_schema_and_one_in_our_table_say_the_same(where: Environment) -> None:
    put(
        where,
        "mcp",
        {
            "a": {"command": "npx", "args": ["-y", "db x"], "env": {"KEY": "${TOKEN}"}, "timeout": 5000},
            "b": {
                "type": "streamable-http",
                "url": "https://${HOST}/mcp",
                "headers": {"Authorization": "Bearer ${TOKEN}"},
                "headersHelper": "./headers.sh",
                "oauth": {"clientId": "me", "clientSecret": "${TOKEN}", "callbackPort": 8080},
            },
        },
    )
    put(
        where,
        "project",
        """[mcp.c]
command = "npx -y 'db x'"
environment = { KEY = "{env:TOKEN}" }
timeout_ms = 5000
network = true
[mcp.d]
url = "https://${HOST}/mcp"
type = "sse"
disabled = true
[[plugins]]
name = "e"
command = ["run", "it"]
args = ["now"]
""",
    )
    a = ServerEntry(
        name="a",
        command=("npx", "-y", "db x"),
        environment={"KEY": "s3cret"},
        timeout_ms=5000,
        origin=".mcp.json",
        of_project=True,
    )
    assert servers(where) == Servers(
        entries=(
            a,
            ServerEntry(
                name="b",
                kind="http",
                url="https://tools.example/mcp",
                shown="https://${HOST}/mcp",
                headers={"Authorization": "Bearer s3cret"},
                headers_helper="./headers.sh",
                oauth=OAuthClient(client_id="me", client_secret="s3cret", callback_port=8080),
                origin=".mcp.json",
                of_project=True,
            ),
            ServerEntry(
                name="c",
                command=("npx", "-y", "db x"),
                environment={"KEY": "s3cret"},
                timeout_ms=5000,
                network=True,
                origin="overt.toml:1",
                of_project=True,
            ),
            ServerEntry(
                name="d",
                kind="sse",
                url="https://${HOST}/mcp",
                enabled=False,
                origin="overt.toml:6",
                of_project=True,
            ),
            ServerEntry(name="e", command=("run", "it", "now"), origin="overt.toml:10", of_project=True),
        ),
        expanded_values=("s3cret", "tools.example"),
    )


def test_a_target_is_shown_without_its_variables_filled_in(where: Environment) -> None:
    put(where, "mcp", {"a": {"command": "x", "args": ["${TOKEN} b"]}, "b": {"url": "https://${HOST}/${TOKEN}"}})
    assert [server_target(entry) for entry in servers(where).entries] == ["x '${TOKEN} b'", "https://${HOST}/${TOKEN}"]


def test_only_the_user_can_call_a_server_read_only_or_answer_its_questions(where: Environment) -> None:
    loose = {"command": "x", "readOnly": True, "elicitation": "defaults"}
    toml = "[mcp.{}]\ncommand = 'x'\nread_only = true\nelicitation = 'defaults'\n"
    put(where, "user", toml.format("mine"))
    put(where, "mcp", {"a": loose})
    put(where, "project", toml.format("b"))
    found = servers(where, json.dumps({"mcpServers": {"flag": loose}}))
    assert {each.name: (each.read_only, each.elicitation) for each in found.entries} == {
        "mine": (True, "defaults"),
        "a": (False, "ask"),
        "b": (False, "ask"),
        "flag": (True, "defaults"),
    }
    assert found.warnings == tuple(
        f"{place}: `read_only` and `elicitation` of the MCP server `{name}` ignored; only your own files can set them"
        for name, place in (("a", ".mcp.json"), ("b", "overt.toml:1"))
    )


def test_the_later_source_of_a_name_wins_and_each_entry_knows_where_it_is_from(where: Environment) -> None:
    def entries(*names: str, by: str) -> dict[str, Any]:
        return {name: {"command": by} for name in names}

    put(where, "user", "".join(f"[mcpServers.{name}]\ncommand = 'user'\n" for name in "abcde"))
    put(where, "local", entries(*"bcde", by="local"))
    put(where, "mcp", entries(*"cde", by="mcp"))
    put(where, "project", "[mcp.d]\ncommand = 'project'\n[mcp.e]\ncommand = 'project'\n")
    put(where, "more.json", entries("e", by="file"))
    found = servers(where, "more.json", '{"mcpServers": {"f": {"command": "flag"}}}')
    local = f"{where.data_dir}/projects/" + os.path.basename(os.path.dirname(local_servers_file(where, where.cwd)))
    assert [(each.name, each.command, each.origin, each.of_project) for each in found.entries] == [
        ("a", ("user",), "~/.config/overt/config.toml:1", False),
        ("b", ("local",), f"{local}/mcp.json", False),
        ("c", ("mcp",), ".mcp.json", True),
        ("d", ("project",), "overt.toml:1", True),
        ("e", ("file",), "more.json", False),
        ("f", ("flag",), "--mcp-config", False),
    ]
    assert [each.name for each in servers(where, "more.json", strict=True).entries] == ["e"]
    assert [each.command[0] for each in servers(where, trusted=False).entries] == ["user", *["local"] * 4]


def test_an_untrusted_project_brings_no_server_and_the_warning_names_those_of_its_own_file(where: Environment) -> None:
    put(where, "mcp", {"a": {"command": "evil"}})
    put(where, "project", "[mcp.b]\ncommand = 'evil'\n[tools]\nmcp_tokens = 90000\n")
    assert servers(where, trusted=False) == Servers()
    config = load(where, project=where.cwd, trusted=False)
    assert config.tools.mcp_tokens == 2000
    assert config.warnings == (
        "overt.toml:1: `mcp.b`, `tools.mcp_tokens` ignored, because this folder is not trusted; "
        "read the file, then run `overt trust` in this folder",
    )


@pytest.mark.parametrize("setting", ["strict = true", "foreign = false"])
def test_the_recipe_can_leave_the_file_of_other_agents_out(where: Environment, setting: str) -> None:
    put(where, "mcp", {"a": {"command": "x"}})
    put(where, "project", f"[context]\n{setting}\n[mcp.b]\ncommand = 'y'\n")
    assert [each.name for each in servers(where).entries] == ["b"]


def test_a_table_without_a_command_switches_the_server_of_another_file_on_or_off(where: Environment) -> None:
    put(where, "user", "[mcp.a]\ncommand = 'x'\n[mcp.b]\ncommand = 'x'\nenabled = false\n")
    put(where, "project", "[mcp.a]\nenabled = false\n[mcp.b]\nenabled = true\n[mcp.c]\nenabled = true\n")
    found = servers(where)
    assert [(each.name, each.enabled) for each in found.entries] == [("a", False), ("b", False)]
    found = servers(where, '{"mcpServers": {"b": {"enabled": true}}}')
    assert [(each.name, each.enabled) for each in found.entries] == [("a", False), ("b", True)]


@pytest.mark.parametrize(
    ("text", "filled"),
    [
        ("${TOKEN}", "s3cret"),
        ("a-${TOKEN}-${HOST}", "a-s3cret-tools.example"),
        ("${NONE:-x y}", "x y"),
        ("${NONE:-}", ""),
        ("${EMPTY:-x}", "x"),
        ("${EMPTY}", ""),
        ("$TOKEN ${ TOKEN } ${1}", "$TOKEN ${ TOKEN } ${1}"),
    ],
)
def test_variables_are_filled_in_as_a_shell_would(where: Environment, text: str, filled: str) -> None:
    put(where, "mcp", {"a": {"command": "x", "args": [text], "env": {"K": text}}})
    (entry,) = servers(where).entries
    assert (entry.command[1], entry.environment) == (filled, {"K": filled})


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        (
            {"command": "x", "args": ["${NONE}"]},
            "the variable `NONE` is not set; set it, or write `${NONE:-default}`",
        ),
        ({"url": "${EMPTY}"}, "its `url` is not an http address once its variables are filled in"),
        ({"command": "${EMPTY}"}, "its command is empty"),
        (
            {"url": "http://x/", "headers": {"A": "${BROKEN}"}},
            "a header holds a character that no header can hold once its variables are filled in",
        ),
    ],
)
def test_a_variable_that_cannot_be_used_disables_its_server_alone(
    where: Environment, entry: dict[str, Any], problem: str
) -> None:
    put(where, "mcp", {"bad": entry, "off": {**entry, "enabled": False}, "good": {"command": "x"}})
    found = servers(where)
    assert [(each.name, each.enabled) for each in found.entries] == [("bad", False), ("off", False), ("good", True)]
    assert found.warnings == (f".mcp.json: the MCP server `bad` is disabled: {problem}",)
    assert found.problems == {"bad": problem}


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"type": "ws", "url": "ws://x"}, "4: `type` is 'ws', which Overt does not support; use 'http' if the server"),
    ({"command": 5}, "4: `command` must be a list of words, or a text that is split as a shell splits it"),
    ({"command": "x", "env": {"A": 1}}, "5: `env` must be a table of texts"),
    ({"url": "ftp://x"}, "4: `url` must be an address that begins with http:// or https:// and holds no password"),
    ({"url": "http://u:hunter2@x"}, "4: `url` must be an address that begins with http:// or https:// and holds no"),
    ({"type": "http"}, "3: the MCP server `bad` needs a `url`"),
    ({"args": ["x"]}, "3: the MCP server `bad` needs a `command` or a `url`"),
    ({"command": "x", "url": "http://x"}, "5: the MCP server `bad` has both a `command` and a `url`; remove one"),
    ({"command": "a 'b"}, "4: `command` cannot be split into words: No closing quotation; write a list"),
    ({"command": "x", "timeout": 0}, "5: `timeout` must be a whole number of milliseconds above 0, got 0"),
    ({"command": "x", "env": {}, "environment": {}}, "6: `environment` is set twice; remove one of the two"),
    (
        {"url": "http://x", "oauth": {"clientSecret": "hunter2"}},
        "6: `clientSecret` must be a variable such as '${CLIENT_SECRET}', never the secret itself",
    ),
    ({"url": "http://x", "headers": {"A b": "hunter2"}}, "5: `headers` must be a table of texts"),
]


@pytest.mark.parametrize(("entry", "says"), MISTAKES, ids=lambda value: str(value)[:40])
def test_a_mistake_in_a_foreign_file_is_named_with_its_line_and_costs_one_server(
    where: Environment, entry: dict[str, Any], says: str
) -> None:
    put(where, "mcp", {"bad": entry, "good": {"command": "x"}})
    found = servers(where)
    assert [each.name for each in found.entries] == ["good"]
    (warning,) = found.warnings
    assert warning.startswith(f".mcp.json:{says}") and warning.endswith("; this server is not used")
    assert "hunter2" not in warning


def test_a_mistake_in_our_own_file_is_an_error_as_of_every_setting(where: Environment) -> None:
    put(where, "project", "[mcp.a]\ncommand = 'x'\n[mcp.b]\ncommand = 'x'\ntimeout_ms = 'long'\n")
    with pytest.raises(
        ConfigError, match=r"overt\.toml:5: `timeout_ms` must be a whole number of milliseconds above 0"
    ):
        servers(where)


def test_unknown_keys_and_odd_names_are_named_and_the_server_is_used(where: Environment) -> None:
    put(where, "mcp", {"my db": {"command": "x", "argz": ["y"]}, "bad/name": {"command": "x"}})
    put(where, "project", "[mcp.web]\nurl = 'http://x'\nheader = {}\n")
    found = servers(where)
    assert [each.name for each in found.entries] == ["my_db", "web"]
    assert found.warnings == (
        ".mcp.json: the MCP server 'my db' is called `my_db` here",
        ".mcp.json:5: unknown key `argz` in [mcp.my_db]; did you mean `args`?",
        ".mcp.json: an MCP server needs a name of at most 64 letters, digits, `_`, `-` and `.`, got 'bad/name'; "
        "this server is not used",
    )
    assert load(where, project=where.cwd, trusted=True).warnings == (
        "overt.toml:3: unknown key `header` in [mcp.web]; did you mean `headers`?",
    )


@pytest.mark.parametrize("second", ['"a"', '"\\u0061"'])
def test_a_server_that_a_file_names_twice_is_a_warning(where: Environment, second: str) -> None:
    put(where, "mcp", f'{{"mcpServers": {{\n"a": {{"command": "x"}},\n{second}: {{"command": "y"}}}}}}')
    found = servers(where)
    assert [each.command for each in found.entries] == [("y",)]
    assert found.warnings == (".mcp.json:3: the key 'a' stands twice, first on line 2; the last one is used",)


def test_a_flat_file_and_one_with_comments_are_read(where: Environment) -> None:
    put(where, "mcp", '{\n  // mine\n  "a": {"command": "x y"},\n  "version": 1,\n}')
    assert servers(where).entries == (ServerEntry(name="a", command=("x", "y"), origin=".mcp.json", of_project=True),)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", '.mcp.json:1: expected a key in "quotes", found the end of the file; none of its MCP servers is used'),
        ("[]", ".mcp.json:1: must be an object with `mcpServers`; none of its MCP servers is used"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_warning(where: Environment, text: str, says: str) -> None:
    put(where, "mcp", text)
    assert servers(where) == Servers(mistakes=(says,))


def test_a_local_file_that_others_could_have_written_is_not_used(where: Environment) -> None:
    put(where, "local", {"a": {"command": "x"}})
    Path(local_servers_file(where, where.cwd)).chmod(0o666)
    (warning,) = servers(where).warnings
    assert warning.endswith("mcp.json: could have been written by others, so none of its MCP servers is used")


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ("none.json", "--mcp-config: none.json does not exist; name a file or write JSON"),
        ('{"mcpServers": ', "--mcp-config:1: expected a value, found the end of the file"),
    ],
)
def test_a_flag_that_cannot_be_read_is_an_error(where: Environment, config: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        servers(where, config)
    assert caught.value.message == says


def test_a_program_in_the_home_folder_may_be_written_with_a_tilde(where: Environment) -> None:
    put(where, "mcp", {"a": {"command": "~/bin/server", "args": ["~/x"]}, "b": {"command": "/a b/c", "args": ["d"]}})
    assert [each.command for each in servers(where).entries] == [
        (f"{where.home}/bin/server", "~/x"),
        ("/a b/c", "d"),
    ]
