"""Check skills strictly, as the reference implementation of agentskills.io does (`skills-ref`).

Only the six keys of the standard can be errors; further keys are warnings. Front matter is read as the standard's own
parser reads it: every value is a text, and neither duplicate keys nor `[…]`, `{…}`, anchors and tags are taken.
"""

import os
import re
import unicodedata

from msgspec import Struct

from overt.extensions.skills import LARGEST_FILE, LONGEST_DESCRIPTION, LONGEST_NAME, find_skill_file
from overt.lib.read_file import read_regular

STANDARD_KEYS = ("name", "description", "license", "allowed-tools", "metadata", "compatibility")
OUR_KEYS = (
    *("triggers", "paths", "disabled", "when_to_use", "argument-hint", "arguments", "disable-model-invocation"),
    *("user-invocable", "disallowed-tools"),
)
LONGEST_COMPATIBILITY = 500
MANY_LINES = 500


class SkillReport(Struct, frozen=True, kw_only=True):
    """What is wrong with a skill. It is valid if there are no `errors`."""

    folder: str
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def check_skill(folder: str) -> SkillReport:
    """Check the skill in a folder."""
    if not os.path.isdir(folder):
        return SkillReport(folder=folder, errors=("it is not a folder",))
    path = find_skill_file(folder)
    if not path:
        return SkillReport(folder=folder, errors=("SKILL.md is missing",))
    try:
        data, _ = read_regular(path, LARGEST_FILE)
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        problem = "is not UTF-8" if isinstance(error, UnicodeDecodeError) else f"cannot be read: {error.strerror}"
        return SkillReport(folder=folder, errors=(f"SKILL.md {problem}",))
    if len(data) > LARGEST_FILE:
        return SkillReport(folder=folder, errors=(f"SKILL.md is larger than {LARGEST_FILE // 1024} KB",))
    match = re.match(r"---(.*?)^---", text, re.M | re.S)
    if match is None:
        missing = "is not closed with ---" if text.startswith("---") else "is missing; the file must begin with ---"
        return SkillReport(folder=folder, errors=(f"the front matter {missing}",))
    try:
        fields = read_strictly(match[1])
    except ValueError as error:
        return SkillReport(folder=folder, errors=(f"front matter: {error}",))
    name = os.path.basename(os.path.abspath(folder))
    return SkillReport(
        folder=folder,
        errors=(*_name_errors(fields, name), *_description_errors(fields), *_compatibility_errors(fields)),
        warnings=_warnings(fields, text[match.end() :]),
    )


def read_strictly(head: str) -> dict[str, object]:
    """Read front matter in which every value is a text, a list or a table of texts; ValueError says what else it is."""
    import yaml  # late: 20 ms

    try:
        for event in yaml.parse(head, yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise ValueError("anchors (&, *) are not allowed")
            if getattr(event, "tag", None):
                raise ValueError("tags (!) are not allowed")
            if isinstance(event, yaml.CollectionStartEvent) and event.flow_style:
                raise ValueError("[…] and {…} are not allowed; write each value on a line of its own")
        node = yaml.compose(head, yaml.BaseLoader)
        if not isinstance(node, yaml.MappingNode):
            raise ValueError("it must be a table of names and values")
        _refuse_duplicates(node)
        fields = yaml.load(head, yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise ValueError(" ".join(str(error).split())[:200]) from None
    return {str(name): value for name, value in fields.items()}


def _refuse_duplicates(node: object) -> None:
    import yaml  # late: 20 ms

    if isinstance(node, yaml.MappingNode):
        names = [getattr(key, "value", "") for key, _ in node.value]
        if twice := next((name for name in names if names.count(name) > 1), ""):
            raise ValueError(f"`{twice}` occurs twice")
        for _, value in node.value:
            _refuse_duplicates(value)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _refuse_duplicates(value)


def _name_errors(fields: dict[str, object], folder: str) -> list[str]:
    given = fields.get("name")
    if not isinstance(given, str) or not given.strip():
        return ["`name` must be a text" if "name" in fields else "`name` is missing"]
    name, errors = unicodedata.normalize("NFKC", given.strip()), list[str]()
    if len(name) > LONGEST_NAME:
        errors.append(f"`name` has {len(name)} characters; at most {LONGEST_NAME} are allowed")
    if name != name.lower():
        errors.append("`name` must be in lower case")
    if name.startswith("-") or name.endswith("-") or "--" in name:
        errors.append("`name` must not begin or end with a hyphen, nor have two in a row")
    if not all(character.isalnum() or character == "-" for character in name):
        errors.append("`name` may have only letters, digits and hyphens")
    if unicodedata.normalize("NFKC", folder) != name:
        errors.append(f"`name` is {name!r}, but the folder is called {folder!r}")
    return errors


def _description_errors(fields: dict[str, object]) -> list[str]:
    text = fields.get("description")
    if not isinstance(text, str) or not text.strip():
        return ["`description` must be a text" if "description" in fields else "`description` is missing"]
    if len(text) > LONGEST_DESCRIPTION:
        return [f"`description` has {len(text)} characters; at most {LONGEST_DESCRIPTION} are allowed"]
    return []


def _compatibility_errors(fields: dict[str, object]) -> list[str]:
    text = fields.get("compatibility", "")
    if not isinstance(text, str):
        return ["`compatibility` must be a text"]
    if len(text) > LONGEST_COMPATIBILITY:
        return [f"`compatibility` has {len(text)} characters; at most {LONGEST_COMPATIBILITY} are allowed"]
    return []


def _warnings(fields: dict[str, object], body: str) -> tuple[str, ...]:
    warnings = [
        f"`{name}` is not part of the standard" + ("" if name in OUR_KEYS else ", and Overt does not use it")
        for name in fields
        if name not in STANDARD_KEYS
    ]
    if not body.strip():
        warnings.append("it has no text after the front matter")
    if body.count("\n") > MANY_LINES:
        warnings.append(f"it has more than {MANY_LINES} lines; move parts of it to references/")
    return tuple(warnings)
