"""Apply a patch to several files, all or none."""

from msgspec import Struct
from msgspec.structs import replace

from overt.core.capabilities import Change, WriteFiles
from overt.core.errors import ToolError
from overt.core.tool import Outcome, tool
from overt.tools._hunks import FilePatch, apply_hunks
from overt.tools._patch import parse_patch
from overt.tools._result_texts import report_changes


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    patch: str

    def subjects(self) -> tuple[str, ...]:
        """Every path the patch names; none when it cannot be read, which running it will explain."""
        try:
            patches = parse_patch(self.patch)
        except ToolError:
            return ()
        return tuple(path for item in patches for path in (item.path, item.move_to) if path)


@tool(
    order=50,
    aliases="Patch apply_patch applypatch apply_diff ApplyPatch git_apply apply_unified_diff",
    advice="patch fewer hunks at a time",
    past="patched",
)
async def patch(args: Args, files: WriteFiles) -> Outcome:
    """Apply a unified diff (git style too) or a `*** Begin Patch` text to any number of files: all or none. Files
    can be added, changed, renamed, deleted. Context lines must match; line numbers may be off."""
    changes: dict[str, Change] = {}
    for item in parse_patch(args.patch):
        before = changes.get(item.path)
        if before is not None and (before.content is None or item.kind != "update"):
            raise ToolError(f"{item.path} is named twice in the patch; give each file once.", code="invalid")
        changes[item.path] = await _change(item, before, files)
    return report_changes(
        await files.change([part for change in changes.values() for part in await _parts(change, files)])
    )


async def _parts(change: Change, files: WriteFiles) -> tuple[Change, ...]:
    """Split a move onto a text file in two, so that this file is compared with what was read, shown and undone."""
    if not change.move_to or change.move_to.casefold() == change.path.casefold():
        return (change,)  # names that differ in case may be the same file
    try:
        await files.text(change.move_to)
        content = change.content if change.content is not None else (await files.text(change.path)).text
    except ToolError:
        return (change,)  # the target does not exist, or making the change will say what is wrong with it
    target = Change(path=change.move_to, content=content, base="seen")
    return target, Change(path=change.path, content=None, base=change.base)


async def _change(item: FilePatch, before: Change | None, files: WriteFiles) -> Change:
    if before is not None and before.content is not None:
        text = apply_hunks(item.path, before.content, item.hunks)
        return replace(before, content=text, move_to=item.move_to or before.move_to)
    if item.kind == "add":
        return Change(path=item.path, content=apply_hunks(item.path, "", item.hunks), base="seen")
    try:
        source = await files.text(item.path)
    except ToolError as error:
        if error.code != "binary" or item.hunks:
            raise
        return Change(path=item.path, content=None, base="seen", move_to=item.move_to)
    if item.kind == "delete":
        if item.hunks and apply_hunks(item.path, source.text, item.hunks):
            raise ToolError(f"{item.path} holds more than the patch deletes. Read it again.", code="no_match")
        return Change(path=item.path, content=None, base=source.hash)
    content = apply_hunks(item.path, source.text, item.hunks) if item.hunks else None
    return Change(path=item.path, content=content, base=source.hash, move_to=item.move_to)
