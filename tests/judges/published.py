"""Whether a request is what a vendor's own SDK would let through: its published TypedDicts, nothing beyond them.

The SDKs' types say which keys there are, but checking libraries pass over unknown ones and read lists lazily. This
walks the whole body: a key nobody published is a fault, a missing one too, and so is a value of another type.
"""

import types
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Literal, NotRequired, Required, Union, get_args, get_origin, get_type_hints

from typing_extensions import TypeAliasType, is_typeddict

WRAPPERS = (Annotated, Required, NotRequired)
LISTS = (list, Iterable, Sequence)
MAPS = (dict, Mapping)


def faults_in(value: Any, hint: Any, at: str = "body") -> list[str]:
    """What of a value does not fit a type, each with its place."""
    hint = _bare(hint)
    origin, inner = get_origin(hint), get_args(hint)
    if hint in (Any, object):
        return []
    if is_typeddict(hint):
        return _fields(value, hint, at)
    if origin in (Union, types.UnionType):
        return _nearest(value, inner, at)
    if origin is Literal:
        same = any(value == word and type(value) is type(word) for word in inner)
        return [] if same else [f"{at}: {value!r} is none of {inner}"]
    if _names(origin, hint, LISTS):
        if not isinstance(value, list):
            return [_other(value, hint, at)]
        item = inner[0] if inner else Any
        return [fault for number, each in enumerate(value) for fault in faults_in(each, item, f"{at}[{number}]")]
    if _names(origin, hint, MAPS):
        if not isinstance(value, dict):
            return [_other(value, hint, at)]
        item = inner[1] if inner else Any
        return [fault for key, each in value.items() for fault in faults_in(each, item, f"{at}.{key}")]
    return [] if _plain(value, hint) else [_other(value, hint, at)]


def _bare(hint: Any) -> Any:
    while True:
        if isinstance(hint, TypeAliasType):
            hint = hint.__value__
        elif get_origin(hint) in WRAPPERS:
            hint = get_args(hint)[0]
        else:
            return hint


def _names(origin: Any, hint: Any, kinds: tuple[Any, ...]) -> bool:
    return origin in {get_origin(kind) or kind for kind in kinds} or hint in kinds


def _plain(value: Any, hint: Any) -> bool:
    if hint is None or hint is type(None):
        return value is None
    if hint is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    if hint in (str, bool):
        return isinstance(value, hint)
    return hint is int and isinstance(value, int) and not isinstance(value, bool)


def _fields(value: Any, hint: Any, at: str) -> list[str]:
    if not isinstance(value, dict):
        return [_other(value, hint, at)]
    known = _hints(hint)
    found = [f"{at}.{key}: missing ({hint.__name__})" for key in _required(hint) if key not in value]
    for key, item in value.items():
        place = f"{at}.{key}"
        found += faults_in(item, known[key], place) if key in known else [f"{place}: unknown ({hint.__name__})"]
    return found


def _required(hint: Any) -> list[str]:
    """The class itself cannot tell: its annotations were text when it was made."""
    marked = {key: get_origin(each) for key, each in _hints(hint).items()}
    return [
        key
        for key, mark in marked.items()
        if mark is Required or (key in hint.__required_keys__ and mark is not NotRequired)
    ]


@cache
def _hints(hint: Any) -> dict[str, Any]:
    return get_type_hints(hint, include_extras=True)


def _nearest(value: Any, options: tuple[Any, ...], at: str) -> list[str]:
    """The faults under the option that fits best: the one whose own words (type, role) the value has."""
    tried = [faults_in(value, option, at) for option in options]
    if not all(tried):
        return []
    alike = [faults for faults, option in zip(tried, options, strict=True) if _alike(value, _bare(option))]
    return min(alike or tried, key=len)


def _alike(value: Any, option: Any) -> bool:
    if isinstance(value, list):
        return _names(get_origin(option), option, LISTS)
    if not (isinstance(value, dict) and is_typeddict(option)):
        return type(value) is option
    words = {key: get_args(_bare(hint)) for key, hint in _hints(option).items() if get_origin(_bare(hint)) is Literal}
    return all(value.get(key) in allowed for key, allowed in words.items() if key in ("type", "role"))


def _other(value: Any, hint: Any, at: str) -> str:
    return f"{at}: {type(value).__name__} where {getattr(hint, '__name__', hint)} is published"
