"""The list of judges: one from outside among our own, and what stands before and behind it."""

import pytest
from tests.agent.test_gate import BARE, BOX, LOST, Hands, Made, Person

from overt.agent.permission_checks import Case, guards, mode, rules
from overt.agent.permission_settings import PermissionState, Terms
from overt.core.events import PermissionAsked, PermissionDecided
from overt.core.protocols import Answer, Profile
from overt.core.settings import Action, Mode, Rule
from overt.safety.policy import Verdict


class Hook:
    """A judge from outside. It speaks of commands and writing, and notes what it was shown."""

    def __init__(self, action: Action) -> None:
        self.action = action
        self.seen: list[tuple[str, str, Mode]] = []

    async def __call__(self, case: Case) -> Verdict | None:
        self.seen.append((case.agent, ", ".join(case.request.subject.values), case.facts.mode))
        if case.request.tool.name not in ("bash", "write"):
            return None
        return Verdict(action=self.action, rule="office hours", origin="hooks.json:3", by="guard", why="it is Friday")


def judged_by(hook: Hook, **how: object) -> Made:
    how.setdefault("hands", Hands(BOX))
    return Made(judges=(guards, hook, rules, mode), **how)  # type: ignore[arg-type]


def test_a_judge_from_outside_denies_with_its_own_rule_and_reason() -> None:
    made = judged_by(Hook("deny"), mode="yolo")
    decision = made.take("bash", command="make deploy")
    assert decision.refusal == "Denied (office hours, hooks.json:3): it is Friday"
    (decided,) = made.decided()
    assert decided == PermissionDecided(
        agent="main",
        call_id=decided.call_id,
        verdict="deny",
        rule="office hours",
        origin="hooks.json:3",
        by="guard",
        reason="it is Friday",
    )
    assert made.hands.ran == []


def test_a_judge_from_outside_allows_what_the_mode_would_deny() -> None:
    hook = Hook("allow")
    made = judged_by(hook, hands=Hands(BARE), mode="review")
    assert made.take("bash", command="make").allowed
    assert [(each.verdict, each.rule, each.origin, each.reason) for each in made.decided()] == [
        ("allow", "office hours", "hooks.json:3", "it is Friday")
    ]
    assert hook.seen == [("main", "make", "review")]


def test_what_a_judge_from_outside_asks_about_is_put_to_the_user() -> None:
    person = Person("once")
    made = judged_by(Hook("ask"), mode="yolo", person=person)
    assert made.take("bash", command="make").allowed
    assert [question.why for question in person.questions] == ["it is Friday"]
    assert [(each.rule, each.by) for each in made.decided()] == [("office hours", "person")]


def test_a_judge_that_passes_leaves_the_verdict_to_the_next() -> None:
    made = judged_by(Hook("deny"))
    assert made.take("read", path="a.txt").allowed
    assert [each.rule for each in made.decided()] == ["harmless"]


@pytest.mark.parametrize(
    ("mode", "tool", "arguments", "rule"),
    [
        ("yolo", "bash", {"command": "rm .env"}, "final"),
        ("yolo", "write", {"path": ".git/config", "content": "x"}, "protected"),
        ("yolo", "bash", {"command": "make"}, "bash(make)"),
        ("plan", "write", {"path": "a.txt", "content": "x"}, "plan"),
    ],
)
def test_a_judge_behind_the_guards_cannot_open_what_they_hold(
    mode: Mode, tool: str, arguments: dict[str, str], rule: str
) -> None:
    hands, hook = Hands(BOX), Hook("allow")
    hands.losses = LOST
    denied = Rule(action="deny", tool="bash", pattern="make", origin="overt.toml:1")
    allowed = tuple(Rule(action="allow", tool=name, origin="config.toml:1") for name in ("bash", "edit"))
    made = judged_by(hook, hands=hands, mode=mode, terms=Terms(rules=(denied, *allowed)), there=[".env"])
    assert made.take(tool, **arguments).refusal
    assert ([each.rule for each in made.decided()], hook.seen) == ([rule], [])


def test_what_a_judge_from_outside_allows_still_asks_for_the_network() -> None:
    made = judged_by(Hook("allow"), mode="yolo")
    assert made.take("bash", command="pip install requests").refusal.startswith("Denied (network, sandbox)")


def test_the_mode_at_the_time_of_the_answer_decides_what_a_command_may_write() -> None:
    class Switching(Person):
        permissions: PermissionState

        async def ask(self, question: PermissionAsked) -> Answer:
            self.permissions.mode = "plan"
            return await super().ask(question)

    person = Switching("once")
    made = Made(Hands(BOX), mode="review", person=person)
    person.permissions = made.gate.permissions
    made.take("bash", command="make")
    assert made.hands.ran == [("make", Profile(write=False))]
