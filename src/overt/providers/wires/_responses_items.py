"""The items of one Responses reply as they grow, and which of them an event means.

Servers that speak this format number and name items loosely: one gives every event of an item another id, one
moves the index between an item's pieces and its end, one gives every item index 0, one announces no item at all.
So an item is looked for among those of its kind by id, then by index, and a whole item that came after its pieces
is compared with what they brought. The rule behind all of it: nothing is said twice, and no call is run twice.
"""

from collections.abc import Iterator
from typing import Literal

from overt.core.codec import compact, decode
from overt.providers.wires._decoding import is_object, text_of, word

Kind = Literal["text", "reasoning", "call"]
KINDS: dict[str, Kind] = {"message": "text", "reasoning": "reasoning", "function_call": "call"}
"""Items of every other type belong to tools that the server runs itself, and are nothing to us."""


class Item:
    """One item. `ended`: its content is whole; `closed`: the server is done with it; `listed`: so says its end."""

    def __init__(self, kind: Kind, place: int) -> None:
        self.kind = kind
        self.place = place
        self.pieces: list[str] = []
        self.ended = False
        self.closed = False
        self.listed = False
        self.part: tuple[str, object] = ("", None)
        self.fields: set[str] = set()
        self.opaque = ""
        self.call_id = ""
        self.name = ""
        self.given = ""
        self.characters = 0
        self.changed = True
        self._part_start = 0

    def text(self) -> str:
        return "".join(self.pieces)

    def turn_to(self, part: tuple[str, object]) -> bool:
        """Whether what follows belongs to another part of the item than what came before."""
        if part == self.part:
            return False
        another = bool(self.pieces)
        self.part, self._part_start = part, len(self.pieces)
        self.fields.add(part[0])
        return another

    def missing(self, part: tuple[str, object], whole: str) -> str:
        """What of one part's whole text has not come in pieces."""
        if self.text().endswith(whole):
            return ""
        if part != self.part:
            return whole
        so_far = "".join(self.pieces[self._part_start :])
        return whole[len(so_far) :] if whole.startswith(so_far) else ""

    def arguments(self) -> str:
        """The arguments, as given whole or as they streamed: whichever can be read and says something."""
        ways = (self.given.strip(), self.text().strip())
        return next((way for way in ways if way not in ("", "{}") and is_object(way)), ways[0] or ways[1])

    def whole(self) -> bool:
        return self.ended or is_object(self.arguments())


class Items:
    """All items of one reply, in the order in which they began."""

    def __init__(self) -> None:
        self.all: list[Item] = []
        self._known: dict[str, dict[str | int, Item | None]] = {"text": {}, "reasoning": {}, "call": {}}
        self._foreign: set[str | int] = set()

    def number(self) -> int:
        return len(self.all) + len(self._foreign)

    def calls(self) -> list[Item]:
        return [item for item in self.all if item.kind == "call"]

    def find(self, kind: Kind, event: dict[str, object]) -> Item | None:
        """The item an event belongs to, if it has been heard of."""
        known = self._known[kind]
        id, place = event.get("item_id"), event.get("output_index")
        if type(id) is str and (item := known.get(id)) is not None:
            return item
        if type(place) is int:
            return known.get(place)
        if kind == "call" and id:
            return None
        return next((item for item in reversed(self.all) if item.kind == kind and not item.closed), None)

    def growing(self, kind: Kind, event: dict[str, object]) -> Item | None:
        """The item that a piece belongs to, a new one if need be; None when it is too late or not ours."""
        item = self.find(kind, event)
        if item is not None and not item.closed:
            return item
        id, place = event.get("item_id"), event.get("output_index")
        if item is not None and type(id) is str and self._known[kind].get(id) is item:
            return None
        if kind == "call" and any(isinstance(key, str | int) and key in self._foreign for key in (id, place)):
            return None
        return self.open(kind, id, place)

    def begun(self, kind: Kind, raw: dict[str, object], place: object) -> Item:
        """The item that a server announces."""
        id = word(raw.get("id"))
        item = self._known[kind].get(id) if id else self._at(kind, place)
        if item is None or item.closed or (item.pieces and not id):
            item = self.open(kind, id, place)
        return item

    def matching(self, kind: Kind, raw: dict[str, object], place: object, *, last: bool) -> Item:
        """The item that has come whole, a new one if nothing of it came before.

        `last`: it is from the list that ends the reply, where every item stands once.
        """
        named = self._known[kind].get(word(raw.get("id")))
        if named is not None and not (last and named.listed) and not _other_call(named, raw):
            return named
        at = self._at(kind, place)
        if at is not None and not (last and at.listed) and _same(at, raw, last=last):
            return at
        others = (item for item in self.all if item.kind == kind and not (item.listed if last else item.closed))
        found = next((item for item in others if _same(item, raw, last=last)), None)
        return found or self.open(kind, raw.get("id"), place)

    def open(self, kind: Kind, id: object, place: object) -> Item:
        known = self._known[kind]
        last = self.all[-1].place if self.all else 0
        item = Item(kind, place if type(place) is int else last)
        self.all.append(item)
        if type(id) is str and id:
            known[id] = None if id in known else item  # an id that comes again tells nothing
        if type(place) is int:
            known[place] = item
        return item

    def pass_over(self, raw: dict[str, object], place: object) -> None:
        """Remember an item that is not ours, so that its pieces are not taken for a call's."""
        self._foreign.update(key for key in (raw.get("id"), place) if isinstance(key, str | int))

    def _at(self, kind: Kind, place: object) -> Item | None:
        return self._known[kind].get(place) if type(place) is int else None


def parts_of(raw: dict[str, object]) -> Iterator[tuple[str, list[str]]]:
    """The texts of a whole item, by the name under which its events number them."""
    for field, numbered in (("summary", "summary_index"), ("content", "content_index")):
        inner = raw.get(field)
        yield numbered, [text_of(part) for part in (inner if isinstance(inner, list) else [inner])]


def arguments_of(raw: dict[str, object]) -> str:
    """Arguments as text, also where a server sends the object itself."""
    value = raw.get("arguments")
    return value if isinstance(value, str) else "" if value is None else compact(value)


def _other_call(item: Item, raw: dict[str, object]) -> bool:
    """Whether both have an id of a call, and not the same one."""
    theirs = word(raw.get("call_id"))
    return bool(theirs and item.call_id and theirs != item.call_id)


def _same(item: Item, raw: dict[str, object], *, last: bool) -> bool:
    if item.kind != "call":
        whole, so_far = "".join(text for _, texts in parts_of(raw) for text in texts).strip(), item.text().strip()
        return whole.startswith(so_far) or so_far.startswith(whole)
    name = word(raw.get("name"))
    if _other_call(item, raw) or (name and item.name and name != item.name):
        return False
    if not item.closed or (last and item.call_id and item.call_id == raw.get("call_id")):
        return True
    return bool(_value(arguments_of(raw).strip() or "{}") == _value(item.arguments() or "{}"))


def _value(text: str) -> object:
    try:
        return decode(text)
    except (ValueError, RecursionError):
        return text
