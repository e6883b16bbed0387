"""Rules that hold, decisions that were made, and a stored rule taken back, for the permissions inspector."""

import asyncio
from typing import Protocol, runtime_checkable

from overt.app import permissions as asked
from overt.app.conversation import Conversation
from overt.app.looked import Permits, Revoked, Ruled
from overt.app.options import Options
from overt.app.setting import read_setting
from overt.config.always import ORIGIN, load_always
from overt.core.settings import Rule

MOST_DECISIONS = 50


@runtime_checkable
class Forgetting(Protocol):
    """A gate that can let go of a rule while it stands."""

    def forget(self, rule: str) -> bool: ...


@runtime_checkable
class Ruling(Protocol):
    """A gate that tells the rules it goes by, those of flags and of this conversation among them."""

    def rules(self) -> tuple[Rule, ...]: ...


def permissions(conversation: Conversation) -> Permits:
    """Stored rules first."""
    setting = read_setting(Options(directory=conversation.workspace))
    always = load_always(setting.environment, setting.roots.project)
    gate = conversation.agent.gate
    holding = gate.rules() if isinstance(gate, Ruling) else setting.config.permissions.rules
    others = (rule for rule in holding if rule.origin != ORIGIN)
    rows = (*(_row(rule) for rule in always.rules), *(_row(rule) for rule in others))
    return Permits(mode=conversation.mode, rules=rows, problem=always.warning)


def decisions(conversation: Conversation) -> tuple[asked.Decided, ...]:
    """The newest first."""
    return asked.decisions(conversation.workspace, MOST_DECISIONS)[::-1]


async def revoke(conversation: Conversation, text: str) -> Revoked:
    """On disk, and in the conversation that is open."""
    gone = await asyncio.to_thread(asked.revoke, conversation.workspace, text)
    gate = conversation.agent.gate
    return Revoked(text=gone, here=gate.forget(gone) if isinstance(gate, Forgetting) else False)


def _row(rule: Rule) -> Ruled:
    return Ruled(text=rule.shown(), action=rule.action, origin=rule.origin, stored=rule.origin == ORIGIN)
