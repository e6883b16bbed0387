"""Does a rule speak of this call? Patterns are globs over paths, or over each simple command of a shell line."""

import posixpath
import re
from collections.abc import Iterable

from msgspec import Struct

from overt.core.foreign import our_tool
from overt.core.settings import Rule
from overt.safety.danger import Reading, segments_of

ALWAYS = "always"
EDITS = frozenset({"write", "edit", "multiedit", "patch"})


class Subject(Struct, frozen=True, kw_only=True):
    """What a call is about: paths for file tools, one command line for `bash` with what it was read as."""

    tool: str
    values: tuple[str, ...] = ()
    reading: Reading = Reading(hazard="ordinary")


def normal(path: str, root: str) -> str:
    """One spelling for each place: relative to the workspace where it lies in it. Links stay as they are."""
    place = posixpath.normpath(posixpath.join(root, path))
    if place == root:
        return "."
    return place[len(root.rstrip("/")) + 1 :] if place.startswith(root.rstrip("/") + "/") else place


def matching(rules: Iterable[Rule], subject: Subject, action: str) -> Rule | None:
    """The first rule with this action that speaks of the call."""
    return next((rule for rule in rules if rule.action == action and speaks_of(rule, subject)), None)


def speaks_of(rule: Rule, subject: Subject) -> bool:
    name = our_tool(rule.tool)
    same = name in (subject.tool, "*") or (name == "edit" and subject.tool in EDITS)
    if not same or not rule.pattern:
        return same
    if subject.tool == "bash":
        return _speaks_of_command(rule, subject.values[0] if subject.values else "")
    hits = [_path_pattern(rule.pattern).fullmatch(value) is not None for value in subject.values]
    return bool(hits) and (all(hits) if rule.action == "allow" else any(hits))


def _speaks_of_command(rule: Rule, command: str) -> bool:
    """Allowing needs every simple command to match; refusing or asking needs only one, or the raw text.

    What a person answered with `always` holds for that very text.
    """
    if rule.origin == ALWAYS:
        return rule.pattern == command
    pattern = _command_pattern(rule.pattern)
    parts = segments_of(command)
    if rule.action == "allow":
        return bool(parts) and all(pattern.fullmatch(part) for part in parts or ())
    return pattern.fullmatch(command.strip()) is not None or any(
        pattern.fullmatch(part.strip()) for part in re.split(r"[\n;|&(){}`]+", command)
    )


def _command_pattern(pattern: str) -> re.Pattern[str]:
    """`git status *` also matches `git status`; `npm run:*` is Claude Code's way of writing the same."""
    if pattern.endswith(":*"):
        pattern = pattern[:-2] + " *"
    tail = "(?: .*)?" if pattern.endswith(" *") else ""
    body = pattern[:-2] if tail else pattern
    return re.compile(".*".join(re.escape(piece) for piece in body.split("*")) + tail, re.DOTALL)


def _path_pattern(pattern: str) -> re.Pattern[str]:
    """As in .gitignore: `**` any folders, `*` within one; without a slash the name may stand anywhere."""
    pattern = pattern.removeprefix("./")
    anywhere = "/" not in pattern.rstrip("/")
    anchored = pattern.removeprefix("/") if not pattern.startswith("//") else pattern[1:]
    pieces = re.split(r"(\*\*/?|\*|\?)", anchored)
    translated = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    body = "".join(translated.get(piece, re.escape(piece)) for piece in pieces)
    return re.compile(("(?:.*/)?" if anywhere else "") + body + "(?:/.*)?", re.DOTALL)
