"""Words for what a permission question offers: what *always* would store, and what the network is needed for."""

from overt.core.events import PermissionAsked
from overt.lib.catalogue import say
from overt.lib.text import exact

EDITS = "edit"
"""The rule for every tool that writes files."""


def always_words(asked: PermissionAsked) -> str:
    """What *always* stores, to the letter, and whether the network is part of it."""
    if asked.always == EDITS:
        return say("ask.always_edits")
    rule = exact(asked.always).replace("\n", "\\x0a").replace("\t", "\\x09")
    return say("ask.always_network" if asked.network else "ask.always", rule=rule)


def network_lines(asked: PermissionAsked) -> tuple[str, ...]:
    """That the network is needed, and why in the words of the model."""
    lines = (say("ask.network"),) if asked.network else ()
    return (*lines, say("ask.network_reason", text=asked.network_reason)) if asked.network_reason else lines


def takes_session(asked: PermissionAsked) -> bool:
    return asked.network and not asked.dangerous
