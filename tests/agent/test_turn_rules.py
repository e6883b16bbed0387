"""Rules of a command or a skill: what they open for one turn, and what they never open."""

import pytest
from tests.agent.test_gate import BARE, BOX, Hands, Made, Person

from overt.agent.permission_settings import Terms
from overt.agent.turn_rules import TurnRules, read_turn_rules
from overt.core.settings import Rule
from overt.tools.registry import BUILT_IN


def read(allowed: object = None, disallowed: object = None) -> TurnRules:
    return read_turn_rules(allowed, disallowed, origin=".overt/commands/ship.md", tools=lambda: BUILT_IN.rule_names)


def gate_with(rules: TurnRules, *own: Rule, person: Person | None = None, hands: Hands | None = None) -> Made:
    made = Made(hands or Hands(BARE), terms=Terms(rules=own), person=person)
    made.gate.permissions.add_turn_rules(rules.rules)
    return made


@pytest.mark.parametrize(
    "value",
    [
        "Bash(git add:*), Bash(git commit *)",
        "Bash(git add:*) Bash(git commit *)",
        ["Bash(git add:*)", "bash(git commit *)"],
    ],
)
def test_allowed_tools_may_be_a_list_or_one_text(value: object) -> None:
    assert [(rule.action, rule.text()) for rule in read(value).rules] == [
        ("allow", "bash(git add:*)"),
        ("allow", "bash(git commit *)"),
    ]


def test_entries_that_are_no_rules_are_named() -> None:
    assert read("Bash(", 7).problems == (
        ".overt/commands/ship.md: 'Bash(' is not a rule; write `tool` or `tool(pattern)`",
    )
    assert read("Teleport").problems == (".overt/commands/ship.md: no tool of this version is called `Teleport`",)


def test_a_command_that_is_named_runs_without_a_question_until_the_turn_ends() -> None:
    made = gate_with(read("Bash(make:*)"))
    decision = made.take("bash", command="make test")
    assert decision.allowed
    assert (decision.rule, decision.origin) == ("bash(make:*)", ".overt/commands/ship.md")
    assert not made.take("bash", command="cargo test").allowed
    made.gate.permissions.end_turn()
    assert not made.take("bash", command="make test").allowed


def test_every_part_of_a_command_line_must_be_named() -> None:
    assert gate_with(read("Bash(make:*)")).take("bash", command="make test && make lint").allowed
    assert not gate_with(read("Bash(make:*)")).take("bash", command="make test && cargo publish").allowed


def test_a_deny_rule_of_the_user_wins() -> None:
    denied = Rule(action="deny", tool="bash", pattern="make deploy *", origin="config.toml:3")
    decision = gate_with(read("Bash(make:*)"), denied).take("bash", command="make deploy now")
    assert (decision.allowed, decision.origin) == (False, "config.toml:3")


def test_a_rule_that_asks_still_asks() -> None:
    asks = Rule(action="ask", tool="bash", pattern="make release *", origin="config.toml:4")
    person = Person("deny")
    assert not gate_with(read("Bash"), asks, person=person).take("bash", command="make release now").allowed
    assert len(person.questions) == 1


@pytest.mark.parametrize("rule", ["Bash", "Bash(git push --force:*)", "*"])
def test_a_final_command_is_asked_about_all_the_same(rule: str) -> None:
    person = Person("deny")
    made = gate_with(read(rule), person=person, hands=Hands(BOX))
    assert not made.take("bash", command="git push --force origin main").allowed
    assert [question.dangerous for question in person.questions] == [True]


def test_disallowed_tools_are_denied_also_where_the_mode_would_allow_them() -> None:
    made = gate_with(read(disallowed="Write"))
    made.gate.permissions.mode = "yolo"
    decision = made.take("write", path="a.txt", content="x")
    assert decision.refusal == "Denied (write, .overt/commands/ship.md): denied by the rule write"
    assert made.take("bash", command="make").allowed


def test_a_tool_that_is_allowed_and_disallowed_is_denied() -> None:
    assert not gate_with(read("Bash", "Bash(make deploy:*)")).take("bash", command="make deploy").allowed
