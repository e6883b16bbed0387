"""What goes along with a prompt or a step without having been typed, named in one line."""

from overt.core.events import UserSpoke
from overt.lib.catalogue import say
from overt.lib.text import visible

ALONG = ("file", "environment")
"""The kinds of origin of such messages."""


def attached(spoke: UserSpoke) -> str:
    """Return a line such as `calc.py:1-20`, or for a fact its first line. Rules of a folder are named as such."""
    origin = spoke.message.origin
    if origin.kind == "environment":
        return visible(spoke.message.shown().partition("\n")[0])
    place = visible(origin.where).replace("\n", " ")
    if origin.detail == "rules":
        return say("turn.rules", place=place)
    first, _, last = origin.lines.partition("-")
    return f"{place}:{first if first == last else origin.lines}" if origin.lines else place
