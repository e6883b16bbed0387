"""Programs that are given a program as text: SQL is looked over, other code is not readable."""

import re
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from overt.safety._call import Call, base_name
from overt.safety._options import options
from overt.safety._verbs import DESTROYING, verbs
from overt.safety._words import Word, literal
from overt.safety.danger import Reason

DELETES = Reason("deletes files", "files", "delete")

# ── interpreters ─────────────────────────────────────────────────────────────────────────────────────────


class Interpreter(Struct, frozen=True, kw_only=True):
    """`code`: options that carry a program. `takes`: other options with a value. `checks`: options that only check."""

    code: str = "-e"
    takes: str = ""
    checks: str = ""
    words: str = ""


INTERPRETERS: dict[str, Interpreter] = {
    "python": Interpreter(code="-c", takes="-W -X -m -Q --check-hash-based-pycs"),
    "perl": Interpreter(code="-e -E -i -n -p -M -m -d -x", takes="-I -C -F -l -0"),
    "ruby": Interpreter(code="-e -i -n -p -r -x", takes="-I -C -E -K", checks="-c"),
    "node": Interpreter(
        code="-e -p --eval --print -r --require --import --loader --experimental-loader",
        takes="-C --env-file",
        checks="-c --check",
    ),
    "php": Interpreter(
        code="-r -B -R -F -E --run --process-code",
        takes="-c -d -f -z -t -S",
        checks="-l --syntax-check -i -m --ini --info --modules",
    ),
    "lua": Interpreter(code="-e -l", takes=""),
    "Rscript": Interpreter(code="-e"),
    "R": Interpreter(code="-e -f --file"),
    "julia": Interpreter(code="-e -E --eval --print -L", takes="-p -t --project"),
    "deno": Interpreter(code="", words="eval repl"),
    "elixir": Interpreter(code="-e --eval -r --rpc-eval"),
    "erl": Interpreter(code="-eval -s -run"),
    "ghc": Interpreter(code="-e"),
    "groovy": Interpreter(code="-e"),
    "scala": Interpreter(code="-e"),
    "tclsh": Interpreter(code="-c"),
    "guile": Interpreter(code="-c -e"),
    "racket": Interpreter(code="-e --eval -i"),
    "sbcl": Interpreter(code="--eval --load"),
    "octave": Interpreter(code="--eval"),
    "clojure": Interpreter(code="-e --eval -M -X"),
    "swift": Interpreter(code="-e"),
    "pwsh": Interpreter(code="-c -C -Command -EncodedCommand -enc -e -f -File --Command --command"),
    "ts-node": Interpreter(code="-e -p --eval --print -r --require"),
    "tsx": Interpreter(code="-e -p --eval --print"),
    "osascript": Interpreter(code="-e"),
    "ocaml": Interpreter(code="-e"),
    "nix-shell": Interpreter(code="--run --command", takes="-p -I -A"),
    "rakudo": Interpreter(code="-e"),
    "wolframscript": Interpreter(code="-c -code"),
    "jshell": Interpreter(code="-R"),
    "irb": Interpreter(code="-e -r"),
    "ipython": Interpreter(code="-c", takes="-m"),
}
SAME_INTERPRETER = {
    name: like
    for like, names in {
        "node": "nodejs",
        "python": "py pypy pypy3",
        "lua": "luajit",
        "pwsh": "powershell",
        "ruby": "jruby",
        "perl": "raku",
        "elixir": "iex",
        "tclsh": "wish",
        "clojure": "bb clj",
        "ghc": "ghci runghc",
        "octave": "matlab",
    }.items()
    for name in names.split()
}

READING_MODULES = frozenset(
    "this calendar platform site sysconfig ast tokenize dis pyclbr antigravity pickletools".split()
)
ARCHIVE_MODULES = frozenset("zipfile tarfile".split())
LISTING = ("-l", "--list", "-t", "--test")
CODE_MODULES = frozenset("timeit code pdb zipfile tarfile  gzip idlelib".split())


MODULE_PROGRAMS = frozenset("pip pytest black ruff isort autopep8 poetry uv twine build coverage mypy flake8".split())


def interpreter_named(name: str) -> Interpreter | None:
    stem = re.sub(r"(?:w|[\d.]+)$", "", name) or name
    return INTERPRETERS.get(SAME_INTERPRETER.get(name, name)) or INTERPRETERS.get(SAME_INTERPRETER.get(stem, stem))


def interpreter(call: Call, kind: Interpreter) -> None:
    if kind is INTERPRETERS["perl"] and len(call.args) == 1 and re.match(r"-V(?::[\w.*]+)?$", call.args[0].text):
        return call.harmless()
    single = any(len(option) > 2 and option[1] != "-" for option in kind.code.split())
    code, takes = frozenset(kind.code.split()), frozenset(kind.takes.split())
    rest = iter(range(len(call.args)))
    for at in rest:
        word = call.args[at]
        text = word.text.partition("=")[0]
        if word.wild:
            return call.inline("runs code given as an argument")
        if not text.startswith("-") or text in ("-", "--"):
            break
        clustered = text[1:2] != "-" and not single
        if code & ({f"-{letter}" for letter in text[1:]} if clustered else {text}):
            return call.inline("runs code given as an argument")
        if text in kind.checks.split():
            return call.harmless()
        if kind is INTERPRETERS["python"] and (glued := re.fullmatch(r"-[A-Za-ln-z]*m(.*)", word.text)):
            named = [replace(word, text=glued[1], plain=glued[1])] if glued[1] else []
            if words := (*named, *call.args[at + 1 :]):
                return _module(call, words)
        if text == "-m" and at + 1 < len(call.args):
            return _module(call, call.args[at + 1 :])
        if text in takes:
            next(rest, None)
    operands = call.options(kind.takes).operands
    if operands and operands[0].text in kind.words.split():
        return call.inline("runs code given as an argument")
    if operands and operands[0].text != "-" and not operands[0].text.startswith(("/dev/", "/proc/")):
        script = operands[0]
        if script.stream or (script.computed and script.leads):
            return call.unreadable("runs a script that cannot be read here")
        texts = [word.text for word in operands[1:]]
        if verbs(operands[1:2]) & DESTROYING or (texts[:1] == ["migrate"] and "zero" in texts):
            return call.dangerous("is told to delete, stop or reset something")
        if script.text == "setup.py" and {"upload", "register"} & set(texts):
            return call.dangerous("publishes something", kind="published")
        return call.ordinary("runs a script")
    if call.feed.text:
        return call.inline("runs code of a here-document")
    if call.feed.kind != "none" or operands:
        return call.unreadable("runs what it is sent")
    return call.ordinary("starts an interpreter")


def _module(call: Call, args: tuple[Word, ...]) -> None:
    module, rest = args[0].text, args[1:]
    if any(word.text in ("-h", "--help") for word in rest[:1]):
        call.harmless()
    elif module == "json.tool":
        files = options(rest, frozenset({"--indent"})).operands
        call.harmless()
        if len(files) > 1 and files[1].text == files[0].text:
            call.dangerous("replaces the file it reads", files[1:2])
        elif len(files) > 1:
            call.write(files[1])
    elif module == "pydoc":
        if rest and rest[0].text == "-w":
            call.ordinary("makes files")
            for word in rest[1:]:
                call.write(replace(word, text=f"{base_name(word.text)}.html"))
            return
        shadowed = any(call.bench.exists(word.text.partition(".")[0] + end) for word in rest for end in (".py", ""))
        call.harmless() if rest and not shadowed else call.ordinary("runs a module")
    elif module in ("venv", "virtualenv") and any(word.text == "--clear" for word in rest):
        call.dangerous(DELETES, [word for word in rest if not word.text.startswith("-")])
    elif module in READING_MODULES or (module in ARCHIVE_MODULES and rest and rest[0].text in LISTING):
        call.harmless()
    elif args[0].leads or module in CODE_MODULES:
        call.inline("runs code given as an argument")
    elif module in ("rm", "install") or module in INTERPRETERS:
        call.ordinary("runs a module")
    else:
        call.ordinary("runs a module") if module not in MODULE_PROGRAMS else None
        call.run([literal(module), *rest], call.feed)


# ── databases ────────────────────────────────────────────────────────────────────────────────────────────

SQL_READS = re.compile(
    r"(?is)\s*(?:select|show|explain|describe|desc|with|values|table|pragma|use|\\(?:d\S*|l\S*|dt|du|dn|z|conninfo|timing|x|q|pset|echo)\b|\.(?:tables|schema|databases|indexes|indices|headers?|mode|width|dump|fullschema|help|show|dbinfo|quit|exit|timer|stats|separator|nullvalue)\b|--|/\*|$)"
)
SQL_WRITES = re.compile(
    r"(?i)\b(?:insert|update|delete|drop|alter|create|truncate|grant|revoke|replace|merge|copy|call|do|vacuum|reindex|attach"
    r"|detach|into|lock|kill|shutdown|flush|reset|rename|load_file|load_extension|writefile|edit|pg_read_file|pg_terminate_backend"
    r"|pg_cancel_backend|lo_export|lo_import|dblink|setval|nextval|xp_cmdshell|outfile|dumpfile|execute|exec|set)\b"
    r"|\\(?:!|copy|o|w|i|ir|g|gexec|e|setenv)\b|\\!|\.(?:shell|system|output|once|save|import|restore|read|backup|clone|open|load|excel|log|trace|sha3sum|archive|ar|cd)\b|\|"
)
SQL_CLIENTS: dict[str, tuple[str, str]] = {
    # options that carry statements · others with a value
    "psql": (
        "-c --command",
        "-U -h -p -d -f -o -v -P -F -R -L --username --host --port --dbname --file --set --output",
    ),
    "mysql": ("-e --execute", "-u -h -P -D -S --user --host --port --database --init-command --pager --tee"),
    "mariadb": ("-e --execute", "-u -h -P -D -S --user --host --port --database"),
    "sqlite3": ("-cmd", "-init -separator -newline -nullvalue"),
    "duckdb": ("-c -s -cmd", "-init"),
    "sqlcmd": ("-Q -q", "-S -U -P -d -i -o"),
    "usql": ("-c", "-f"),
    "mongosh": ("--eval", "--host --port -u -p -f --file"),
    "mongo": ("--eval", "--host --port -u -p"),
}


def sql(call: Call) -> None:
    code, takes = SQL_CLIENTS[call.name]
    lite = call.name in ("sqlite3", "duckdb")
    given = call.options(
        f"{code} {takes}".replace(" -cmd", " --cmd").replace("-cmd", "--cmd") if lite else f"{code} {takes}",
        single=lite,
    )
    statements = [*given.values(*code.replace("-cmd", "--cmd").split())]
    statements += given.operands[1:] if lite else ()
    if given.has("-o", "--output", "-L", "--log-file", "--tee", "--pager", "--init-command", "--init"):
        call.dangerous("writes files or runs programs", kind="code")
    if call.feed.kind == "text":
        statements.append(literal(call.feed.text))
    elif call.feed.kind == "stream":
        call.unreadable("runs statements it is sent")
    if given.has("-f", "--file", "-i"):
        call.ordinary("runs a script")
    if not statements and not given.has("-l", "--list"):
        return call.ordinary("works on a database")
    if any(word.computed for word in statements):
        return call.unreadable("runs statements that are computed")
    if call.name.startswith("mongo") and all(_mongo_reads(word.text) for word in statements):
        return call.harmless()
    text = "\n".join(re.sub(r"'(?:[^']|'')*'|--[^\n]*", "''", word.plain) for word in statements)
    if SQL_WRITES.search(text) or not all(SQL_READS.match(part) for part in text.split(";")):
        return call.dangerous("changes a database", given.operands[:1] if lite else None)
    return call.harmless()


MONGO = frozenset(
    """find findOne count countDocuments estimatedDocumentCount distinct getCollectionNames getCollection getSiblingDB
        stats limit sort skip pretty toArray printjson print explain getIndexes version hello serverStatus
        listCollections getName forEach map length project ObjectId ISODate""".split()
)


def _mongo_reads(text: str) -> bool:
    called = re.findall(r"([\w$]*)\s*\(", text)
    return all(name in MONGO for name in called) and not re.search(
        r"[`=;\]]\s*\(|=(?![=>])|\$(?:out|merge|where|function)", text
    )


def dc(call: Call) -> None:
    if any("!" in word.text for word in call.args) or call.feed.kind == "stream":
        call.dangerous("runs a command from its script", kind="code")
    else:
        call.harmless()


def make(call: Call) -> None:
    given = call.options(
        "-C -f -I -j -l -o -W --directory --file --makefile --include-dir --eval --old-file --what-if --jobs"
    )
    files = [*given.values("-f", "--file", "--makefile", exact=False)]
    if given.has("--eval", "-E", exact=False) or any(
        word.text.startswith(("SHELL=", ".SHELLFLAGS=", "MAKEFLAGS=")) for word in call.args
    ):
        call.dangerous("runs a recipe given as an argument", kind="code")
    elif any(word.text in ("-", "/dev/stdin") or word.stream or word.computed for word in files):
        call.unreadable("runs a makefile that cannot be read here")
    elif given.holds("-n", "--dry-run", "--just-print", "--recon") or given.has("-q", "--question", "-v"):
        call.harmless()
    else:
        call.ordinary("runs a recipe")


HANDLERS: dict[str, Callable[[Call], None]] = {
    **dict.fromkeys(SQL_CLIENTS, sql),
    "dc": dc,
    **dict.fromkeys("make gmake bmake remake".split(), make),
}
