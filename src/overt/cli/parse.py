"""Flags from a table. argparse would cost a tenth of the time to the first request, mostly for modules of its help."""

import sys
from collections.abc import Callable

from msgspec import Struct

from overt.app.registries import Registries
from overt.core.errors import UsageError
from overt.lib.logs.log import LOG

LARGEST_NUMBER = 999_999_999


class Flag(Struct, frozen=True):
    """One flag, written as the help shows it: `-C, --cd DIR`. Without a word for its value it is a switch.

    A flag that may stand several times is a list; `more` says which words behind its value belong to the list too.
    """

    spelling: str
    help: str
    choices: tuple[str, ...] = ()
    is_list: bool = False
    more: Callable[[str], bool] | None = None

    @property
    def names(self) -> list[str]:
        return [word.rstrip(",") for word in self.spelling.split() if word.startswith("-")]

    @property
    def value(self) -> str:
        return " ".join(word for word in self.spelling.split() if not word.startswith("-"))

    @property
    def key(self) -> str:
        """The first long name, without its dashes: what `Arguments` are asked for."""
        return next(name for name in self.names if name.startswith("--"))[2:]


HELP = Flag("-h, --help", "show this help")
DEBUG = Flag("--debug", "write a detailed log, as OVERT_LOG=debug does")
FOLDER = Flag("-C, --cd DIR", "of the project of this folder")
JSON = Flag("--json", "machine-readable")


class CommandLine(Struct, frozen=True, kw_only=True):
    """`words` describes the words that are no flags; `most` is how many there may be."""

    name: str
    about: str | Callable[[], str]
    flags: tuple[Flag, ...] = ()
    words: str = ""
    most: int | None = None


class ParsedCommandLine(Struct, frozen=True, kw_only=True):
    """Flags by their key, each with its values: none for a switch, one, or those of a list; and the other words."""

    values: dict[str, list[str]]
    words: tuple[str, ...]
    registries: Registries = Registries()

    def text(self, key: str) -> str:
        return (self.values.get(key) or [""])[0]

    def switch(self, key: str) -> bool:
        return key in self.values

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(self.values.get(key, ()))

    def number(self, key: str, most: int = LARGEST_NUMBER) -> int | None:
        """Return a whole number above 0, or None if the flag was not given."""
        if key not in self.values:
            return None
        from overt.lib.text import whole_number  # late: 0.7 ms

        number = whole_number(self.text(key)) or 0
        if not 0 < number <= most:
            allowed = "above 0" if most == LARGEST_NUMBER else f"from 1 to {most}"
            raise UsageError(f"--{key} must be a whole number {allowed}, got {self.text(key)!r}")
        return number

    def amount(self, key: str) -> float | None:
        """Return a number of dollars above 0, or None if the flag was not given."""
        if key not in self.values:
            return None
        from overt.lib.text import dollar_amount  # late: 0.7 ms

        amount = dollar_amount(self.text(key))
        if amount is None:
            raise UsageError(f"--{key} must be a number of US dollars above 0, got {self.text(key)!r}")
        return amount

    def word(self) -> str:
        """Return the first word that is no flag, or an empty string."""
        return self.words[0] if self.words else ""


class HelpShown(Exception):
    """The help was asked for and printed: there is nothing else to do."""


def parse(command: CommandLine, argv: list[str], registries: Registries) -> ParsedCommandLine:
    """Read the words of a command line. Print the help and raise HelpShown if it is asked for."""
    flags = {name: flag for flag in (*command.flags, DEBUG, HELP) for name in flag.names}
    values: dict[str, list[str]] = {}
    words: list[str] = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        if word == "--":
            words += rest
            break
        if not word.startswith("-") or word == "-":
            words.append(word)
            continue
        name, attached = _split(word, flags)
        flag = flags.get(name)
        if flag is None:
            raise _unknown(command, word, flags)
        if flag is HELP:
            sys.stdout.write(_help(command))
            raise HelpShown
        if flag is DEBUG:
            LOG.force_level("debug")
        _take(flag, name, attached, rest=rest, values=values)
    if command.most is not None and len(words) > command.most:
        raise UsageError(f"{command.name}: unexpected {words[command.most]!r}. Try: {command.name} --help")
    return ParsedCommandLine(values=values, words=tuple(words), registries=registries)


def _split(word: str, flags: dict[str, Flag]) -> tuple[str, str | None]:
    """Separate the value that `--flag=value` and `-Cvalue` carry with them."""
    if word.startswith("--"):
        name, equals, value = word.partition("=")
        return name, value if equals else None
    short = flags.get(word[:2])
    return (word[:2], word[2:]) if len(word) > 2 and short and short.value else (word, None)


def _take(flag: Flag, name: str, attached: str | None, *, rest: list[str], values: dict[str, list[str]]) -> None:
    if not flag.value:
        if attached is not None:
            raise UsageError(f"{name} takes no value, got {attached!r}")
        values[flag.key] = []
        return
    if attached is None and not rest:
        raise UsageError(f"{name} needs a value: {name} {flag.value}")
    value = rest.pop(0) if attached is None else attached
    if flag.choices and value not in flag.choices:
        raise UsageError(f"{name} must be one of {', '.join(flag.choices)}, got {value!r}")
    items = values.setdefault(flag.key, [])
    items[:] = [*items, value] if flag.is_list else [value]
    while flag.more and rest and flag.more(rest[0]):
        items.append(rest.pop(0))


def _unknown(command: CommandLine, word: str, flags: dict[str, Flag]) -> UsageError:
    import difflib  # late: 0.8 ms

    near = difflib.get_close_matches(word.partition("=")[0], flags, n=1)
    hint = f"; did you mean {near[0]}?" if near else f". Try: {command.name} --help"
    return UsageError(f"unknown flag {word}{hint}")


def _help(command: CommandLine) -> str:
    about = command.about if isinstance(command.about, str) else command.about()
    lines = [f"usage: {command.name} [flags] {command.words}".rstrip(), "", about, ""]
    for flag in (*command.flags, DEBUG, HELP):
        left, right = flag.spelling, flag.help
        lines += [f"  {left:32} {right}"] if len(left) <= 32 else [f"  {left}", f"  {'':32} {right}"]
    return "\n".join(lines) + "\n"
