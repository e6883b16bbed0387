"""Where the files lie that a loop goes over, so that `sed -i … "$f"` in it can be judged by its reach."""

import posixpath
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from overt.safety._listing import NOT_IGNORED, listed_places, lists_names
from overt.safety._variables import Known, feeding_command, text_of
from overt.safety._words import NAMES, Word, scan

if TYPE_CHECKING:
    from tree_sitter import Node

Places = Mapping[str, tuple[str, ...]]
"""For each loop variable the paths and globs that its values are among."""

LISTED = re.compile(r"""["]?\$\((?P<command>[^()`]*)\)["]?""")
NAMED_AFTER = re.compile(r"""["]?\$\{?(?P<name>[A-Za-z_]\w*)(?P<trim>%%?[^}/"$`]*)?\}?["]?(?P<end>[\w.+-]*)["]?""")
"""A loop variable, perhaps without its end and with another one: `${f%.c}.cpp`."""


def loop_places(root: "Node", known: Known) -> Places:
    """Find the variables that only loops over files set, and where those files lie."""
    places: dict[str, tuple[str, ...]] = {}
    todo = [root] if "*" not in known else []
    while todo:
        node = todo.pop()
        todo += node.children
        if node.type == "for_statement":
            name = text_of(node.child_by_field_name("variable"))
            _add(places, name, [_values_at(text_of(value)) for value in node.children_by_field_name("value")])
        elif node.type == "command" and text_of(node).startswith("read "):
            for name in (word for word in text_of(node).split()[1:] if not word.startswith("-")):
                _add(places, name, [listed_places(feeding_command(node))])
    return {name: found for name, found in places.items() if found and known.get(name, (NAMES,)) == (NAMES,)}


def _add(places: dict[str, tuple[str, ...]], name: str, values: list[tuple[str, ...]]) -> None:
    """Several loops may use one variable. A value that is not known leaves an empty tuple, which stays."""
    complete = bool(values) and all(values) and places.get(name, ("",)) != ()
    before = places.get(name, ())
    places[name] = tuple(dict.fromkeys((*before, *(place for each in values for place in each)))) if complete else ()


def _values_at(raw: str) -> tuple[str, ...]:
    """A glob or the output of a command that lists names; nothing for any other value."""
    if match := LISTED.fullmatch(raw):
        return listed_places(match["command"]) if lists_names(match["command"]) else ()
    words = scan(raw, {}).words
    return tuple(word.text for word in words) if words and not any(word.hole for word in words) else ()


def place_word(raw: str, word: Word, places: Places) -> Word:
    """Return the word with the places that its unknown piece is among, where they are known."""
    if not word.hole or word.places:
        return word
    if LISTED.fullmatch(raw):
        return replace(word, places=_values_at(raw))
    match = NAMED_AFTER.fullmatch(raw)
    among = places.get(match["name"], ()) if match else ()
    if match and (match["trim"] or match["end"]):
        among = tuple(_beside(place, match["end"]) for place in among) if match["end"] else ()
    return replace(word, places=among)


def _beside(place: str, end: str) -> str:
    return f"**/*{end}" if place == NOT_IGNORED else posixpath.join(posixpath.dirname(place), f"*{end}")
