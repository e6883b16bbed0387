"""Programs that turn files into others: what they make may be made again, what somebody wrote may not be lost."""

import re
from collections.abc import Callable, Iterator, Sequence

from overt.safety._call import Call
from overt.safety._words import Word, literal

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


def targets(call: Call) -> Iterator[Word]:
    """Values of options that name an output in whatever program."""
    for at, word in enumerate(call.args):
        name, equals, value = word.text.partition("=")
        if name in OUTPUT and equals:
            yield Word(text=value, plain=value, hole=word.hole, glob=word.glob)
        elif word.text in OUTPUT and at + 1 < len(call.args):
            yield call.args[at + 1]
        elif re.match(r"-o\w*[./]", word.text):
            yield Word(text=word.text[2:], plain=word.text[2:], hole=word.hole, glob=word.glob)
        elif re.match(r"-(?:sOutputFile|Fo|Fe:?)=?[^=]", word.text):
            yield literal(re.sub(r"^-(?:sOutputFile|Fo|Fe:?)=?", "", word.text))


def overwrites(call: Call) -> None:
    """A product is made anew at every turn; a text that exists already was meant to stay."""
    for word in targets(call):
        if WRITTEN.fullmatch(word.text) and not word.hole:
            call.write(word)


def copied_elsewhere(call: Call, operands: Sequence[Word]) -> bool:
    """`aws s3 cp`, `gsutil cp`: from here to there, from there to a file here or to the screen."""
    texts = [word.text for word in operands]
    if texts[:2] not in (["s3", "cp"], ["storage", "cp"], ["s3api", "get-object"]) and not (
        call.name in ("gsutil", "s3cmd", "s5cmd") and texts[:1] in (["cp"], ["put"])
    ):
        return False
    target = operands[-1]
    if target.text == "-":
        call.harmless()
    elif re.match(r"(?:s3|gs|https?)://", target.text) or target.hole:
        call.dangerous("changes something elsewhere", kind="published")
    elif target.text.endswith("/") or target.text == ".":
        call.write(literal(f"{target.text.rstrip('/')}/{operands[-2].text.rpartition('/')[2]}"))
    else:
        call.write(target)
    return True


CONVERTERS = frozenset("convert magick pdftotext ps2pdf sass objcopy ffmpeg exiftool".split())
"""They write their last operand, over what is there."""


def converter(call: Call) -> None:
    operands = [word for word in call.args if not word.text.startswith("-")]
    assigns = any(re.match(r"-[\w:+-]*=", word.text) for word in call.args)
    texts = [word.text for word in call.args]
    if not operands or texts[-1] in ("-", "/dev/null") or (call.name == "exiftool" and not assigns):
        return call.harmless()
    call.ordinary("makes files")
    if call.name == "exiftool" or (call.name == "objcopy" and len(operands) == 1):
        return call.dangerous("replaces the file", operands)
    if len(operands) > 1 and (call.name != "ffmpeg" or "-y" in texts):
        replaced = call.name == "ffmpeg"
        return call.dangerous("overwrites files", operands[-1:]) if replaced else call.write(operands[-1])
    return overwrites(call)


HANDLERS: dict[str, Callable[[Call], None]] = dict.fromkeys(CONVERTERS, converter)
