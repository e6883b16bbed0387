"""What `overt permissions` asks: stored rules and what they would have matched, verdicts explained, decisions made."""

import os
from collections import Counter
from collections.abc import Iterator

from msgspec import Struct, ValidationError, convert
from msgspec.structs import replace

from overt.app.diagnostics.event_loop import run_async
from overt.app.setting import Setting
from overt.config.saved_rules import load_always, remove_always
from overt.core.capabilities import Effect
from overt.core.codec import decode
from overt.core.errors import ConfigError, SessionError
from overt.core.events import Event, PermissionDecided, ToolStarted
from overt.core.history import History
from overt.core.messages import Call
from overt.core.protocols import CommandChange, SandboxState, Survey
from overt.core.settings import Action, Mode, Rule
from overt.core.tool import Arguments, Tool
from overt.safety.command import read_command
from overt.safety.policy import PathFacts, World, judge, subject_of
from overt.safety.reversibility import Reach, changes_of, judge_reach
from overt.safety.rules import Subject, opens_network, speaks_of
from overt.sessions.entries import Entry
from overt.sessions.index import paths
from overt.sessions.load import load
from overt.tools.bash import bash

MODES: tuple[Mode, ...] = ("review", "auto", "plan", "yolo")
MOST_SESSIONS = 200
EXAMPLES = 3
RUNS: frozenset[Effect] = frozenset({"run"})


class RuleUse(Struct, frozen=True, kw_only=True):
    """A stored rule, and what of this project's past it would have matched."""

    rule: Rule
    count: int
    examples: tuple[str, ...]


class HazardReason(Struct, frozen=True, kw_only=True):
    words: str
    why: str


class CommandVerdict(Struct, frozen=True, kw_only=True):
    """A command under the default rules."""

    cmd: str
    verdict: Action
    dangerous: bool
    hazards: tuple[HazardReason, ...]


class ModeVerdict(Struct, frozen=True, kw_only=True):
    """The verdict of one mode inside a sandbox; `alone` is the one without, where it differs."""

    mode: Mode
    verdict: Action
    alone: Action
    rule: str
    origin: str
    why: str


class CallExplanation(Struct, frozen=True, kw_only=True):
    """What a call would meet: how it was read and what each mode says. `commands` are what rules are matched with.

    `reach` of a dangerous command is `recoverable` or `final`, and `because` says why; `remedy` is what allows a final
    one in a non-interactive run.
    """

    tool: str
    about: tuple[str, ...]
    hazard: str
    reach: str
    because: tuple[str, ...]
    remedy: str
    opaque: bool
    network: bool
    hazards: tuple[HazardReason, ...]
    commands: tuple[str, ...]
    verdicts: tuple[ModeVerdict, ...]


class RecordedDecision(Struct, frozen=True, kw_only=True):
    """One decision from the record: `when` is seconds since 1970."""

    when: float
    session: str
    tool: str
    what: str
    verdict: str
    rule: str
    origin: str
    by: str
    reason: str


# ── verdicts ─────────────────────────────────────────────────────────────────────────────────────────────


def classify(command: str, *, mode: Mode = "review") -> CommandVerdict:
    """By the default rules alone, wherever it is asked: what a redirection names is taken to exist."""
    reading = read_command(command)
    subject = Subject(tool="bash", values=(command,), reading=reading)
    verdict = judge(subject, RUNS, rules=(), mode=mode)
    return CommandVerdict(
        cmd=command,
        verdict=verdict.action,
        dangerous=reading.hazard == "dangerous",
        hazards=tuple(HazardReason(words=cause.words, why=cause.why) for cause in reading.causes),
    )


def explain(setting: Setting, text: str, *, mode: str = "") -> CallExplanation:
    """A command, or a call written like a rule: `edit(src/a.py)`, with the rules of this project."""
    tool, value = _call(setting, text)
    subject = subject_of(tool, (value,), _sight(setting))
    effects = tool.effects
    permissions = setting.config.permissions
    rules = (*permissions.rules, *_always(setting))
    closed = subject.reading.network and not setting.config.sandbox.network and not opens_network(rules, subject)

    reach = _judge_reach(setting, subject)
    worlds = (World(boxed=True, reach=reach), World())

    def ruled(mode: Mode) -> ModeVerdict:
        boxed, alone = (
            judge(subject, effects, rules=rules, mode=mode, fallback=permissions.fallback, world=world)
            for world in worlds
        )
        if closed and boxed.action != "deny" and (boxed.action == "allow" or boxed.by == "mode"):
            boxed = replace(boxed, action="ask", rule="network", origin="sandbox", why="it needs the network")
        return ModeVerdict(
            mode=mode,
            verdict=boxed.action,
            alone=alone.action,
            rule=boxed.rule,
            origin=boxed.origin,
            why=boxed.why,
        )

    reading = subject.reading
    final = judge(subject, effects, rules=(), mode="yolo", world=worlds[0])
    return CallExplanation(
        tool=tool.name,
        about=subject.values,
        hazard=reading.hazard if subject.is_command else "",
        reach=("final" if reach.finals else "recoverable") if reach else "",
        because=_reasons(reach) if reach else (),
        remedy=final.remedy,
        opaque=reading.opaque,
        network=reading.network,
        hazards=tuple(HazardReason(words=cause.words, why=cause.why) for cause in reading.causes),
        commands=reading.commands,
        verdicts=tuple(ruled(each) for each in MODES if mode in ("", each)),
    )


def _reasons(reach: Reach) -> tuple[str, ...]:
    return tuple(final.text() for final in reach.finals) or tuple(filter(None, (reach.note,)))


def _judge_reach(setting: Setting, subject: Subject) -> Reach | None:
    """As a run would find it now: a dangerous command is held against what undo covers."""
    reading, policy = subject.reading, setting.config.permissions.dangerous_policy
    if reading.hazard != "dangerous":
        return None
    from overt.sandbox.choose_sandbox import choose  # late: 0.2 ms

    sandbox: SandboxState = choose(setting.config.sandbox.mode)
    changes = changes_of(reading) if sandbox.walled and policy == "reach" else {}
    surveys = dict(zip(changes, run_async(_survey(setting, tuple(changes.values()))), strict=True)) if changes else {}
    network = setting.config.sandbox.network
    return judge_reach(reading, sandbox=sandbox, surveys=surveys, policy=policy, network=network)


async def _survey(setting: Setting, changes: tuple[CommandChange, ...]) -> tuple[Survey, ...]:
    from overt.app.agent_capabilities import Capabilities  # late: 4 ms
    from overt.app.session_workspace import SessionWorkspace  # late: 3 ms
    from overt.app.workspace_services import WorkspaceServices  # late: 1.5 ms

    workspace = SessionWorkspace(setting, WorkspaceServices(setting))
    try:
        return await Capabilities(workspace, history=History, effects=frozenset()).survey(changes)
    finally:
        await workspace.close()


def _call(setting: Setting, text: str) -> tuple[Tool, str]:
    name, bracket, rest = text.strip().partition("(")
    tool = setting.tools.find(name)
    return (tool, rest[:-1]) if bracket and rest.endswith(")") and tool else (bash, text)


def _sight(setting: Setting) -> PathFacts:
    root = setting.roots.workspace
    return PathFacts(
        root=root,
        exists=lambda path: os.path.lexists(os.path.join(root, path)),
        also=frozenset(setting.config.permissions.dangerous),
        edit_rules=setting.tools.edit_rules,
    )


# ── stored rules ─────────────────────────────────────────────────────────────────────────────────────────


def saved_rule_uses(setting: Setting) -> tuple[RuleUse, ...]:
    """Every stored rule with what past calls of this project it speaks of, the commonest first."""
    rules = _always(setting)
    past = _past_subjects(setting) if rules else []
    return tuple(_used(rule, past) for rule in rules)


def revoke(setting: Setting, reference: str) -> str:
    """Take back the rule that reads like this, or that has this number in the list."""
    rules = _always(setting)
    rule = next((each for each in rules if reference in (each.text(), each.shown())), None)
    if rule is None and reference.isascii() and reference.isdecimal() and 0 < int(reference[:9]) <= len(rules):
        rule = rules[int(reference[:9]) - 1]
    if rule is None:
        listed = ", ".join(f"{number} {each.shown()}" for number, each in enumerate(rules, 1)) or "none"
        raise ConfigError(f"No stored rule reads {reference!r} or has that number. Stored: {listed}.")
    remove_always(setting.environment, setting.roots.project, rule)
    return rule.shown()


def _always(setting: Setting) -> tuple[Rule, ...]:
    saved = load_always(setting.environment, setting.roots.project)
    if saved.warning:
        raise ConfigError(saved.warning)
    return saved.rules


def _used(rule: Rule, past: list[tuple[Subject, int]]) -> RuleUse:
    hits = [(subject, count) for subject, count in past if speaks_of(rule, subject)]
    return RuleUse(
        rule=rule,
        count=sum(count for _, count in hits),
        examples=tuple(_about(subject) for subject, _ in hits[:EXAMPLES]),
    )


def _about(subject: Subject) -> str:
    return ", ".join(subject.values)


def _past_subjects(setting: Setting) -> list[tuple[Subject, int]]:
    tools, sight = setting.tools.by_name, _sight(setting)
    counted = Counter(
        subject_key for call in _past_calls(setting) if (subject_key := _subjects(call, tools.get(call.name)))
    )
    return [(subject_of(tools[tool], values, sight), count) for (tool, values), count in counted.most_common()]


def _subjects(call: Call, tool: Tool | None) -> tuple[str, tuple[str, ...]] | None:
    """What a recorded call was about; None for a call that was never valid."""
    if tool is None:
        return None
    try:
        args: Arguments = convert(decode(call.arguments), tool.args)
    except (ValidationError, ValueError):
        return None
    return tool.name, args.subjects()


# ── decisions ────────────────────────────────────────────────────────────────────────────────────────────


def decisions(setting: Setting, limit: int) -> tuple[RecordedDecision, ...]:
    """The last decisions of this project's sessions, the newest last."""
    latest: list[RecordedDecision] = []
    for path in paths(setting.environment.data_dir, setting.roots.project)[:MOST_SESSIONS]:
        latest = [*_decided(path), *latest]
        if len(latest) >= limit:
            break
    return tuple(latest[-limit:])


def _decided(path: str) -> list[RecordedDecision]:
    calls: dict[str, ToolStarted] = {}
    recorded: list[RecordedDecision] = []
    for entry, session in _entries(path):
        match entry.data:
            case ToolStarted() as started:
                calls[started.call.id] = started
            case PermissionDecided() as fact:
                about = calls.get(fact.call_id)
                recorded.append(
                    RecordedDecision(
                        when=entry.ts,
                        session=session,
                        tool=about.call.name if about else "",
                        what=about.headline if about else fact.call_id,
                        verdict=fact.verdict,
                        rule=fact.rule,
                        origin=fact.origin,
                        by=fact.by,
                        reason=fact.reason,
                    )
                )
            case _:
                pass
    return recorded


def _past_calls(setting: Setting) -> Iterator[Call]:
    for path in paths(setting.environment.data_dir, setting.roots.project)[:MOST_SESSIONS]:
        for entry, _ in _entries(path):
            if isinstance(entry.data, ToolStarted):
                yield entry.data.call


def _entries(path: str) -> Iterator[tuple[Entry[Event], str]]:
    """Yield the entries of one session, each with the session's id. A session that cannot be read has none."""
    try:
        loaded = load(path)
    except SessionError:
        return
    for entry in loaded.entries:
        yield entry, loaded.id
