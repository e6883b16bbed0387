"""The user's configuration file with a few keys changed and every other byte as it was."""

import os
import re
from collections.abc import Iterator, Mapping, MutableMapping
from typing import Any, TypeVar

from msgspec import Struct

from overt.config.load import USER_FILES
from overt.config.paths import Environment
from overt.core.codec import compact
from overt.core.errors import ConfigError
from overt.lib.atomic import replace
from overt.lib.diff import file_diff
from overt.lib.paths import display_path
from overt.lib.translations import say

F = TypeVar("F", bound=MutableMapping[str, Any])

BOM = "\ufeff"
APART = re.compile(r"[ \t]*[\[#]")
"""A table or a comment, which belongs to what follows it."""


class ConfigChange(Struct, frozen=True, kw_only=True):
    """What is to stand in the file; empty: nothing is said of it.

    `provider` are the fields of one more entry, `server` those of one more MCP server with its name; `instructions`
    join those that stand there.
    """

    default_model: str = ""
    provider: dict[str, str] = {}
    sources: tuple[str, ...] = ()
    instructions: tuple[str, ...] = ()
    server: dict[str, object] = {}

    def as_json(self) -> str:
        import json  # late: 1.3 ms

        return json.dumps(_applied({}, self), indent=2, ensure_ascii=False)


class FileEdit(Struct, frozen=True, kw_only=True):
    """`old` is what was read, None where there is no file yet; it must still be there when `new` is written.

    A new file gets the mode `new_mode`.
    """

    path: str
    name: str
    old: str | None
    new: str
    new_mode: int = 0o600

    def diff(self) -> str:
        return file_diff(self.name, self.old, self.new).diff


def find_json_file(environment: Environment) -> str:
    """The JSON file that a person keeps their settings in, when there is no TOML file beside it."""
    *others, own = USER_FILES
    if os.path.lexists(os.path.join(environment.config_dir, own)):
        return ""
    found = (os.path.join(environment.config_dir, name) for name in others)
    return next((path for path in found if os.path.lexists(path)), "")


def plan_edit(environment: Environment, change: ConfigChange) -> FileEdit:
    """What would be written. A link, as people who keep their settings elsewhere have one, stays a link."""
    from overt.config.reading.files import parse_settings  # late: 2 ms

    path, name = find_user_file(environment)
    old = read_text_if_present(path, name)
    parse_settings(old or "", name, toml=True)
    try:
        new = apply_change(old or "", change)
    except ValueError:
        raise ConfigError(say("setup.by_hand", name=name, text=apply_change("", change).strip("\n"))) from None
    parse_settings(new, name, toml=True)  # a file that stops every later start must never be written
    return FileEdit(path=path, name=name, old=old, new=new)


def plan_server_removal(environment: Environment, server: str) -> FileEdit | None:
    """Return the file without one MCP server, or None if it has no such server."""
    import tomllib  # late: 2 ms

    import tomlkit  # late: 7 ms

    path, name = find_user_file(environment)
    old = read_text_if_present(path, name) or ""
    tree = tomllib.loads(old.removeprefix(BOM))
    servers = tree.get(_server_family(tree))
    if not isinstance(servers, dict) or server not in servers:
        return None
    document = tomlkit.parse(old)
    for each in (tree, document):
        family = _server_family(each)
        del each[family][server]
        if not each[family]:
            del each[family]
    new = tomlkit.dumps(document)
    if not _says(new, tree):
        raise ConfigError(f"{name}: `{server}` cannot be removed without touching other settings; edit the file")
    return FileEdit(path=path, name=name, old=old, new=new)


def find_user_file(environment: Environment) -> tuple[str, str]:
    """Return the path of the user's TOML file, a link followed, and its name for people."""
    path = os.path.join(environment.config_dir, USER_FILES[-1])
    return os.path.realpath(path), display_path(path, home=environment.home)


def write(edit: FileEdit) -> None:
    """The whole new file or the old one; never over what somebody else has written meanwhile."""
    try:
        os.makedirs(os.path.dirname(edit.path), mode=0o700, exist_ok=True)
        if read_text_if_present(edit.path, edit.name) != edit.old:
            raise ConfigError(say("setup.file_changed", name=edit.name))
        mode = os.stat(edit.path).st_mode & 0o7777 if edit.old is not None else edit.new_mode
        replace(edit.path, edit.new.encode(), mode=mode)
    except OSError as error:
        raise ConfigError(f"{edit.name}: cannot be written: {error.strerror}; nothing was changed") from None


def read_text_if_present(path: str, name: str) -> str | None:
    from overt.config.reading.files import read_text  # late: 2 ms

    return read_text(path, name) if os.path.lexists(path) else None


# ── the text ─────────────────────────────────────────────────────────────────────────────────────────────


def apply_change(text: str, change: ConfigChange) -> str:
    """The text of a valid file with the change in it; a ValueError when that would touch other things."""
    import tomllib  # late: 2 ms

    mark = BOM if text.startswith(BOM) else ""
    body = text[len(mark) :]
    for field in ConfigChange.__struct_fields__:
        step = ConfigChange(**{field: getattr(change, field)})
        if step == ConfigChange():
            continue
        tree = tomllib.loads(body)
        family = _server_family(tree) if step.server else _family(tree)
        ways, wanted = _ways(body, step, family), _applied(tree, step)
        body = next((each for each in ways if _says(each, wanted)), "")
        if not body:
            raise ValueError(field)
    return mark + body


def _applied(file: F, change: ConfigChange) -> F:
    """Make the change in a parsed file, which may be one of tomlkit's that keeps its layout."""
    if change.default_model:
        file["default_model"] = change.default_model
    if change.provider:
        family, fields = _family(file), dict(change.provider)
        if isinstance(file.get(family), dict):
            file[family][fields.pop("name")] = fields
        elif family in file:
            file[family].append(fields)
        else:
            file[family] = [fields]
    if change.server:
        rest = {key: value for key, value in change.server.items() if key != "name"}
        file.setdefault(_server_family(file), {})[change.server["name"]] = rest
    if change.sources:
        file.setdefault("context", {})["sources"] = list(change.sources)
    if change.instructions:
        # They may stand at the top of the file too.
        table = file if "instructions" in file else file.setdefault("context", {})
        if "instructions" in table:
            table["instructions"].extend(change.instructions)
        else:
            table["instructions"] = list(change.instructions)
    return file


def _ways(text: str, step: ConfigChange, family: str) -> Iterator[str]:
    """Ways to write one field of a change, the least disturbing first; most of them are wrong for most files.

    tomlkit changes what stands there. New keys it puts between a comment and what the comment is about, so they are
    tried at the top of the file or of their table first, and new tables at the end.
    """
    end = "\r\n" if "\r\n" in text else "\n"
    ended = text if not text or text.endswith("\n") else text + end
    blank = end if text else ""
    if step.default_model:
        line = f"default_model = {compact(step.default_model)}{end}"
        # Behind the comment that opens a file, when an empty line sets it apart from what follows.
        heading = re.match(r"(?:[ \t]*#[^\n]*\n)+[ \t\r]*\n|", text)
        at = heading.end() if heading else 0
        yield text[:at] + line + (end if APART.match(text, at) else "") + text[at:]
    elif step.provider:
        lines = [f"{name} = {compact(value)}{end}" for name, value in step.provider.items()]
        yield f"{ended}{blank}[[{family}]]{end}{''.join(lines)}"
        yield f"{ended}{blank}[{family}.{step.provider['name']}]{end}{''.join(lines[1:])}"
    elif step.server:
        lines = [f"{name} = {_toml(value)}{end}" for name, value in step.server.items() if name != "name"]
        yield f"{ended}{blank}[{family}.{_key(str(step.server['name']))}]{end}{''.join(lines)}"
    else:
        key, names = ("sources", step.sources) if step.sources else ("instructions", step.instructions)
        line = f"{key} = [{', '.join(map(compact, names))}]{end}"
        for header in re.finditer(r"^[ \t]*\[[ \t]*context[ \t]*\][^\n]*\n", ended, re.MULTILINE):
            yield ended[: header.end()] + line + ended[header.end() :]
        yield f"{ended}{blank}[context]{end}{line}"
    import tomlkit  # late: 7 ms
    from tomlkit.exceptions import TOMLKitError  # late: 7 ms

    for start in (text, ended):
        try:
            yield tomlkit.dumps(_applied(tomlkit.parse(start), step))
        except TOMLKitError:
            continue


def _server_family(file: Mapping[str, object]) -> str:
    return "mcpServers" if "mcpServers" in file else "mcp"


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else compact(name)


def _toml(value: object) -> str:
    """A value of JSON on one line."""
    if not isinstance(value, dict):
        return compact(value)
    return "{ " + ", ".join(f"{_key(name)} = {_toml(item)}" for name, item in value.items()) + " }"


def _family(file: Mapping[str, object]) -> str:
    return "provider" if "provider" in file else "providers"


def _says(text: str, wanted: Mapping[str, object]) -> bool:
    import tomllib  # late: 2 ms

    try:
        return tomllib.loads(text) == wanted
    except ValueError:
        return False
