"""Programs that write files named in their arguments: new files are ordinary, existing ones are not."""

import re
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from overt.safety.danger import Reason
from overt.safety.programs.options import ProgramOptions
from overt.safety.programs.program_call import DELETES, ProgramCall, base_name
from overt.safety.programs.program_classes import classify_by_shape
from overt.safety.programs.program_table import SHAPES
from overt.safety.shell.words import Word, literal


def tee(call: ProgramCall) -> None:
    options = call.options()
    call.harmless()
    for word in options.operands:
        call.write(word, append=options.has("-a", "--append"))


def copy(call: ProgramCall) -> None:
    """`cp` and `ln`: onto what exists only with care."""
    linking = call.name == "ln"
    options = call.options("-t -S -Z --target-directory --suffix --sparse --reflink --preserve --backup -m")
    folder = next(options.values("-t", "--target-directory"), None)
    sources = list(options.operands)
    call.ordinary("makes files")
    if folder is None and len(sources) > 1:
        folder = sources.pop()
    if folder is None:
        folder = literal(base_name(sources[0].text)) if linking and sources else None
    if folder is None:
        return
    clobbers = options.has("-f", "--force") if linking else not options.has("-n", "--no-clobber")
    into = options.has("-t", "--target-directory") or folder.text.endswith("/") or folder.text in (".", "..")
    places = [_inside(folder, source) for source in sources] if into or len(sources) > 1 else [folder]
    makes_links = call.name in ("ln", "link") or options.has("-l", "-s", "-P", "-d", "-a", "--link", "--symbolic-link")
    for place in places:
        call.write(place, append=not clobbers)
        if makes_links:
            call.classifier.link(place, call.shown)


def _inside(folder: Word, source: Word) -> Word:
    text = f"{folder.text.rstrip('/')}/{base_name(source.text.rstrip('/'))}"
    return Word(text=text, plain=text, hole=folder.hole or source.hole, glob=folder.glob or source.glob)


def make_new(call: ProgramCall) -> None:
    """`touch`, `mkdir`, `mkfifo`: harmless to what exists."""
    options = call.options("-m -d -r -t --mode --date --reference -Z")
    call.ordinary("makes files")
    for word in options.operands:
        if word.literal:
            call.write(word, append=True)


def dd(call: ProgramCall) -> None:
    targets = [word for word in call.args if word.text.startswith("of=")]
    if any(word.leads for word in call.args):
        call.unreadable("writes where a computed word says")
    elif any(word.text not in ("of=/dev/null", "of=/dev/stdout") for word in targets):
        call.dangerous("writes raw data", [replace(word, text=word.text[3:], plain=word.plain[3:]) for word in targets])
    else:
        call.harmless()


EXTRACTS = Reason("extracts over files", "unpack")
PATCHES = Reason("applies changes to files", "worktree")

TAR_RUNS = (
    "--to-command --checkpoint-action --use-compress-program --rsh-command --info-script --new-volume-script -I -F"
)
TAR_TAKES = f"""-f -C -b -T -X -g -K -L -N -V -H {TAR_RUNS} --file --directory --exclude --transform --files-from
    --strip-components --xform --format"""


def tar(call: ProgramCall) -> None:
    args = list(call.args)
    if args and not args[0].text.startswith("-") and re.fullmatch(r"[A-Za-z]+", args[0].text):
        args[0] = literal(f"-{args[0].text}")
        if "f" in args[0].text[:-1]:  # old style: the name follows the whole bundle
            letters = args[0].text.replace("f", "")
            args[:1] = [literal(letters), literal("-f")]
    options = ProgramCall(call.classifier, [call.words[0], *args], call.feed, call.depth).options(TAR_TAKES)
    if options.has(*TAR_RUNS.split(), exact=False):
        return call.dangerous("runs a program of its own", kind="code")
    if args and args[0].hole and args[0].leads:
        return call.unreadable("may be told anything by a computed word")
    for word in options.values("--index-file", "--volno-file", exact=False):
        call.write(word)
    if options.has("--remove-files", "--delete", "--recursive-unlink", "--unlink-first", exact=False):
        return call.dangerous(DELETES, [])
    archive = next(options.values("-f", "--file", exact=False), None)
    if options.has("-x", "--extract", "--get", exact=False):
        if options.has("-O", "--to-stdout"):
            return call.harmless()
        if options.has("-k", "--keep-old-files", "--skip-old-files"):
            return call.ordinary("extracts files")
        return call.dangerous(EXTRACTS, [*options.values("-C", "--directory", exact=False)] or [literal(".")])
    if options.has("-t", "--list", "-d", "--diff", "--compare"):
        return call.harmless()
    if options.has("-r", "-u", "-A", "--append", "--update", "--catenate", "--concatenate"):
        return call.dangerous("changes an archive", [archive] if archive else ())
    call.harmless()
    if archive is not None and archive.text != "-":
        call.write(archive)
    return None


def compress(call: ProgramCall) -> None:
    options = call.options("-S -b -p -T -D -M -o --suffix --threads --output -n")
    for word in options.values("-o"):
        call.write(word)
    reading = options.has("-c", "-l", "-t", "--stdout", "--to-stdout", "--list", "--test")
    if reading or not options.operands or options.operands[0].text == "-":
        return call.harmless()
    keeps = options.has("-k", "--keep") or (call.name.startswith(("zstd", "unzstd", "lz4")) and not options.has("--rm"))
    if keeps and not options.has("-f", "--force"):
        return call.ordinary("makes files")
    return call.dangerous("replaces the file", options.operands)


def zip_(call: ProgramCall) -> None:
    options = call.options("-b -t -tt -i -x -n -P --exclude --include")
    if options.has("-m", "-d", "-f", "-u", "-F", "-T", "-TT", "--move", "--delete", "--freshen", "--update", "--test"):
        return call.dangerous("changes an archive, deletes files or runs a program", options.operands)
    if not options.operands or options.operands[0].text == "-":
        return call.harmless()
    name = options.operands[0]
    call.ordinary("makes an archive")
    return call.write(name if "." in base_name(name.text) else literal(f"{name.text}.zip"))


def unzip(call: ProgramCall) -> None:
    options = call.options("-d -x -P -O -I")
    folder = next(options.values("-d"), None)
    if options.has("-l", "-t", "-p", "-v", "-Z", "-z", "-h") or not options.operands:
        call.harmless()
    elif options.has("-n") or (folder and folder.literal and not options.has("-o") and not call.exists(folder.text)):
        call.ordinary("extracts files")
    else:
        call.dangerous(EXTRACTS, [folder or literal(".")])


def rsync(call: ProgramCall) -> None:
    options = call.options(
        "-e -f -B -T -M --rsh --exclude --include --filter --files-from --partial-dir --rsync-path --exclude-from"
    )
    if options.has("-e", "--rsh", "--rsync-path", exact=False) and any(
        re.search(r"[\s/]", word.text) or word.hole
        for word in options.values("-e", "--rsh", "--rsync-path", exact=False)
    ):
        call.dangerous("runs a program of its own", kind="code")
    elif options.holds("-n", "--dry-run") or options.has("--list-only") or len(options.operands) < 2:
        call.harmless()
    else:
        deletes = options.has("--delete", "--del", "--remove-source-files", exact=False)
        call.dangerous(
            "overwrites or deletes files",
            options.operands if deletes else options.operands[-1:],
            kind="files" if deletes else "unpack",
        )
    if any(":" in word.text for word in options.operands):
        call.online()


def patch(call: ProgramCall) -> None:
    options = call.options("-i -p -d -o -r -B -D -F -Y -z -V --input --strip --directory --output --reject-file")
    for word in options.values("-o", "-r", "--output", "--reject-file", exact=False):
        call.write(word) if word.text != "-" else None
    if options.holds("--dry-run") or options.has("-C", "--check"):
        call.harmless()
    else:
        folder = [*options.values("-d", "--directory", exact=False)]
        call.dangerous(PATCHES, [*options.operands[:1], *folder])


TWO_OPERANDS = {
    "uniq": "-f -s -w --skip-fields --skip-chars --check-chars",
    "xxd": "-s -c -l -o -g -n -R -seek -cols -len -name",
}


def second_operand(call: ProgramCall) -> None:
    """`uniq IN OUT`, `xxd IN OUT`."""
    options = call.options(TWO_OPERANDS[call.name])
    call.harmless()
    if len(options.operands) > 1 and options.operands[1].text != "-":
        call.write(options.operands[1])
    if any(word.glob or (word.splits and word.computed) for word in options.operands):
        call.unreadable("may be given a file to write")


LOOPBACK = re.compile(
    r"(?i)^(?:\w+://)?(?:[^/@]*@)?(?:localhost|127(?:\.\d+){3}|\[::1\]|0\.0\.0\.0|file:|\$)(?:[:/]|$)"
)
CURL_TAKES = """-o -T -d -F -K -c -D -b -X -H -u -A -e -x -m -w -r -C -E -Q -t -y -Y -z -P -U --output --upload-file
    --data --data-raw --data-binary --data-urlencode --form --json --config --cookie-jar --dump-header --cookie
    --request --header --proxy-header --url-query --variable --oauth2-bearer
    --user --user-agent --referer --proxy --max-time --connect-timeout --write-out --range --retry
    --retry-delay --cacert --cert --key --trace --trace-ascii --stderr --etag-save --hsts --unix-socket --resolve
    --url --output-dir --limit-rate --interface --netrc-file --data-ascii --form-string --quote --continue-at
    --time-cond --engine --libcurl --proto --alt-svc --ssl-sessions"""
CURL_WRITES = """-o --output -c --cookie-jar -D --dump-header --trace --trace-ascii --stderr --etag-save --hsts
    --libcurl --alt-svc --ssl-sessions"""


def curl(call: ProgramCall) -> None:
    options = call.options(CURL_TAKES)
    call.harmless()
    _online(call, [*options.operands, *options.values("--url")])
    for word in options.values(*CURL_WRITES.split(), exact=False):
        if word.text != "-":
            call.write(word)
    if options.has("-O", "--remote-name", "--remote-name-all", "-J", "--remote-header-name", exact=False):
        for word in options.operands:
            call.write(_remote_name(word))
    told = "-K --config --unix-socket --abstract-unix-socket --engine -Q --quote"
    if options.has(*told.split(), exact=False) or any(
        re.search(r"%output\{|^@", word.text) or word.made for word in options.values("-w", "--write-out", exact=False)
    ):
        call.unreadable("is told more by a file, a socket or a computed word")
    _method(call, options, "-X", "--request")
    sent = [
        *options.values("-d", "--data", "--data-binary", "--data-urlencode", "-F", "--form", "--json", "--data-ascii")
    ]
    files = options.values("-H", "--header", "--proxy-header", "--url-query", "--variable", "-F", "--form", exact=False)
    named = any(re.match(r"@|[\w.-]*@(?!.*:)|[^@<]*=[@<]", word.text) for word in files)
    if options.has("-T", "--upload-file") or named or any("@" in word.text for word in sent):
        call.send("sends a file elsewhere")
    elif any(word.computed for word in (*sent, *options.values("--data-raw", "--form-string"))):
        call.send("sends what another command prints")
    elif (sent or options.has("--data-raw", "--form-string")) and not options.has("-G", "--get"):
        call.ordinary("sends data")


def _method(call: ProgramCall, options: ProgramOptions, *names: str) -> None:
    for word in options.values(*names):
        method = word.text.upper()
        if method == "DELETE" or word.hole:
            call.dangerous("deletes something elsewhere", kind="published")
        elif method not in ("GET", "HEAD", "OPTIONS"):
            call.ordinary("changes something elsewhere")


def _online(call: ProgramCall, urls: Sequence[Word]) -> None:
    call.classifier.connects = True  # this machine, if no other: with the network open that is the host's own
    if any(not LOOPBACK.match(word.text) for word in urls):
        call.online()


def _remote_name(url: Word) -> Word:
    name = base_name(re.sub(r"[?#].*", "", url.text).rstrip("/")) or "index.html"
    return Word(text=name, plain=name, hole=url.hole)


WGET_TAKES = """-O -o -a -P -i -e -t -T -U -w -Q -A -R -D -I -X -B --output-document --output-file --append-output
    --directory-prefix --input-file --execute --post-data --post-file --method --header --user --password --body-data"""


def wget(call: ProgramCall) -> None:
    options = call.options(WGET_TAKES)
    _online(call, options.operands)
    _method(call, options, "--method")
    call.harmless()
    if options.has("-e", "--execute", "--use-askpass", "-i", "--input-file", "--config", exact=False):
        call.dangerous("is told more by a file or a command", kind="code")
    if options.has("--post-file", "--body-file"):
        call.send("sends a file elsewhere")
    elif any(word.computed for word in options.values("--post-data", "--body-data")):
        call.send("sends what another command prints")
    elif options.has("--post-data", "--body-data"):
        call.ordinary("sends data")
    for word in options.values("-o", "--output-file", "-a", "--append-output"):
        call.write(word)
    documents = [*options.values("-O", "--output-document", exact=False)]
    for word in documents:
        if word.text != "-":
            call.write(word)
    if documents or options.has("--spider"):
        return
    if options.has("-r", "-m", "-N", "-c", "-k", "-K", "--recursive", "--mirror", "--timestamping", "--continue"):
        call.dangerous("overwrites files", [literal(".")], kind="unpack")
    for word in options.operands:
        call.ordinary("downloads a file")
        call.write(_remote_name(word), append=True)


def gh(call: ProgramCall) -> None:
    """`gh api` asks unless it is told a method or given fields; GraphQL is always sent as a field."""
    options = call.options(f"{SHAPES['gh'].takes} --field --raw-field --input --preview -p")
    if [word.text for word in options.operands[:1]] != ["api"]:
        return classify_by_shape(call, SHAPES["gh"], call.args)
    call.online()
    fields = [*options.values("-f", "-F", "--field", "--raw-field")]
    methods = {word.text.upper() for word in options.values("-X", "--method")}
    if [word.text for word in options.operands[1:2]] == ["graphql"]:
        changes = any("mutation" in word.text or word.computed or "@" in word.text for word in fields)
    else:
        changes = not methods <= {"GET", "HEAD"} if methods else bool(fields)
    if changes or options.has("--input"):
        return call.dangerous("changes data through the interface", kind="published")
    return call.harmless()


HANDLERS: dict[str, Callable[[ProgramCall], None]] = {
    "gh": gh,
    "tee": tee,
    **dict.fromkeys("cp ln link".split(), copy),
    **dict.fromkeys("touch mkdir mkfifo mktemp".split(), make_new),
    "dd": dd,
    **dict.fromkeys("tar bsdtar".split(), tar),
    **dict.fromkeys("gzip gunzip bzip2 bunzip2 xz unxz zstd unzstd lz4 pigz".split(), compress),
    "zip": zip_,
    "unzip": unzip,
    "rsync": rsync,
    "patch": patch,
    **dict.fromkeys(TWO_OPERANDS, second_operand),
    "curl": curl,
    "wget": wget,
}
