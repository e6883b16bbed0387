"""Calls as hooks see them, in the names of Claude Code, and arguments of hooks back in ours."""

import os
from typing import NamedTuple

from msgspec import to_builtins
from msgspec.structs import fields, replace

from overt.agent.permission_decision import CallRequest
from overt.core.codec import compact
from overt.core.errors import ToolError
from overt.core.tool import JsonArguments, Tool
from overt.repair.repair_call import MendedCall, mend

FILE_TOOLS = frozenset({"read", "write", "edit", "multiedit"})
"""Their `path` is Claude Code's `file_path`; that of other tools is a `path` there too."""
THEIR_NAMES = {
    "grep": {
        "mode": "output_mode",
        "before": "-B",
        "after": "-A",
        "context": "-C",
        "ignore_case": "-i",
        "limit": "head_limit",
    },
    "webfetch": {"question": "prompt"},
    "jobs": {"id": "bash_id"},
    **{name: {"path": "file_path"} for name in FILE_TOOLS},
}
THEIR_VALUES = {"output_mode": {"files": "files_with_matches"}}
EDIT = "Edit"


class ShownCall(NamedTuple):
    """A call as a hook sees it. `names` are those that a matcher may have for the tool."""

    name: str
    names: tuple[str, ...]
    input: dict[str, object]


def describe_call(request: CallRequest, root: str) -> tuple[ShownCall, ...]:
    """Return the call as hooks see it: once, or once for each file of a patch. Paths are absolute."""
    tool, args = request.tool, request.mended.args
    if isinstance(args, JsonArguments):
        return (ShownCall(tool.name, (tool.name,), args.values),)
    given = {each.name: getattr(args, each.name) for each in fields(args)}
    if tool.name == "patch":
        return tuple(
            ShownCall(EDIT, (EDIT, *_names(tool, given)), each) for each in _patched_files(str(given["patch"]), root)
        )
    defaults = {each.name: each.default for each in fields(args)}
    theirs = THEIR_NAMES.get(tool.name, {})
    shown: dict[str, object] = {}
    for name, value in given.items():
        if name == "path":
            value = os.path.normpath(os.path.join(root, str(value)))
        elif value == defaults[name]:
            continue
        key = theirs.get(name, name)
        shown[key] = THEIR_VALUES.get(key, {}).get(str(value), to_builtins(value))
    if tool.name == "multiedit":
        edits = to_builtins(given["edits"])
        shown["old_string"] = "\n".join(each["old_string"] for each in edits)
        shown["new_string"] = "\n".join(each["new_string"] for each in edits)
        return (ShownCall(EDIT, (EDIT, *_names(tool, given)), shown),)
    names = _names(tool, given)
    return (ShownCall(names[0], names, shown),)


def _names(tool: Tool, given: dict[str, object]) -> tuple[str, ...]:
    """Return the names of a tool: Claude Code's first. Where an alias implies arguments, it is that of the call."""
    implied = (alias for alias, more in tool.implied.items() if more.items() <= given.items())
    first = next(implied, tool.aliases[0] if tool.aliases else tool.name)
    return tuple(dict.fromkeys((first, tool.name)))


def _patched_files(patch: str, root: str) -> list[dict[str, object]]:
    """Return an edit for each file of a patch, with the lines that it takes out and puts in."""
    from overt.tools._patch import parse_patch  # late: 2 ms

    try:
        files = parse_patch(patch)
    except ToolError:
        return [{"file_path": root, "old_string": "", "new_string": patch}]
    edits: list[dict[str, object]] = []
    for file in files:
        lines = [line for hunk in file.hunks for line in hunk.body]
        old, new = ("\n".join(line[1:] for line in lines if line[:1] == sign) for sign in "-+")
        for path in filter(None, (file.path, file.move_to)):
            place = os.path.normpath(os.path.join(root, path))
            edits.append({"file_path": place, "old_string": old, "new_string": new})
    return edits


def apply_changes(request: CallRequest, updated: dict[str, object]) -> MendedCall:
    """Return the call with the arguments of a hook, checked like those of a model. It may have an `error`."""
    tool = request.tool
    if not isinstance(request.mended.args, JsonArguments):
        if tool.name == "patch" or (tool.name == "multiedit" and "edits" not in updated):
            return replace(request.mended, error=f"updatedInput cannot be applied to a call of {tool.name}")
        if tool.name == "multiedit":
            updated = {name: value for name, value in updated.items() if name not in ("old_string", "new_string")}
        ours = {theirs: name for name, theirs in THEIR_NAMES.get(tool.name, {}).items()}
        updated = {ours.get(name, name): value for name, value in updated.items()}
    return mend(replace(request.mended.call, arguments=compact(updated)), {tool.name: tool})
