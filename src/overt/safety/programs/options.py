"""Split the arguments of a program into options and operands, and match them with the uses in a table."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import cache

from msgspec import Struct

from overt.safety.danger import Reason
from overt.safety.shell.words import Word

DRY = ("--dry-run", "--dryrun")
SAYING = (("-n", *DRY), ("-s", "--simulate", "--just-print", "--recon"))
"""Names of one option: an option that takes back one of them takes back all."""

NOT_DRY = ("none", "false", "no", "0", "off", "never")


class ProgramOptions(Struct, frozen=True, kw_only=True):
    """`named` are options with their values, long ones as `--name`, clustered short ones one by one. `loose` are words
    that may turn out to be options, `undone` what options like `--no-dry-run` take back."""

    operands: tuple[Word, ...]
    named: tuple[tuple[str, Word | None], ...]
    loose: tuple[Word, ...] = ()
    undone: tuple[str, ...] = ()

    def has(self, *names: str, exact: bool = True) -> bool:
        return next(self.values(*names, exact=exact), None) is not None

    def holds(self, *names: str) -> bool:
        """True if one of these options is present and no other takes it back."""
        return any(name in names and not self._undone(name) for name, _ in self.named)

    def _undone(self, name: str) -> bool:
        known = next((group for group in SAYING if name in group), (name,))
        return any(each.lstrip("-").startswith(stem) for each in known for stem in self.undone)

    def values(self, *names: str, exact: bool = True) -> Iterator[Word]:
        """Yield the values of these options, an empty word for one without. Not `exact`: long names may be cut."""
        for option, value in self.named:
            short = not exact and len(option) > 2 and option.startswith("--")
            if option in names or (short and any(name.startswith(option) for name in names)):
                yield value if value is not None else Word(text="")


def read_options(args: Sequence[Word], takes: frozenset[str] = frozenset(), *, single: bool = False) -> ProgramOptions:
    """Read arguments. `takes` have their value in the next word; with `single`, long options begin with one dash."""
    operands: list[Word] = []
    named: list[tuple[str, Word | None]] = []
    loose: list[Word] = []
    undone: list[str] = []
    rest = iter(args)
    for word in rest:
        text = word.text
        if word.crafted and (word.splits or not in_value(word, takes)):
            loose.append(word)
        if text == "--":
            operands += rest
        elif word.leads or not text.startswith("-") or text == "-":
            operands.append(word)
            if text in NOT_DRY and named and named[-1][0] in DRY:
                undone.append("dry")
        elif text.startswith("--") or single:
            name, equals, value = text.lstrip("-").partition("=")
            if name.startswith("no-") and len(name) > 3:
                undone.append(name[3:])
            name = f"--{name}" if text.startswith("--") or len(name) > 1 else f"-{name}"
            inline = Word(text=value, plain=value, hole=word.hole, computed=word.computed, made=word.made)
            if value in NOT_DRY:
                undone.append(name.lstrip("-"))
            named.append((name, next(rest, None) if name in takes and not equals else inline if equals else None))
            _note_value(named, loose)
        else:
            if "=" in text and text.partition("=")[2] in NOT_DRY:
                undone.append(text.partition("=")[0][-1])
            named += _cluster(word, takes, rest)
            _note_value(named, loose)
    return ProgramOptions(operands=tuple(operands), named=tuple(named), loose=tuple(loose), undone=tuple(undone))


def _note_value(named: list[tuple[str, Word | None]], loose: list[Word]) -> None:
    """Note a value that may become several words, and so further options."""
    value = named[-1][1] if named else None
    if value is not None and value.crafted and value.splits:
        loose.append(value)


def in_value(word: Word, takes: frozenset[str]) -> bool:
    """True if what is computed in a word belongs to the value of an option, as in `-k"$n"r`."""
    known = posixpath.commonprefix([word.text, word.plain])
    return re.match(r"-\w", known) is not None and any(f"-{letter}" in takes for letter in known[1:])


def _cluster(word: Word, takes: frozenset[str], rest: Iterator[Word]) -> Iterator[tuple[str, Word | None]]:
    letters = word.text[1:]
    for place, letter in enumerate(letters):
        if f"-{letter}" in takes:
            tail = letters[place + 1 :]
            glued = Word(text=tail, plain=tail, hole=word.hole, computed=word.computed, made=word.made)
            yield f"-{letter}", glued if tail else next(rest, None)
            return
        yield f"-{letter}", None


class UsePattern(Struct, frozen=True, kw_only=True):
    """A use of a program. `words` are alternatives for each operand; `$` is no more operands and no other option."""

    words: tuple[frozenset[str], ...]
    needs: tuple[tuple[str, ...], ...]
    lacks: tuple[str, ...]

    def fits(self, options: ProgramOptions, *, exact: bool) -> bool:
        for place, alternatives in enumerate(self.words):
            operand = options.operands[place] if place < len(options.operands) else None
            if "$" in alternatives and operand is None:
                others = {name for name, _ in options.named}.difference(*self.needs)
                return not others and self._optioned(options, exact=exact)
            if operand is not None and operand.crafted and not exact:
                continue
            if operand is None or operand.leads or not ("*" in alternatives or operand.text in alternatives):
                return False
        return self._optioned(options, exact=exact)

    def words_of(self, options: ProgramOptions) -> tuple[str, ...]:
        """Return the operands and options that match: what a rule must name to allow the call."""
        words = [
            options.operands[place].text
            for place, alternatives in enumerate(self.words)
            if place < len(options.operands) and not alternatives & {"*", "$"}
        ]
        names = [
            next((name for name, _ in options.named if any(each.startswith(name) for each in group)), group[0])
            for group in self.needs
        ]
        return (*words, *names)

    def _optioned(self, options: ProgramOptions, *, exact: bool) -> bool:
        needed = all(options.holds(*names) if exact else options.has(*names, exact=False) for names in self.needs)
        return needed and not (self.lacks and options.holds(*self.lacks))


@cache
def use_patterns(text: str) -> tuple[UsePattern, ...]:
    """Read `rm; volume rm|prune; push --force|-f !--dry-run`: `;` separates uses, `|` alternatives, `*` is any word."""
    glued = re.sub(r"\s*\|\s*", "|", text)
    return tuple(_use(part.split()) for part in glued.split(";") if part.strip())


def _use(tokens: list[str]) -> UsePattern:
    return UsePattern(
        words=tuple(frozenset(token.split("|")) for token in tokens if token[0] not in "-!"),
        needs=tuple(tuple(token.split("|")) for token in tokens if token[0] == "-"),
        lacks=tuple(name for token in tokens if token[0] == "!" for name in token[1:].split("|")),
    )


class Shape(Struct, frozen=True, kw_only=True):
    """How to classify a program by its arguments. `programs.txt` explains the fields."""

    bad: dict[str, str] = {}
    dry: str = ""
    ordinary: str = ""
    fine: str = ""
    rest: str = "ordinary"
    takes: str = ""
    writes: str = ""
    net: str = ""
    single: bool = False
    verbs: int = 0
    reason: Reason = Reason("changes the system or services")
