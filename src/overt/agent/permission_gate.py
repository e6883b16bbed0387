"""The permission gate: every call is judged before it runs, and the user is asked where the verdict says so.

receive   what is the call about?
decide    judges, in order → does it lack the network? → ask the user → Decision
blocked   did the sandbox refuse something to it when it ran?
widen     ask the user whether it runs again with wider access → Decision
"""

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from overt.agent.hooks import AgentHooks
from overt.agent.permission_checks import JUDGES, Case, Judge, guards, hold_for_network, rules
from overt.agent.permission_decision import CallRequest, Decision, describe_refusal, read_request
from overt.agent.permission_settings import PermissionState
from overt.agent.user_question import Person, answer_unattended, network_reason
from overt.core.capabilities import Blocked, Effect
from overt.core.errors import ToolError
from overt.core.events import Emit, Noticed, Repaired
from overt.core.protocols import Answer, Asker, Hands, Profile, SandboxState
from overt.core.settings import Mode
from overt.core.tool import Outcome
from overt.core.views import Output, Plain
from overt.lib.translations import say
from overt.repair.repair_call import MendedCall
from overt.safety.policy import CallFacts, PathFacts, Verdict, World, judge, subject_of_paths
from overt.safety.reversibility import Reach, changes_of, judge_reach


class Gate:
    """The gate of one agent. The first of the `judges` that does not pass gives the verdict; the last never passes."""

    def __init__(
        self,
        permissions: PermissionState,
        *,
        sight: PathFacts,
        hands: Hands,
        asker: Asker | None = None,
        judges: Sequence[Judge] = JUDGES,
        hooks: AgentHooks | None = None,
    ) -> None:
        self.permissions = permissions
        self._sight = sight
        self._hands = hands
        self._person = Person(asker, permissions, hands)
        self._judges = tuple(judges)
        self._hooks = hooks

    def receive(self, mended: MendedCall) -> CallRequest:
        return read_request(mended, self._sight)

    def may_read(self, path: str) -> bool:
        effects: frozenset[Effect] = frozenset({"read"})
        subject, permissions = subject_of_paths((path,), self._sight, tool="read"), self.permissions
        fallback = permissions.terms.fallback
        verdict = judge(subject, effects, rules=permissions.rules, mode=permissions.mode, fallback=fallback)
        return verdict.action == "allow"

    async def decide(self, request: CallRequest, agent: str, emit: Emit, *, typed: bool = False) -> Decision:
        case = await self._open_case(request, agent, emit, typed=typed)
        added = ""
        if self._hooks is None:
            verdict = hold_for_network(case, await self._judge(case))
        else:
            case, verdict, added = await self._consult_hooks(self._hooks, case, emit, typed=typed)
            request = case.request
        answer, remembered, by = Answer(choice="once" if verdict.action == "allow" else "deny"), "", verdict.by
        if verdict.action == "ask" and not self._person.available:
            answer = answer_unattended(verdict, case.sandbox, self.permissions.terms)
        elif verdict.action == "ask":
            try:
                view = await self._person.preview(request)
            except ToolError as error:
                return Decision(action="deny", rule=verdict.rule, origin=verdict.origin, by=by, failure=error)
            question = self._person.make_question(request, verdict, view, agent, network=case.lacks_network)
            answer, remembered = await self._person.ask(request, question, emit)
            by = "person"
        denied, reach = answer.choice == "deny", case.facts.world.reach
        recoverable = reach if reach and not reach.finals and not denied else None
        if recoverable and recoverable.undone and by != "person":
            self._hands.require_undo(request.id)
        decision = Decision(
            action="deny" if denied else "allow",
            rule=verdict.rule,
            origin=verdict.origin,
            by=by,
            reason=answer.reason or verdict.why,
            remembered=remembered,
            allowed_by=_ways_to_allow(verdict, request.tool.name) if denied and by != "person" else (),
            refusal=describe_refusal(verdict, answer, by) if denied else "",
            denial_reason=answer.reason if denied and by == "person" else "",
            box=self.permissions.profile(
                request.subject, reading=not request.changes, network=case.lacks_network and by == "person"
            ),
            note="\n[overt] ".join(filter(None, (recoverable.note if recoverable else "", added))),
            request=request,
        )
        emit(decision.event(agent, request.id))
        return decision

    def blocked(self, request: CallRequest, box: Profile, outcome: Outcome) -> Blocked | None:
        return _find_blocked(request, box, outcome, self._hands)

    async def widen(
        self, request: CallRequest, box: Profile, blocked: Blocked, agent: str, emit: Emit
    ) -> Decision | None:
        wider = _choose_wider(request, box, blocked, self.permissions) if self._person.available else None
        if wider is None:
            return None
        network, where = wider.network != box.network, _describe_wider(box, wider)
        verdict = _ask_to_widen(blocked, where, outside=wider.outside, exists=self._sight.exists)
        if self._hooks and (await self._hooks.judge_question(request, verdict, agent)).action == "deny":
            return None
        view = Plain(text="\n".join(request.subject.values))
        question = self._person.make_question(request, verdict, view, agent, network=network)
        answer, remembered = await self._person.ask(
            request, question if network else replace(question, always=""), emit
        )
        denied = answer.choice == "deny"
        decision = Decision(
            action="deny" if denied else "allow",
            rule=verdict.rule,
            origin=verdict.origin,
            by="person",
            reason=answer.reason or verdict.why,
            remembered=remembered,
            refusal=f"The user did not want it to run {where}: {answer.reason}" if denied and answer.reason else "",
            box=box if denied else wider,
        )
        emit(decision.event(agent, request.id))
        return decision

    async def _open_case(self, request: CallRequest, agent: str, emit: Emit, *, typed: bool) -> Case:
        """Collect what the judgement depends on. A command that the model calls starts its sandbox first; one that the
        user has typed runs outside of it, and is only guarded."""
        expected = self._hands.guess()
        is_remote = request.tool.server is not None and request.tool.server.remote
        starts = bool(request.tool.effects & {"run", "mcp"}) and not is_remote and request.changes and not typed
        sandbox = await self._hands.standing() if starts else expected
        if sandbox.kind != expected.kind:
            emit(Noticed(agent=agent, text=warn_about_sandbox(sandbox), level="warning"))
        mode: Mode = "yolo" if typed else self.permissions.mode_for(request.subject, request.tool.effects)
        reach = await self._judge_reach(request, SandboxState() if typed else sandbox, mode)
        terms, subject = self.permissions.terms, request.subject
        boxed = sandbox.boxed if mode == "plan" else sandbox.walled
        needs_network = subject.reading.network or bool(network_reason(request))
        return Case(
            request=request,
            agent=agent,
            facts=CallFacts(
                subject=subject,
                effects=request.tool.effects,
                rules=self.permissions.rules,
                mode=mode,
                fallback=terms.fallback,
                world=World(boxed=boxed, read_only=not terms.write, isolated=sandbox.isolated, reach=reach),
            ),
            sandbox=sandbox,
            lacks_network=sandbox.boxed and not typed and needs_network and not self.permissions.has_network(subject),
        )

    async def _consult_hooks(
        self, hooks: AgentHooks, case: Case, emit: Emit, *, typed: bool
    ) -> tuple[Case, Verdict, str]:
        """Judge a call with hooks between the guards and the rules. Return the call as they leave it, the verdict, and
        what the model is told.

        Arguments that a hook has changed are judged anew. What a hook allows may still be denied or asked about by a
        guard or a rule; what it denies or asks about, no rule that allows opens.
        """
        guard, agent = await guards(case), case.agent
        if guard and guard.action == "deny":
            return case, guard, ""
        judgement = await hooks.judge_call(case.request, agent)
        notes = [judgement.context]
        if judgement.changed:
            request = self.receive(judgement.changed)
            arguments = request.mended.call.arguments
            notes.append(f"A hook changed the arguments of this call to {arguments}")
            emit(Repaired(agent=agent, call_id=request.id, note=say("hooks.changed", arguments=arguments)))
            case = await self._open_case(request, agent, emit, typed=typed)
            guard = await guards(case)
        verdict = judgement.verdict
        if verdict and verdict.action == "allow":
            ruled = await rules(case)
            verdict = ruled if ruled and ruled.action == "ask" else verdict
        if guard and not (verdict and verdict.action == "deny"):
            verdict = guard
        verdict = hold_for_network(case, verdict or await self._judge(case))
        if verdict.action == "ask":
            verdict = await hooks.judge_question(case.request, verdict, agent)
        return case, verdict, "\n[overt] ".join(filter(None, notes))

    async def _judge(self, case: Case) -> Verdict:
        for give_verdict in self._judges:
            if verdict := await give_verdict(case):
                return verdict
        raise AssertionError("the last judge passed")

    async def _judge_reach(self, request: CallRequest, sandbox: SandboxState, mode: Mode) -> Reach | None:
        """Return how far a dangerous command reaches; None for every other call, and if the mode refuses it anyway."""
        reading = request.subject.reading
        if reading.hazard != "dangerous" or mode == "plan":
            return None
        policy = self.permissions.terms.dangerous_policy
        looks = sandbox.walled and not sandbox.isolated and policy == "reach"
        changes = changes_of(reading) if looks else {}
        surveys = dict(zip(changes, await self._hands.survey(tuple(changes.values())), strict=True)) if changes else {}
        network = self.permissions.has_network(request.subject)
        return judge_reach(reading, sandbox=sandbox, surveys=surveys, policy=policy, network=network)


def warn_about_sandbox(state: SandboxState) -> str:
    """Return a warning about a missing or limited sandbox, or an empty string if it is complete."""
    if not state.boxed:
        return say("sandbox.off" if state.disabled else "sandbox.none", why=state.why)
    return (
        say("sandbox.partly", kind=state.kind, missing=", ".join(state.missing), why=state.why) if state.missing else ""
    )


def _ways_to_allow(verdict: Verdict, tool: str) -> tuple[str, ...]:
    """Return flags or settings that allow a call in a non-interactive run."""
    asked_by_mode = verdict.action == "ask" and verdict.by == "mode"
    return verdict.allowed_by or ((f"--allowedTools {tool}",) if asked_by_mode else ())


# ── after a command has run ──────────────────────────────────────────────────────────────────────────────


def _find_blocked(request: CallRequest, box: Profile, outcome: Outcome, hands: Hands) -> Blocked | None:
    """Return what the sandbox refused: as the tool reports it, or the network if a command that needs it failed."""
    if outcome.blocked or box.network or box.outside or not isinstance(outcome.view, Output):
        return outcome.blocked
    if not request.subject.reading.network or not hands.guess().boxed:
        return None
    from overt.sandbox.refused_access import NETWORK, OFFLINE  # late: 3 ms

    return NETWORK if outcome.view.code or OFFLINE.search(outcome.text) else None


def _choose_wider(request: CallRequest, box: Profile, blocked: Blocked, permissions: PermissionState) -> Profile | None:
    """Return a profile in which the command is not blocked: with the network, with writing, or outside the sandbox.

    In plan mode only the network can be opened; None otherwise.
    """
    if blocked.kind == "network" and not box.network:
        return permissions.profile(request.subject, reading=not request.changes, network=True)
    if permissions.effective_mode == "plan":
        return None
    return replace(box, reading=False) if box.reading else replace(box, outside=True)


def _describe_wider(box: Profile, wider: Profile) -> str:
    if wider.outside:
        return "outside the sandbox, with all your rights"
    return "with the network" if wider.network != box.network else "and let it write"


def _ask_to_widen(blocked: Blocked, where: str, *, outside: bool, exists: Callable[[str], bool]) -> Verdict:
    """Return the verdict that asks about another run. What was refused is read from the output, so the program may have
    made it up: only a path that exists in that spelling is named, so that no sentence passes for our own words."""
    is_known = not blocked.path or exists(blocked.path)
    claim = blocked.describe() if is_known else "an access was blocked by the sandbox"
    why = f"it ran, and according to its output {claim}. Run it again {where}?"
    return Verdict(action="ask", rule="sandbox", origin="guard", by="guard", why=why, dangerous=outside)
