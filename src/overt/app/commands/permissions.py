"""`/permissions`: the rules that hold here, where each comes from, and taking back what was answered with always."""

import asyncio
from collections.abc import Sequence

from overt.app.completion.completion_facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.app.inspect.inspector_values import Decisions, PermissionRules, RevokedRule, RuleRow
from overt.app.slash_command import Command, CommandOutcome, Offer
from overt.lib.translations import say

MOST_DECISIONS = 50


async def permissions(conversation: Conversation, argument: str) -> CommandOutcome:
    word, _, rule = argument.partition(" ")
    if word == "revoke" and rule.strip():
        revoked = await revoke_rule(conversation, rule.strip())
        return CommandOutcome(lines=(say("permissions.revoked", rule=revoked.text),))
    if argument:
        raise COMMAND.usage_error()
    return CommandOutcome(lines=_lines(await show_rules(conversation, "", 0)))


def _lines(permits: PermissionRules) -> tuple[str, ...]:
    """The same rules as in the panel: those of files and flags, then the saved ones, numbered for `revoke`."""
    saved = [rule for rule in permits.rules if rule.stored]
    return (
        say("chat.mode", mode=permits.mode),
        *(f"  {rule.action:5}  {rule.text}  ({rule.origin})" for rule in permits.rules if not rule.stored),
        permits.problem or say("permissions.stored" if saved else "permissions.none"),
        *(f"  {number:2}  {rule.action:5}  {rule.text}" for number, rule in enumerate(saved, 1)),
    )


async def offers(facts: CompletionFacts, argument: str) -> Sequence[Offer]:
    from overt.config.saved_rules import load_always  # late: 0.2 ms

    setting = facts.conversation.setting
    rules = await asyncio.to_thread(lambda: load_always(setting.environment, setting.roots.project).rules)
    if argument.startswith("revoke "):
        return [Offer(f"revoke {rule.text()}", rule.action, rule.text()) for rule in rules]
    return [Offer("revoke", say("tui.complete.revoke"), more=True)] if rules else []


async def show_rules(conversation: Conversation, _text: str, _number: int) -> PermissionRules:
    """Return the rules that hold in this session. Saved rules come first, as the file has them now."""
    from overt.config.saved_rules import ORIGIN, load_always  # late: 0.2 ms

    setting = conversation.setting
    saved = await asyncio.to_thread(load_always, setting.environment, setting.roots.project)
    others = (rule for rule in conversation.agent.runtime.gate.permissions.terms.rules if rule.origin != ORIGIN)
    rows = (RuleRow(rule.shown(), rule.action, rule.origin, rule.origin == ORIGIN) for rule in (*saved.rules, *others))
    return PermissionRules(mode=conversation.mode, rules=tuple(rows), problem=saved.warning)


async def show_decisions(conversation: Conversation, _text: str, _number: int) -> Decisions:
    """Return the last decisions in this project, the newest first."""
    from overt.app.inspect.permissions import decisions  # late: 0.6 ms

    made = await asyncio.to_thread(decisions, conversation.setting, MOST_DECISIONS)
    return Decisions(made[::-1])


async def revoke_rule(conversation: Conversation, text: str, _number: int = 0) -> RevokedRule:
    """Delete a saved rule from the file and from this session."""
    from overt.app.inspect.permissions import revoke  # late: 0.6 ms

    rule = await asyncio.to_thread(revoke, conversation.setting, text)
    return RevokedRule(text=rule, here=conversation.agent.runtime.gate.permissions.forget(rule))


COMMAND = Command(
    name="permissions",
    run=permissions,
    usage="[revoke RULE | revoke N]",
    order=150,
    anytime=True,
    panel="permissions",
    complete=offers,
    queries={"permissions": show_rules, "decisions": show_decisions, "revoke": revoke_rule},
)
