"""What `/permissions` shows in every frontend: the rules of a session and the decisions that were made."""

import asyncio

from overt.app.conversation import Conversation
from overt.app.inspect import permissions as project_permissions
from overt.app.inspect.values import Decisions, Permits, Revoked, Ruled
from overt.config.always import ORIGIN, load_always
from overt.core.settings import Rule

MOST_DECISIONS = 50


def permissions(conversation: Conversation) -> Permits:
    """Return the rules that hold in this session. Saved rules come first, as the file has them now."""
    setting = conversation.setting
    saved = load_always(setting.environment, setting.roots.project)
    others = (rule for rule in conversation.agent.runtime.gate.permissions.terms.rules if rule.origin != ORIGIN)
    rows = tuple(_row(rule) for rule in (*saved.rules, *others))
    return Permits(mode=conversation.mode, rules=rows, problem=saved.warning)


def decisions(conversation: Conversation) -> Decisions:
    """Return the last decisions in this project, the newest first."""
    return Decisions(project_permissions.decisions(conversation.setting, MOST_DECISIONS)[::-1])


async def revoke(conversation: Conversation, text: str) -> Revoked:
    """Delete a saved rule from the file and from this session."""
    rule = await asyncio.to_thread(project_permissions.revoke, conversation.setting, text)
    return Revoked(text=rule, here=conversation.agent.runtime.gate.permissions.forget(rule))


def _row(rule: Rule) -> Ruled:
    return Ruled(text=rule.shown(), action=rule.action, origin=rule.origin, stored=rule.origin == ORIGIN)
