"""The gate: no call runs before it was judged, and asked about where the verdict says so."""

from msgspec.structs import replace

from overt.core.effects import Blocked, Effect
from overt.core.errors import ToolError
from overt.core.events import Emit, Noticed, PermissionAsked, PermissionDecided
from overt.core.history import DENIED
from overt.core.ids import new_id
from overt.core.ports import Answer, Asker, Hands, Profile, SandboxState
from overt.core.settings import Mode, Rule
from overt.core.tool import Outcome
from overt.core.views import Diffs, Output, Plain, View
from overt.engine.attempt import attempt
from overt.engine.permissions import Permissions
from overt.lib.catalogue import say
from overt.repair.mend import Mended
from overt.safety.policy import Sight, Verdict, World, harmless, judge, subject_of
from overt.safety.reach import Reach, changes_of, judge_reach
from overt.safety.rules import ALWAYS, Subject, lasting

NON_INTERACTIVE = "This needs approval, and the run is non-interactive."
NO_SANDBOX = (
    "There is no complete sandbox to contain it. Allow it with `--allowedTools`, install bubblewrap, "
    'or set `sandbox.mode = "none"` to run commands without a sandbox.'
)
OPEN_NETWORK = (
    "This command needs the network, which the sandbox keeps closed, and the run is non-interactive. "
    'The user can allow it with `--network`, with `allow = [{{ rule = "{rule}", network = true }}]` under '
    "[permissions] in the user configuration, or in a chat."
)
LONGEST_REASON = 200
"""Characters of the model's reason for the network that a person is shown."""


class Admission:
    """One call on its way through the gate. `refusal` is what the model is told when it may not run; `box` is
    where its programs run when it may, `note` what the person said to running it with less of a box."""

    def __init__(self, mended: Mended, subject: Subject) -> None:
        self.mended = mended
        self.subject = subject
        self.refusal = ""
        self.failure: ToolError | None = None
        self.box = Profile()
        self.note = ""
        self.aftermath = ""
        """What the model reads after the result of a recoverable command."""


class Gate:
    """The gate of one agent. There is no `asker` in a non-interactive run."""

    def __init__(self, permissions: Permissions, *, sight: Sight, hands: Hands, asker: Asker | None = None) -> None:
        self.permissions = permissions
        self._sight = sight
        self._hands = hands
        self._asker = asker

    def receive(self, mended: Mended) -> Admission:
        return Admission(mended, subject_of(mended.call.name, mended.args.subjects(), self._sight))

    def may_read(self, path: str) -> bool:
        """Whether a file may be shown to the model without asking anybody."""
        effects: frozenset[Effect] = frozenset({"read"})
        subject = subject_of("read", (path,), self._sight)
        terms, mode = self.permissions.terms, self.permissions.mode
        verdict = judge(subject, effects, rules=terms.rules, mode=mode, fallback=terms.fallback)
        return verdict.action == "allow"

    def changes(self, admission: Admission) -> bool:
        """Whether the call may change something outside the conversation."""
        tool = admission.mended.tool
        return tool is None or not harmless(admission.subject, tool.effects)

    def parallel(self, admission: Admission) -> bool:
        """Calls about the todo list keep their order too, so that one sees what the other wrote."""
        tool = admission.mended.tool
        return tool is not None and not self.changes(admission) and "notes" not in tool.effects

    async def admit(self, admission: Admission, agent: str, emit: Emit, *, mode: Mode | None = None) -> None:
        """Judge one call; afterwards the admission holds a refusal, a failure, or nothing: then it may run.

        `mode` stands in for the conversation's own where a person speaks, not the model.
        """
        tool = admission.mended.tool
        assert tool is not None
        runs = "run" in tool.effects and self.changes(admission) and mode is None
        expected = self._hands.guess()
        standing = await self._hands.standing() if runs else expected
        if standing.kind != expected.kind:
            emit(Noticed(agent=agent, text=warn_about_sandbox(standing), level="warning"))
        effective = mode or self.permissions.effective_mode
        reach = await self._judge_reach(admission, SandboxState() if mode else standing, effective)
        verdict = judge(
            admission.subject,
            tool.effects,
            rules=self.permissions.terms.rules,
            mode=effective,
            fallback=self.permissions.terms.fallback,
            world=World(
                boxed=standing.boxed if effective == "plan" else standing.walled,
                read_only=not self.permissions.terms.write,
                reach=reach,
            ),
        )
        network = mode is None and standing.boxed and self._lacks_network(admission)
        if network and (verdict.action == "allow" or (verdict.action == "ask" and verdict.by == "mode")):
            verdict = _without_network(admission)
        answer = Answer(choice="once" if verdict.action == "allow" else "deny")
        by = verdict.by
        if verdict.action == "ask" and (self._asker is None or self.permissions.terms.dont_ask):
            answer = self._unanswered(verdict, standing)
        elif verdict.action == "ask" and self._asker is not None:
            try:
                view = await self._preview(admission)
            except ToolError as error:
                admission.failure = error
                return
            question = self._question(admission, verdict, view, agent, network=network)
            emit(question)
            answer = await self._asker.ask(question)
            by = "person"
        remembered, problem = self._keep_answer(admission, answer, verdict, network=network)
        if problem:
            emit(Noticed(agent=agent, text=problem, level="warning"))
        if answer.choice == "deny":
            admission.refusal = describe_refusal(verdict, answer, by)
        elif reach and not reach.finals:
            admission.aftermath = reach.note
            if reach.undone and by != "person":
                self._hands.require_undo(admission.mended.call.id)
        admission.box = self._box(admission, network=network and by == "person")
        decided = PermissionDecided(
            agent=agent,
            call_id=admission.mended.call.id,
            verdict="deny" if answer.choice == "deny" else "allow",
            rule=verdict.rule,
            origin=verdict.origin,
            by=by,
            reason=answer.reason or verdict.why,
            remembered=remembered,
            allowed_by=_ways(verdict, tool.name) if answer.choice == "deny" and by != "person" else (),
        )
        emit(decided)

    async def widen(self, admission: Admission, blocked: Blocked, emit: Emit, agent: str) -> bool:
        """Offer to run again what the sandbox has stopped: with the network, or outside of every wall."""
        if self._asker is None or self.permissions.terms.dont_ask:
            return False
        network = blocked.kind == "network" and not admission.box.network
        if not network and (self.permissions.effective_mode == "plan"):
            return False
        wider = self._box(admission, network=True) if network else _wider(admission.box)
        where = _where(admission.box, wider)
        why = f"it ran, and according to its output {self._claim(blocked)}. Run it again {where}?"
        verdict = Verdict(action="ask", rule="sandbox", origin="guard", by="guard", why=why, dangerous=wider.outside)
        view = Plain(text="\n".join(admission.subject.values))
        question = self._question(admission, verdict, view, agent, network=network)
        question = question if network else replace(question, always="")
        emit(question)
        answer = await self._asker.ask(question)
        remembered, problem = self._keep_answer(admission, answer, verdict, network=network)
        if problem:
            emit(Noticed(agent=agent, text=problem, level="warning"))
        if answer.choice != "deny":
            admission.box = wider
        elif answer.reason:
            admission.note = f"The user did not want it to run {where}: {answer.reason}"
        emit(
            PermissionDecided(
                agent=agent,
                call_id=admission.mended.call.id,
                verdict="deny" if answer.choice == "deny" else "allow",
                rule=verdict.rule,
                origin=verdict.origin,
                by="person",
                reason=answer.reason or why,
                remembered=remembered,
            )
        )
        return answer.choice != "deny"

    def _claim(self, blocked: Blocked) -> str:
        """Return what was refused, for the question. It is read from the output, so the program may have made it up:
        only a path that exists in that spelling is named, lest a sentence in its place passes for our own words."""
        known = not blocked.path or self._sight.exists(blocked.path)
        return blocked.describe() if known else "an access was blocked by the sandbox"

    def blocked(self, admission: Admission, outcome: Outcome) -> Blocked | None:
        """Return what the sandbox refused: as the tool reports it, or the network if a command that needs it failed."""
        box, view, subject = admission.box, outcome.view, admission.subject
        if outcome.blocked or box.network or box.outside or not isinstance(view, Output):
            return outcome.blocked
        if not subject.reading.network or not self._hands.guess().boxed:
            return None
        from overt.world.sandbox.denial import NETWORK, OFFLINE  # late: 11 ms

        return NETWORK if view.code or OFFLINE.search(outcome.text) else None

    async def _judge_reach(self, admission: Admission, sandbox: SandboxState, mode: Mode) -> Reach | None:
        """How far a dangerous command reaches; None for every other call, and where the mode refuses it anyway."""
        reading = admission.subject.reading
        if reading.hazard != "dangerous" or mode == "plan":
            return None
        policy = self.permissions.terms.dangerous_policy
        changes = changes_of(reading) if sandbox.walled and policy == "reach" else {}
        surveys = dict(zip(changes, await self._hands.survey(tuple(changes.values())), strict=True)) if changes else {}
        return judge_reach(
            reading,
            sandbox=sandbox,
            surveys=surveys,
            policy=policy,
            network=self.permissions.has_network(admission.subject),
        )

    def _unanswered(self, verdict: Verdict, standing: SandboxState) -> Answer:
        """Answer in a non-interactive run: what the mode asks about runs in a complete sandbox, or if none is set."""
        if verdict.rule == "network" and verdict.origin == "sandbox":
            return Answer(choice="deny", reason=verdict.remedy)
        if verdict.remedy:
            return Answer(choice="deny", reason=f"{NON_INTERACTIVE} {verdict.remedy}")
        if self.permissions.terms.dont_ask or verdict.by != "mode":
            return Answer(choice="deny", reason=f"{NON_INTERACTIVE} Allow it with `--allowedTools` or start a chat.")
        if standing.walled or self.permissions.terms.bare:
            return Answer(choice="once")
        return Answer(choice="deny", reason=f"{NON_INTERACTIVE} {NO_SANDBOX}")

    def _lacks_network(self, admission: Admission) -> bool:
        """True if a command needs the network and neither the settings nor a rule open it."""
        reading, reason = admission.subject.reading, _network_reason(admission)
        return (reading.network or bool(reason)) and not self.permissions.has_network(admission.subject)

    def _box(self, admission: Admission, *, network: bool) -> Profile:
        """The sandbox of a call. `network`: a person has opened it to this call, and so has seen the command."""
        return self.permissions.profile(admission.subject, reading=not self.changes(admission), network=network)

    def _keep_answer(self, admission: Admission, answer: Answer, verdict: Verdict, *, network: bool) -> tuple[str, str]:
        """Store what an answer says for later. Return the stored rules as text, and why they could not be stored."""
        if verdict.dangerous or answer.choice not in ("session", "always"):
            return "", ""
        if answer.choice == "session":
            if network:
                self.permissions.open_network()
            return "", ""
        rules = self._always(admission, network=network)
        problem = self.permissions.add_rules(rules)
        return ", ".join(rule.shown() for rule in rules), problem

    async def _preview(self, admission: Admission) -> View:
        """What the call would change, found by running it with hands that only pretend to write."""
        tool = admission.mended.tool
        assert tool is not None
        if "write" not in tool.effects:
            return Plain(text="\n".join(admission.subject.values))
        outcome, _ = await attempt(admission.mended, self._hands, preview=True)
        return outcome.view if isinstance(outcome.view, Diffs) else Plain(text=outcome.text)

    def _question(
        self, admission: Admission, verdict: Verdict, view: View, agent: str, *, network: bool
    ) -> PermissionAsked:
        described = getattr(admission.mended.args, "description", "")
        reading = admission.subject.reading
        affects = dict.fromkeys(
            line
            for cause in reading.causes
            if cause.kind != "worktree"
            for line in self._hands.weigh(cause.touches, cause.verb)
        )
        rules = () if verdict.dangerous or verdict.by == "rule" else self._always(admission, network=network)
        return PermissionAsked(
            agent=agent,
            id=new_id(),
            call=admission.mended.call,
            headline=", ".join(admission.subject.values),
            why=verdict.why,
            view=view,
            always=", ".join(rule.text() for rule in rules),
            dangerous=verdict.dangerous,
            affects=tuple(affects),
            hazards=reading.words,
            described=described,
            network=network,
            network_reason=_network_reason(admission),
        )

    def _always(self, admission: Admission, *, network: bool) -> tuple[Rule, ...]:
        """What `always` stores: rules for the command, for all edits in the workspace, or for this one tool."""
        tool, subject = admission.mended.tool, admission.subject
        if subject.tool == "bash":
            return lasting(subject, network=network)
        edits = tool is not None and "write" in tool.effects
        return (Rule(action="allow", tool="edit" if edits else subject.tool, origin=ALWAYS),)


def warn_about_sandbox(state: SandboxState) -> str:
    """Return a warning about a missing or limited sandbox, or an empty string if it is complete."""
    if not state.boxed:
        return say("sandbox.off" if state.disabled else "sandbox.none", why=state.why)
    return (
        say("sandbox.partly", kind=state.kind, missing=", ".join(state.missing), why=state.why) if state.missing else ""
    )


def _network_reason(admission: Admission) -> str:
    """Why the model says that a command needs the network: its own words, in one line."""
    reason = getattr(admission.mended.args, "network", "") if admission.subject.tool == "bash" else ""
    line = " ".join(reason.split())
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"


def _suggested(admission: Admission) -> str:
    """A rule to name in a refusal: for commands that begin like the one that was refused."""
    reading = admission.subject.reading
    words = next(iter((*reading.notable, *reading.commands)), "").split(" ")
    name = words[0] if words[0] and words[0].isprintable() else "COMMAND"
    return f"bash({name} *)"


def _wider(box: Profile) -> Profile:
    return replace(box, reading=False) if box.reading else replace(box, outside=True)


def _where(box: Profile, wider: Profile) -> str:
    if wider.outside:
        return "outside the sandbox, with all your rights"
    return "with the network" if wider.network != box.network else "and let it write"


def _without_network(admission: Admission) -> Verdict:
    """The command needs the network, which the sandbox keeps closed."""
    return Verdict(
        action="ask",
        rule="network",
        origin="sandbox",
        by="guard",
        remedy=OPEN_NETWORK.format(rule=_suggested(admission)),
        allowed_by=("--network",),
    )


def _ways(verdict: Verdict, tool: str) -> tuple[str, ...]:
    """Return flags or settings that allow a call in a non-interactive run."""
    asked_by_mode = verdict.action == "ask" and verdict.by == "mode"
    return verdict.allowed_by or ((f"--allowedTools {tool}",) if asked_by_mode else ())


def describe_refusal(verdict: Verdict, answer: Answer, by: str) -> str:
    if by == "person":
        return f"{DENIED}{f': {answer.reason}' if answer.reason else '.'}"
    reasons = dict.fromkeys(part for part in (verdict.why, answer.reason) if part)
    return f"Denied ({verdict.rule}, {verdict.origin}): {'. '.join(reasons)}"
