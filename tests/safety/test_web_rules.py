"""Who may read the web: modes, and rules that name a domain."""

import pytest

from overt.core.settings import Action, Mode, Rule
from overt.core.tool import Tool
from overt.safety.policy import PathFacts, Verdict, World, judge, subject_of
from overt.safety.rules import ALWAYS, hosts_allowed_private
from overt.tools.webfetch import webfetch
from overt.tools.websearch import websearch

SIGHT = PathFacts(root="/work", exists=lambda path: False)
PAGE = "https://docs.example.org/page?x=1"


def rule(text: str, action: Action = "allow", *, of_project: bool = False, origin: str = "config.toml:1") -> Rule:
    tool, _, pattern = text.removesuffix(")").partition("(")
    return Rule(action=action, tool=tool, pattern=pattern, of_project=of_project, origin=origin)


def verdict(
    value: str, *rules: Rule, tool: Tool = webfetch, mode: Mode = "review", world: World | None = None
) -> Verdict:
    return judge(
        subject_of(tool, (value,), SIGHT), tool.effects, rules=rules, mode=mode, world=world or World(boxed=True)
    )


@pytest.mark.parametrize(("mode", "action"), [("review", "ask"), ("auto", "ask"), ("plan", "ask"), ("yolo", "allow")])
@pytest.mark.parametrize(("tool", "value"), [(webfetch, PAGE), (websearch, "how to")])
def test_reading_the_web_asks_in_every_mode_but_yolo(tool: Tool, value: str, mode: Mode, action: Action) -> None:
    assert verdict(value, tool=tool, mode=mode).action == action


def test_a_read_only_sandbox_asks_about_the_web_as_plan_mode_does() -> None:
    decided = verdict(PAGE, mode="plan", world=World(boxed=True, read_only=True))
    assert decided.action == "ask" and "refused" not in decided.why


def test_a_run_that_cannot_ask_is_told_the_rule_for_this_host() -> None:
    assert verdict(PAGE).allowed_by == ("--allowedTools 'webfetch(domain:docs.example.org)'",)
    assert verdict("how to", tool=websearch).allowed_by == ("--allowedTools websearch",)


@pytest.mark.parametrize(
    ("text", "url", "matches"),
    [
        ("webfetch", PAGE, True),
        ("*", PAGE, True),
        ("webfetch(domain:docs.example.org)", PAGE, True),
        ("webfetch(domain:DOCS.Example.org)", PAGE, True),
        ("webfetch(domain:example.org)", PAGE, False),
        ("webfetch(domain:*.example.org)", PAGE, True),
        ("webfetch(domain:*.example.org)", "https://example.org/", False),
        ("webfetch(domain:*.example.org)", "https://a.b.EXAMPLE.org./", True),
        ("webfetch(domain:*.example.org)", "https://badexample.org/", False),
        ("webfetch(domain:*)", PAGE, True),
        ("webfetch(domain:docs.example.org)", "https://docs.example.org.evil.test/", False),
        ("webfetch(domain:docs.example.org)", "https://evil.test/docs.example.org", False),
        ("webfetch(domain:docs.example.org)", "https://docs.example.org@evil.test/", False),
        ("webfetch(domain:docs.example.org)", "https://evil.test#@docs.example.org/", False),
        ("webfetch(domain:bücher.example)", "http://xn--bcher-kva.example/", True),
        ("webfetch(domain:127.0.0.1)", "http://2130706433/", True),
        ("webfetch(domain:localhost)", "http://LOCALHOST.:8080/x", True),
        ("webfetch(domain:::1)", "http://[0:0::1]/", True),
        ("webfetch(domain:[::1])", "http://[::1]/", True),
        ("webfetch(domain:)", PAGE, False),
        ("webfetch(domain:docs.example.org)", "not a url", False),
        ("websearch(domain:docs.example.org)", PAGE, False),
    ],
)
@pytest.mark.parametrize("action", ["allow", "deny"])
def test_a_rule_matches_the_host_that_would_be_asked(text: str, url: str, matches: bool, action: Action) -> None:
    assert (verdict(url, rule(text, action), mode="auto").by == "rule") is matches


def test_a_denial_wins_over_yolo_and_over_an_allowed_domain() -> None:
    denial = rule("webfetch(domain:*.example.org)", "deny")
    assert verdict(PAGE, rule("webfetch(domain:docs.example.org)"), denial, mode="yolo").action == "deny"


def test_an_ask_rule_asks_in_yolo() -> None:
    assert verdict(PAGE, rule("webfetch(domain:docs.example.org)", "ask"), mode="yolo").action == "ask"


def test_only_exact_rules_of_the_user_open_a_host_for_private_addresses() -> None:
    rules = (
        rule("webfetch(domain:localhost)"),
        rule("webfetch(domain:Intra.example.)"),
        rule("webfetch(domain:::1)"),
        rule("webfetch(domain:*.corp.example)"),
        rule("webfetch(domain:*)"),
        rule("webfetch"),
        rule("*"),
        rule("webfetch(domain:denied.example)", "deny"),
        rule("webfetch(domain:asked.example)", "ask"),
        rule("webfetch(domain:project.example)", of_project=True),
        rule("webfetch(domain:answered.example)", origin=ALWAYS),
        rule("websearch(domain:searched.example)"),
    )
    assert hosts_allowed_private(rules) == {"localhost", "intra.example", "::1"}
