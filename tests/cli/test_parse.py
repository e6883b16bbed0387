"""Flags from a table: every spelling a person may use, and what is said of those that are wrong."""

import pytest

from overt.app.registries import Registries
from overt.cli.flags import PROMPT, options_of
from overt.cli.parse import CommandLine, Flag, HelpShown, ParsedCommandLine, parse
from overt.core.errors import UsageError

COMMAND = CommandLine(
    name="try",
    about="It tries.",
    words="[word]",
    most=2,
    flags=(
        Flag("-q, --quiet", "say less"),
        Flag("-o, --out FILE", "where to"),
        Flag("--kind KIND", "a or b", choices=("a", "b")),
        Flag("--many X", "some", is_list=True, more=str.isdigit),
    ),
)


@pytest.mark.parametrize(
    ("argv", "values", "words"),
    [
        ("", {}, ()),
        ("one two", {}, ("one", "two")),
        ("-q", {"quiet": []}, ()),
        ("one --quiet two", {"quiet": []}, ("one", "two")),
        ("-o x", {"out": ["x"]}, ()),
        ("-ox", {"out": ["x"]}, ()),
        ("--out=x=y", {"out": ["x=y"]}, ()),
        ("--out=", {"out": [""]}, ()),
        ("--out --quiet", {"out": ["--quiet"]}, ()),
        ("-o x -o y", {"out": ["y"]}, ()),
        ("--kind a", {"kind": ["a"]}, ()),
        ("--many 1 2 x", {"many": ["1", "2"]}, ("x",)),
        ("--many x 3 --many 4", {"many": ["x", "3", "4"]}, ()),
        ("- one", {}, ("-", "one")),
        ("-- -q --out", {}, ("-q", "--out")),
    ],
)
def test_a_line_is_read_as(argv: str, values: dict[str, list[str]], words: tuple[str, ...]) -> None:
    assert parse(COMMAND, argv.split(), Registries()) == ParsedCommandLine(values=values, words=words)


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        ("--quite", "unknown flag --quite; did you mean --quiet?"),
        ("--zzz", "unknown flag --zzz. Try: try --help"),
        ("-x", "unknown flag -x"),
        ("-qx", "unknown flag -qx"),
        ("--quiet=yes", "--quiet takes no value, got 'yes'"),
        ("--out", "--out needs a value: --out FILE"),
        ("--kind c", "--kind must be one of a, b, got 'c'"),
        ("one two three", "try: unexpected 'three'. Try: try --help"),
    ],
)
def test_a_wrong_line_is_explained(argv: str, told: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(COMMAND, argv.split(), Registries())
    assert caught.value.message.startswith(told)


def test_help_names_every_flag(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(HelpShown):
        parse(COMMAND, ["one", "--help"], Registries())
    shown = capsys.readouterr().out
    assert shown.startswith("usage: try [flags] [word]\n\nIt tries.\n")
    assert all(name in shown for flag in COMMAND.flags for name in flag.names)


def test_every_flag_of_a_prompt_reaches_the_options() -> None:
    line = (
        "do it -m x/y -c -r ab -C d --add-dir e --add-dir f --output-format json --permission-mode plan "
        "-s workspace-write --network --allowedTools Edit Bash(git:*) --disallowedTools Read "
        "--append-system-prompt more --max-turns 9 --max-budget-usd 2.5 --no-session-persistence --verbose "
        "--system-prompt less --fork-session -n tidy --session-id a-1 --mcp-config a.json {} --strict-mcp-config "
        "--agent plan --agents {}"
    )
    args = parse(PROMPT, line.split(), Registries())
    assert args.words == ("do", "it")
    options = options_of(args, interactive=False)
    assert {name: getattr(options, name) for name in options.__struct_fields__} == {
        "directory": "d",
        "add_dirs": ("e", "f"),
        "model": "x/y",
        "mode": "plan",
        "sandbox": "workspace-write",
        "network": True,
        "allowed": ("Edit", "Bash(git:*)"),
        "disallowed": ("Read",),
        "system_prompt": "less",
        "system_prompt_origin": "--system-prompt",
        "append_system_prompt": "more",
        "max_steps": 9,
        "agent": "plan",
        "agents": "{}",
        "budget_usd": 2.5,
        "mcp_configs": ("a.json", "{}"),
        "strict_mcp_config": True,
        "resume": "ab",
        "continue_last": True,
        "fork": True,
        "name": "tidy",
        "session_id": "a-1",
        "persist": False,
        "interactive": False,
        "previous": "",
        "verbose": True,
        "output": "json",
        "registries": Registries(),
    }


def test_words_after_a_list_of_rules_are_the_prompt() -> None:
    args = parse(PROMPT, ["--allowedTools", "Edit", "Bash(git *)", "mcp__files__read", "fix the test"], Registries())
    assert args.texts("allowedTools") == ("Edit", "Bash(git *)", "mcp__files__read")
    assert args.words == ("fix the test",)


@pytest.mark.parametrize("argv", [["-s", "read-only"], ["--sandbox=read-only"], ["-sread-only"]])
def test_the_walls_are_chosen_by_the_names_that_users_of_codex_know(argv: list[str]) -> None:
    assert options_of(parse(PROMPT, argv, Registries()), interactive=False).sandbox == "read-only"


def test_walls_of_another_name_are_refused() -> None:
    with pytest.raises(UsageError, match="must be one of read-only, workspace-write, danger-full-access, got 'none'"):
        parse(PROMPT, ["--sandbox", "none"], Registries())
