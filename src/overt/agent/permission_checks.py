"""The judges of the gate, in their order. Each gives a verdict or passes; the first verdict counts.

    guards    deny rules, protected files, plan mode, final commands: nothing after them can open these
    hooks     commands of the user; they may also deny what a guard asks about (`Gate._consult_hooks`)
    rules     rules that ask about a call or allow it, those of the running turn included (`turn_rules`)
    mode      harmless calls, the fallback, the mode: always gives a verdict

What they allow may still lack the network; what they ask about is put to the user (`person`).
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from overt.agent.permission_decision import CallRequest
from overt.core.protocols import SandboxState
from overt.safety.policy import CallFacts, Verdict, judge_by_guards, judge_by_mode, judge_by_rules

OPEN_NETWORK = (
    "This command needs the network, which the sandbox keeps closed, and the run is non-interactive. "
    'The user can allow it with `--network`, with `allow = [{{ rule = "{rule}", network = true }}]` under '
    "[permissions] in the user configuration, or in a chat."
)


class Case(Struct, frozen=True, kw_only=True):
    """A call to be judged, with all that its judgement depends on at this moment.

    `facts` hold its subject, the rules and the mode that it is judged by. `lacks_network`: the command needs the
    network, and the sandbox keeps it closed.
    """

    request: CallRequest
    agent: str
    facts: CallFacts
    sandbox: SandboxState
    lacks_network: bool = False


Judge = Callable[[Case], Awaitable[Verdict | None]]


async def guards(case: Case) -> Verdict | None:
    return judge_by_guards(case.facts)


async def rules(case: Case) -> Verdict | None:
    return judge_by_rules(case.facts)


async def mode(case: Case) -> Verdict:
    return judge_by_mode(case.facts)


JUDGES: tuple[Judge, ...] = (guards, rules, mode)


def hold_for_network(case: Case, verdict: Verdict) -> Verdict:
    """Ask about a command that may run as far as rules and mode go, but needs the network that is closed to it."""
    asked_by_mode = verdict.action == "ask" and verdict.by == "mode"
    if not case.lacks_network or not (verdict.action == "allow" or asked_by_mode):
        return verdict
    return Verdict(
        action="ask",
        rule="network",
        origin="sandbox",
        by="guard",
        remedy=OPEN_NETWORK.format(rule=_suggest_rule(case.request)),
        allowed_by=("--network",),
    )


def _suggest_rule(request: CallRequest) -> str:
    """Return a rule to name in a refusal: for commands that begin like the one that was refused."""
    reading = request.subject.reading
    words = next(iter((*reading.notable, *reading.commands)), "").split(" ")
    name = words[0] if words[0] and words[0].isprintable() else "COMMAND"
    return f"bash({name} *)"
