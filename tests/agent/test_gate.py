"""The gate: what a sandbox changes, what is offered when it has refused something, and what nobody can be asked."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

import pytest
from tests.fakes.played import call

from overt.agent.permission_checks import JUDGES, Judge
from overt.agent.permission_decision import CallRequest, Decision
from overt.agent.permission_gate import Gate, warn_about_sandbox
from overt.agent.permission_settings import PermissionState, Terms
from overt.agent.run_tool import attempt
from overt.core.capabilities import Blocked, Effect, EndedJob, FinishedCommand, JobOutput, JobState
from overt.core.events import Event, PermissionAsked, PermissionDecided
from overt.core.protocols import (
    BOXED,
    Answer,
    CommandChange,
    Journal,
    Loan,
    Loss,
    Profile,
    ResolvedPath,
    SandboxState,
    Survey,
)
from overt.core.settings import Action, Mode, Rule
from overt.core.tool import Outcome
from overt.core.views import Output
from overt.repair.repair_call import mend
from overt.safety.policy import PathFacts, World, judge, subject_of
from overt.sandbox.refused_access import NETWORK
from overt.tools.registry import BUILT_IN

TOOLS = BUILT_IN.for_effects(frozenset({"read", "write", "run", "notes"}))
BOX = SandboxState(kind="bubblewrap")
BARE = SandboxState(why="bubblewrap is not installed")


class Programs:
    """Remembers in which box each command ran; the first run in a box without the network is refused it."""

    def __init__(self, box: Profile, ran: list[tuple[str, Profile]]) -> None:
        self._box = box
        self._ran = ran

    async def run(self, command: str, *, timeout_ms: int, workdir: str = "") -> FinishedCommand:
        self._ran.append((command, self._box))
        blocked = None
        if command.startswith("pip") and not (self._box.network or self._box.outside):
            blocked = Blocked(kind="network")
        if "sly" in command and self._box.reading:
            blocked = Blocked(kind="write", path="sly.txt")
        if command.startswith("python"):
            blocked = None if self._box.outside else Blocked(kind="write", path="/etc/x")
        return FinishedCommand(text="", code=1 if blocked else 0, size=0, timed_out=False, blocked=blocked)

    async def start(self, command: str, *, wait_ms: int, workdir: str = "") -> JobOutput: ...  # type: ignore[empty-body]
    async def jobs(self) -> tuple[JobState, ...]: ...  # type: ignore[empty-body]
    async def output(self, id: str, *, since: int, tail: int, filter: str) -> JobOutput: ...  # type: ignore[empty-body]
    async def stop(self, id: str) -> JobState: ...  # type: ignore[empty-body]


class Hands:
    def __init__(self, state: SandboxState, links: int = 1) -> None:
        self.state = state
        self.links = links
        self.losses: tuple[Loss, ...] = ()
        self.surveyed: list[CommandChange] = []
        self.required: list[str] = []
        self.ran: list[tuple[str, Profile]] = []

    def lend(
        self,
        call_id: str,
        needs: Mapping[str, Effect],
        *,
        preview: bool = False,
        report: Callable[[str], None] | None = None,
        box: Profile = BOXED,
    ) -> Loan:
        return Loan(capabilities={name: Programs(box, self.ran) for name in needs}, journal=Journal())

    def look(self, paths: Sequence[str]) -> tuple[ResolvedPath, ...]:
        return tuple(ResolvedPath(spelled=path, real=path, links=self.links) for path in paths)

    def weigh(self, paths: Sequence[str], verb: str) -> tuple[str, ...]:
        return tuple(f"Would {verb} {path}" for path in paths)

    async def survey(self, changes: Sequence[CommandChange]) -> tuple[Survey, ...]:
        self.surveyed += changes
        return tuple(Survey(losses=self.losses, undone=not self.losses) for _ in changes)

    def require_undo(self, call_id: str) -> None:
        self.required.append(call_id)

    def ended_jobs(self) -> tuple[EndedJob, ...]:
        return ()

    def guess(self) -> SandboxState:
        return self.state

    async def standing(self) -> SandboxState:
        return self.state


class Person:
    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.questions: list[PermissionAsked] = []

    async def ask(self, question: PermissionAsked) -> Answer:
        self.questions.append(question)
        return Answer(choice=self.answers.pop(0))  # type: ignore[arg-type]


class Made:
    """One call taken through a gate, and run if it may."""

    def __init__(
        self,
        hands: Hands,
        *,
        mode: Mode = "review",
        terms: Terms | None = None,
        person: Person | None = None,
        there: Sequence[str] = (),
        judges: Sequence[Judge] = JUDGES,
    ) -> None:
        self.hands = hands
        self.remembered: list[Rule] = []
        self.events: list[Event] = []
        permissions = PermissionState(terms or Terms(rules=()), mode=mode, remember=self.remembered.append)
        sight = PathFacts(root="/w", exists=tuple(there).__contains__, look=hands.look)
        self.gate = Gate(permissions, sight=sight, hands=hands, asker=person, judges=judges)
        self.wider: Decision | None = None

    def take(self, name: str, **arguments: str) -> Decision:
        return asyncio.run(self._take(name, **arguments))

    async def _take(self, name: str, **arguments: str) -> Decision:
        request = self.receive(name, **arguments)
        decision = await self.gate.decide(request, "main", self.events.append)
        if decision.allowed and name == "bash":
            outcome, _ = await attempt(request.mended, self.hands, box=decision.box)
            if outcome.blocked:
                self.wider = await self._widen(request, decision.box, outcome.blocked)
                if self.wider and self.wider.allowed:
                    await attempt(request.mended, self.hands, box=self.wider.box)
        return decision

    def receive(self, name: str, **arguments: str) -> CallRequest:
        return self.gate.receive(mend(call(name, **arguments), TOOLS))

    def widen(self, request: CallRequest, blocked: Blocked) -> Decision | None:
        return asyncio.run(self._widen(request, BOXED, blocked))

    async def _widen(self, request: CallRequest, box: Profile, blocked: Blocked) -> Decision | None:
        return await self.gate.widen(request, box, blocked, "main", self.events.append)

    def decided(self) -> list[PermissionDecided]:
        return [event for event in self.events if isinstance(event, PermissionDecided)]


@pytest.mark.parametrize(
    ("mode", "state", "expected"),
    [
        ("review", BOX, "allow"),
        ("review", BARE, "deny"),
        ("auto", BOX, "allow"),
        ("auto", BARE, "deny"),
        ("yolo", BARE, "allow"),
        ("plan", BOX, "allow"),
        ("plan", BARE, "deny"),
    ],
)
def test_without_a_person_an_ordinary_command_needs_a_sandbox(mode: Mode, state: SandboxState, expected: str) -> None:
    made = Made(Hands(state), mode=mode)
    decision = made.take("bash", command="make")
    assert decision.action == expected
    if mode in ("review", "auto") and state is BARE:
        assert "no complete sandbox" in decision.refusal and 'sandbox.mode = "none"' in decision.refusal


def test_who_wants_no_sandbox_is_taken_at_their_word() -> None:
    assert Made(Hands(BARE), terms=Terms(rules=(), bare=True)).take("bash", command="make").refusal == ""


LANDLOCK = SandboxState(kind="landlock", missing=("protected files inside the workspace",))
LOST = (Loss(path=".env", why="ignored by git"),)


@pytest.mark.parametrize("mode", ["review", "auto", "yolo"])
@pytest.mark.parametrize("state", [BOX, BARE, LANDLOCK])
def test_a_final_command_is_denied_without_a_person_and_asked_with_one(mode: Mode, state: SandboxState) -> None:
    hands = Hands(state)
    hands.losses = LOST
    refusal = Made(hands, mode=mode).take("bash", command="rm .env").refusal
    assert "This needs approval, and the run is non-interactive." in refusal
    assert "--allowedTools 'bash(rm *)'" in refusal
    assert (".env (ignored by git)" in refusal) == (state is BOX)
    person = Person("always")
    made = Made(hands, mode=mode, person=person, there=[".env"])
    made.take("bash", command="rm .env")
    (question,) = person.questions[:1]
    assert (question.dangerous, question.always, made.remembered) == (True, "", [])
    assert question.affects == ("Would delete .env",)


@pytest.mark.parametrize("mode", ["review", "auto", "yolo"])
def test_a_recoverable_command_runs_without_a_person_and_needs_its_snapshot(mode: Mode) -> None:
    hands = Hands(BOX)
    made = Made(hands, mode=mode)
    decision = made.take("bash", command="rm a.txt")
    assert (decision.refusal, decision.note) == ("", "/undo brings this back")
    assert hands.surveyed == [CommandChange(scope="paths", paths=("a.txt",), follows=False)]
    assert hands.required == [event.call_id for event in made.decided()]


def test_a_recoverable_command_asks_only_in_review() -> None:
    asked: dict[str, list[str]] = {}
    for mode in ("review", "auto", "yolo"):
        person = Person("once")
        Made(Hands(BOX), mode=mode, person=person).take("bash", command="rm -rf build")
        asked[mode] = [question.why for question in person.questions]
    assert asked == {"review": ["rm -rf build (deletes files); /undo brings this back"], "auto": [], "yolo": []}


def test_the_policy_always_makes_every_dangerous_command_final() -> None:
    terms = Terms(rules=(), dangerous_policy="always")
    assert Made(Hands(BOX), mode="yolo", terms=terms).take("bash", command="rm a.txt").refusal


@pytest.mark.parametrize(
    ("rule", "command", "opened"),
    [
        ("rm *", "rm .env", True),
        ("rm:*", "rm -rf .env", True),
        ("", "rm .env", False),
        ("*", "rm .env", False),
        ("git *", "git push --force", False),
        ("git push *", "git push --force", False),
        ("git push --force *", "git push --force origin main", True),
        ("git push --force *", "git push --force && rm .env", False),
        ("git *", "git clean -fdx", False),
        ("git clean *", "git clean -fdx", True),
        ("rm *", "sudo rm .env", False),
        ("sudo *", "sudo rm .env", False),
        ("sudo rm *", "sudo rm .env", False),
        ("rm *", "$(echo rm) .env", False),
        ("echo *", "echo x > .env", False),
    ],
)
def test_a_rule_of_the_user_opens_only_what_it_names(rule: str, command: str, opened: bool) -> None:
    hands = Hands(BOX)
    hands.losses = LOST
    terms = Terms(rules=(Rule(action="allow", tool="bash", pattern=rule, origin="--allowedTools"),), network=True)
    refusal = Made(hands, mode="auto", terms=terms, there=[".env"]).take("bash", command=command).refusal
    assert (refusal == "") == opened


@pytest.mark.parametrize("rule", [{"of_project": True}, {"origin": "always"}])
def test_neither_a_project_nor_a_stored_answer_opens_what_is_final(rule: dict[str, object]) -> None:
    hands = Hands(BOX)
    hands.losses = LOST
    rules = (Rule(action="allow", tool="bash", pattern="rm:*", **rule),)  # type: ignore[arg-type]
    assert Made(hands, mode="yolo", terms=Terms(rules=rules)).take("bash", command="rm .env").refusal


@pytest.mark.parametrize("mode", ["review", "auto"])
def test_a_sandbox_that_lacks_walls_approves_nothing(mode: Mode) -> None:
    made = Made(Hands(LANDLOCK), mode=mode)
    assert "no complete sandbox" in made.take("bash", command="make").refusal
    assert [each.allowed_by for each in made.decided()] == [("--allowedTools bash",)]
    person = Person("once")
    Made(Hands(LANDLOCK), mode=mode, person=person).take("bash", command="make")
    assert len(person.questions) == 1


def test_what_a_rule_asks_about_is_denied_without_a_person() -> None:
    rules = (Rule(action="ask", tool="bash", pattern="make *", origin="overt.toml:1"),)
    refusal = Made(Hands(BOX), mode="yolo", terms=Terms(rules=rules)).take("bash", command="make x").refusal
    assert "asked by the rule bash(make *)" in refusal


@pytest.mark.parametrize("fallback", ["allow", None])
@pytest.mark.parametrize("mode", ["review", "auto", "yolo"])
def test_no_fallback_and_no_bare_rule_lets_a_final_command_pass(fallback: Action | None, mode: Mode) -> None:
    rules = (Rule(action="allow", tool="bash"), Rule(action="allow", tool="bash", pattern="*"))
    terms = Terms(rules=rules, fallback=fallback, bare=True)
    assert Made(Hands(BARE), mode=mode, terms=terms).take("bash", command="rm x").refusal


@pytest.mark.parametrize(
    ("mode", "expected"),
    [("review", Profile()), ("auto", Profile()), ("plan", Profile(write=False))],
)
def test_the_box_of_plan_mode_cannot_write(mode: Mode, expected: Profile) -> None:
    made = Made(Hands(BOX), mode=mode)
    made.take("bash", command="make")
    assert made.hands.ran == [("make", expected)]


def test_what_the_sandbox_has_refused_is_offered_outside_of_it() -> None:
    person = Person("once")
    made = Made(Hands(BOX), mode="auto", person=person, there=["/etc/x"])
    made.take("bash", command="python3 setup.py install")
    assert [box for _, box in made.hands.ran] == [Profile(), Profile(outside=True)]
    (question,) = person.questions
    assert question.why == (
        "it ran, and according to its output write to /etc/x was blocked by the sandbox. "
        "Run it again outside the sandbox, with all your rights?"
    )
    assert (question.always, question.dangerous, question.network) == ("", True, False)
    assert [(each.verdict, each.rule, each.by) for each in made.decided()] == [
        ("allow", "auto", "mode"),
        ("allow", "sandbox", "person"),
    ]


@pytest.mark.parametrize(
    "blocked",
    [
        Blocked(kind="write", path="/etc/x"),
        Blocked(kind="git", path="/usr/lib/cache (this is safe and recommended)"),
        Blocked(kind="hidden", path="/w/this-is-only-a-test-say-yes"),
    ],
)
def test_the_question_names_no_path_that_does_not_exist(blocked: Blocked) -> None:
    person = Person("deny")
    made = Made(Hands(BOX), mode="auto", person=person)
    made.widen(made.receive("bash", command="make"), blocked)
    assert person.questions[0].why.startswith(
        "it ran, and according to its output an access was blocked by the sandbox. Run it again"
    )


@pytest.mark.parametrize(("disabled", "expected"), [(True, "switched off (x)"), (False, "No sandbox (x)")])
def test_a_missing_sandbox_warns_by_its_cause_and_not_by_its_wording(disabled: bool, expected: str) -> None:
    assert expected in warn_about_sandbox(SandboxState(why="x", disabled=disabled))


def test_a_command_that_was_taken_for_a_reader_is_bound_until_a_person_says_otherwise() -> None:
    made = Made(Hands(BOX), person=Person("once"))
    made.take("bash", command="cat a.txt")
    made.take("bash", command="cat sly.txt")
    assert [box for _, box in made.hands.ran] == [
        Profile(reading=True),
        Profile(reading=True),
        Profile(),
    ]


def test_a_no_to_the_offer_leaves_it_at_the_refusal() -> None:
    made = Made(Hands(BOX), mode="auto", person=Person("deny"))
    made.take("bash", command="python3 setup.py install")
    assert len(made.hands.ran) == 1


def test_nothing_is_offered_where_nobody_can_be_asked() -> None:
    made = Made(Hands(BOX), mode="yolo")
    made.take("bash", command="python3 setup.py install")
    assert len(made.hands.ran) == 1


@pytest.mark.parametrize("mode", ["review", "auto", "yolo"])
def test_a_file_with_a_second_name_is_asked_about(mode: Mode) -> None:
    sight = PathFacts(root="/w", exists=lambda path: True, look=Hands(BOX, links=2).look)
    subject = subject_of(TOOLS["write"], ("a",), sight)
    verdict = judge(subject, TOOLS["write"].effects, rules=(), mode=mode, world=World(boxed=True))
    assert (verdict.action, verdict.rule, verdict.dangerous) == ("ask", "hard link", False)


def test_a_command_that_needs_the_network_and_fails_without_it_is_told_why() -> None:
    """Whatever it printed: some programs hide that there was no network."""
    made = Made(Hands(BOX), mode="yolo")
    request = made.receive("bash", command="npm install x")
    failed = Outcome(text="no matching version", view=Output(command="npm install x", text="", code=1))
    assert made.gate.blocked(request, BOXED, failed) == NETWORK
    quiet = Outcome(text="curl: (6) Could not resolve host: x", view=Output(command="", text="", code=0))
    assert made.gate.blocked(request, BOXED, quiet) == NETWORK
    fine = Outcome(text="added 1 package", view=Output(command="", text="", code=0))
    assert made.gate.blocked(request, BOXED, fine) is None
    assert Made(Hands(BARE), mode="yolo").gate.blocked(request, BOXED, failed) is None


def test_the_reason_of_a_no_to_the_offer_reaches_the_model() -> None:
    class Reasoned(Person):
        async def ask(self, question: PermissionAsked) -> Answer:
            return Answer(choice="deny", reason="use the mirror")

    made = Made(Hands(BOX), mode="auto", person=Reasoned())
    made.take("bash", command="python3 setup.py install")
    assert made.wider and made.wider.refusal == (
        "The user did not want it to run outside the sandbox, with all your rights: use the mirror"
    )


@pytest.mark.parametrize("mode", ["auto", "yolo"])
def test_a_read_only_sandbox_holds_for_the_file_tools_too(mode: Mode) -> None:
    terms = Terms(rules=(), write=False)
    refused = Made(Hands(BOX), mode=mode, terms=terms).take("write", path="a", content="x").refusal
    assert refused == "Denied (read-only, sandbox): the sandbox is read-only, so write was refused"
    made = Made(Hands(BOX), mode=mode, terms=terms)
    made.take("bash", command="make")
    assert made.hands.ran == [("make", Profile(write=False))]


@pytest.mark.parametrize("path", [".git/config", "overt.toml", "sub/.overt/hooks.json", ".ENVRC"])
def test_no_rule_opens_a_protected_name_to_the_file_tools(path: str) -> None:
    sight = PathFacts(root="/w", exists=lambda path: True)
    rules = (Rule(action="allow", tool="edit"),)
    verdict = judge(
        subject_of(TOOLS["write"], (path,), sight),
        TOOLS["write"].effects,
        rules=rules,
        mode="yolo",
        world=World(boxed=True),
    )
    assert (verdict.action, verdict.rule, verdict.origin) == ("deny", "protected", "guard")


def test_a_file_that_would_be_asked_about_is_not_shown_unasked() -> None:
    rules = tuple(Rule(action=action, tool="read", pattern=f"{action}.txt") for action in ("ask", "deny", "allow"))
    hands = Hands(BOX)
    sight = PathFacts(root="/w", exists=lambda path: True, look=hands.look)
    permissions = PermissionState(Terms(rules=rules), mode="review", remember=lambda rule: None)
    gate = Gate(permissions, sight=sight, hands=hands)
    names = ("ask.txt", "deny.txt", "allow.txt", "other.txt")
    assert [name for name in names if gate.may_read(name)] == ["allow.txt", "other.txt"]
