"""What goes along with a prompt or a step without having been typed, named in one line."""

from overt.core.events import UserSpoke
from overt.lib.catalogue import say
from overt.lib.text import visible

ALONG = ("file", "environment")
"""The kinds of origin of such messages."""
RULES = "[overt] Rules for "
"""How rules of a folder begin, which join in the middle of a turn or with a file that a prompt names."""


def attached(spoke: UserSpoke) -> str:
    """`calc.py:1-20`; rules are told from what a person attached. A fact is its first line."""
    origin = spoke.message.origin
    if origin.kind == "environment":
        return visible(spoke.message.text().removeprefix("[overt] ").partition("\n")[0])
    place = visible(origin.where).replace("\n", " ")
    if spoke.message.text().startswith(RULES):
        return say("turn.rules", place=place)
    first, _, last = origin.lines.partition("-")
    return f"{place}:{first if first == last else origin.lines}" if origin.lines else place
