"""The table of programs, read from `programs.txt`, which says how to add one."""

from collections.abc import Iterator, Sequence
from typing import cast

from msgspec.structs import replace

from overt.lib.package_data import read_text
from overt.safety.danger import Kind, Reason, Verb
from overt.safety.programs.options import Shape

ALWAYS: dict[str, Reason] = {}
"""Dangerous whatever the arguments, and why."""

WORDS: dict[str, frozenset[str]] = {}
SHAPES: dict[str, Shape] = {}


def _entries(text: str) -> Iterator[tuple[str, list[str]]]:
    """The head of each entry and its fields."""
    head, fields = "", list[str]()
    for line in text.splitlines():
        if line.startswith("    "):
            fields[-1] += f" {line.strip()}"
        elif line.startswith("  "):
            fields += line.strip().split(" / ")
        elif line and line[0] != "#":
            if head:
                yield head, fields
            head, *fields = line.split(" / ")
            if head.startswith(("always ", "words ")):
                fields = [""]
    yield head, fields


def _shape(fields: Sequence[str]) -> Shape:
    bad: dict[str, str] = {}
    others: dict[str, str | int | Reason] = {}
    for field in fields:
        name, _, value = field.partition(": ")
        if name.startswith("bad "):
            why = _reason(name.removeprefix("bad "))
            bad[why] = f"{bad.get(why, '')}; {value}"
        elif name == "rest":
            others["rest"], _, reason = value.partition(" ")
            others |= {"reason": _reason(reason)} if reason else {}
        elif name in ("single", "verbs"):
            others[name] = int(value)
        else:
            between = " " if name in ("takes", "writes") else "; "
            others[name] = f"{others[name]}{between}{value}" if name in others else value
    return replace(Shape(bad=bad), **others)


def _reason(text: str) -> Reason:
    kind, _, why = text.partition(" ")
    return Reason(why, cast(Kind, kind))


def _load() -> None:
    shared: dict[str, list[str]] = {}
    for head, fields in _entries(read_text("overt.safety.programs", "programs.txt")):
        first, _, name = head.partition(" ")
        if first == "always":
            kind, verb, why = name.split(" ", 2)
            ALWAYS.update(dict.fromkeys(fields[0].split(), Reason(why, cast(Kind, kind), cast(Verb, verb))))
        elif first == "words":
            WORDS[name] = frozenset(fields[0].split())
        elif first == "shape":
            shared[name] = fields
        else:
            if fields and fields[0].startswith("like: "):
                fields = [field for like in fields[0].split()[1:] for field in shared[like]] + fields[1:]
            SHAPES.update(dict.fromkeys(head.split(), _shape(fields)))


_load()
