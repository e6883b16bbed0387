"""Which variables a shell text sets, and to what, whatever the order it runs in; and which files a loop goes over."""

import posixpath
import re
from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

from msgspec.structs import replace

from overt.safety.programs.listing_commands import NOT_IGNORED, listed_places, lists_names, references, tame
from overt.safety.shell.words import DEFAULTS, NAMES, Values, Word, scan

if TYPE_CHECKING:
    from tree_sitter import Node

Places = Mapping[str, tuple[str, ...]]
"""For each loop variable the paths and globs that its values are among."""

Known = dict[str, tuple[str, ...] | None]
"""All literal values a name may have; None when one of them is computed."""

MOST_VALUES = 8
MOST_WORLDS = 16
SETTERS = frozenset("read mapfile readarray getopts printf let wait".split())
"""Builtins that set the variables they are told by name."""

UNSETTLING = frozenset("eval source . trap".split())
"""After these a variable may hold anything."""

TRANSFORMS = frozenset("nulic")
"""Flags of `declare` under which a variable does not hold what it was given."""

TEMPORARY = re.compile(r"""["]?(?:\$\(|`)\s*mktemp(?:\s+(?:-d|-q|-dq|-qd|--directory|/tmp/[\w.-]+))*\s*(?:\)|`)["]?""")
"""A new name in the folder for temporary files."""

LISTED = re.compile(r"""["]?\$\((?P<command>[^()`]*)\)["]?""")
NAMED_AFTER = re.compile(r"""["]?\$\{?(?P<name>[A-Za-z_]\w*)(?P<trim>%%?[^}/"$`]*)?\}?["]?(?P<end>[\w.+-]*)["]?""")
"""A loop variable, perhaps without its end and with another one: `${f%.c}.cpp`."""

PLAIN_NAME = re.compile(r"\w[\w.+-]*")
OPTION = re.compile(r"-(?!\d+$)")
DEFAULTED = re.compile(r"\$\{\w+(?:\[[^\]]*\])?:?[-=+]")


def settled(known: Known) -> dict[str, str | None]:
    """Only variables with one value have one; those with several plain names hold one of them."""
    return {name: _settle(values) for name, values in known.items()}


def _settle(values: tuple[str, ...] | None) -> str | None:
    if not values or len(values) == 1:
        return values[0] if values else None
    return NAMES if all(PLAIN_NAME.fullmatch(value) for value in values) else None


def worlds(known: Known, values: Values, source: str) -> list[Values]:
    """Every combination of literal values that the variables in this text may have, with defaults and without."""
    several = {name: choices for name in references(source) if (choices := known.get(name)) and len(choices) > 1}
    count = 1
    for choices in several.values():
        count *= len(choices)
    base = {**values}
    chosen = [base]
    if several and count <= MOST_WORLDS:
        chosen = [base | dict(zip(several, choice, strict=True)) for choice in product(*several.values())]
    return [*chosen, *({**each, DEFAULTS: ""} for each in chosen)] if DEFAULTED.search(source) else [*chosen]


def given_words(words: Sequence[Word]) -> Known:
    """The positional parameters of a text that is run with these words, from `$0` on."""
    return _positions([words], "0123456789")


class _Assignments:
    def __init__(self, outer: Known) -> None:
        self.known: Known = dict(outer)
        self.loops: dict[str, set[str]] = {}
        self.composed: dict[str, set[str]] = {}
        self.functions: set[str] = set()
        self.calls: list[tuple[str, list[Node]]] = []
        self.shifts = self.unsettled = False

    def node(self, node: "Node") -> None:
        if node.type == "variable_assignment":
            if not _cuts_a_line(node):
                _assignment(node, self)
        elif node.type == "for_statement":
            _loop(node, self)
        elif node.type == "command":
            self.command(node)
        elif node.type == "function_definition":
            self.functions.add(text_of(node.child_by_field_name("name")))
        elif node.type == "declaration_command":
            _declaration(node, self.known)
            self.unsettled |= "-f" in text_of(node).split()
        elif node.type == "expansion" and any(child.type in ("=", ":=") for child in node.children):
            self.known.update({text_of(child): None for child in node.children if child.type == "variable_name"})

    def command(self, node: "Node") -> None:
        children = [child for child in node.children if child.is_named and child.type != "variable_assignment"]
        words = [text_of(child) for child in children]
        if not words:
            return
        if words[0] in UNSETTLING:
            self.known["*"] = None
        if words[0] in SETTERS:
            listed = words[0] in ("read", "mapfile", "readarray") and lists_names(feeding_command(node))
            for word in words[1:]:
                add_value(self.known, word.strip("'\""), (NAMES,) if listed else None)
        self.shifts |= words[0] == "shift"
        self.calls.append((words[0], children[1:]))

    def positions(self) -> None:
        """What functions are called with, and what `set` is given."""
        values = settled(self.known)
        calls: list[list[Word]] = []
        for name, nodes in self.calls:
            if name in self.functions or name == "set":
                words = [word for node in nodes for word in scan(text_of(node), values).words]
                calls.append(_behind_options(words) if name == "set" else words)
        if any(calls):
            self.known.update(_positions(calls, "123456789"))
        if (self.functions and (self.unsettled or "*" in self.known)) or (calls and self.shifts):
            self.known.update(dict.fromkeys("123456789@"))


def assigned(root: "Node", outer: Known) -> Known:
    assignments = _Assignments(outer)
    todo = [root]
    while todo:
        node = todo.pop()
        assignments.node(node)
        todo += node.children
    known = assignments.known
    for name, others in assignments.composed.items():
        plain = name not in others and not any(_dashed(known, other) for other in others)
        add_value(known, name, (NAMES,) if plain else None)
    assignments.positions()
    for name, others in assignments.loops.items():
        if name in known or any(_dashed(known, other) for other in others):
            known[name] = None
    if "*" in known:
        return dict.fromkeys(known)
    return known


def _dashed(known: Known, name: str) -> bool:
    values = known.get(name, ())
    return values is None or any("-" in value for value in values if value != NAMES)


def _positions(calls: Sequence[Sequence[Word]], names: str) -> Known:
    known: Known = {}
    every: set[str | None] = set()
    for words in calls:
        for place, word in enumerate(words):
            value = word.text if word.literal else NAMES if not word.made else None
            every.add(value if value is not None and not OPTION.match(value) else None)
            if place < len(names):
                add_value(known, names[place], None if value is None else (value,))
    known["@"] = None if None in every else (NAMES,)
    return known


def _behind_options(words: list[Word]) -> list[Word]:
    """What `set` makes positional parameters of."""
    place = 0
    while place < len(words) and words[place].text[:1] in ("-", "+") and not words[place].leads:
        text = words[place].text
        place += 2 if text in ("-o", "+o") or (text[-1] == "o" and text[1:2] != "-") else 1
        if text in ("--", "-"):
            break
    return words[place:]


def feeding_command(node: "Node") -> str:
    """The command whose output a command or a loop around it reads; empty if there is none."""
    while (parent := node.parent) is not None:
        if parent.type == "pipeline" and node.start_byte > parent.start_byte:
            assert parent.text is not None
            before = parent.text[: node.start_byte - parent.start_byte]
            return str(before, "utf-8", "replace").rstrip("|& \t\n")
        if parent.type == "redirected_statement":
            for child in parent.children:
                text = text_of(child).removeprefix("<").strip()
                if child.type.endswith("_redirect") and text_of(child).startswith("<"):
                    return text[2:-1] if text.startswith("<(") else ""
        node = parent
    return ""


def _cuts_a_line(node: "Node") -> bool:
    """`IFS=, read a b`: for that one command."""
    parent = node.parent
    name = parent.child_by_field_name("name") if parent is not None and parent.type == "command" else None
    return name is not None and text_of(name) in SETTERS and text_of(node).startswith("IFS=")


def text_of(node: "Node | None") -> str:
    """Return the source text of a node that must be there."""
    assert node is not None and node.text is not None
    return node.text.decode("utf-8", "surrogatepass")


def add_value(known: Known, name: str, values: tuple[str, ...] | None) -> None:
    before = known.get(name, ())
    if values is None or before is None or len({*before, *values}) > MOST_VALUES:
        known[name] = None
    else:
        known[name] = tuple(dict.fromkeys((*before, *values)))


def _assignment(node: "Node", assignments: _Assignments) -> None:
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    assert name is not None
    known = assignments.known
    bare = text_of(name).partition("[")[0]
    words = scan(text_of(value), {}).words if value is not None and value.type != "array" else ()
    plain = name.type == "variable_name" and any(child.type == "=" for child in node.children)
    if value is None and plain:
        add_value(known, text_of(name), ("",))
    elif plain and len(words) == 1 and words[0].literal:
        add_value(known, text_of(name), (words[0].text,))
    elif value is not None and value.type == "array":
        _several(assignments, bare, [child for child in value.children if child.is_named])
    elif value is not None and plain and TEMPORARY.fullmatch(text_of(value)):
        add_value(known, bare, ("/tmp/made-by-mktemp",))
    elif value is not None and plain and tame(text_of(value)):
        assignments.composed.setdefault(bare, set()).update(references(text_of(value)))
    else:
        add_value(known, bare, None)


def _several(assignments: _Assignments, name: str, nodes: "list[Node]") -> None:
    """An array: its elements are not told apart."""
    words = [word for node in nodes for word in scan(text_of(node), {}).words]
    listed = all(
        word.text[:1] != "-" if not word.hole else tame(text_of(node)) or not word.made
        for node in nodes
        for word in scan(text_of(node), {}).words
    )
    if listed and len(words) < 10 * MOST_VALUES:
        assignments.composed.setdefault(name, set()).update(*(references(text_of(node)) for node in nodes))
    else:
        add_value(assignments.known, name, None)


def _loop(node: "Node", assignments: _Assignments) -> None:
    """A loop over names of files or a listing gives data like any other from outside, unless more sets the name."""
    name = text_of(node.child_by_field_name("variable"))
    nodes = node.children_by_field_name("value")
    words = [word for value in nodes for word in scan(text_of(value), {}).words]
    if words and all(word.literal for word in words):
        add_value(assignments.known, name, tuple(word.text for word in words))
    elif any(word.made and word.text not in ("$@", "$*") for word in words):
        add_value(assignments.known, name, None)
    else:
        assignments.loops.setdefault(name, set()).update(*(references(word.text) for word in words))


def _declaration(node: "Node", known: Known) -> None:
    flags = [text_of(child) for child in node.children if child.type == "word"]
    if any(flag[:1] in "-+" and TRANSFORMS & set(flag) for flag in flags):
        for child in node.children:
            name = child.child_by_field_name("name") if child.type == "variable_assignment" else child
            known[text_of(name)] = None


# ── where the files lie that a loop goes over ────────────────────────────────────────────────────────────


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
    return {name: paths for name, paths in places.items() if paths and known.get(name, (NAMES,)) == (NAMES,)}


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
