"""The user's configuration file with a few keys changed and every other byte as it was.

The text is changed where a key stands, or gets new lines; then it is parsed, and only a text that says exactly what
was meant is taken. What cannot be changed so (a list over many lines, say) is left to the person, in words.
"""

import os
import re
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import Struct

from overt.config.load import USER_FILES
from overt.config.paths import Environment
from overt.core.codec import compact
from overt.core.errors import ConfigError
from overt.lib.atomic import replace
from overt.lib.catalogue import say
from overt.lib.diff import file_diff
from overt.lib.paths import shown
from overt.lib.regular import read_regular

LARGEST = 1024 * 1024
BOM = "\ufeff"
VALUE = r'"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'|\[[^\[\]\n]*\]'
APART = re.compile(r"[ \t]*[\[#]")
"""A table or a comment, which belongs to what follows it."""


class Change(Struct, frozen=True, kw_only=True):
    """What is to stand in the file; empty: nothing is said of it.

    `provider` are the fields of one more entry; `instructions` join those that stand there.
    """

    default_model: str = ""
    provider: dict[str, str] = {}
    sources: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()

    def by_hand(self) -> str:
        """The same for whoever writes it into the file."""
        lines = [f"default_model = {compact(self.default_model)}"] if self.default_model else []
        if self.provider:
            lines += ["", *_entry("[[providers]]", self.provider)]
        if self.sources or self.instructions:
            lines += ["", "[context]"]
            lines += [f"sources = {_listed(self.sources)}"] if self.sources else []
            lines += [f"instructions = {_listed(self.instructions)}"] if self.instructions else []
        return "\n".join(lines).strip("\n")

    def as_json(self) -> str:
        tree: dict[str, Any] = {}
        for _, part in _applied({}, self):
            tree = part
        import json  # late: 1.1 ms

        text: str = json.dumps(tree, indent=2, ensure_ascii=False)
        return text


class Edit(Struct, frozen=True, kw_only=True):
    """`old` is what was read, None where there is no file yet; it must still be there when `new` is written."""

    path: str
    name: str
    old: bytes | None
    new: bytes

    def diff(self) -> str:
        old = None if self.old is None else self.old.decode()
        return file_diff(self.name, old, self.new.decode()).diff


def foreign_format(environment: Environment) -> str:
    """The JSON file that a person keeps their settings in, when there is no TOML file beside it."""
    *others, own = USER_FILES
    if os.path.lexists(os.path.join(environment.config_dir, own)):
        return ""
    found = (os.path.join(environment.config_dir, name) for name in others)
    return next((path for path in found if os.path.lexists(path)), "")


def planned(environment: Environment, change: Change) -> Edit:
    """What would be written. A link, as people who keep their settings elsewhere have one, stays a link."""
    path = os.path.realpath(os.path.join(environment.config_dir, USER_FILES[-1]))
    name = shown(os.path.join(environment.config_dir, USER_FILES[-1]), home=environment.home)
    old = _read(path, name)
    try:
        new = changed((old or b"").decode(), change)
    except UnicodeDecodeError:
        raise ConfigError(f"{name}: is not valid UTF-8; save the file as UTF-8") from None
    except ValueError:
        raise ConfigError(say("setup.by_hand", name=name, text=change.by_hand())) from None
    _check(new, name)
    return Edit(path=path, name=name, old=old, new=new.encode())


def _check(text: str, name: str) -> None:
    """As every later start will read it: a file that stops the program must never be written."""
    import tempfile  # late: 4 ms

    with tempfile.TemporaryDirectory(prefix="overt-") as folder:
        path = os.path.join(folder, USER_FILES[-1])
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        from overt.config._files import read_settings  # late: 14 ms

        read_settings(path, name)


def write(edit: Edit) -> None:
    """The whole new file or the old one; never over what somebody else has written meanwhile."""
    try:
        os.makedirs(os.path.dirname(edit.path), mode=0o700, exist_ok=True)
        if _read(edit.path, edit.name) != edit.old:
            raise ConfigError(say("setup.file_changed", name=edit.name))
        mode = os.stat(edit.path).st_mode & 0o7777 if edit.old is not None else 0o600
        replace(edit.path, edit.new, mode=mode)
    except OSError as error:
        raise ConfigError(f"{edit.name}: cannot be written: {error.strerror}; nothing was changed") from None


def _read(path: str, name: str) -> bytes | None:
    try:
        data, _ = read_regular(path, LARGEST)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"{name}: cannot be read: {error.strerror}") from None
    if len(data) > LARGEST:
        raise ConfigError(f"{name}: is larger than 1 MB; a configuration must be smaller")
    return data


# ── the text ─────────────────────────────────────────────────────────────────────────────────────────────


def changed(text: str, change: Change) -> str:
    """The text of a file with the change in it; a ValueError when it cannot be made without touching other things."""
    mark = BOM if text.startswith(BOM) else ""
    body = text[len(mark) :]
    import tomllib  # late: 2 ms

    loads = tomllib.loads
    for step, wanted in _applied(loads(body), change):
        made = (each for each in _ways(body, step) if _says(each, wanted))
        found = next(made, None)
        if found is None:
            raise ValueError(step.key)
        body = found
    return mark + body


class _Step(Struct, frozen=True, kw_only=True):
    """One key of a table (the empty one: the top), or all fields of a new table under a header."""

    table: str = ""
    key: str = ""
    value: str = ""
    lines: tuple[str, ...] = ()


def _applied(tree: dict[str, Any], change: Change) -> Iterator[tuple[_Step, dict[str, Any]]]:
    """Every step, and what the file must say after it."""
    if change.default_model:
        tree = {**tree, "default_model": change.default_model}
        yield _Step(key="default_model", value=compact(change.default_model)), tree
    if change.provider:
        family = "provider" if "provider" in tree else "providers"
        before = tree.get(family, [])
        fields = dict(change.provider)
        if isinstance(before, dict):
            name = fields.pop("name")
            tree = {**tree, family: {**before, name: fields}}
            header = f"[{family}.{name}]"
        else:
            tree = {**tree, family: [*before, fields]}
            header = f"[[{family}]]"
        yield _Step(key=family, lines=tuple(_entry(header, fields))), tree
    for key, names in (("sources", change.sources), ("instructions", change.instructions)):
        if names and key in tree:
            raise ValueError(key)  # it stands at the top under another name, and must not stand twice
        if names:
            table = tree.get("context", {})
            whole = [*(table.get(key, ()) if key == "instructions" else ()), *names]
            tree = {**tree, "context": {**table, key: whole}}
            yield _Step(table="context", key=key, value=_listed(whole)), tree


def _says(text: str, wanted: dict[str, Any]) -> bool:
    try:
        import tomllib  # late: 2 ms

        return bool(tomllib.loads(text) == wanted)
    except ValueError:
        return False


def _ways(text: str, step: _Step) -> Iterator[str]:
    """Ways to make a step, the least disturbing first; most of them are wrong for most files."""
    end = "\r\n" if "\r\n" in text else "\n"
    if step.lines:
        yield _appended(text, step.lines, end)
        return
    name = re.escape(step.key)
    stands = rf"^([ \t]*(?:{name}|\"{name}\"|'{name}')[ \t]*=[ \t]*)(?:{VALUE})"
    for found in re.finditer(stands, text, re.MULTILINE):
        yield text[: found.end(1)] + step.value + text[found.end() :]
    line = f"{step.key} = {step.value}{end}"
    if not step.table:
        at = _below_heading(text)
        gap = end if APART.match(text, at) else ""
        yield text[:at] + line + gap + text[at:]
        yield line + text
        return
    for found in re.finditer(rf"^[ \t]*\[[ \t]*{step.table}[ \t]*\][^\n]*(?:\n|\Z)", text, re.MULTILINE):
        head = text[: found.end()]
        yield head + ("" if head.endswith("\n") else end) + line + text[found.end() :]
    yield _appended(text, (f"[{step.table}]", f"{step.key} = {step.value}"), end)


def _appended(text: str, lines: tuple[str, ...], end: str) -> str:
    """Behind everything else, one empty line apart from it."""
    if text and not text.endswith("\n"):
        text += end
    return (text + end if text else "") + "".join(line + end for line in lines)


def _below_heading(text: str) -> int:
    """Behind the comment that opens a file, when an empty line sets it apart from what follows."""
    found = re.match(r"(?:[ \t]*#[^\n]*\n)+[ \t\r]*\n", text)
    return found.end() if found else 0


def _entry(header: str, fields: dict[str, str]) -> Iterator[str]:
    yield header
    for name, value in fields.items():
        yield f"{name} = {compact(value)}"


def _listed(names: Sequence[str]) -> str:
    return f"[{', '.join(map(compact, names))}]"
