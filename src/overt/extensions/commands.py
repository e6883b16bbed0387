"""Commands that people write as Markdown files: finding and reading them, and filling in their arguments.

.overt/commands/review.md          /review
.overt/commands/git/tidy.md        /git:tidy
commands/check.md of plugin audit  /audit:check
"""

import os
import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from msgspec import Struct

from overt.extensions.discovery import ExtensionFolder, Scope
from overt.lib.front_matter import read_front_matter
from overt.lib.read_file import read_regular

ENDING = ".md"
LARGEST = 256 * 1024
MOST_FILES = 500
DEEPEST = 6
"""Folders below a folder of commands."""
PLACE = re.compile(r"\$\$|\$ARGUMENTS\[(\d{1,2})\]|\$ARGUMENTS\b|\$(\d{1,2})(?!\d)")
SHELL = re.compile(r"(?m)(?:^|(?<=[ \t]))!`[ \t]*([^`\s][^`\n]*)`")
"""A command whose output is inserted. It begins a line or follows a blank."""

Quoting = Literal["plain", "single", "double"]


class CommandFile(Struct, frozen=True, kw_only=True):
    """A command of a Markdown file. `where` is how its file is shown; `problem` says what is wrong with it.

    `allowed_tools` and `disallowed_tools` are as the front matter has them: a text or a list of texts.
    """

    name: str
    path: str
    where: str
    scope: Scope
    body: str
    description: str = ""
    argument_hint: str = ""
    allowed_tools: object = None
    disallowed_tools: object = None
    model: str = ""
    agent: str = ""
    only_user: bool = False
    """The model may not start it: `disable-model-invocation`."""
    problem: str = ""
    unused: str = ""
    """Why the command is not offered, although its file is there."""


class FoundCommands(Struct, frozen=True, kw_only=True):
    """All commands of some folders. Those in `shadowed` have the name of another one that counts before them."""

    commands: tuple[CommandFile, ...] = ()
    shadowed: tuple[CommandFile, ...] = ()


def read_commands(folders: Sequence[ExtensionFolder]) -> FoundCommands:
    """Read the commands of all folders. Of two with the same name, the one of the earlier folder counts."""
    by_name: dict[str, CommandFile] = {}
    shadowed: list[CommandFile] = []
    for folder in folders:
        for command in _commands_in(folder):
            if by_name.setdefault(command.name, command) is not command:
                shadowed.append(command)
    return FoundCommands(commands=tuple(by_name[name] for name in sorted(by_name)), shadowed=tuple(shadowed))


def _commands_in(folder: ExtensionFolder) -> Iterator[CommandFile]:
    paths = sorted(markdown_files(folder.path))
    for path in paths[:MOST_FILES]:
        relative = os.path.relpath(path, folder.path)
        parts = relative.removesuffix(ENDING).split(os.sep)
        name = ":".join(filter(None, (folder.namespace, *parts)))
        if name.isprintable() and not re.search(r"[\s/]", name):
            yield _read_command(name, path, folder, relative)


def markdown_files(folder: str, depth: int = DEEPEST) -> Iterator[str]:
    """Return the Markdown files of a folder and of those below it, without READMEs and hidden ones."""
    try:
        with os.scandir(folder) as entries:
            listed = list(entries)
    except OSError:
        return
    for entry in listed:
        if entry.name.startswith("."):
            continue
        if entry.is_dir():
            if depth:
                yield from markdown_files(entry.path, depth - 1)
        elif entry.name.endswith(ENDING) and entry.name != "README.md":
            yield entry.path


def _read_command(name: str, path: str, folder: ExtensionFolder, relative: str) -> CommandFile:
    where = f"{folder.where}/{relative}"
    try:
        content, _ = read_regular(path, LARGEST)
    except OSError as error:
        problem = f"it cannot be read: {error.strerror}"
        return CommandFile(name=name, path=path, where=where, scope=folder.scope, body="", problem=problem)
    matter = read_front_matter(content.decode("utf-8", "replace"))
    fields = matter.fields
    body = matter.body.strip()
    problem = matter.problem
    if len(content) > LARGEST:
        problem = f"it is longer than {LARGEST // 1024} KB"
    elif not body:
        problem = problem or "it has no text"
    return CommandFile(
        name=name,
        path=path,
        where=where,
        scope=folder.scope,
        body=body,
        description=_text(fields.get("description")) or body.lstrip("# ").partition("\n")[0].strip(),
        argument_hint=_hint(fields.get("argument-hint")),
        allowed_tools=fields.get("allowed-tools"),
        disallowed_tools=fields.get("disallowed-tools"),
        model=_text(fields.get("model")),
        agent=_text(fields.get("agent")),
        only_user=fields.get("disable-model-invocation") in (True, "true"),
        problem=problem,
    )


def _text(value: object) -> str:
    return " ".join(str(value).split()) if isinstance(value, str | int | float) else ""


def _hint(value: object) -> str:
    """Return the hint for arguments. YAML reads `[file]` as a list and `[a] [b]` not at all."""
    if isinstance(value, list):
        return " ".join(f"[{_text(each)}]" for each in value)
    return _text(value)


# ── arguments ────────────────────────────────────────────────────────────────────────────────────────────


class CommandArguments(Struct, frozen=True, kw_only=True):
    """The words after the name of a command. `text` is all of them as they were typed."""

    text: str
    words: tuple[str, ...]


def split_arguments(text: str) -> CommandArguments:
    try:
        words = shlex.split(text)
    except ValueError:  # a quote that is not closed is an apostrophe
        words = text.split()
    return CommandArguments(text=text, words=tuple(words))


class Piece(Struct, frozen=True, kw_only=True):
    """A part of a command's text with its arguments filled in. If `is_command`, its output takes its place.

    `without_arguments` is the same command with `1` for each argument, to compare the two.
    """

    text: str
    is_command: bool = False
    without_arguments: str = ""


class UnsafeArgument(Exception):
    """An argument would stand where quoting cannot keep it from being run."""


def fill_in(body: str, arguments: CommandArguments) -> tuple[Piece, ...]:
    """Fill the arguments into a text. Commands in it are recognised first, so an argument cannot bring one of its own.

    CommandArguments that the text has no place for are appended. Raise UnsafeArgument if an argument cannot be quoted.
    """
    first = 0 if any(match[2] == "0" for match in PLACE.finditer(body)) else 1
    pieces: list[Piece] = []
    end = 0
    for match in SHELL.finditer(body):
        pieces.append(Piece(text=_fill_text(body[end : match.start()], arguments, first)))
        command = match[1].strip()
        pieces.append(
            Piece(
                text=_fill_command(command, first, lambda place: _quoted_words(place, arguments)),
                is_command=True,
                without_arguments=_fill_command(command, first, lambda _place: ("1",)),
            )
        )
        end = match.end()
    pieces.append(Piece(text=_fill_text(body[end:], arguments, first)))
    if rest := _without_place(body, arguments, first):
        pieces.append(Piece(text=f"\n\nARGUMENTS: {rest}"))
    return tuple(pieces)


def _place(match: re.Match[str], first: int) -> int | None:
    """Return the index of the argument that a place stands for, or None if it stands for all of them."""
    if match[1] is not None:
        return int(match[1])
    return None if match[2] is None else int(match[2]) - first


def _fill_text(text: str, arguments: CommandArguments, first: int) -> str:
    def fill(match: re.Match[str]) -> str:
        if match[0] == "$$":
            return "$"
        index = _place(match, first)
        return arguments.text if index is None else _word(arguments, index)

    return PLACE.sub(fill, text)


def _word(arguments: CommandArguments, index: int) -> str:
    return arguments.words[index] if 0 <= index < len(arguments.words) else ""


def _without_place(body: str, arguments: CommandArguments, first: int) -> str:
    """Return the arguments that no place in the text stands for."""
    places = {_place(match, first) for match in PLACE.finditer(body) if match[0] != "$$"}
    if None in places:
        return ""
    if not places:
        return arguments.text
    return " ".join(word for index, word in enumerate(arguments.words) if index not in places)


# ── arguments inside of commands ─────────────────────────────────────────────────────────────────────────


def _quoted_words(index: int | None, arguments: CommandArguments) -> tuple[str, ...]:
    return arguments.words if index is None else (_word(arguments, index),)


def _fill_command(command: str, first: int, words: Callable[[int | None], Sequence[str]]) -> str:
    """Fill arguments into a shell command, each quoted for the place where it stands."""
    filled: list[str] = []
    quoting: list[Quoting] = ["plain"]
    at = 0
    while at < len(command):
        match = PLACE.match(command, at)
        if match is None:
            taken = _step(command, at, quoting)
            filled.append(command[at : at + taken])
            at += taken
            continue
        if match[0] == "$$":
            filled.append("$")
        else:
            if _is_beyond_quoting(command):
                raise UnsafeArgument(f"{match[0]} cannot be quoted safely in `{command}`")
            filled.append(_quote(words(_place(match, first)), quoting[-1]))
        at = match.end()
    return "".join(filled)


def _step(command: str, at: int, quoting: list[Quoting]) -> int:
    """Note what the character at a place does to the quoting. Return how many characters belong together."""
    character, now = command[at], quoting[-1]
    if now == "single":
        if character == "'":
            quoting.pop()
        return 1
    if character == "\\":
        return 2
    if character == '"':
        if now == "double":
            quoting.pop()
        else:
            quoting.append("double")
    elif now == "double":
        if command.startswith("$(", at):
            quoting.append("plain")
            return 2
    elif character == "'":
        quoting.append("single")
    elif character == "(":
        quoting.append("plain")
    elif character == ")" and len(quoting) > 1:
        quoting.pop()
    return 1


def _is_beyond_quoting(command: str) -> bool:
    """True for commands in which a quoted word may still be run: comments, here-documents, arithmetic, `$'…'`."""
    return re.search(r"(?:^|\s)#|<<|\(\(|\[\[|\$'", command) is not None


def _quote(words: Sequence[str], quoting: Quoting) -> str:
    if quoting == "plain":
        return " ".join(shlex.quote(word) for word in words)
    text = " ".join(words)
    if quoting == "single":
        return text.replace("'", "'\\''")
    return re.sub(r'([\\"$`])', r"\\\1", text)
