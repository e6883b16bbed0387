"""The arguments of a program taken apart, and the uses of it that a table speaks of."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from functools import cache

from msgspec import Struct

from overt.safety.danger import Reason
from overt.safety.shell.words import Word

DRY = ("--dry-run", "--dryrun")
SAYING = (("-n", *DRY), ("-s", "--simulate", "--just-print", "--recon"))
"""Names of one option: who takes back one of them takes back all."""

NOT_DRY = ("none", "false", "no", "0", "off", "never")


class Options(Struct, frozen=True, kw_only=True):
    """`given` are options with their values, long ones as `--name`, clustered short ones one by one. `loose` are words
    that may turn out to be options, `undone` what options like `--no-dry-run` take back."""

    operands: tuple[Word, ...]
    given: tuple[tuple[str, Word | None], ...]
    loose: tuple[Word, ...] = ()
    undone: tuple[str, ...] = ()

    def has(self, *names: str, exact: bool = True) -> bool:
        return next(self.values(*names, exact=exact), None) is not None

    def holds(self, *names: str) -> bool:
        """One of these is given, and no other takes it back."""
        return any(name in names and not self._undone(name) for name, _ in self.given)

    def _undone(self, name: str) -> bool:
        known = next((group for group in SAYING if name in group), (name,))
        return any(each.lstrip("-").startswith(stem) for each in known for stem in self.undone)

    def values(self, *names: str, exact: bool = True) -> Iterator[Word]:
        """Values of these options; an empty word where one came without. A long name may be given shortened."""
        for given, value in self.given:
            short = not exact and len(given) > 2 and given.startswith("--")
            if given in names or (short and any(name.startswith(given) for name in names)):
                yield value if value is not None else Word(text="")


def options(args: Sequence[Word], takes: frozenset[str] = frozenset(), *, single: bool = False) -> Options:
    """`takes` are options whose value is the next word. `single`: long options begin with one dash."""
    operands: list[Word] = []
    given: list[tuple[str, Word | None]] = []
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
            if text in NOT_DRY and given and given[-1][0] in DRY:
                undone.append("dry")
        elif text.startswith("--") or single:
            name, equals, value = text.lstrip("-").partition("=")
            if name.startswith("no-") and len(name) > 3:
                undone.append(name[3:])
            name = f"--{name}" if text.startswith("--") or len(name) > 1 else f"-{name}"
            inline = Word(text=value, plain=value, hole=word.hole, computed=word.computed, made=word.made)
            if value in NOT_DRY:
                undone.append(name.lstrip("-"))
            given.append((name, next(rest, None) if name in takes and not equals else inline if equals else None))
            _note_value(given, loose)
        else:
            if "=" in text and text.partition("=")[2] in NOT_DRY:
                undone.append(text.partition("=")[0][-1])
            given += _cluster(word, takes, rest)
            _note_value(given, loose)
    return Options(operands=tuple(operands), given=tuple(given), loose=tuple(loose), undone=tuple(undone))


def _note_value(given: list[tuple[str, Word | None]], loose: list[Word]) -> None:
    """A value that may become several words leaves room for options behind it."""
    value = given[-1][1] if given else None
    if value is not None and value.crafted and value.splits:
        loose.append(value)


def in_value(word: Word, takes: frozenset[str]) -> bool:
    """`-k"$n"r`: what is computed belongs to the value of an option that takes one."""
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


class Use(Struct, frozen=True, kw_only=True):
    """`words` are alternatives for each operand from the first on, `$` for no more of them and no other option."""

    words: tuple[frozenset[str], ...]
    needs: tuple[tuple[str, ...], ...]
    lacks: tuple[str, ...]

    def fits(self, given: Options, *, exact: bool) -> bool:
        for place, alternatives in enumerate(self.words):
            operand = given.operands[place] if place < len(given.operands) else None
            if "$" in alternatives and operand is None:
                others = {name for name, _ in given.given}.difference(*self.needs)
                return not others and self._optioned(given, exact=exact)
            if operand is not None and operand.crafted and not exact:
                continue
            if operand is None or operand.leads or not ("*" in alternatives or operand.text in alternatives):
                return False
        return self._optioned(given, exact=exact)

    def words_of(self, given: Options) -> tuple[str, ...]:
        """The operands and options by which it fits: what a rule must name to allow it."""
        words = [
            given.operands[place].text
            for place, alternatives in enumerate(self.words)
            if place < len(given.operands) and not alternatives & {"*", "$"}
        ]
        names = [
            next((name for name, _ in given.given if any(each.startswith(name) for each in group)), group[0])
            for group in self.needs
        ]
        return (*words, *names)

    def _optioned(self, given: Options, *, exact: bool) -> bool:
        needed = all(given.holds(*names) if exact else given.has(*names, exact=False) for names in self.needs)
        return needed and not (self.lacks and given.holds(*self.lacks))


@cache
def uses(text: str) -> tuple[Use, ...]:
    """`rm; volume rm|prune; push --force|-f !--dry-run`: uses apart by `;`, alternatives by `|`, `*` any word."""
    glued = re.sub(r"\s*\|\s*", "|", text)
    return tuple(_use(part.split()) for part in glued.split(";") if part.strip())


def _use(tokens: list[str]) -> Use:
    return Use(
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
