"""Does a rule speak of this call? Patterns are globs over paths, or over each simple command of a shell line."""

import itertools
import posixpath
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from msgspec import Struct
from msgspec.structs import replace

from overt.core.requests import ServerTarget
from overt.core.settings import Rule
from overt.lib.text import plain_name
from overt.lib.web_url import normalize_host
from overt.safety.danger import Cause, CommandReading

ALWAYS = "always"
PREFIX = ":*"
DOMAIN = "domain:"
"""`webfetch(domain:example.org)` names one host, `webfetch(domain:*.example.org)` all hosts below it."""
INTERPRETERS = frozenset(
    """python python2 python3 node deno bun ruby perl php lua bash sh zsh dash ksh npx bunx pnpx uvx pipx uv
    env xargs ssh docker podman kubectl sudo time timeout nice nohup watch eval exec command ipython bpython pypy tsx
    ts-node nodejs Rscript julia osascript pwsh fish csh tcsh busybox setsid stdbuf doas su parallel awk gawk""".split()
)
"""What these are given to run decides, so one approval says nothing about the next."""
NAMES = {"pip2": "pip", "pip3": "pip", "python3": "python", "nodejs": "node", "py.test": "pytest", "podman": "docker"}
WITH_SUBCOMMANDS = frozenset(
    """git npm yarn pnpm cargo go make just task pip pip3 poetry dotnet mvn gradle bundle rake composer terraform
    helm gh apt apt-get brew conda rustup nox tox hatch pdm""".split()
)
RECIPES = frozenset("make gmake just task rake".split())
RECIPE_OPTION = r"-[fCIED]|--(?:(?:make|just|task|rake)?file|directory|working-directory|dir|eval|include)"
"""Compiled at its first use: that costs 0.3 ms, and most starts do not need it."""


class Subject(Struct, frozen=True, kw_only=True):
    """What a call is about: paths for file tools, one command line for `bash` with what it was read as.

    `family` is the name by which rules know tools of this kind together, by default the name of the tool. `values` of
    a file tool hold each path as it was spelled and, where a link leads elsewhere, where it really lies. `reads` are
    what the words of a command may name. `linked` are those with more than one name on the disk. `hosts` are those of
    the URLs among the values. `edit_rules` are the names of the rules that speak of what a command writes. `server` is
    the MCP server and its tool that a call goes to.
    """

    tool: str
    family: str = ""
    values: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    linked: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    reading: CommandReading = CommandReading(hazard="ordinary")
    edit_rules: frozenset[str] = frozenset({"edit"})
    server: ServerTarget | None = None

    @property
    def is_command(self) -> bool:
        return (self.family or self.tool) == "bash"


def normal(path: str, root: str) -> str:
    """One spelling for each place: relative to the workspace where it lies in it. Links stay as they are."""
    place = posixpath.normpath(posixpath.join(root, path))
    if place == root:
        return "."
    return place[len(root.rstrip("/")) + 1 :] if place.startswith(root.rstrip("/") + "/") else place


def matching(rules: Iterable[Rule], subject: Subject, action: str) -> Rule | None:
    """The first rule with this action that speaks of the call.

    Several rules may allow one command line together: each of its parts then has one that speaks of it.
    """
    rules = [rule for rule in rules if rule.action == action]
    whole = next((rule for rule in rules if speaks_of(rule, subject)), None)
    if whole or action != "allow" or not subject.is_command or not _plain(subject.reading):
        return whole
    commands = [rule for rule in rules if rule.tool == "bash" and rule.pattern and not rule.exact]
    shares = [next((rule for rule in commands if _covers(rule, part)), None) for part in _parts(subject.reading)]
    return shares[0] if shares and all(shares) else None


def opens_network(rules: Iterable[Rule], subject: Subject) -> bool:
    """True if rules open the network to a command: they cover every part that is not both harmless and offline.

    A stored rule for one exact command opens it where that command is known to need it: the person has seen it. Where
    the line itself changes which code runs (`PATH=. npm ci`), the name in a rule says nothing.
    """
    if any(cause.kind == "environment" for cause in subject.reading.causes):
        return False
    needed = subject.reading.network
    granting = (rule for rule in rules if rule.network or (rule.exact and rule.origin == ALWAYS and needed))
    return subject.is_command and matching(granting, subject, "allow") is not None


def speaks_of(rule: Rule, subject: Subject) -> bool:
    name = rule.tool
    if subject.is_command and name in subject.edit_rules and rule.action != "allow":
        return _speaks_of_paths(rule, subject.reading.writes)  # what a command writes is an edit too
    if subject.is_command and name == "read" and rule.action != "allow":
        within = tuple(f"{path}/x" for path in subject.reads)  # a folder that is searched
        return bool(rule.pattern) and _speaks_of_paths(rule, (*subject.reads, *within))
    if name == "external_directory":
        outside = tuple(path for path in subject.values if path.startswith("/")) if not subject.is_command else ()
        return rule.action != "allow" and bool(outside) and (not rule.pattern or _speaks_of_paths(rule, outside))
    if subject.server and name != "*":
        return _speaks_of_server(rule, subject.tool, subject.server)
    same = name in (subject.tool, subject.family, "*")
    if not same or not rule.pattern:
        return same
    if subject.is_command:
        return _speaks_of_command(rule, subject)
    if rule.pattern.startswith(DOMAIN):
        named = [_names_host(rule.pattern, host) for host in subject.hosts]
        return bool(named) and all(named) if rule.action == "allow" else any(named)
    return _speaks_of_paths(rule, subject.values)


def _speaks_of_server(rule: Rule, shown: str, target: ServerTarget) -> bool:
    """True if a rule names the tool of an MCP server: `mcp`, `mcp(github__*)`, `mcp__github`, `mcp__github__*`.

    It may name them as the configuration and the server do, or as the model is `shown` them. What a rule allows to
    one server it does not allow to another whose name begins with the same words.
    """
    servers = {target.server, plain_name(target.server)}
    tools = {target.tool, plain_name(target.tool)}
    names = {shown} | {f"mcp__{server}__{tool}" for server in servers for tool in tools}
    if rule.tool == "mcp" and not rule.pattern:
        return True
    pattern = f"mcp__{rule.pattern}" if rule.tool == "mcp" else "" if rule.pattern else rule.tool
    if pattern in names or pattern.removeprefix("mcp__") in servers:
        return True
    if rule.action != "allow" or "*" in pattern.removeprefix("mcp__").partition("__")[0]:
        return any(fnmatchcase(name, pattern) for name in names)
    heads = [f"mcp__{server}__" for server in servers if pattern.startswith(f"mcp__{server}__")]
    return any(fnmatchcase(tool, pattern.removeprefix(head)) for head in heads for tool in tools)


def hosts_allowed_private(rules: Iterable[Rule]) -> frozenset[str]:
    """Return the hosts that rules of the user name exactly, so that webfetch may reach them at any address.

    Neither a rule of a project nor an answer with `always` opens a private address.
    """
    patterns = (
        rule.pattern.removeprefix(DOMAIN)
        for rule in rules
        if rule.action == "allow" and rule.tool == "webfetch" and rule.pattern.startswith(DOMAIN)
        if rule.origin != ALWAYS and not rule.of_project
    )
    return frozenset(filter(None, map(_host_in, patterns)))


def _names_host(pattern: str, host: str) -> bool:
    name = pattern.removeprefix(DOMAIN).strip()
    if name == "*":
        return True
    if name.startswith("*."):
        above = normalize_host(name[2:])
        return bool(above) and host.endswith(f".{above}")
    return _host_in(name) == host


def _host_in(name: str) -> str:
    """Return the host that a pattern names; an IPv6 address may lack its brackets."""
    return normalize_host(f"[{name}]" if ":" in name and name[0] != "[" else name)


def opens(rule: Rule, cause: Cause) -> bool:
    """True if a rule of the user allows this part of a command although it is final.

    The pattern must hold the words that make it final: `bash(git *)` does not open `git push --force`. Neither a rule
    of a project nor an answer with `always` opens anything.
    """
    if rule.action != "allow" or rule.tool != "bash" or rule.origin == ALWAYS or rule.of_project:
        return False
    words = rule.pattern.removesuffix(PREFIX).split()
    return (
        bool(cause.key)
        and set(cause.key) <= set(words)
        and _command_pattern(rule.pattern).fullmatch(cause.words) is not None
    )


def _speaks_of_paths(rule: Rule, paths: tuple[str, ...]) -> bool:
    """A denial also holds for names that some file systems take for the same: other letters' case, other forms."""
    if not rule.pattern:
        return bool(paths)
    pattern = _path_pattern(rule.pattern)
    if rule.action == "allow":
        return bool(paths) and all(pattern.fullmatch(path) for path in paths)
    from overt.lib.protected_names import fold_name  # late: 1.2 ms

    alike = _path_pattern(fold_name(rule.pattern))
    return any(pattern.fullmatch(path) or alike.fullmatch(fold_name(path)) for path in paths)


def operands(command: str, reading: CommandReading) -> Iterator[str]:
    """Words that may name a file: `cat .env` reads it as much as a tool does. A courtesy: names can be computed."""
    words = [word for part in reading.commands for word in part.split(" ")[1:]]
    words += re.findall(r"<\s*([^\s<>|&;()]+)", command)
    words += [match[1] or match[2] for match in re.finditer(r"'([^']+)'|\"([^\"]+)\"", command)]
    folders = [part.split(" ")[1] for part in reading.commands if part.startswith("cd ")]
    for word in words:
        for path in (word, word.partition("=")[2], word[2:] if word[:1] == "-" else "", word.lstrip("<@")):
            if path:
                yield path
                yield from (posixpath.join(folder, path) for folder in folders)


def lasting(subject: Subject, *, network: bool = False) -> tuple[Rule, ...]:
    """The rules that *always* stores for a command; none where nothing may be stored.

    Each part that is not harmless stands for the commands that begin like it. Of a program that runs whatever it is
    given, of anything less plain, and of a command to which the network is opened, the exact text is stored.
    """
    command, reading = subject.values[0], subject.reading
    beginnings = [_beginning(part) for part in _parts(reading)]
    if not network and _plain(reading) and all(beginnings) and _pieces(command) == set(reading.commands):
        return tuple(_always(pattern) for pattern in dict.fromkeys(beginnings))
    if command.endswith(("*", PREFIX)):
        return ()  # listed as a rule it would read as a pattern, which means more
    return (replace(_always(command), exact=True, network=network),)


def _always(pattern: str) -> Rule:
    return Rule(action="allow", tool="bash", pattern=pattern, origin=ALWAYS)


def _pieces(command: str) -> set[str]:
    """The command split at its operators, without quotes and without `2>&1`. Only where these pieces are its simple
    commands does the text hold nothing else, such as a wrapper or a variable."""
    pieces = re.split(r"&&|\|\||[;|\n]", re.sub(r"\s[12&]?>(?:&1|\s?/dev/null)(?=\s|$)", "", command))
    return {" ".join(re.sub(r"[\"']", "", piece).split()) for piece in pieces if piece.strip()}


def _beginning(part: str) -> str:
    """The pattern for commands that begin like this one; empty where only the exact text says enough."""
    words = part.split(" ")
    if not re.fullmatch(r"/?(?:[\w.+-]+/)*[\w.+-]+", words[0]) or ".." in words[0].split("/"):
        return ""
    size = 1
    if posixpath.basename(words[0]) in WITH_SUBCOMMANDS:
        size += sum(1 for _ in itertools.takewhile(lambda word: re.fullmatch(r"[a-z][\w:-]*", word), words[1:3]))
        size = min(size, 3 if words[1:2] in (["run"], ["run-script"], ["compose"]) else 2)
    if any(_interprets(word) for word in words[:size]) or words[:2] == ["go", "run"] or _told_what_to_run(part):
        return ""
    return " ".join(words[:size]) + " *"


def _interprets(word: str) -> bool:
    name = posixpath.basename(word)
    return name in INTERPRETERS or re.sub(r"[\d.]+$", "", name) in INTERPRETERS


def _told_what_to_run(command: str) -> bool:
    """True if an option names the recipe file, its folder or the shell, so that the beginning says little."""
    program, *words = command.split(" ")
    recipes = posixpath.basename(program) in RECIPES
    return any(word.startswith("--script-shell") or (recipes and re.match(RECIPE_OPTION, word)) for word in words)


def _plain(reading: CommandReading) -> bool:
    return not reading.opaque and not reading.redirects


def _parts(reading: CommandReading) -> tuple[str, ...]:
    """The simple commands that rules have to cover: all of them where none stands out."""
    return reading.notable or reading.commands


def _covers(rule: Rule, part: str) -> bool:
    if rule.origin == ALWAYS and _told_what_to_run(part):
        return False
    return _command_pattern(rule.pattern).fullmatch(part) is not None


def _speaks_of_command(rule: Rule, subject: Subject) -> bool:
    """Allowing needs every simple command that is not harmless to match, and nothing beside them: no redirection,
    nothing unclear. Refusing or asking needs one of them, or the text without its quotes."""
    command = subject.values[0] if subject.values else ""
    if rule.exact:
        return rule.pattern == command
    reading = subject.reading
    if rule.action == "allow":
        return _plain(reading) and bool(reading.commands) and all(_covers(rule, part) for part in _parts(reading))
    pattern = _command_pattern(rule.pattern)
    bare = re.sub(r"[\"'\\]", "", command).strip()
    spelled = (variant for part in reading.commands for variant in _spellings(part))
    return any(pattern.fullmatch(part) for part in (command.strip(), bare, *spelled))


def _spellings(command: str) -> Iterator[str]:
    """Other ways to say the same to a program: by its path, with options before the subcommand, by another name."""
    program, *rest = command.split(" ")
    name = posixpath.basename(program)
    plain = re.sub(r"(?<=[a-z])[\d.]+$", "", name)  # pip3.11
    names = [name, plain, NAMES.get(name, name)]
    options = next((place for place, word in enumerate(rest) if not word.startswith("-")), len(rest))
    tails = [rest, rest[options:]]
    # An option may take the next word with it: `git -C . push`, `pip --log x install`.
    tails += [rest[place + 1 :] for place, word in enumerate(rest[:6]) if place and rest[place - 1][:1] == "-"]
    if rest[:1] == ["pip"]:  # uv pip
        tails, names = [rest[1:]], ["pip"]
    yield command
    for each in dict.fromkeys(names):
        for tail in tails:
            yield " ".join((each, *tail))


def _command_pattern(pattern: str) -> re.Pattern[str]:
    """`git status *` also matches `git status`; `npm run:*` is Claude Code's way of writing the same."""
    if pattern.endswith(PREFIX):
        pattern = pattern[:-2] + " *"
    tail = "(?: .*)?" if pattern.endswith(" *") else ""
    body = pattern[:-2] if tail else pattern
    return re.compile(".*".join(re.escape(piece) for piece in body.split("*")) + tail, re.DOTALL)


def _path_pattern(pattern: str) -> re.Pattern[str]:
    """As in .gitignore: `**` any folders, `*` within one; without a slash the name may stand anywhere."""
    pattern = pattern.removeprefix("./")
    anywhere = "/" not in pattern.rstrip("/")
    anchored = pattern.removeprefix("/") if not pattern.startswith("//") else pattern[1:]
    pieces = re.split(r"(\*\*/?|\*|\?)", anchored)
    translated = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(translated.get(piece, re.escape(piece)) for piece in pieces)
    return re.compile(("(?:.*/)?" if anywhere else "") + body + "(?:/.*)?", re.DOTALL)
