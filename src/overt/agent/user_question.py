"""The user as the last judge: questions are put to them, and their answers are kept."""

from overt.agent.permission_decision import CallRequest
from overt.agent.permission_settings import PermissionState, Terms
from overt.agent.run_tool import attempt
from overt.core.events import Emit, Noticed, PermissionAsked
from overt.core.ids import new_id
from overt.core.protocols import Answer, Asker, Hands, SandboxState
from overt.core.settings import Rule
from overt.core.views import Diffs, Plain, View
from overt.lib.translations import say
from overt.safety.policy import Verdict
from overt.safety.rules import ALWAYS, DOMAIN, lasting

NON_INTERACTIVE = "This needs approval, and the run is non-interactive."
NO_SANDBOX = (
    "There is no complete sandbox to contain it. Allow it with `--allowedTools`, install bubblewrap, "
    'or set `sandbox.mode = "none"` to run commands without a sandbox.'
)
LONGEST_REASON = 200
"""Characters of the model's reason for the network that a person is shown."""


class Person:
    """Puts questions to the user. There is no `asker` in a non-interactive run."""

    def __init__(self, asker: Asker | None, permissions: PermissionState, hands: Hands) -> None:
        self._asker = asker
        self._permissions = permissions
        self._hands = hands

    @property
    def available(self) -> bool:
        return self._asker is not None and not self._permissions.terms.dont_ask

    async def preview(self, request: CallRequest) -> View:
        """Return what the call would change: it is run with capabilities that only pretend to write."""
        if "write" not in request.tool.effects:
            return Plain(text="\n".join(request.subject.values) or say("ask.no_arguments"))
        outcome, _ = await attempt(request.mended, self._hands, preview=True)
        return outcome.view if isinstance(outcome.view, Diffs) else Plain(text=outcome.text)

    def make_question(
        self, request: CallRequest, verdict: Verdict, view: View, agent: str, *, network: bool
    ) -> PermissionAsked:
        reading = request.subject.reading
        affects = dict.fromkeys(
            line
            for cause in reading.causes
            if cause.kind != "worktree"
            for line in self._hands.weigh(cause.touches, cause.verb)
        )
        rules = () if verdict.dangerous or verdict.by == "rule" else _rules_to_store(request, network=network)
        return PermissionAsked(
            agent=agent,
            id=new_id(),
            call=request.mended.call,
            headline=", ".join(request.subject.values),
            why=verdict.why,
            view=view,
            always=", ".join(rule.text() for rule in rules),
            dangerous=verdict.dangerous,
            affects=tuple(affects),
            hazards=reading.words,
            described=getattr(request.mended.args, "description", ""),
            network=network,
            network_reason=network_reason(request),
        )

    async def ask(self, request: CallRequest, question: PermissionAsked, emit: Emit) -> tuple[Answer, str]:
        """Put a question and keep what the answer says for later. Return the answer and the rules that it stored."""
        assert self._asker is not None
        emit(question)
        answer = await self._asker.ask(question)
        if question.dangerous:
            return answer, ""
        if answer.choice == "session" and question.network:
            self._permissions.open_network()
        if answer.choice != "always":
            return answer, ""
        rules = _rules_to_store(request, network=question.network)
        if problem := self._permissions.add_rules(rules):
            emit(Noticed(agent=question.agent, text=problem, level="warning"))
        return answer, ", ".join(rule.shown() for rule in rules)


def answer_unattended(verdict: Verdict, sandbox: SandboxState, terms: Terms) -> Answer:
    """Answer in a non-interactive run: what the mode asks about runs in a complete sandbox, or if none is wanted."""
    if verdict.rule == "network" and verdict.origin == "sandbox":
        return Answer(choice="deny", reason=verdict.remedy)
    if verdict.remedy:
        return Answer(choice="deny", reason=f"{NON_INTERACTIVE} {verdict.remedy}")
    if terms.dont_ask or verdict.by != "mode":
        return Answer(choice="deny", reason=f"{NON_INTERACTIVE} Allow it with `--allowedTools` or start a chat.")
    if sandbox.walled or terms.bare:
        return Answer(choice="once")
    return Answer(choice="deny", reason=f"{NON_INTERACTIVE} {NO_SANDBOX}")


def network_reason(request: CallRequest) -> str:
    """Return why the model says that a command needs the network: its own words, in one line."""
    reason = getattr(request.mended.args, "network", "") if request.subject.is_command else ""
    line = " ".join(reason.split())
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"


def _rules_to_store(request: CallRequest, *, network: bool) -> tuple[Rule, ...]:
    """Return what `always` stores: rules for the command, the host, all edits in the workspace, or this one tool."""
    subject = request.subject
    if subject.is_command:
        return lasting(subject, network=network)
    family = request.tool.family
    if subject.hosts:
        return tuple(Rule(action="allow", tool=family, pattern=DOMAIN + host, origin=ALWAYS) for host in subject.hosts)
    tool = request.tool.name if "mcp" in request.tool.effects else family
    return (Rule(action="allow", tool=tool, origin=ALWAYS),)
