"""Words for a permission question: what is asked, what *always* would store, and what the network is needed for."""

from collections.abc import Callable

from overt.core.events import PermissionAsked
from overt.core.views import Diffs, Plain
from overt.lib.catalogue import say
from overt.lib.text import exact

EDITS = "edit"
"""The rule for every tool that writes files."""


def headline_words(asked: PermissionAsked, clean: Callable[[str], str]) -> str:
    """`Edit calc.py?` if the changes of files are known, else the tool and what it would run.

    A command that is shown whole below is left out. `clean` makes words of others harmless.
    """
    if words := change_words(asked, clean):
        return words
    shown_below = isinstance(asked.view, Plain) and asked.view.text == asked.headline
    what = "" if shown_below else clean(asked.headline)
    return say("ask.headline", tool=clean(asked.call.name), what=what).rstrip()


def change_words(asked: PermissionAsked, clean: Callable[[str], str]) -> str:
    if not isinstance(asked.view, Diffs):
        return ""
    changes = {file.change for file in asked.view.files}
    change = changes.pop() if len(changes) == 1 else "updated"
    key = f"ask.{change}" if change in ("created", "deleted") else "ask.updated"
    return say(key, what=clean(asked.headline))


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
