"""Flags from a table. argparse would cost a tenth of the time to the first request, mostly for modules of its help."""

import sys
from collections.abc import Callable

from msgspec import Struct

from overt.core.errors import UsageError
from overt.lib.logs.log import LOG


class Flag(Struct, frozen=True, kw_only=True):
    """A switch, unless `value` names what it takes. `more` says which further words a list flag takes."""

    names: tuple[str, ...]
    key: str
    help: str
    value: str = ""
    choices: tuple[str, ...] = ()
    many: bool = False
    more: Callable[[str], bool] | None = None


class CommandLine(Struct, frozen=True, kw_only=True):
    """`words` describes the words that are no flags; `most` is how many there may be."""

    name: str
    about: str | Callable[[], str]
    flags: tuple[Flag, ...] = ()
    words: str = ""
    most: int | None = None


class Given(Struct, frozen=True, kw_only=True):
    """Flags by their key, each with its values: none for a switch, one, or those of a list; and the other words."""

    values: dict[str, list[str]]
    words: tuple[str, ...]

    def text(self, key: str) -> str:
        return (self.values.get(key) or [""])[0]

    def switch(self, key: str) -> bool:
        return key in self.values

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(self.values.get(key, ()))


HELP = Flag(names=("-h", "--help"), key="help", help="show this help")
DEBUG = Flag(names=("--debug",), key="debug", help="write a detailed log, as OVERT_LOG=debug does")


def parse(command: CommandLine, argv: list[str]) -> Given | None:
    """What was given; None when help was asked for and has been shown."""
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
            return None
        if flag is DEBUG:
            LOG.force_level("debug")
        _take(flag, name, attached, rest=rest, values=values)
    if command.most is not None and len(words) > command.most:
        raise UsageError(f"{command.name}: unexpected {words[command.most]!r}. Try: {command.name} --help")
    return Given(values=values, words=tuple(words))


def _split(word: str, flags: dict[str, Flag]) -> tuple[str, str | None]:
    """`--flag=value` and `-Cvalue` carry their value with them."""
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
    if not flag.many:
        values[flag.key] = [value]
        return
    taken = values.setdefault(flag.key, [])
    taken.append(value)
    while flag.more and rest and flag.more(rest[0]):
        taken.append(rest.pop(0))


def _unknown(command: CommandLine, word: str, flags: dict[str, Flag]) -> UsageError:
    import difflib  # late: 0.8 ms

    near = difflib.get_close_matches(word.partition("=")[0], flags, n=1)
    hint = f"; did you mean {near[0]}?" if near else f". Try: {command.name} --help"
    return UsageError(f"unknown flag {word}{hint}")


def _help(command: CommandLine) -> str:
    rows = [(f"{', '.join(flag.names)} {flag.value}".strip(), flag.help) for flag in (*command.flags, DEBUG, HELP)]
    about = command.about if isinstance(command.about, str) else command.about()
    lines = [f"usage: {command.name} [flags] {command.words}".rstrip(), "", about, ""]
    for left, right in rows:
        lines += [f"  {left:32} {right}"] if len(left) <= 32 else [f"  {left}", f"  {'':32} {right}"]
    return "\n".join(lines) + "\n"
