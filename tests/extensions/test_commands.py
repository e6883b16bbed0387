"""Markdown commands: which files count under which name, and how arguments are filled in."""

import subprocess
from pathlib import Path

import pytest

from overt.extensions.commands import CommandArguments, UnsafeArgument, fill_in, read_commands, split_arguments
from overt.extensions.discovery import ExtensionFolder


def folder(path: Path, where: str, namespace: str = "") -> ExtensionFolder:
    path.mkdir(parents=True, exist_ok=True)
    return ExtensionFolder(path=str(path), scope="plugin" if namespace else "project", where=where, namespace=namespace)


def filled(body: str, arguments: str) -> str:
    """Return the whole text, commands as `!(…)`."""
    return "".join(
        f"!({piece.text})" if piece.is_command else piece.text for piece in fill_in(body, split_arguments(arguments))
    )


def command_in(body: str, arguments: str) -> str:
    (piece,) = (piece for piece in fill_in(body, split_arguments(arguments)) if piece.is_command)
    return piece.text


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────


def test_subfolders_and_plugins_are_namespaces(tmp_path: Path) -> None:
    own, plugin = folder(tmp_path / "a", ".overt/commands"), folder(tmp_path / "b", "plugin audit", "audit")
    (tmp_path / "a/git/deep").mkdir(parents=True)
    for name in (
        "a/fix.md",
        "a/git/tidy.md",
        "a/git/deep/x.md",
        "b/check.md",
        "a/.hidden.md",
        "a/notes.txt",
        "a/two words.md",
    ):
        (tmp_path / name).write_text("Do it.\n")
    found = read_commands([own, plugin])
    assert [(file.name, file.where) for file in found.commands] == [
        ("audit:check", "plugin audit/check.md"),
        ("fix", ".overt/commands/fix.md"),
        ("git:deep:x", ".overt/commands/git/deep/x.md"),
        ("git:tidy", ".overt/commands/git/tidy.md"),
    ]


def test_the_first_folder_wins_and_the_other_file_is_reported(tmp_path: Path) -> None:
    folders = [folder(tmp_path / "a", ".overt/commands"), folder(tmp_path / "b", "~/.claude/commands")]
    (tmp_path / "a/fix.md").write_text("of the project")
    (tmp_path / "b/fix.md").write_text("of the user")
    found = read_commands(folders)
    assert [file.body for file in found.commands] == ["of the project"]
    assert [file.where for file in found.shadowed] == ["~/.claude/commands/fix.md"]


def test_front_matter_says_what_a_command_is(tmp_path: Path) -> None:
    place = folder(tmp_path, ".claude/commands")
    (tmp_path / "fix.md").write_text(
        "---\ndescription: Fix an issue\nargument-hint: [issue] [priority]\nallowed-tools: Bash(gh:*), Read\n"
        "model: haiku\nagent: fixer\ndisable-model-invocation: true\nsubtask: true\n---\n\nFix #$1.\n"
    )
    (tmp_path / "bare.md").write_text("# Tidy up\n\nAll of it.\n")
    (tmp_path / "empty.md").write_text("---\ndescription: nothing\n---\n")
    bare, empty, fix = read_commands([place]).commands
    assert (bare.description, bare.body) == ("Tidy up", "# Tidy up\n\nAll of it.")
    assert empty.problem == "it has no text"
    assert (fix.description, fix.argument_hint, fix.allowed_tools) == (
        "Fix an issue",
        "[issue] [priority]",
        "Bash(gh:*), Read",
    )
    assert (fix.model, fix.body) == ("haiku", "Fix #$1.")
    assert (fix.agent, fix.only_user) == ("fixer", True)


# ── arguments ────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("body", "arguments", "expected"),
    [
        ("Fix $ARGUMENTS now", "the bug", "Fix the bug now"),
        ("Fix #$1 ($2)", "12 high", "Fix #12 (high)"),
        ("Fix #$1 ($2)", "12", "Fix #12 ()"),
        ("Fix #$1", "'a b' c d", "Fix #a b\n\nARGUMENTS: c d"),
        ("$0 and $1", "a b", "a and b"),
        ("$ARGUMENTS[0], then $ARGUMENTS[1]", "a b", "a, then b"),
        ("Costs $$5 and $$1, not $1", "x", "Costs $5 and $1, not x"),
        ("Costs $$0 for $1", "x", "Costs $0 for x"),
        ("Costs $100", "", "Costs $100"),
        ("Look around.", "at 'src'", "Look around.\n\nARGUMENTS: at 'src'"),
        ("Look around.", "", "Look around."),
        ("Say $1", "it's", "Say it's"),
        ("Say $1", "$2 $ARGUMENTS", "Say $2\n\nARGUMENTS: $ARGUMENTS"),
    ],
)
def test_arguments_are_filled_in(body: str, arguments: str, expected: str) -> None:
    assert filled(body, arguments) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("!`git status`", "!(git status)"),
        ("State: !`git status`\n!`date`", "State: !(git status)\n!(date)"),
        ("wow!`git status`", "wow!`git status`"),
        ("(!`git status`)", "(!`git status`)"),
        ("!` `", "!` `"),
    ],
)
def test_a_command_begins_a_line_or_follows_a_blank(body: str, expected: str) -> None:
    assert filled(body, "") == expected


def test_an_argument_cannot_bring_a_command() -> None:
    assert filled("Look: $ARGUMENTS", "!`touch pwned`") == "Look: !`touch pwned`"
    assert not any(piece.is_command for piece in fill_in("$1", split_arguments("'!`touch pwned`'")))


HOSTILE = (
    "; touch pwned",
    "$(touch pwned)",
    "`touch pwned`",
    "'; touch pwned; '",
    '"; touch pwned; "',
    "a\ntouch pwned",
    "\\",
    "' \" $x",
    "-x",
)


@pytest.mark.parametrize("word", HOSTILE)
@pytest.mark.parametrize(
    "template",
    [
        "printf %s $1",
        'printf %s "$1"',
        "printf %s '$1'",
        'printf %s "$(printf %s $1)"',
        'printf %s "$(printf %s "$1")"',
    ],
)
def test_an_argument_in_a_command_is_one_word_whatever_it_holds(tmp_path: Path, template: str, word: str) -> None:
    pieces = fill_in(f"!`{template}`", CommandArguments(text=word, words=(word,)))
    (piece,) = (piece for piece in pieces if piece.is_command)
    done = subprocess.run(
        ["bash", "-c", piece.text], cwd=tmp_path, capture_output=True, text=True, timeout=20, check=False
    )
    assert list(tmp_path.iterdir()) == []
    assert done.stdout == word


def test_all_arguments_are_words_of_their_own_in_a_command() -> None:
    assert command_in("!`gh pr view $ARGUMENTS`", "12 'a b'") == "gh pr view 12 'a b'"
    assert command_in('!`echo "$ARGUMENTS"`', "12 'a b'") == 'echo "12 a b"'


@pytest.mark.parametrize("template", ["make # $1", "cat <<END $1", "echo $((1 + $1))", "echo $'$1'", "[[ $1 -eq 1 ]]"])
def test_places_that_no_quotes_make_safe_are_refused(template: str) -> None:
    with pytest.raises(UnsafeArgument):
        fill_in(f"!`{template}`", split_arguments("a"))
