"""Classify a program by its `Shape`, or by the words of its arguments if no table has it."""

import posixpath
import re
from collections.abc import Sequence

from msgspec.structs import replace

from overt.safety.danger import Reason
from overt.safety.programs.options import DRY, ProgramOptions, Shape, read_options, use_patterns
from overt.safety.programs.program_call import ProgramCall
from overt.safety.programs.program_table import ALWAYS, WORDS
from overt.safety.shell.words import Word

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

CLOUD, READING, CHANGING = WORDS["cloud"], WORDS["reading"], WORDS["changing"]
DESTROYING, PUBLISHING, SECRETS = WORDS["destroying"], WORDS["publishing"], WORDS["secrets"]
DESTROYING_OPTIONS = WORDS["destroying-options"]


def verbs(words: Sequence[Word]) -> set[str]:
    """Return words and their parts: `pg:reset`, `delete-stack` and `publishToMavenLocal` hold a verb as well."""
    return {part for word in words for part in (word.text, *VERB_ENDS.split(word.text))}


VERB_ENDS = re.compile(r"[:._-]|(?<=[a-z])(?=[A-Z])")


PUBLISHES = Reason("publishes something", "published")
REPLACES = Reason("replaces the file it reads", "files")


def classify_by_shape(call: ProgramCall, shape: Shape, args: Sequence[Word]) -> None:
    takes = frozenset(f"{shape.takes} {shape.writes}".split())
    options = read_options(args, takes, single=shape.single)
    if (shape.net == "*" and options.operands) or any(use.fits(options, exact=True) for use in use_patterns(shape.net)):
        call.online()
    written = [*options.values(*shape.writes.split(), exact=False)] if shape.writes else []
    for word in written:
        if word.text in {operand.text for operand in options.operands}:
            call.dangerous(REPLACES, [word])
        elif word.text != "-":
            call.write(word)
    if options.has("--help") or any(use.fits(options, exact=True) for use in use_patterns(shape.dry)):
        return call.harmless()
    for why, text in shape.bad.items():
        if use := next((use for use in use_patterns(text) if use.fits(options, exact=False)), None):
            files = getattr(why, "kind", "system") in ("files", "unpack")
            key = (call.name, *use.words_of(options))
            return call.dangerous(why, options.operands if files else None, key=key)
    if shape.bad and any(word.wild for word in options.loose):
        return call.unreadable("may be told anything by a computed word")
    if any(use.fits(options, exact=False) for use in use_patterns(shape.ordinary)):
        return call.ordinary("changes something")
    fine = any(use.fits(options, exact=True) for use in use_patterns(shape.fine))
    if options.loose and (shape.bad or shape.writes) and (fine or shape.rest == "harmless"):
        return call.unreadable("may be told anything by a computed word")
    return call.harmless() if fine else _rest(call, shape, options)


def _rest(call: ProgramCall, shape: Shape, options: ProgramOptions) -> None:
    if shape.rest == "dangerous":
        call.dangerous(shape.reason, options.operands if shape.reason.kind in ("files", "unpack") else None)
    elif shape.rest == "harmless":
        call.harmless()
    else:
        told = verbs(options.operands[: shape.verbs or (2 if shape.net == "*" else 1)])
        if told & DESTROYING:
            call.dangerous("is told to delete, stop or reset something", key=_verb_key(call, options))
        elif told & PUBLISHING:
            call.dangerous(PUBLISHES, key=_verb_key(call, options))
        call.ordinary("is not known to be harmless")
        overwrites(call)


def classify_unknown(call: ProgramCall) -> None:
    """Classify a program that is in no table by its words, which mean the same in most programs."""
    options = read_options(call.args)
    told = verbs(options.operands[: 2 if call.name == "aws" else 3])
    if call.name in CLOUD:
        call.online()
    if call.name in CLOUD and options.has(*DRY):
        return call.harmless()
    if call.name in CLOUD and "get-object" in told:
        return call.write(options.operands[-1])
    if call.name in CLOUD and "cp" in told and options.operands[-1].text == "-":
        return call.harmless()
    first = options.operands[0].text if options.operands else ""
    spoken = call.name in CLOUD or re.fullmatch(r"[a-z][a-z0-9:._-]*", first)
    if spoken and told & DESTROYING:
        return call.dangerous("is told to delete, stop or reset something", key=_verb_key(call, options))
    if (spoken and told & PUBLISHING and not options.has(*DRY)) or options.has("--prod"):
        return call.dangerous(PUBLISHES, key=_verb_key(call, options))
    if options.has(*DESTROYING_OPTIONS):
        return call.dangerous("is told to delete or overwrite something", key=_verb_key(call, options))
    if any(_hidden_command(word) for word in call.args):
        return call.unreadable("may run a dangerous program")
    if call.name in CLOUD and told & READING:
        return call.dangerous("prints a secret") if told & SECRETS else call.harmless()
    if call.name in CLOUD and told & CHANGING:
        return call.dangerous("changes something elsewhere", kind="published", key=_verb_key(call, options))
    overwrites(call)
    return call.ordinary("is not known to be harmless")


def _verb_key(call: ProgramCall, options: ProgramOptions) -> tuple[str, ...]:
    """Return what a rule must name to allow it: the program, its first words, and its long options."""
    verbs_ = [word.text for word in options.operands[:2] if re.fullmatch(r"[a-z][\w:.-]*", word.text)]
    return (call.name, *verbs_, *(name for name, _ in options.named if name in DESTROYING_OPTIONS))


def changed_paths(call: ProgramCall) -> list[Word]:
    """Return the paths among the arguments of a program that changes files, without modes, owners and sizes."""
    options = read_options(call.args, frozenset(VALUES.get(call.name, "").split()))
    rights = [word for word in call.args if re.fullmatch(r"-[rwxXstugo0-7,=+-]+", word.text)]  # chmod -x file
    said = options.has("--reference") or (call.name == "chmod" and rights)
    places = options.operands[1:] if call.name in NAMED_FIRST and not said else options.operands
    return [word for word in places if call.name != "chattr" or not word.text.startswith(("+", "="))]


def _hidden_command(word: Word) -> bool:
    text = word.text.strip()
    if posixpath.basename(text) in TELLING:
        return True
    first = re.split(r"[\s;&|]+", text, maxsplit=1)
    return len(first) > 1 and posixpath.basename(first[0]) in TELLING


# ── programs that turn files into others: what somebody wrote may not be lost ────────────────────────────────

WRITTEN = re.compile(
    r"""(?!.*\.(?:o|so|a|exe|bin|dll|js|css|html|pdf|png|svg|gif|wasm|class|jar|whl|map|zip|t?gz|out)$).*\.[^/]*
    |(?:.*/)?[A-Z][^./]*""",
    re.VERBOSE,
)
"""Names of files that people write."""

OUTPUT = frozenset(
    """-o --o --output --out --outfile --out-file --output-file --outFile --output_file --dest --report-file
        --output-path --outpath --save-to""".split()
)


def overwrites(call: ProgramCall) -> None:
    """Note files that a program overwrites. Products are made again anyway; a text that exists was meant to stay."""
    for at, word in enumerate(call.args):
        name, equals, text = word.text.partition("=")
        if name in OUTPUT and not equals and at + 1 < len(call.args):
            word, text = call.args[at + 1], call.args[at + 1].text
        elif re.match(r"-o\w*[./]", word.text):
            text = word.text[2:]
        elif name not in OUTPUT:
            continue
        if WRITTEN.fullmatch(text) and not word.hole:
            call.write(replace(word, text=text, plain=text))


CONVERTERS = frozenset("convert magick pdftotext ps2pdf sass objcopy ffmpeg exiftool".split())
"""They write their last operand, over what is there."""


def converter(call: ProgramCall) -> None:
    operands = [word for word in call.args if not word.text.startswith("-")]
    assigns = any(re.match(r"-[\w:+-]*=", word.text) for word in call.args)
    if not operands or call.args[-1].text in ("-", "/dev/null") or (call.name == "exiftool" and not assigns):
        return call.harmless()
    call.ordinary("makes files")
    if call.name == "exiftool" or (call.name == "objcopy" and len(operands) == 1):
        return call.dangerous("replaces the file", operands)
    return call.write(operands[-1]) if len(operands) > 1 else overwrites(call)
