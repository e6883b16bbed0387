"""Plugin folders of three kinds are read, and what is wrong with one part costs only that part."""

import json
from pathlib import Path
from typing import Any

import pytest

from overt.core.errors import OvertError
from overt.extensions.plugins.copy_package import ALL_SERVERS, complete_copy, copy_files, hook_files
from overt.extensions.plugins.lock import hash_files
from overt.extensions.plugins.package import PluginPackage, read_package

SCHEMA = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json"
MCP_SCHEMA = "https://agent-plugins.org/schemas/1.0.0/mcp.schema.json"
SKILL = "---\nname: {name}\ndescription: Does a thing.\n---\nDo it.\n"


def put(root: Path, path: str, content: str | dict[str, Any] | list[Any]) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(content if isinstance(content, str) else json.dumps(content))


def put_skill(root: Path, folder: str) -> None:
    put(root, f"{folder}/SKILL.md", SKILL.format(name=folder.rpartition("/")[2]))


def portable(root: Path, manifest: dict[str, Any] | None = None, mcp: object = None) -> PluginPackage:
    """Read an Agent Plugins package with a valid skill beside what is given."""
    put(root, "plugin.json", {"$schema": SCHEMA, "name": "sample", **(manifest or {})})
    put_skill(root, "skills/valid")
    if mcp is not None:
        put(root, "mcp.json", mcp if isinstance(mcp, str | dict | list) else json.dumps(mcp))
    return read_package(str(root))


# ── Agent Plugins 1.0.0 ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "manifest",
    [
        {"$schema": ""},
        {"$schema": "https://agent-plugins.org/schemas/2.0.0/plugin.schema.json"},
        {"$schema": 1},
        {"name": ""},
        {"name": "My-Plugin"},
        {"name": "-start"},
        {"name": "end."},
        {"name": "has--double"},
        {"name": "too..many"},
        {"name": "a" * 65},
        {"name": None},
        {"version": 1},
        {"description": []},
        {"author": "me"},
        {"author": {"name": 1}},
        {"author": {"phone": "1"}},
        {"keywords": "a"},
        {"keywords": [1]},
    ],
    ids=json.dumps,
)
def test_a_manifest_that_breaks_the_schema_rejects_the_package(tmp_path: Path, manifest: dict[str, Any]) -> None:
    with pytest.raises(OvertError, match=r"plugin\.json: "):
        portable(tmp_path, manifest)


@pytest.mark.parametrize(
    "manifest",
    [
        {"name": "a"},
        {"name": "acme.tools-3"},
        {"version": "not semver", "license": "none", "homepage": "nowhere"},
        {"author": {"name": "A", "email": "no mail", "url": "x"}, "keywords": ["a"]},
        {"extensions": {"com.example": {"x": 1}}},
    ],
    ids=json.dumps,
)
def test_metadata_is_checked_by_type_only(tmp_path: Path, manifest: dict[str, Any]) -> None:
    package = portable(tmp_path, manifest)
    assert (package.problems, package.skills, package.layouts) == ((), ("skills/valid",), ("agent-plugins",))


def test_unknown_fields_and_extensions_that_are_no_object_are_reported_and_ignored(tmp_path: Path) -> None:
    package = portable(tmp_path, {"hooks": "./hooks.json", "mcpServers": {"a": {"command": "x"}}, "extensions": False})
    assert [problem.split("`")[1] for problem in package.problems] == ["hooks", "mcpServers", "extensions"]
    assert (package.skills, package.servers, package.hooks) == (("skills/valid",), {}, ())


def test_a_portable_package_has_no_commands_hooks_or_claude_servers(tmp_path: Path) -> None:
    put(tmp_path, "commands/a.md", "text")
    put(tmp_path, "hooks/hooks.json", {"hooks": {}})
    put(tmp_path, ".mcp.json", {"a": {"command": "x"}})
    package = portable(tmp_path)
    assert (package.commands, package.hooks, package.servers) == ((), (), {})


@pytest.mark.parametrize(
    "content",
    [
        "{",
        [],
        {},
        {"mcpServers": {}},
        {"$schema": SCHEMA, "mcpServers": {}},
        {"$schema": MCP_SCHEMA},
        {"$schema": MCP_SCHEMA, "mcpServers": []},
        {"$schema": MCP_SCHEMA, "mcpServers": {}, "more": 1},
    ],
    ids=json.dumps,
)
def test_an_mcp_file_that_breaks_the_schema_costs_the_servers_and_nothing_else(tmp_path: Path, content: Any) -> None:
    package = portable(tmp_path, mcp=content)
    assert (package.servers, package.skills) == ({}, ("skills/valid",))
    assert len(package.problems) == 1 and package.problems[0].startswith("mcp.json: ")


STDIO = {"type": "stdio", "command": "node"}
REMOTE = {"type": "streamable-http", "url": "https://x.example/mcp"}


@pytest.mark.parametrize(
    "server",
    [
        {},
        [],
        {"command": "node"},
        {"type": "stdio"},
        {"type": "ws", "url": "wss://x"},
        {"type": "stdio", "command": ""},
        {"type": "stdio", "command": ["node"]},
        {"type": "stdio", "command": "node server.js"},
        {"type": "stdio", "command": "bin/server"},
        {"type": "stdio", "command": "/usr/bin/node"},
        {"type": "stdio", "command": "../bin/server"},
        {"type": "stdio", "command": "./../bin/server"},
        {"type": "stdio", "command": "./leads-out"},
        {**STDIO, "args": "x"},
        {**STDIO, "args": [1]},
        {**STDIO, "env": {"A": 1}},
        {**STDIO, "env": {"PLUGIN_ROOT": "x"}},
        {**STDIO, "env": {"PLUGIN_DATA": "x"}},
        {**STDIO, "cwd": "./.."},
        {**STDIO, "cwd": "data"},
        {**STDIO, "cwd": "/tmp"},
        {**STDIO, "cwd": "${PLUGIN_DATA}/.."},
        {**STDIO, "cwd": "${PLUGIN_ROOT}x"},
        {**STDIO, "cwd": "./leads-out"},
        {**STDIO, "url": "https://x.example"},
        {**STDIO, "unknown": True},
        {**REMOTE, "command": "node"},
        {**REMOTE, "url": "http://x.example/mcp"},
        {**REMOTE, "url": "ftp://x.example/mcp"},
        {**REMOTE, "url": "https://me:secret@x.example/mcp"},
        {**REMOTE, "url": "http://127.0.0.1:8080/mcp#part"},
        {**REMOTE, "headers": {"X-A": "1", "x-a": "2"}},
        {**REMOTE, "headers": {"X A": "1"}},
        {**REMOTE, "headers": {"X-A": "1\r\nX-B: 2"}},
    ],
    ids=json.dumps,
)
def test_a_server_that_breaks_the_schema_is_left_out_and_its_siblings_stay(tmp_path: Path, server: Any) -> None:
    (tmp_path / "leads-out").symlink_to(tmp_path.parent)
    package = portable(tmp_path, mcp={"$schema": MCP_SCHEMA, "mcpServers": {"bad": server, "good": STDIO}})
    assert list(package.servers) == ["good"]
    assert len(package.problems) == 1 and package.problems[0].startswith("mcp.json: the server `bad` is left out: ")


@pytest.mark.parametrize(
    "server",
    [
        {**STDIO, "command": "./bin/a b", "cwd": "./"},
        {**STDIO, "cwd": "${PLUGIN_ROOT}"},
        {**STDIO, "cwd": "${PLUGIN_DATA}/sub"},
        {**STDIO, "args": ["${PLUGIN_ROOT}/x", "${OTHER}"], "env": {"A": "b"}},
        {**REMOTE, "headers": {"X-Tenant": "public"}},
        {"type": "sse", "url": "http://localhost:1/sse"},
        {"type": "streamable-http", "url": "http://[::1]:9/mcp"},
    ],
    ids=json.dumps,
)
def test_valid_servers_are_read(tmp_path: Path, server: dict[str, Any]) -> None:
    package = portable(tmp_path, mcp={"$schema": MCP_SCHEMA, "mcpServers": {"good": server}})
    assert (package.problems, package.servers["good"].table) == ((), server)


def test_a_skills_path_that_is_no_folder_costs_the_skills_and_not_the_servers(tmp_path: Path) -> None:
    put(tmp_path, "plugin.json", {"$schema": SCHEMA, "name": "sample"})
    put(tmp_path, "skills", "a file")
    put(tmp_path, "mcp.json", {"$schema": MCP_SCHEMA, "mcpServers": {"good": STDIO}})
    package = read_package(str(tmp_path))
    assert (package.problems, list(package.servers)) == (("skills: must be a folder",), ["good"])


def test_a_skill_that_does_not_conform_is_named_and_deeper_ones_are_not_looked_for(tmp_path: Path) -> None:
    put(tmp_path, "skills/no-description/SKILL.md", "---\nname: no-description\n---\n")
    put(tmp_path, "skills/other-name/SKILL.md", SKILL.format(name="another"))
    put_skill(tmp_path, "skills/valid/references/nested")
    package = portable(tmp_path)
    assert package.skills == ("skills/no-description", "skills/other-name", "skills/valid")
    assert [problem.partition(":")[0] for problem in package.problems] == [
        "skills/no-description/SKILL.md",
        "skills/other-name/SKILL.md",
    ]


def test_a_skill_that_leads_out_of_the_package_is_named(tmp_path: Path) -> None:
    outside = tmp_path / "outside.md"
    outside.write_text(SKILL.format(name="sly"))
    root = tmp_path / "plugin"
    (root / "skills/sly").mkdir(parents=True)
    (root / "skills/sly/SKILL.md").symlink_to(outside)
    package = portable(root)
    assert package.problems == ("skills/sly/SKILL.md: leads out of the plugin",)
    target = tmp_path / "copy"
    assert copy_files(str(root), str(target)) == (
        "skills/sly/SKILL.md: a link that leads out of the plugin is left out",
    )
    assert read_package(str(target)).skills == ("skills/valid",)


# ── Claude Code and Codex ────────────────────────────────────────────────────────────────────────────────

HOOKS = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "sh check.sh"}]}]}


def test_a_folder_without_a_manifest_is_a_plugin_with_the_name_of_the_folder(tmp_path: Path) -> None:
    root = tmp_path / "tidy"
    put(root, "commands/deep/all.md", "Tidy up.")
    put(root, "agents/cleaner.md", "---\ndescription: Cleans.\n---\nClean.")
    put(root, ".mcp.json", {"flat": {"command": "x"}, "comment": "not a server"})
    package = read_package(str(root))
    assert (package.name, package.layouts, package.problems) == ("tidy", ("claude",), ())
    assert (package.commands, package.agents) == (("commands/deep/all.md",), ("agents/cleaner.md",))
    assert list(package.servers) == ["flat"]


def test_an_empty_folder_is_no_plugin(tmp_path: Path) -> None:
    with pytest.raises(OvertError, match="no plugin"):
        read_package(str(tmp_path))


@pytest.mark.parametrize("folder", [".claude-plugin", ".codex-plugin"])
def test_a_manifest_names_parts_elsewhere_and_the_copy_has_them_in_their_usual_place(
    tmp_path: Path, folder: str
) -> None:
    root, target = tmp_path / "source", tmp_path / "copy"
    manifest = {
        "name": "mixed",
        "version": "2",
        "skills": ["./one", "./more-skills/"],
        "commands": "./extra/go.md",
        "hooks": HOOKS,
        "mcpServers": {"inline": {"command": "a"}},
        "lspServers": {"x": {}},
    }
    put(root, f"{folder}/plugin.json", manifest)
    for path in ("one", "more-skills/two", "skills/three"):
        put_skill(root, path)
    put(root, "extra/go.md", "Go.")
    package = read_package(str(root))
    assert package.problems == ()
    assert (package.name, package.not_used) == ("mixed", ("lspServers",))
    assert [(each.event, each.matcher, each.command) for each in package.hook_commands] == [
        ("PreToolUse", "Bash", "sh check.sh")
    ]
    assert copy_files(str(root), str(target)) == ()
    complete_copy(read_package(str(target)))
    files = hash_files(str(target))
    assert {"skills/one/SKILL.md", "skills/two/SKILL.md", "skills/three/SKILL.md", "commands/go.md"} <= files.keys()
    (hooks,) = hook_files(package)
    assert json.loads((target / hooks).read_text()) == {"hooks": HOOKS}
    assert json.loads((target / ALL_SERVERS).read_text()) == {"inline": {"command": "a"}}


@pytest.mark.parametrize(
    ("path", "content", "problem"),
    [
        ("hooks/hooks.json", "{", "hooks/hooks.json: is not valid JSON"),
        ("hooks/hooks.json", {"x": 1}, "hooks/hooks.json: must have an object `hooks`"),
        ("hooks/hooks.json", {"hooks": {"Stop": [{"hooks": [{"type": "command"}]}]}}, "has no `command`"),
        (".mcp.json", "[]", ".mcp.json: must be a JSON object"),
        (".mcp.json", {"mcpServers": {"a": 1}}, "the server `a` must be an object"),
        ("commands/bad.md", "---\na: [\n---\n", "commands/bad.md: line"),
        ("agents/bad.md", "no front matter", "agents/bad.md: has no `description`"),
    ],
)
def test_each_part_fails_by_itself(tmp_path: Path, path: str, content: Any, problem: str) -> None:
    put(tmp_path, ".claude-plugin/plugin.json", {"name": "sample"})
    put_skill(tmp_path, "skills/valid")
    put(tmp_path, path, content)
    package = read_package(str(tmp_path))
    assert package.skills == ("skills/valid",)
    assert len(package.problems) == 1 and problem in package.problems[0]
