"""The verdict on one call: guards and deny rules, then rules that ask or allow, then the mode."""

import re
from collections.abc import Callable, Iterable
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from overt.core.capabilities import WRITING, Effect
from overt.core.protocols import ResolvedPath, SandboxState
from overt.core.settings import Action, Mode, Rule
from overt.core.tool import Tool
from overt.lib.web_url import host_of
from overt.safety.command import read_command
from overt.safety.danger import CommandReading
from overt.safety.reversibility import FinalCause, Reach, judge_reach
from overt.safety.rules import DOMAIN, Subject, matching, normal, opens, operands


class Verdict(Struct, frozen=True, kw_only=True):
    """`rule` and `origin` say who decided; `dangerous` (the command is final) limits the answers to once or deny.

    `remedy` says what would allow it where nobody can be asked, and `allowed_by` names it.
    """

    action: Action
    rule: str
    origin: str
    by: Literal["rule", "mode", "person", "guard"]
    why: str = ""
    dangerous: bool = False
    remedy: str = ""
    allowed_by: tuple[str, ...] = ()


BY_MODE: dict[Mode, dict[str, Action]] = {
    "review": dict.fromkeys(("edit", "memory", "command", "boxed", "server", "open server", "web", "other"), "ask"),
    "auto": {
        "edit": "allow",
        "memory": "allow",
        "command": "ask",
        "boxed": "allow",
        "server": "allow",
        "open server": "ask",
        "web": "ask",
        "other": "ask",
    },
    "yolo": dict.fromkeys(("edit", "memory", "command", "boxed", "server", "open server", "web", "other"), "allow"),
    "plan": {
        "edit": "deny",
        "memory": "deny",
        "command": "deny",
        "boxed": "allow",
        "server": "ask",
        "open server": "ask",
        "web": "ask",
        "other": "deny",
    },
}
"""`boxed` is a command while a sandbox stands; in `plan` its box cannot write to the workspace. `server` is an MCP
server that is remote or runs in a sandbox, `open server` one that runs without. `web` is a tool that only reads the
web: nothing changes here, but the request says something to others. `memory` is a note for later sessions, which would
believe whatever a file or a page made the model write."""


class PathFacts(Struct, frozen=True, kw_only=True):
    """What the judgement needs to know of the world: `exists` tells whether a redirection would overwrite
    something, `look` where a path really lies and how many names it has, `also` which programs count as dangerous.
    `edit_rules` are the names of the rules that speak of writing files."""

    root: str
    exists: Callable[[str], bool]
    look: Callable[[tuple[str, ...]], Iterable[ResolvedPath]] | None = None
    also: frozenset[str] = frozenset()
    edit_rules: frozenset[str] = frozenset({"edit"})


def subject_of(tool: Tool, values: tuple[str, ...], sight: PathFacts) -> Subject:
    """Return what a call is about. The values are paths only if the tool reads or writes files."""
    if tool.family == "bash" and values:
        command, *workdir = values
        text = f"cd {_quoted(workdir[0])} && {command}" if workdir else command  # paths in it count from there
        reading = read_command(text, sight.exists, also=sight.also)
        return Subject(
            tool=tool.name,
            family=tool.family,
            values=(text,),
            edit_rules=sight.edit_rules,
            reading=replace(
                reading,
                commands=reading.commands[bool(workdir) :],
                writes=tuple(normal(path, sight.root) for path in reading.writes),
            ),
            reads=tuple(dict.fromkeys(normal(path, sight.root) for path in operands(text, reading))),
        )
    if not tool.effects & {"read", "write"}:
        changes_nothing = "*" in tool.harmless or (bool(values) and values[0] in tool.harmless)
        reading = CommandReading(hazard="harmless" if changes_nothing else "ordinary")
        hosts = tuple(filter(None, map(host_of, values))) if "network" in tool.effects else ()
        return Subject(
            tool=tool.name, family=tool.family, values=values, hosts=hosts, reading=reading, server=tool.server
        )
    return subject_of_paths(values, sight, tool=tool.name, family=tool.family)


def subject_of_paths(values: tuple[str, ...], sight: PathFacts, *, tool: str, family: str = "") -> Subject:
    places = tuple(normal(value, sight.root) for value in values)
    looked = tuple(sight.look(values)) if sight.look else ()
    real = tuple(normal(each.real, sight.root) for each in looked)
    linked = tuple(each.spelled for each in looked if each.links > 1)
    return Subject(tool=tool, family=family, values=tuple(dict.fromkeys((*places, *real))), linked=linked)


def _quoted(folder: str) -> str:
    """Quote a folder as one word of a shell command, with `./` where it could be taken for an option."""
    folder = f"./{folder}" if folder.startswith(("-", "~")) else folder
    escaped = folder.replace("'", "'\\''")
    return folder if re.fullmatch(r"[\w./@+-]+", folder) else f"'{escaped}'"


def harmless(subject: Subject, effects: frozenset[Effect]) -> bool:
    """True for calls that may run in parallel: readers, and commands known to change nothing."""
    return not effects & WRITING or subject.reading.hazard == "harmless"


class World(Struct, frozen=True, kw_only=True):
    """Where a command would run. If it is `boxed`, a sandbox keeps it inside the workspace; if the settings make the
    sandbox `read_only`, the mode is plan. A dangerous command without a `reach` counts as final. In an `isolated` copy
    of the workspace nothing is protected."""

    boxed: bool = False
    read_only: bool = False
    isolated: bool = False
    reach: Reach | None = None


NO_WALLS = World()


class CallFacts(Struct, frozen=True, kw_only=True):
    """What the verdict on a call depends on. `fallback` holds where no rule speaks; if it is None, the mode decides."""

    subject: Subject
    effects: frozenset[Effect]
    rules: tuple[Rule, ...]
    mode: Mode
    fallback: Action | None = None
    world: World = NO_WALLS

    @property
    def harmless(self) -> bool:
        return harmless(self.subject, self.effects)

    @property
    def dangerous(self) -> bool:
        return self.subject.reading.hazard == "dangerous"

    @property
    def kind(self) -> str:
        """The row of `BY_MODE` that the call belongs to."""
        if self.subject.is_command and self.world.boxed:
            return "boxed"
        if "mcp" in self.effects:
            is_remote = self.subject.server is not None and self.subject.server.remote
            return "server" if self.world.boxed or is_remote else "open server"
        if self.effects == {"network"}:
            return "web"
        if "memory" in self.effects:
            return "memory"
        return "edit" if "write" in self.effects else "command" if "run" in self.effects else "other"


def judge(
    subject: Subject,
    effects: frozenset[Effect],
    *,
    rules: Iterable[Rule],
    mode: Mode,
    fallback: Action | None = None,
    world: World = NO_WALLS,
) -> Verdict:
    """Return the verdict on a call as guards, rules and mode give it, without hooks and without asking anyone."""
    facts = CallFacts(subject=subject, effects=effects, rules=tuple(rules), mode=mode, fallback=fallback, world=world)
    return judge_by_guards(facts) or judge_by_rules(facts) or judge_by_mode(facts)


def judge_by_guards(facts: CallFacts) -> Verdict | None:
    """Deny or question what no rule that allows and no mode can open: calls that a rule denies, protected files,
    changes in plan mode, and final commands that the user has not named in a rule."""
    subject = facts.subject
    if rule := matching(facts.rules, subject, "deny"):
        return _by(rule, "deny", f"denied by the rule {rule.text()}")
    writes = "write" in facts.effects and not facts.world.isolated
    if writes and (name := next(filter(None, map(_protected, subject.values)), "")):
        return Verdict(
            action="deny", rule="protected", origin="guard", by="guard", why=f"file tools do not change {name}"
        )
    refused_by_plan = facts.dangerous or BY_MODE["plan"][facts.kind] == "deny"
    if facts.mode == "plan" and not facts.harmless and refused_by_plan:
        return _by_mode(facts, "deny", _plan_refuses(subject, facts.kind))
    if facts.dangerous and (finals := _finals(subject, facts.world.reach, facts.rules)):
        return _final(subject, finals)
    return None


def judge_by_rules(facts: CallFacts) -> Verdict | None:
    """Return what a rule says that asks about the call or allows it, or None if no rule speaks of it."""
    if rule := matching(facts.rules, facts.subject, "ask"):
        return _by(rule, "ask", f"asked by the rule {rule.text()}")
    if rule := matching(facts.rules, facts.subject, "allow"):
        return _by(rule, "allow", "")
    return None


def judge_by_mode(facts: CallFacts) -> Verdict:
    """Return the verdict on a call that no rule speaks of: harmless calls run, the rest is up to fallback or mode."""
    subject, mode, fallback = facts.subject, facts.mode, facts.fallback
    if facts.harmless:
        return Verdict(action="allow", rule="harmless", origin="default", by="mode")
    if subject.linked and "write" in facts.effects:
        why = f"{', '.join(subject.linked)} has another name elsewhere on the disk (a hard link)"
        return Verdict(action="ask", rule="hard link", origin="guard", by="guard", why=why)
    if fallback is not None and (mode != "plan" or fallback != "allow"):
        return Verdict(action=fallback, rule="fallback", origin="permissions.fallback", by="rule", why="no rule speaks")
    if facts.kind == "web" and BY_MODE[mode]["web"] == "ask":
        return _ask_about_web(subject, mode)
    if facts.kind == "memory" and BY_MODE[mode]["memory"] == "ask":
        return _ask_about_memory(subject, mode)
    reach = facts.world.reach if facts.dangerous else None
    sends = subject.server is not None and subject.server.sends
    if "mcp" in facts.effects and BY_MODE[mode][facts.kind] == "ask" and (sends or mode == "plan"):
        return _ask_about_server(facts)
    return _by_mode(facts, BY_MODE[mode][facts.kind], _explain_recoverable(subject, reach) if reach else f"{mode} mode")


def _ask_about_server(facts: CallFacts) -> Verdict:
    """Ask about a call that no sandbox contains: the server is elsewhere, or may write although the mode is plan."""
    name = facts.subject.tool
    flag = f"--allowedTools {name}"
    remedy = f"Allow it with `{flag}`" + (" or `--permission-mode auto`." if facts.mode == "review" else ".")
    return Verdict(
        action="ask",
        rule=facts.mode,
        origin="mode",
        by="mode",
        why=f"{facts.mode} mode",
        remedy=remedy,
        allowed_by=(flag,),
    )


def _by_mode(facts: CallFacts, action: Action, why: str) -> Verdict:
    """Return a verdict of the mode. With a read-only sandbox the reason names it: the user has not chosen plan mode."""
    if facts.world.read_only and facts.mode == "plan":
        why = f"the sandbox is read-only, so {facts.subject.tool} was refused"
        return Verdict(action=action, rule="read-only", origin="sandbox", by="mode", why=why)
    return Verdict(action=action, rule=facts.mode, origin="mode", by="mode", why=why)


def _ask_about_web(subject: Subject, mode: Mode) -> Verdict:
    """Ask about a request to the web. A run that cannot ask is told the rule that would allow it."""
    rule = f"'{subject.tool}({DOMAIN}{subject.hosts[0]})'" if subject.hosts else subject.tool
    flag = f"--allowedTools {rule}"
    return Verdict(
        action="ask",
        rule=mode,
        origin="mode",
        by="mode",
        why=f"{mode} mode",
        remedy=f"Allow it with `{flag}` or start a chat.",
        allowed_by=(flag,),
    )


def _ask_about_memory(subject: Subject, mode: Mode) -> Verdict:
    """Ask about a note. A run that cannot ask does not write it: nobody would see where it came from."""
    flag = f"--allowedTools {subject.tool}"
    remedy = f"Allow it with `{flag}` or `--permission-mode auto`."
    why = f"{mode} mode"
    return Verdict(action="ask", rule=mode, origin="mode", by="mode", why=why, remedy=remedy, allowed_by=(flag,))


def _protected(path: str) -> str | None:
    """Return why a path is protected. Start files of a home count only there, which `workspace` checks."""
    from overt.lib.protected_names import protected_name  # late: 1.3 ms

    return protected_name(path, home="elsewhere")


def _finals(subject: Subject, reach: Reach | None, rules: tuple[Rule, ...]) -> list[FinalCause]:
    """Return the causes that make a command final and that no rule of the user allows."""
    if reach is None:
        reach = judge_reach(subject.reading, sandbox=SandboxState(), surveys={})
    return [final for final in reach.finals if not any(opens(rule, final.cause) for rule in rules)]


def _final(subject: Subject, finals: list[FinalCause]) -> Verdict:
    why = "; ".join(dict.fromkeys(final.text() for final in finals))
    keys = [final.cause.key for final in finals]
    flags = tuple(f"--allowedTools '{_rule(key)}'" for key in dict.fromkeys(keys)) if all(keys) else ()
    remedy = f"Allow it with `{' '.join(flags)}` or start a chat." if flags else "Start a chat to approve it."
    if any(final.cause.unknown or final.cause.kind == "code" for final in finals):
        remedy += " Or write out the files it changes, so that it can be seen whether undo covers them."
    return Verdict(
        action="ask",
        rule="final",
        origin="guard",
        by="guard",
        why=why,
        dangerous=True,
        remedy=remedy,
        allowed_by=flags,
    )


def _rule(key: tuple[str, ...]) -> str:
    """Return the rule that allows it, as text for a quoted word of a shell."""
    words = " ".join(key).replace("'", "")
    return f"bash({words} *)"


def _explain_recoverable(subject: Subject, reach: Reach) -> str:
    causes = dict.fromkeys(f"{cause.words} ({cause.why})" for cause in subject.reading.dangers)
    return "; ".join((*causes, *((reach.note,) if reach.note else ())))


def _plan_refuses(subject: Subject, kind: str) -> str:
    if kind == "command" and subject.reading.hazard == "ordinary":
        return "plan mode runs such a command only in a read-only sandbox, and there is none here (see overt doctor)"
    refused = f"plan mode changes nothing, so {subject.tool} was refused"
    return f"{refused}; finish the plan and ask the user to leave plan mode"


def _by(rule: Rule, action: Action, why: str) -> Verdict:
    return Verdict(action=action, rule=rule.text(), origin=rule.origin, by="rule", why=why)
