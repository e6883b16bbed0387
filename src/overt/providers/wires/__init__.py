"""The wires: how requests are encoded and replies decoded.

Each module here holds one, as `WIRE`, and has its name; modules that begin with `_` are helpers. A wire is imported
when it is first used. Every function takes the wires that another package adds.
"""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from overt.core.errors import ConfigError
from overt.core.settings import ModelFacts

if TYPE_CHECKING:
    from overt.providers.transport.attempt import HttpWire

MAX_ANSWER = 8 * 1024 * 1024
"""Bytes of a reply that are read at most."""


class MakeWire(Protocol):
    def __call__(self, about: ModelFacts | None = None, *, max_answer: int = MAX_ANSWER) -> "HttpWire": ...


class WireKind(Struct, frozen=True, kw_only=True):
    """A wire, and what the rest of the program must know of it. `name` is the `kind` of a provider.

    `limits_every_reply`: each request says how long its reply may be, with the model's most where nothing is set.
    `reasoning_is_quirk`: reasoning goes back to the model only if `quirks.reasoning` says so.
    `has_system_role`: the system text is a message, in the role that `quirks.system` names.
    """

    name: str
    make: MakeWire
    limits_every_reply: bool = False
    reasoning_is_quirk: bool = False
    has_system_role: bool = True


def find_wire(name: str, extra: Sequence[WireKind] = ()) -> WireKind | None:
    for each in extra:
        if each.name == name:
            return each
    from overt.lib.module_discovery import find_module  # late: 0.7 ms

    module = find_module(__name__, name)
    wire: WireKind | None = module.WIRE if module else None
    return wire


def has_wire(name: str, extra: Sequence[WireKind] = ()) -> bool:
    """Return whether there is a wire of this name, without importing it."""
    from overt.lib.module_discovery import has_module  # late: 0.7 ms

    return any(each.name == name for each in extra) or has_module(sys.modules[__name__], name)


def wire_names(extra: Sequence[WireKind] = ()) -> tuple[str, ...]:
    """Return the names of all wires without importing one."""
    from overt.lib.module_discovery import module_names  # late: 0.7 ms

    return tuple(dict.fromkeys((*module_names(sys.modules[__name__]), *(each.name for each in extra))))


def make_wire(
    name: str, about: ModelFacts | None = None, *, max_answer: int = MAX_ANSWER, extra: Sequence[WireKind] = ()
) -> "HttpWire":
    """Return the wire of this name as a model wants it, or raise a ConfigError if no wire has this name."""
    wire = find_wire(name, extra)
    if wire is None:
        raise ConfigError(f"unknown wire {name!r}; this version knows {', '.join(wire_names(extra))}")
    return wire.make(about, max_answer=max_answer)
