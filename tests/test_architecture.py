"""The shape of the house: sizes, names, imports and the exact list of tools. Raising a budget takes a decision note."""

import ast
import re
import sys
import tomllib
from collections import Counter
from pathlib import Path

import grimp
import pytest
from msgspec import json
from tests.own_texts import find_text_reads, read_constants

from overt.context.prefix_sources import built_in_prompt
from overt.core.capabilities import EFFECT_OF
from overt.sessions.entry_types import ENTRY_TYPES
from overt.tools.registry import BUILT_IN

ROOT = Path(__file__).parent.parent
SOURCE = sorted((ROOT / "src" / "overt").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("*.py"))
BANNED_IN_TOOLS = {"os", "io", "pathlib", "shutil", "subprocess", "socket", "http", "urllib", "ssl", "asyncio", "sys"}
BANNED_NAMES = {"utils", "helpers", "common", "manager", "base", "misc", "types"}
PACKAGES = {
    "core", "lib", "config", "providers", "safety", "sandbox", "workspace", "context", "sessions", "tools", "repair",
    "agent", "app", "frontends", "cli", "extensions", "mcp",
}  # fmt: skip


ANY_WHERE_JSON_ENTERS = {
    "config/reading/files.py": "a configuration file as it was parsed",
    "config/reading/server_keys.py": "an MCP server as a file writes it",
    "config/json_schema.py": "the JSON schema of the configuration",
    "config/load.py": "settings of files, variables and flags before they become a Config",
    "app/subagents/definitions.py": "the fields of an agent before they become a profile",
    "context/reply_schema.py": "the JSON schema that a reply must fit",
    "repair/_loose_json.py": "reads JSON as models write it",
    "repair/arguments.py": "arguments of a call as the model wrote them",
    "tools/toolcall.py": "the arguments of another tool",
    "repair/json_arguments.py": "arguments of tools that come with a JSON schema",
    "repair/flatten_schema.py": "JSON schemas of tools, and arguments with dotted names",
    "sessions/entries.py": "lines of a session file",
}
MAX_ANY_ELSEWHERE = 25


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", SOURCE, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_is_too_long(path: Path) -> None:
    lines = len(path.read_text().splitlines())
    assert lines <= (120 if path.parts[-2:] == ("agent", "loop.py") else 400)
    assert path.stem.strip("_") not in BANNED_NAMES


def test_no_test_file_is_too_long() -> None:
    assert {path.name for path in TESTS if len(path.read_text().splitlines()) > 600} == set()


MAX_LINES = 96_000
"""Of `src` as a whole. It rises only with a note that says what the lines buy."""


def test_the_source_as_a_whole_does_not_grow_unnoticed() -> None:
    assert sum(len(path.read_text().splitlines()) for path in SOURCE) <= MAX_LINES


def test_no_public_class_name_occurs_twice() -> None:
    """A tool's `Args` aside."""
    classes = [
        node.name
        for path in SOURCE
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.ClassDef) and node.name[0] != "_" and node.name != "Args"
    ]
    assert [name for name, count in Counter(classes).items() if count > 1] == []


def test_every_module_opens_with_a_sentence() -> None:
    bare = [str(path) for path in SOURCE if not (ast.get_docstring(ast.parse(path.read_text())) or "").strip()]
    assert bare == []


def test_the_packages_are_those_of_the_design() -> None:
    assert {
        path.name for path in (ROOT / "src" / "overt").iterdir() if path.is_dir() and path.name[0] != "_"
    } == PACKAGES


def test_tools_touch_the_world_through_their_parameters_only() -> None:
    for path in (ROOT / "src" / "overt" / "tools").glob("*.py"):
        wrong = {name for name in imports(path) if name.split(".")[0] in BANNED_IN_TOOLS}
        assert wrong == set(), f"{path.name} imports {wrong}"
        assert re.search(r"\bopen\(|__import__|\bexec\(|\beval\(", path.read_text()) is None, path.name


def test_the_tools_and_their_effects_are_exactly_these() -> None:
    assert {tool.name: sorted(tool.effects) for tool in BUILT_IN} == {
        "read": ["read"],
        "write": ["write"],
        "edit": ["write"],
        "multiedit": ["write"],
        "patch": ["write"],
        "list": ["read"],
        "glob": ["read"],
        "grep": ["read"],
        "bash": ["run"],
        "jobs": ["run"],
        "todowrite": ["notes"],
        "skill": ["skills"],
        "toolsearch": ["discover"],
        "toolcall": [],
        "webfetch": ["network"],
        "websearch": ["network"],
        "memory": ["memory"],
        "task": ["delegate"],
        "ask": ["ask"],
    }


def test_prompt_and_schemas_fit_in_two_thousand_tokens() -> None:
    tools = [
        {
            "type": "function",
            "function": {"name": t.name, "description": t.spec.description, "parameters": t.spec.schema},
        }
        for t in BUILT_IN
        if not t.rare
    ]
    size = len(json.encode(tools)) + len(built_in_prompt().text.encode())
    assert size / 4 <= 2000


def test_late_imports_say_what_they_cost() -> None:
    """An import inside a function carries its cost, `# late: 38 ms`, as `python -m bench.late_imports` measures it."""
    bare = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SOURCE
        for node in _inner_imports(path)
        if not re.search(r"# late: [\d.]+ ms", path.read_text().splitlines()[(node.end_lineno or 0) - 1])
    ]
    assert bare == []


def _inner_imports(path: Path) -> list[ast.Import | ast.ImportFrom]:
    tree = ast.parse(path.read_text())
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inner = {node for each in functions for node in ast.walk(each) if isinstance(node, ast.Import | ast.ImportFrom)}
    return sorted(inner, key=lambda node: node.lineno)


@pytest.fixture(scope="module")
def imported() -> dict[str, set[str]]:
    """Module → the modules it imports. Imports inside functions count; those for type checking only do not."""
    graph = grimp.build_graph("overt", exclude_type_checking_imports=True, cache_dir=None)
    return {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}


def test_the_page_on_architecture_is_true(imported: dict[str, set[str]]) -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    layers, prompt, _ = re.findall(r"^```\n(.*?)^```", page, re.M | re.S)
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert layers.split("\n")[:-1] == contracts[0]["layers"]
    arrows = re.findall(r"^(\S+) +→ (\S+)", prompt, re.M)
    assert len(arrows) == len(prompt.splitlines())
    modules = [tuple(f"overt.{name.replace('/', '.')}" for name in pair) for pair in arrows]
    assert [(a, b) for a, b in modules if b not in imported[a]] == []


def test_there_are_no_import_cycles(imported: dict[str, set[str]]) -> None:
    imported = dict(imported)
    while leaves := {module for module, others in imported.items() if not others & imported.keys()}:
        for leaf in leaves:
            del imported[leaf]
    # What is left is in a cycle or leads to one.
    assert sorted(imported) == []


def test_no_folder_holds_more_than_twenty_modules() -> None:
    """Folders with one file per tool, command or subcommand aside: their files are all alike."""
    alike = {"app/commands", "cli/subcommands", "tools"}
    counts = Counter(str(path.parent.relative_to(ROOT / "src" / "overt")) for path in SOURCE)
    assert {folder: count for folder, count in counts.items() if count > 20}.keys() <= alike


def test_no_module_is_imported_by_a_computed_name() -> None:
    """Only the folders of built-in values are read that way, in one place; plugins will enter by the same function."""
    users = [path.name for path in SOURCE if re.search(r"import_module|__import__", path.read_text())]
    assert users == ["module_discovery.py"]


def test_any_stands_only_where_json_enters() -> None:
    """Elsewhere JSON that was not checked yet is `object`, so mypy demands the check. msgspec needs a few fields."""
    counts = {str(path.relative_to(ROOT / "src" / "overt")): _count_any(path) for path in SOURCE}
    used = {name: count for name, count in counts.items() if count}
    assert set(ANY_WHERE_JSON_ENTERS) <= set(used), "take a module off the list when it needs no `Any` any more"
    elsewhere = {name: count for name, count in used.items() if name not in ANY_WHERE_JSON_ENTERS}
    assert sum(elsewhere.values()) <= MAX_ANY_ELSEWHERE, elsewhere


def _count_any(path: Path) -> int:
    """Count the name in annotations and casts, those in quotes included."""
    trees: list[ast.AST] = [ast.parse(path.read_text())]
    for node in ast.walk(trees[0]):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and re.search(r"\bAny\b", node.value):
            try:
                trees.append(ast.parse(node.value, mode="eval"))
            except SyntaxError:
                pass  # prose, not an annotation
    nodes = (node for tree in trees for node in ast.walk(tree))
    names = (getattr(node, "id", getattr(node, "attr", "")) for node in nodes)
    return sum(name == "Any" for name in names)


def _is_blanket(handler: ast.ExceptHandler) -> bool:
    """True if it catches everything and does not end by raising it again."""
    caught = ast.walk(handler.type) if handler.type else ()
    everything = handler.type is None or any(
        isinstance(node, ast.Name) and node.id in ("Exception", "BaseException") for node in caught
    )
    last = handler.body[-1]
    return everything and not (isinstance(last, ast.Raise) and last.exc is None)


READS_OWN_TEXTS = {
    # A text of the catalogue with several columns.
    "lib/translations.py": ["say(key).split('|')"],
    # Markup of models.
    "repair/markup_filter.py": ["text.startswith(CERTAIN)", "text.startswith(OPENINGS)"],
    # The format of the data file `programs.txt`.
    "safety/programs/program_table.py": [
        "fields[0].startswith('like: ')",
        "head.startswith(('always ', 'words '))",
        "name.removeprefix('bad ')",
        "name.startswith('bad ')",
    ],
    # The file of the self-test is expected to be as it was written.
    "sandbox/selftest/fixture.py": ["_text(path) == CONTENT"],
}


def test_no_code_reads_a_text_of_our_own_back() -> None:
    """What a program has to know is a field. Only entries of earlier versions are read by their texts."""
    folder = ROOT / "src" / "overt"
    names = {path: ".".join(("overt", *path.relative_to(folder).with_suffix("").parts)) for path in SOURCE}
    modules = {names[path]: read_constants(ast.parse(path.read_text())) for path in SOURCE}
    reads = {str(path.relative_to(folder)): find_text_reads(path.read_text(), modules) for path in SOURCE}
    assert reads.pop("sessions/upgrade.py") != []
    assert {name: found for name, found in reads.items() if found} == READS_OWN_TEXTS


def test_there_are_six_blanket_catches_in_all() -> None:
    """Around main, a tool, a turn (decision 0011), a subscriber (decision 0014), a command of the MCP host, and the
    commit of a copy, which whatever an agent left there must not keep Overt from starting."""
    where = [
        str(path.relative_to(ROOT / "src" / "overt"))
        for path in SOURCE
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ExceptHandler) and _is_blanket(node)
    ]
    assert where == [
        "agent/run_tool.py",
        "app/diagnostics/turn_failure.py",
        "app/session.py",
        "app/subagents/workspace_copy.py",
        "cli/main.py",
        "mcp/host/commands.py",
    ]


def test_only_config_reads_the_environment() -> None:
    readers = {
        str(path.relative_to(ROOT / "src" / "overt"))
        for path in SOURCE
        if re.search(r"os\.environ|os\.getenv", path.read_text())
    }
    assert readers <= {"config/paths.py", "sandbox/supervisor.py", "__main__.py"}


READS_CONFIGURATION = {
    "app/start.py": "a single run; /new and /resume, which follow a file that was changed meanwhile",
    "app/setting.py": "read_setting_or_defaults, which falls back if the configuration is broken",
    "cli/output.py": "each subcommand, at its entry",
    "frontends/plain/run.py": "the plain chat, at its entry",
    "frontends/tui/chat/startup.py": "the terminal chat, when the folder is trusted or not",
    "app/setup/run.py": "setup, at its entry: without the flags of a chat, which it does not write",
    "app/setup/dialog.py": "setup has just written the file",
    "app/undo/closed_session.py": "undo of a session that worked in another folder",
    "app/undo/usage.py": "the snapshots of a deleted session, which may have worked in another folder",
    "app/records/replay_tools.py": "the tools of a session run again, in a copy of its folder",
}
"""Who may call `read_setting`, once each, and why. Everyone else is handed a `Setting`, flags included."""


def test_configuration_is_read_once() -> None:
    assert _users("read_setting") == dict.fromkeys(READS_CONFIGURATION, 1)
    assert _users("read_setting_or_defaults") == {"cli/output.py": 1}


def _users(function: str) -> dict[str, int]:
    """Return the files that call a function or pass it on, with how often."""
    found = {
        str(path.relative_to(ROOT / "src" / "overt")): sum(
            isinstance(node, ast.Name) and node.id == function for node in ast.walk(ast.parse(path.read_text()))
        )
        for path in SOURCE
    }
    return {path: count for path, count in found.items() if count}


def test_core_imports_nothing_of_ours_but_core() -> None:
    for path in (ROOT / "src" / "overt" / "core").glob("*.py"):
        ours = {name for name in imports(path) if name.startswith("overt") and not name.startswith("overt.core")}
        assert ours == set(), path.name


def test_every_effect_a_tool_asks_for_has_a_name() -> None:
    assert set(EFFECT_OF.values()) >= {effect for tool in BUILT_IN for effect in tool.effects}


def test_the_entry_types_are_those_of_the_session_format() -> None:
    expected = (
        "session prefix user request reply repair call verdict snapshot tree git restored outcome todo mode model "
        "title reset compaction pin budget note partial end agent agent_charge agent_end"
    )
    assert list(ENTRY_TYPES) == expected.split()


def test_the_version_is_known_without_importing_anything_of_ours() -> None:
    import subprocess

    script = (
        "import sys; sys.argv = ['overt', '--version']; from overt.__main__ import main; main();"
        "print(sorted(name for name in sys.modules if name.startswith('overt')), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "['overt', 'overt.__main__']"
