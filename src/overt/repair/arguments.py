"""The argument text of a call becomes a checked struct, or a message that shows the expected shape."""

from collections.abc import Mapping
from typing import Any

from msgspec import DecodeError, Struct, ValidationError, convert, json
from msgspec.structs import FieldInfo, fields, replace

from overt.core.codec import compact
from overt.core.tool import JsonArguments, Tool
from overt.repair.argument_names import OUR_ITEMS
from overt.repair.foreign_names import argument_names, our_value

GUESS_LIMIT, GUESS_DEPTH, OBJECTS = 4000, 60, 3
"""Characters and brackets beyond which broken JSON is not guessed at: guessing takes the square of them. Objects that
may stand one behind another."""
NAMED = 5
"""Names that a note or a message lists, and a model can make use of."""
WRAPPERS = ("arguments", "parameters", "args", "params", "input", "tool_input", "kwargs")
SHELLS = {"bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/usr/bin/bash"}
FIELDS: dict[type[Any], dict[str, FieldInfo]] = {}
"""Of each struct, looked up once."""
AFTER = "ignored text after the arguments"


class ParsedArguments(Struct, frozen=True, kw_only=True):
    """What the text of the arguments says.

    `cut`: it ends before its object does. `unsure`: the value is right enough to look something up with, not to
    change anything. `broken`: what cannot be read but by guessing.
    """

    value: dict[str, Any] | None = None
    notes: tuple[str, ...] = ()
    cut: bool = False
    unsure: bool = False
    broken: str = ""


def parse(text: str, objects: int = OBJECTS) -> ParsedArguments:
    """Read exactly where that is possible, as models write JSON where it is not; never by guess."""
    try:
        return _decoded(json.decode(text)) if text.strip() else ParsedArguments(value={})
    except (DecodeError, UnicodeError, RecursionError):
        return _loose(text, objects)


def _decoded(value: Any) -> ParsedArguments:
    if isinstance(value, str):
        inner = parse(value)
        return replace(inner, notes=_once("arguments were encoded twice", *inner.notes))
    if value is None:
        return ParsedArguments(value={}, notes=("took null for no arguments",))
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict):
        return ParsedArguments(value=value[0], notes=("took the arguments out of a list",))
    return ParsedArguments(value=value if isinstance(value, dict) else None)


def _loose(text: str, objects: int) -> ParsedArguments:
    from overt.repair import _loose_json as loose_json  # late: 2 ms

    start = text.find("{")
    if start < 0:
        return ParsedArguments()
    head = text[:start].strip()
    notes = ("ignored text before the arguments",) if head else ()
    if head.startswith("```"):
        notes = ("took the arguments out of a code fence",)
    try:
        value, end, found = loose_json.read(text, start)
    except (loose_json.BrokenJson, RecursionError):
        return ParsedArguments(notes=(*notes, "repaired broken JSON"), unsure=True, broken=text[start:])
    if isinstance(value, loose_json.CutObject):
        return ParsedArguments(
            value=dict(value) or None, notes=(*notes, "closed truncated JSON"), cut=True, unsure=True
        )
    tail = text[end:].strip().removesuffix("```").strip(" \n\t}]")
    if not tail:
        extra = (AFTER,) if text[end:].strip(" \n\t`") else ()
        return ParsedArguments(value=value, notes=(*notes, *found, *extra))
    if tail.startswith("{") and objects:
        return _second(value, parse(text[end:].strip(), objects - 1))
    # A quote or a brace behind the object may mean that a string inside it ended too early.
    return ParsedArguments(value=value, notes=(*notes, *found, AFTER), unsure=any(mark in tail for mark in '"{}'))


def _second(first: dict[str, Any], second: ParsedArguments) -> ParsedArguments:
    """Some servers send an empty object first, or the same one twice."""
    if not first or first == second.value:
        note = "ignored an empty object before the arguments" if not first else "ignored the arguments' second copy"
        return replace(second, notes=_once(note, *second.notes))
    return ParsedArguments(value=first, notes=("took the first of several objects",), unsure=True)


def guess_broken(parsed: ParsedArguments) -> ParsedArguments:
    """With what broken text most likely says, for whoever only reads; the same when that cannot be told soon."""
    text = parsed.broken
    if not text or len(text) > GUESS_LIMIT or text.count("{") + text.count("[") > GUESS_DEPTH:
        return parsed
    try:
        import json_repair  # late: 12 ms

        value = json_repair.loads(text, skip_json_loads=True)
    except (ValueError, RecursionError, IndexError, TypeError):
        return parsed
    if not value or not isinstance(value, dict) or not all(isinstance(name, str) for name in value):
        return parsed
    return replace(parsed, value=value)


def _once(*notes: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(notes))


def check(tool: Tool, given: dict[str, Any]) -> tuple[Any, tuple[str, ...]]:
    """The typed arguments and what was put right. Raises ValueError with a message the model can act on."""
    if tool.args is JsonArguments:
        return _check_json(tool, given)
    wanted = _wanted(tool.args)
    given, notes = _unwrapped(given, wanted)
    given, renamed = argument_names(given, wanted)
    notes += renamed
    given, renamed = _items(given, wanted)
    notes += renamed
    extra = [name for name in given if name not in wanted]
    nulls = [name for name, value in given.items() if value is None and name in wanted]
    kept = {name: value for name, value in given.items() if name in wanted and value is not None}
    if extra:
        notes += (f"ignored unknown {_listed([f'`{name}`' for name in extra])}",)
    if nulls:
        notes += (f"dropped null {_listed(nulls)}",)
    try:
        return convert(kept, tool.args), notes
    except ValidationError as strict:
        fitted, more = _fitted(kept, wanted)
        try:
            return convert(fitted, tool.args), (*notes, *more)
        except ValidationError:
            why = "; ".join(_problems(fitted, wanted, extra)) or _words(str(strict))
            raise ValueError(f"{why}. Expected {shape(tool)}; got {_short(given)}") from None


def _check_json(tool: Tool, given: dict[str, Any]) -> tuple[Any, tuple[str, ...]]:
    from overt.repair.json_arguments import check_json  # late: 0.4 ms

    schema = json.decode(tool.spec.schema)
    given, notes = _unwrapped(given, schema.get("properties", {}))
    try:
        args, more = check_json(schema, given)
    except ValueError as error:
        raise ValueError(f"{error}. Expected {shape(tool)}; got {_short(given)}") from None
    return args, (*notes, *more)


def _wanted(args: type[Any]) -> dict[str, FieldInfo]:
    if args not in FIELDS:
        FIELDS[args] = {field.encode_name: field for field in fields(args)}
    return FIELDS[args]


def _listed(names: list[str]) -> str:
    short = [name if len(name) <= 60 else name[:60] + "…" for name in names[:NAMED]]
    return ", ".join(short) + (f" and {len(names) - NAMED} more" if len(names) > NAMED else "")


def shape(tool: Tool) -> str:
    """The arguments of a tool in one line: `{path: string, offset?: integer}`."""
    schema = json.decode(tool.spec.schema)
    return _shape(schema)


def _shape(schema: dict[str, Any]) -> str:
    match schema.get("type"):
        case "object":
            required = schema.get("required", [])
            inner = (
                f"{name}{'' if name in required else '?'}: {_shape(part)}"
                for name, part in schema.get("properties", {}).items()
            )
            return "{" + ", ".join(inner) + "}"
        case "array":
            return f"[{_shape(schema.get('items', {}))}, …]"
        case _:
            return "|".join(map(str, schema["enum"])) if "enum" in schema else str(schema.get("type", "any"))


def _unwrapped(given: dict[str, Any], wanted: Mapping[str, object]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The arguments of a call that stand in an object of their own inside the arguments."""
    for name in WRAPPERS:
        inner = given.get(name)
        if name in wanted or not isinstance(inner, dict) or wanted.keys() & given.keys():
            continue
        return inner, (f"took the arguments out of `{name}`",)
    return given, ()


def _items(given: dict[str, Any], wanted: dict[str, FieldInfo]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The objects in a list of objects, under our names."""
    found: dict[str, Any] = {}
    notes: dict[str, None] = {}
    for name, value in given.items():
        found[name] = value
        parts = _parts(wanted[name].type) if name in wanted else []
        if not parts or not isinstance(value, list):
            continue
        known = _wanted(parts[0])
        found[name] = []
        for item in value:
            inner, renamed = _item(item, known) if isinstance(item, dict) else (item, ())
            found[name].append(inner)
            notes.update(dict.fromkeys(renamed))
    return found, tuple(notes)


def _item(item: dict[str, Any], known: dict[str, FieldInfo]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """One object of a list with our names and values, and what was changed in it."""
    renamed, notes = argument_names(item, known)
    for foreign, ours in OUR_ITEMS.items():
        if foreign in renamed and foreign not in known and ours in known and ours not in renamed:
            renamed[ours] = renamed.pop(foreign)
            notes += (f"{foreign} → {ours}",)
    for name, value in renamed.items():
        if ours := our_value(name, value):
            renamed[name] = ours
            notes += (f"{value} → {ours}",)
    return renamed, notes


def _parts(hint: Any) -> list[Any]:
    """The structs a type is a collection of."""
    inner = [part for each in getattr(hint, "__args__", ()) for part in (each, *_parts(each))]
    return [part for part in inner if isinstance(part, type) and issubclass(part, Struct)]


def _fitted(kept: dict[str, Any], wanted: dict[str, FieldInfo]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Each value that does not fit its field, in the form that does, where there is one."""
    found: dict[str, Any] = {}
    notes: dict[str, None] = {}
    for name, value in kept.items():
        found[name] = value
        try:
            convert(value, wanted[name].type)
        except ValidationError:
            for other, note in _forms(name, value, wanted[name].type):
                try:
                    found[name] = convert(other, wanted[name].type, strict=False)
                except ValidationError:
                    continue
                notes[note] = None
                break
    return found, tuple(notes)


def _forms(name: str, value: Any, hint: Any) -> list[tuple[Any, str]]:
    converted = "converted argument types"
    forms: list[tuple[Any, str]] = [(value, converted)]
    bare = getattr(hint, "__origin__", hint) if hasattr(hint, "__metadata__") else hint
    if isinstance(value, str):
        if ours := our_value(name, value):
            forms.append((ours, f"{value} → {ours}"))
        forms.append((value.strip().lower(), converted))
        if value.strip()[:1] in ("[", "{"):
            forms.append((_or_loose(value), converted))
        forms.append(([value], converted))
    elif bare is str and isinstance(value, list) and all(isinstance(word, str) for word in value):
        if name == "command":
            forms.append((_command(value), "joined the words of `command`"))
        elif name == "content":
            forms.append(("\n".join(value), "joined the lines of `content`"))
    elif bare is str and isinstance(value, dict | list) and name == "content":
        forms.append((json.format(json.encode(value)).decode(), "wrote `content` out as JSON"))
    elif bare is str and isinstance(value, int | float) and not isinstance(value, bool):
        forms.append((str(value), converted))
    elif isinstance(value, dict):
        forms.append(([value], "put a single object into a list"))
    if isinstance(value, float) and value.is_integer():
        forms.append((int(value), converted))
    forms += _within(name, value, hint)
    return forms


def _within(name: str, value: Any, hint: Any) -> list[tuple[Any, str]]:
    """A number beyond its bounds, at the bound."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        return []
    for meta in getattr(hint, "__metadata__", ()):
        if meta.ge is not None and number < meta.ge:
            return [(meta.ge, f"raised {name} to {meta.ge}")]
        if meta.le is not None and number > meta.le:
            return [(meta.le, f"lowered {name} to {meta.le}")]
    return []


def _or_loose(text: str) -> Any:
    """A list or an object that came as text; text that needed a guess stays text."""
    try:
        return json.decode(text)
    except (DecodeError, UnicodeError, RecursionError):
        from overt.repair import _loose_json as loose_json  # late: 2 ms

        try:
            value, end, _ = loose_json.read(text.strip())
        except (loose_json.BrokenJson, RecursionError):
            return text
        return value if end == len(text.strip()) and not isinstance(value, loose_json.CutObject) else text


def _command(words: list[str]) -> str:
    if len(words) == 3 and words[0] in SHELLS and words[1] in ("-c", "-lc"):
        return words[2]
    if len(words) == 1:
        return words[0]
    import shlex  # late: 0.2 ms

    joined: str = shlex.join(words)
    return joined


def _problems(kept: dict[str, Any], wanted: dict[str, FieldInfo], extra: list[str]) -> list[str]:
    """Every field that is missing or wrong, and what an unknown name may have meant."""
    found: list[str] = []
    near = [name for name in extra[:100] if len(name) <= 60]
    for name, field in wanted.items():
        if name not in kept:
            if field.required:
                import difflib  # late: 0.8 ms

                meant = difflib.get_close_matches(name, near, n=1, cutoff=0.5)
                found.append(f"missing `{name}`" + (f" (is `{meant[0]}` meant as `{name}`?)" if meant else ""))
            continue
        try:
            convert(kept[name], field.type)
        except ValidationError as error:
            found.append(f"`{name}`: {_words(str(error))}")
    return found


def _words(message: str) -> str:
    message = message.replace("Object missing required field", "missing").replace(" - at `$`", "")
    return message.replace("$.", "").replace("`$`", "arguments").replace("`$[", "`[")


def _short(given: dict[str, Any]) -> str:
    text = compact(given)
    return text if len(text) <= 300 else text[:300] + "…"
