"""The gate: no call runs before it was judged, and asked about where the verdict says so."""

from collections.abc import AsyncGenerator, Callable

from msgspec import Struct
from msgspec.structs import replace

from overt.core.effects import Effect
from overt.core.errors import OvertError, ToolError
from overt.core.events import Event, Noticed, PermissionAsked, PermissionDecided
from overt.core.ids import new_id
from overt.core.late import late
from overt.core.ports import Answer, Asker, Hands, Profile, SandboxState
from overt.core.settings import Action, Mode, Rule
from overt.core.tool import Outcome
from overt.core.views import Diffs, Output, Plain, View
from overt.engine.attempt import attempt
from overt.lib.catalogue import say
from overt.repair.mend import Mended
from overt.safety.policy import Sight, Verdict, harmless, judge, subject_of
from overt.safety.rules import ALWAYS, Subject, lasting

NOBODY = "there is nobody to ask; allow it with --allowedTools or run it in a terminal"
NO_BOX = (
    "there is nobody to ask and no sandbox; allow it with --allowedTools or --permission-mode, install bubblewrap, "
    'or set sandbox.mode = "none" to do without one'
)
UNWANTED = "sandbox.mode is none"
NEEDS_A_PERSON = "only a person can allow this, and there is nobody to ask; run it in a terminal"


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


class Terms(Struct, frozen=True, kw_only=True):
    """`fallback` holds where no rule speaks (None: the mode decides); `dont_ask` denies whatever would be asked.

    `bare`: a person has said that no sandbox is wanted. `write` and `network` are what every box lets through.
    """

    rules: tuple[Rule, ...]
    fallback: Action | None = None
    dont_ask: bool = False
    bare: bool = False
    write: bool = True
    network: bool = False


class Gate:
    """Terms, mode and asker of one conversation; the mode may change while a turn runs."""

    def __init__(
        self, terms: Terms, *, mode: Mode, sight: Sight, hands: Hands, remember: Callable[[Rule], None]
    ) -> None:
        self.mode = mode
        self.asker: Asker | None = None
        self._terms = terms
        self._sight = sight
        self._hands = hands
        self._remember = remember

    def receive(self, mended: Mended) -> Admission:
        return Admission(mended, subject_of(mended.call.name, mended.args.subjects(), self._sight))

    def may_read(self, path: str) -> bool:
        """Whether a file may be shown to the model without asking anybody."""
        effects: frozenset[Effect] = frozenset({"read"})
        subject = subject_of("read", (path,), self._sight)
        verdict = judge(subject, effects, rules=self._terms.rules, mode=self.mode, fallback=self._terms.fallback)
        return verdict.action == "allow"

    def changes(self, admission: Admission) -> bool:
        """Whether the call may change something outside the conversation."""
        tool = admission.mended.tool
        return tool is None or not harmless(admission.subject, tool.effects)

    def parallel(self, admission: Admission) -> bool:
        """Calls about the todo list keep their order too, so that one sees what the other wrote."""
        tool = admission.mended.tool
        return tool is not None and not self.changes(admission) and "notes" not in tool.effects

    async def admit(self, admission: Admission, agent: str, *, mode: Mode | None = None) -> AsyncGenerator[Event, None]:
        """Judge one call; afterwards the admission holds a refusal, a failure, or nothing: then it may run.

        `mode` stands in for the conversation's own where a person speaks, not the model.
        """
        tool = admission.mended.tool
        assert tool is not None
        runs = "run" in tool.effects and self.changes(admission) and mode is None
        expected = self._hands.guess()
        standing = await self._hands.standing() if runs else expected
        if standing.kind != expected.kind:
            yield Noticed(agent=agent, text=told_of_sandbox(standing), level="warning")
        verdict = judge(
            admission.subject,
            tool.effects,
            rules=self._terms.rules,
            mode=mode or (self.mode if self._terms.write else "plan"),
            fallback=self._terms.fallback,
            boxed=standing.boxed,
        )
        if verdict.rule == "plan" and not self._terms.write:
            why = f"the sandbox is read-only, so {tool.name} was refused"
            verdict = replace(verdict, rule="read-only", origin="sandbox", why=why)
        answer = Answer(choice="once" if verdict.action == "allow" else "deny")
        by = verdict.by
        if verdict.action == "ask" and (self.asker is None or self._terms.dont_ask):
            answer = self._unanswered(verdict, standing)
        elif verdict.action == "ask" and self.asker is not None:
            try:
                view = await self._preview(admission)
            except ToolError as error:
                admission.failure = error
                return
            question = self._question(admission, verdict, view, agent)
            yield question
            answer = await self.asker.ask(question)
            by = "person"
        remembered = ""
        rule = self._always(admission) if answer.choice == "always" and not verdict.dangerous else None
        if rule:
            self._terms = replace(self._terms, rules=(*self._terms.rules, rule))
            remembered = rule.text()
            try:
                self._remember(rule)
            except OvertError as error:
                yield Noticed(agent=agent, text=error.message, level="warning")
        if answer.choice == "deny":
            admission.refusal = _refusal(verdict, answer, by)
        admission.box = self._box(admission, by_person=by == "person" or verdict.origin == ALWAYS)
        yield PermissionDecided(
            agent=agent,
            call_id=admission.mended.call.id,
            verdict="deny" if answer.choice == "deny" else "allow",
            rule=verdict.rule,
            origin=verdict.origin,
            by=by,
            reason=answer.reason or verdict.why,
            remembered=remembered,
        )

    async def widen(self, admission: Admission, blocked: str, tell: Callable[[Event], None], agent: str) -> bool:
        """Offer to run again what the box has stopped: with the network, or outside of every wall."""
        if self.asker is None or self._terms.dont_ask or self.mode == "plan" or not self._terms.write:
            return False
        wider = _wider(admission.box, blocked)
        where = _where(admission.box, wider)
        why = f"it has run: {blocked}; run it again {where}?"
        verdict = Verdict(action="ask", rule="sandbox", origin="guard", by="guard", why=why, dangerous=wider.outside)
        question = self._question(admission, verdict, Plain(text="\n".join(admission.subject.values)), agent)
        question = replace(question, why=why, always="")
        tell(question)
        answer = await self.asker.ask(question)
        if answer.choice != "deny":
            admission.box = wider
        elif answer.reason:
            admission.note = f"The user did not want it to run {where}: {answer.reason}"
        tell(
            PermissionDecided(
                agent=agent,
                call_id=admission.mended.call.id,
                verdict="deny" if answer.choice == "deny" else "allow",
                rule=verdict.rule,
                origin=verdict.origin,
                by="person",
                reason=answer.reason or why,
            )
        )
        return answer.choice != "deny"

    def rules(self) -> tuple[Rule, ...]:
        """Those that hold now, what was answered with `always` since the beginning among them."""
        return self._terms.rules

    def forget(self, rule: str) -> bool:
        """Let go of a rule that was stored by an answer; False where none reads so."""
        kept = tuple(each for each in self._terms.rules if each.origin != ALWAYS or each.text() != rule)
        found = len(kept) < len(self._terms.rules)
        self._terms = replace(self._terms, rules=kept)
        return found

    def blocked(self, admission: Admission, outcome: Outcome) -> str:
        """What the box refused: as it was named, or the network where a command that needs it did without."""
        box, view = admission.box, outcome.view
        if outcome.blocked or box.network or box.outside or not admission.subject.reading.network:
            return outcome.blocked
        if not isinstance(view, Output) or not self._hands.guess().boxed:
            return ""
        return late("denial.network") if view.code or late("denial.offline").search(outcome.text) else ""

    def _unanswered(self, verdict: Verdict, standing: SandboxState) -> Answer:
        """Nobody can be asked: inside a sandbox that stands, or where none is wanted, the work goes on."""
        if verdict.dangerous:
            return Answer(choice="deny", reason=NEEDS_A_PERSON)
        if self._terms.dont_ask:
            return Answer(choice="deny", reason=NOBODY)
        if standing.boxed or self._terms.bare:
            return Answer(choice="once")
        return Answer(choice="deny", reason=NO_BOX)

    def _box(self, admission: Admission, *, by_person: bool) -> Profile:
        asked_for_network = by_person and admission.subject.reading.network
        return Profile(
            write=self._terms.write and self.mode != "plan",
            network=self._terms.network or asked_for_network,
            reading=not self.changes(admission),
        )

    async def _preview(self, admission: Admission) -> View:
        """What the call would change, found by running it with hands that only pretend to write."""
        tool = admission.mended.tool
        assert tool is not None
        if "write" not in tool.effects:
            return Plain(text="\n".join(admission.subject.values))
        outcome, _ = await attempt(admission.mended, self._hands, preview=True)
        return outcome.view if isinstance(outcome.view, Diffs) else Plain(text=outcome.text)

    def _question(self, admission: Admission, verdict: Verdict, view: View, agent: str) -> PermissionAsked:
        described = getattr(admission.mended.args, "description", "")
        reading = admission.subject.reading
        network = "with the network" if reading.network and not self._terms.network else ""
        touched = tuple(dict.fromkeys(path for cause in reading.causes for path in cause.touches))
        rule = None if verdict.dangerous or verdict.by == "rule" else self._always(admission)
        return PermissionAsked(
            agent=agent,
            id=new_id(),
            call=admission.mended.call,
            headline=", ".join(admission.subject.values),
            why=" · ".join(part for part in (verdict.why, network) if part),
            view=view,
            always=rule.text() if rule else "",
            dangerous=verdict.dangerous,
            affects=self._hands.weigh(touched),
            hazards=reading.words,
            described=described,
        )

    def _always(self, admission: Admission) -> Rule | None:
        """What `always` stores: commands that begin alike, all edits in the workspace, or this one tool."""
        tool, subject = admission.mended.tool, admission.subject
        if subject.tool == "bash":
            pattern = lasting(subject)
            return Rule(action="allow", tool="bash", pattern=pattern, origin=ALWAYS) if pattern else None
        edits = tool is not None and "write" in tool.effects
        return Rule(action="allow", tool="edit" if edits else subject.tool, origin=ALWAYS)


def told_of_sandbox(state: SandboxState) -> str:
    """What a person should know about it, or nothing where every wall stands."""
    if not state.boxed:
        return say("sandbox.off" if state.why == UNWANTED else "sandbox.none", why=state.why)
    return (
        say("sandbox.partly", kind=state.kind, missing=", ".join(state.missing), why=state.why) if state.missing else ""
    )


def _wider(box: Profile, blocked: str) -> Profile:
    if box.reading and not blocked.startswith("network"):
        return replace(box, reading=False)
    if blocked.startswith("network") and not box.network:
        return replace(box, network=True)
    return replace(box, outside=True)


def _where(box: Profile, wider: Profile) -> str:
    if wider.outside:
        return "outside of the sandbox, with all your rights"
    return "with the network" if wider.network != box.network else "and let it write"


def _refusal(verdict: Verdict, answer: Answer, by: str) -> str:
    if by == "person":
        return f"The user denied this call{f': {answer.reason}' if answer.reason else '.'}"
    reasons = dict.fromkeys(part for part in (verdict.why, answer.reason) if part)
    return f"Denied ({verdict.rule}, {verdict.origin}): {'; '.join(reasons)}"
