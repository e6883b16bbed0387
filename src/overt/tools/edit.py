"""Replace an exact piece of a file."""

from typing import Annotated

from msgspec import Meta, Struct

from overt.core.capabilities import Change, WriteFiles
from overt.core.errors import ToolError
from overt.core.tool import Outcome, tool
from overt.tools._replace import replace_text
from overt.tools._result_texts import report_changes


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    old_string: Annotated[str, Meta(description="Exact text with its indentation, without line numbers")]
    new_string: str
    replace_all: bool = False

    def subjects(self) -> tuple[str, ...]:
        return (self.path,)


@tool(
    order=30,
    aliases="Edit str_replace edit_file replace search_replace str_replace_editor str_replace_based_edit_tool "
    "replace_in_file editFile file_edit StrReplace strReplace edit_block replace_string_in_file find_and_replace "
    "search_and_replace replace_text modify_file update_file text_editor",
    meant_by={"command": ("str_replace",)},
    advice="make several smaller edits",
    past="edited",
)
async def edit(args: Args, files: WriteFiles) -> Outcome:
    """Replace old_string in a file by new_string. It must match exactly and be unique, unless replace_all is set;
    add lines around it to make it so. Line endings are kept."""
    try:
        file = await files.text(args.path)
    except ToolError as error:
        if error.code != "missing" or args.old_string:
            raise
        return report_changes(await files.change([Change(path=args.path, content=args.new_string, base="absent")]))
    if not args.old_string and not file.text:
        return report_changes(await files.change([Change(path=args.path, content=args.new_string, base=file.hash)]))
    text, count = replace_text(file.text, args.old_string, args.new_string, every=args.replace_all)
    note = f", {count} places" if count > 1 else ""
    return report_changes(await files.change([Change(path=args.path, content=text, base=file.hash)]), note)
