"""Judge a program by the tables: its shape, or what its words say where no table knows it."""

import posixpath
import re
from collections.abc import Sequence

from overt.safety import _products
from overt.safety._call import Call
from overt.safety._options import DRY, Options, Shape, options, uses
from overt.safety._packages import SHAPES as PACKAGE_SHAPES
from overt.safety._programs import DANGEROUS
from overt.safety._programs import SHAPES as SYSTEM_SHAPES
from overt.safety._tools import SAME
from overt.safety._tools import SHAPES as TOOL_SHAPES
from overt.safety._verbs import CHANGING, CLOUD, DESTROYING, DESTROYING_OPTIONS, PUBLISHING, READING, SECRETS, verbs
from overt.safety._words import Word
from overt.safety.danger import Reason

SHAPES = {**SYSTEM_SHAPES, **PACKAGE_SHAPES, **TOOL_SHAPES}
SHAPES |= {name: SHAPES[like] for names, like in SAME.items() for name in names.split()}
ALWAYS: dict[str, Reason] = {name: why for why, names in DANGEROUS.items() for name in names.split()}
DISKS = Reason("changes disks or file systems")
TELLING = ALWAYS.keys() - set("install split format restore dump view init batch at ex ed ne mg eject trash".split())
"""Names that mean danger even as an argument of a program that nobody knows: it may be a wrapper."""

NAMED_FIRST = frozenset("chmod chown chgrp lchown".split())
"""The first operand is a mode or an owner, the others are files."""
VALUES = {
    "truncate": "-s -r -o --size --reference",
    "install": "-m -o -g -S --mode --owner --group --suffix",
    "chown": "--from",
}
"""Options whose value is the next word and no file that is changed."""

PUBLISHES = Reason("publishes something", "published")
REPLACES = Reason("replaces the file it reads", "files")


def judge_shape(call: Call, shape: Shape, args: Sequence[Word]) -> None:
    takes = frozenset(f"{shape.takes} {shape.writes}".split())
    given = options(args, takes, single=shape.single)
    if (shape.net == "*" and given.operands) or any(use.fits(given, exact=True) for use in uses(shape.net)):
        call.online()
    written = [*given.values(*shape.writes.split(), exact=False)] if shape.writes else []
    for word in written:
        if word.text in {operand.text for operand in given.operands}:
            call.dangerous(REPLACES, [word])
        elif word.text != "-":
            call.write(word)
    if given.has("--help") or any(use.fits(given, exact=True) for use in uses(shape.dry)):
        return call.harmless()
    for why, text in shape.bad.items():
        if use := next((use for use in uses(text) if use.fits(given, exact=False)), None):
            return call.dangerous(why, _shaped_touches(call, why, given), key=(call.name, *use.words_of(given)))
    if shape.bad and any(word.wild for word in given.loose):
        return call.unreadable("may be told anything by a computed word")
    if any(use.fits(given, exact=False) for use in uses(shape.ordinary)):
        return call.ordinary("changes something")
    fine = any(use.fits(given, exact=True) for use in uses(shape.fine))
    if given.loose and (shape.bad or shape.writes) and (fine or shape.rest == "harmless"):
        return call.unreadable("may be told anything by a computed word")
    return call.harmless() if fine else _rest(call, shape, given)


def _rest(call: Call, shape: Shape, given: Options) -> None:
    if shape.rest == "dangerous":
        call.dangerous(shape.reason, given.operands if shape.reason.kind in ("files", "unpack") else None)
    elif shape.rest == "harmless":
        call.harmless()
    else:
        told = verbs(given.operands[: shape.verbs or (2 if shape.net == "*" else 1)])
        if told & DESTROYING:
            call.dangerous("is told to delete, stop or reset something", key=_verb_key(call, given))
        elif told & PUBLISHING:
            call.dangerous(PUBLISHES, key=_verb_key(call, given))
        call.ordinary("is not known to be harmless")
        _products.overwrites(call)


def judge_stranger(call: Call) -> None:
    """A program that stands in no table: what its words say, in whatever program."""
    given = options(call.args)
    told = verbs(given.operands[: 2 if call.name == "aws" else 3])
    if call.name in CLOUD:
        call.online()
    if call.name in CLOUD and given.has(*DRY):
        return call.harmless()
    if _products.copied_elsewhere(call, given.operands):
        return None
    spoken = call.name in CLOUD or _looks_like_subcommand(given)
    if spoken and told & DESTROYING:
        return call.dangerous("is told to delete, stop or reset something", key=_verb_key(call, given))
    if (spoken and told & PUBLISHING and not given.has(*DRY)) or given.has("--prod"):
        return call.dangerous(PUBLISHES, key=_verb_key(call, given))
    if given.has(*DESTROYING_OPTIONS):
        return call.dangerous("is told to delete or overwrite something", key=_verb_key(call, given))
    if any(_hidden_command(word) for word in call.args):
        return call.unreadable("may run a dangerous program")
    if call.name in CLOUD and told & READING:
        return call.dangerous("prints a secret") if told & SECRETS else call.harmless()
    if call.name in CLOUD and told & CHANGING:
        return call.dangerous("changes something elsewhere", kind="published", key=_verb_key(call, given))
    _products.overwrites(call)
    return call.ordinary("is not known to be harmless")


def _shaped_touches(call: Call, why: str, given: Options) -> Sequence[Word] | None:
    """All operands where they are files; a word that is none names nothing that exists."""
    kind = getattr(why, "kind", "system")
    return given.operands if kind in ("files", "unpack") else None


def _verb_key(call: Call, given: Options) -> tuple[str, ...]:
    """What a rule must name to allow it: the program, its first words, and its long options."""
    verbs_ = [word.text for word in given.operands[:2] if re.fullmatch(r"[a-z][\w:.-]*", word.text)]
    return (call.name, *verbs_, *(name for name, _ in given.given if name in DESTROYING_OPTIONS))


def touched(call: Call) -> list[Word]:
    """The paths among the arguments of a program that changes what they name: neither modes, owners nor sizes."""
    given = options(call.args, frozenset(VALUES.get(call.name, "").split()))
    said = given.has("--reference") or (call.name == "chmod" and any(map(_takes_rights, call.args)))
    places = given.operands[1:] if call.name in NAMED_FIRST and not said else given.operands
    return [word for word in places if call.name != "chattr" or not word.text.startswith(("+", "="))]


def _takes_rights(word: Word) -> bool:
    """`chmod -x file`: a mode that looks like an option."""
    return re.fullmatch(r"-[rwxXstugo0-7,=+-]+", word.text) is not None


def _looks_like_subcommand(given: Options) -> bool:
    return bool(given.operands) and re.fullmatch(r"[a-z][a-z0-9:._-]*", given.operands[0].text) is not None


def _hidden_command(word: Word) -> bool:
    text = word.text.strip()
    if posixpath.basename(text) in TELLING:
        return True
    first = re.split(r"[\s;&|]+", text, maxsplit=1)
    return len(first) > 1 and posixpath.basename(first[0]) in TELLING
