"""The gate: no call runs before it was judged, and asked about where the verdict says so."""

from collections.abc import AsyncGenerator, Callable

from msgspec import Struct
from msgspec.structs import replace

from overt.core.errors import OvertError, ToolError
from overt.core.events import Event, Noticed, PermissionAsked, PermissionDecided
from overt.core.ids import new_id
from overt.core.ports import Answer, Asker, Hands
from overt.core.settings import Action, Mode, Rule
from overt.core.views import Diffs, Plain, View
from overt.engine.attempt import attempt
from overt.repair.mend import Mended
from overt.safety.policy import Verdict, harmless, judge, subject_of
from overt.safety.rules import ALWAYS, Subject

NOBODY = "there is nobody to ask; allow it with --allowedTools or run it in a terminal"
NEEDS_A_PERSON = "only a person can allow this, and there is nobody to ask; run it in a terminal"


class Admission:
    """One call on its way through the gate. `refusal` is what the model is told when it may not run."""

    def __init__(self, mended: Mended, subject: Subject) -> None:
        self.mended = mended
        self.subject = subject
        self.refusal = ""
        self.failure: ToolError | None = None


class Terms(Struct, frozen=True, kw_only=True):
    """`fallback` holds where no rule speaks (None: the mode decides), `unanswered` where nobody can be asked."""

    rules: tuple[Rule, ...]
    fallback: Action | None = None
    unanswered: Action = "allow"


class Gate:
    """Terms, mode and asker of one conversation; the mode may change while a turn runs."""

    def __init__(
        self, terms: Terms, *, mode: Mode, root: str, exists: Callable[[str], bool], remember: Callable[[Rule], None]
    ) -> None:
        self.mode = mode
        self.asker: Asker | None = None
        self._terms = terms
        self._root = root
        self._exists = exists
        self._remember = remember

    def receive(self, mended: Mended) -> Admission:
        return Admission(
            mended, subject_of(mended.call.name, mended.args.subjects(), root=self._root, exists=self._exists)
        )

    def changes(self, admission: Admission) -> bool:
        """Whether the call may change something outside the conversation."""
        tool = admission.mended.tool
        return tool is None or not harmless(admission.subject, tool.effects)

    def parallel(self, admission: Admission) -> bool:
        """Calls about the todo list keep their order too, so that one sees what the other wrote."""
        tool = admission.mended.tool
        return tool is not None and not self.changes(admission) and "notes" not in tool.effects

    async def admit(self, admission: Admission, hands: Hands, agent: str) -> AsyncGenerator[Event, None]:
        """Judge one call; afterwards the admission holds a refusal, a failure, or nothing: then it may run."""
        tool = admission.mended.tool
        assert tool is not None
        verdict = judge(
            admission.subject, tool.effects, rules=self._terms.rules, mode=self.mode, fallback=self._terms.fallback
        )
        answer = Answer(choice="once" if verdict.action == "allow" else "deny")
        by = verdict.by
        if verdict.action == "ask" and (self.asker is None or self._terms.unanswered == "deny"):
            allowed = self._terms.unanswered == "allow" and not verdict.dangerous
            reason = NEEDS_A_PERSON if verdict.dangerous else NOBODY
            answer = Answer(choice="once" if allowed else "deny", reason="" if allowed else reason)
        elif verdict.action == "ask" and self.asker is not None:
            try:
                view = await self._preview(admission, hands)
            except ToolError as error:
                admission.failure = error
                return
            question = self._question(admission, verdict, view, agent)
            yield question
            answer = await self.asker.ask(question)
            by = "person"
        remembered = ""
        if answer.choice == "always" and not verdict.dangerous:
            rule = self._always(admission)
            self._terms = replace(self._terms, rules=(*self._terms.rules, rule))
            remembered = rule.text()
            try:
                self._remember(rule)
            except OvertError as error:
                yield Noticed(agent=agent, text=error.message, level="warning")
        if answer.choice == "deny":
            admission.refusal = _refusal(verdict, answer, by)
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

    async def _preview(self, admission: Admission, hands: Hands) -> View:
        """What the call would change, found by running it with hands that only pretend to write."""
        tool = admission.mended.tool
        assert tool is not None
        if "write" not in tool.effects:
            return Plain(text="\n".join(admission.subject.values))
        outcome, _ = await attempt(admission.mended, hands, preview=True)
        return outcome.view if isinstance(outcome.view, Diffs) else Plain(text=outcome.text)

    def _question(self, admission: Admission, verdict: Verdict, view: View, agent: str) -> PermissionAsked:
        described = getattr(admission.mended.args, "description", "")
        return PermissionAsked(
            agent=agent,
            id=new_id(),
            call=admission.mended.call,
            headline=", ".join(admission.subject.values),
            why=" · ".join(part for part in (described, verdict.why) if part),
            view=view,
            always="" if verdict.dangerous or verdict.by == "rule" else self._always(admission).text(),
            dangerous=verdict.dangerous,
        )

    def _always(self, admission: Admission) -> Rule:
        """What `always` stores: this very command, all edits in the workspace, or this one tool."""
        tool, subject = admission.mended.tool, admission.subject
        if subject.tool == "bash":
            return Rule(action="allow", tool="bash", pattern=subject.values[0], origin=ALWAYS)
        edits = tool is not None and "write" in tool.effects
        return Rule(action="allow", tool="edit" if edits else subject.tool, origin=ALWAYS)


def _refusal(verdict: Verdict, answer: Answer, by: str) -> str:
    if by == "person":
        return f"The user denied this call{f': {answer.reason}' if answer.reason else '.'}"
    return f"Denied ({verdict.rule}, {verdict.origin}): {answer.reason or verdict.why}"
