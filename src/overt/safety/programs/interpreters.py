"""Programs that are given a program as text: SQL is looked over, other code is not readable."""

import re
from collections.abc import Callable, Sequence

from msgspec.structs import replace

from overt.safety.programs.options import read_options
from overt.safety.programs.program_call import DELETES, ProgramCall, base_name
from overt.safety.programs.program_classes import DESTROYING, verbs
from overt.safety.shell.words import Word, literal

# ── interpreters ─────────────────────────────────────────────────────────────────────────────────────────

INTERPRETERS = frozenset(
    """python py pypy ipython perl raku ruby jruby irb node nodejs ts-node tsx php lua luajit R Rscript julia deno
    elixir iex erl ghc ghci runghc groovy scala tclsh wish guile racket sbcl octave clojure bb clj swift pwsh powershell
    ocaml nix-shell jshell dc""".split()
)
CHECKS = {"ruby": ("-c",), "node": ("-c", "--check"), "php": ("-l", "--syntax-check", "-i", "-m", "--ini", "--info")}
"""Options under which nothing is run."""
TAKES = "-W -X -I -C -F -E -K -Q --env-file --check-hash-based-pycs -d -f -z -t -S --project"
CODE = re.compile(
    r"-\w*[eEcprRBnixMLdlm]\w*|--?(?:eval|print|run|rpc-eval|code|require|import|loader|command|Command|enc).*"
)
"""Options that hold code, or name code that is loaded."""

READING_MODULES = frozenset(
    "this calendar platform site sysconfig ast tokenize dis pyclbr antigravity pickletools".split()
)
CODE_MODULES = frozenset("timeit code pdb zipfile tarfile  gzip idlelib".split())


MODULE_PROGRAMS = frozenset("pip pytest black ruff isort autopep8 poetry uv twine build coverage mypy flake8".split())


def interpreter_named(name: str) -> str:
    """The interpreter that goes by this name, with a version or not; empty if there is none."""
    stem = re.sub(r"(?:w|[\d.]+)$", "", name) or name
    return next((each for each in (name, stem) if each in INTERPRETERS), "")


def interpreter(call: ProgramCall, name: str) -> None:
    """Scripts and code are ordinary: the sandbox contains them. What comes in a stream could be anything."""
    python = name in ("python", "py", "pypy", "ipython")
    inline = False
    rest = iter(range(len(call.args)))
    for at in rest:
        word = call.args[at]
        if not word.text.startswith("-") or word.text in ("-", "--"):
            inline |= word.wild
            break
        if word.text in CHECKS.get(name, ()) or (name == "perl" and re.fullmatch(r"-V(?::[\w.*]+)?", word.text)):
            return call.harmless()
        if python and (module := re.fullmatch(r"-[A-Za-bd-ln-z]*m(.*)", word.text)):
            named = [replace(word, text=module[1], plain=module[1])] if module[1] else []
            if words := (*named, *call.args[at + 1 :]):
                return _module(call, words)
        inline |= CODE.fullmatch(word.text) is not None
        if word.text in TAKES.split():
            next(rest, None)
    operands = call.options(TAKES).operands
    if inline or (operands and operands[0].text in ("eval", "repl")):
        return call.inline("runs code given as an argument")
    if operands and operands[0].text != "-" and not operands[0].text.startswith(("/dev/", "/proc/")):
        return _script(call, operands)
    if call.feed.text:
        return call.inline("runs code of a here-document")
    if call.feed.kind != "none" or operands:
        return call.unreadable("runs what it is sent")
    return call.ordinary("starts an interpreter")


def _script(call: ProgramCall, operands: Sequence[Word]) -> None:
    script, texts = operands[0], [word.text for word in operands[1:]]
    if script.stream or (script.computed and script.leads):
        call.unreadable("runs a script that cannot be read here")
    elif verbs(operands[1:2]) & DESTROYING or (texts[:1] == ["migrate"] and "zero" in texts):
        call.dangerous("is told to delete, stop or reset something")
    elif script.text == "setup.py" and {"upload", "register"} & set(texts):
        call.dangerous("publishes something", kind="published")
    else:
        call.ordinary("runs a script")


def _module(call: ProgramCall, args: tuple[Word, ...]) -> None:
    module, rest = args[0].text, args[1:]
    if any(word.text in ("-h", "--help") for word in rest[:1]):
        call.harmless()
    elif module == "json.tool":
        files = read_options(rest, frozenset({"--indent"})).operands
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
        shadowed = any(call.exists(word.text.partition(".")[0] + end) for word in rest for end in (".py", ""))
        call.harmless() if rest and not shadowed else call.ordinary("runs a module")
    elif module in ("venv", "virtualenv") and any(word.text == "--clear" for word in rest):
        call.dangerous(DELETES, [word for word in rest if not word.text.startswith("-")])
    elif module in READING_MODULES:
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


def sql(call: ProgramCall) -> None:
    code, takes = SQL_CLIENTS[call.name]
    lite = call.name in ("sqlite3", "duckdb")
    options = call.options(
        f"{code} {takes}".replace(" -cmd", " --cmd").replace("-cmd", "--cmd") if lite else f"{code} {takes}",
        single=lite,
    )
    statements = [*options.values(*code.replace("-cmd", "--cmd").split())]
    statements += options.operands[1:] if lite else ()
    if options.has("-o", "--output", "-L", "--log-file", "--tee", "--pager", "--init-command", "--init"):
        call.dangerous("writes files or runs programs", kind="code")
    if call.feed.kind == "text":
        statements.append(literal(call.feed.text))
    elif call.feed.kind == "stream":
        call.unreadable("runs statements it is sent")
    if options.has("-f", "--file", "-i"):
        call.ordinary("runs a script")
    if not statements and not options.has("-l", "--list"):
        return call.ordinary("works on a database")
    if any(word.computed for word in statements):
        return call.unreadable("runs statements that are computed")
    text = "\n".join(re.sub(r"'(?:[^']|'')*'|--[^\n]*", "''", word.plain) for word in statements)
    if SQL_WRITES.search(text) or not all(SQL_READS.match(part) for part in text.split(";")):
        return call.dangerous("changes a database", options.operands[:1] if lite else None)
    return call.harmless()


def make(call: ProgramCall) -> None:
    options = call.options(
        "-C -f -I -j -l -o -W --directory --file --makefile --include-dir --eval --old-file --what-if --jobs"
    )
    files = [*options.values("-f", "--file", "--makefile", exact=False)]
    if options.has("--eval", "-E", exact=False) or any(
        word.text.startswith(("SHELL=", ".SHELLFLAGS=", "MAKEFLAGS=")) for word in call.args
    ):
        call.dangerous("runs a recipe given as an argument", kind="code")
    elif any(word.text in ("-", "/dev/stdin") or word.stream or word.computed for word in files):
        call.unreadable("runs a makefile that cannot be read here")
    elif options.holds("-n", "--dry-run", "--just-print", "--recon") or options.has("-q", "--question", "-v"):
        call.harmless()
    else:
        call.ordinary("runs a recipe")


HANDLERS: dict[str, Callable[[ProgramCall], None]] = {
    **dict.fromkeys(SQL_CLIENTS, sql),
    **dict.fromkeys("make gmake bmake remake".split(), make),
}
