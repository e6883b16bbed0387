"""Programs that turn files into others: what they make may be made again, what somebody wrote may not be lost."""

import re
from collections.abc import Callable, Iterator, Sequence

from overt.safety._call import Call
from overt.safety._words import Word, literal

WRITTEN = re.compile(
    r"""(?i).*\.(?:md|markdown|rst|adoc|txt|text|org|tex|bib|c|cc|cpp|cxx|h|hh|hpp|m|mm|rs|go|py|pyi|rb|pl|pm|php|lua|r|jl|java|kt
    |scala|groovy|cs|fs|swift|dart|ex|exs|erl|hs|ml|clj|lisp|el|vim|ts|tsx|jsx|mts|cts|vue|svelte|sql|proto|graphql|sh|bash|zsh
    |fish|ps1|bat|json|jsonc|json5|ya?ml|toml|ini|cfg|conf|env|properties|xml|csv|tsv|lock|gradle|cmake|mk|nix|tf|tfvars|ipynb
    |ods|xlsx?|docx?|odt|pptx?|jpe?g|sqlite3?|db|patch|diff|log)|(?:.*/)?(?:Makefile|GNUmakefile|Dockerfile|Containerfile|Vagrantfile
    |Jenkinsfile|Rakefile|Gemfile|Procfile|Justfile|README|LICENSE|LICENCE|COPYING|CHANGELOG|AUTHORS|NOTICE|TODO|VERSION|CODEOWNERS)
    |(?:.*/)?\.[^/]+""",
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


CONVERTERS: dict[str, tuple[str, int]] = {
    # options with a value · operands before the one that is written
    "convert": ("", 1),
    "magick": ("", 1),
    "gm": ("", 2),
    "pdftotext": ("-f -l -r -x -y -W -H -enc -eol -opw -upw", 1),
    "pdftohtml": ("-f -l -enc -opw -upw", 1),
    "pdftops": ("-f -l -r", 1),
    "pdfunite": ("", 1),
    "pdfseparate": ("-f -l", 1),
    "ps2pdf": ("", 1),
    "pdf2ps": ("", 1),
    "ps2ascii": ("", 1),
    "qpdf": ("--password --pages", 1),
    "wkhtmltopdf": ("-T -B -L -R -s -O", 1),
    "wkhtmltoimage": ("", 1),
    "sox": ("-r -b -c -e -t", 1),
    "lame": ("-b -V -q", 1),
    "lessc": ("", 1),
    "sass": ("-I --load-path --style", 1),
    "sassc": ("-t -I", 1),
    "objcopy": ("-O -I -F -B -j -R -N -K -L --output-target --input-target --only-section --remove-section", 1),
    "csv2json": ("", 1),
    "unifdef": ("-I", 99),
    "msgfmt": ("-D -o", 99),
}
STREAMS = frozenset("pdftotext ps2ascii lessc sass sassc unifdef".split())
"""Those that print when no second name is given."""


def converter(call: Call) -> None:
    takes, before = CONVERTERS[call.name]
    single = call.name in ("convert", "magick", "gm", "pdftotext")
    takes = " ".join(f"-{name}" if single and len(name) > 2 and name[1] != "-" else name for name in takes.split())
    operands = call.options(takes, single=single).operands
    printed = call.name in STREAMS and len(operands) <= before
    if printed or (operands and re.fullmatch(r"-|\w+:-|/dev/null|null:|info:", operands[-1].text)):
        call.harmless()
    else:
        call.ordinary("makes files")
    if len(operands) > before and operands[-1].text != "-":
        call.write(operands[-1])
    elif call.name in ("objcopy", "qpdf") and operands:
        call.dangerous("replaces the file", operands[:1])
    overwrites(call)


def exiftool(call: Call) -> None:
    texts = [word.text for word in call.args]
    if any(re.match(r"-[\w:+-]*[+<-]?=|-\w+<", text) for text in texts) or any(
        text.lower()
        in ("-tagsfromfile", "-overwrite_original", "-delete_original", "-geotag", "-restore_original", "-w")
        for text in texts
    ):
        call.dangerous("changes metadata in files", call.options().operands)
    elif any(text.lower() in ("-config", "-if", "-execute", "-@") or text.startswith("-p") for text in texts):
        call.ordinary("is told more by a file or an expression")
    else:
        call.harmless()


def ldd(call: Call) -> None:
    """It may run the program it is asked about."""
    if all(
        re.match(r"/(?:usr/)?(?:local/)?(?:s?bin|lib\w*)/|\$\(which ", word.text) for word in call.options().operands
    ):
        call.harmless()
    else:
        call.ordinary("may run the program it looks at")


def ffmpeg(call: Call) -> None:
    texts = [word.text for word in call.args]
    if "-y" in texts:
        call.dangerous("overwrites files", [literal(texts[-1])])
    elif texts[-1:] in (["-"], ["/dev/null"]) or "-i" not in texts:
        call.harmless()
    else:
        call.ordinary("makes files")


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


HANDLERS: dict[str, Callable[[Call], None]] = {
    **dict.fromkeys(CONVERTERS, converter),
    "exiftool": exiftool,
    "ldd": ldd,
    "ffmpeg": ffmpeg,
}
