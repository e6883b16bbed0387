"""Several replacements in one file, all or none."""

from typing import Annotated

from msgspec import Meta, Struct

from overt.core.capabilities import Change, WriteFiles
from overt.core.errors import ToolError
from overt.core.tool import Outcome, tool
from overt.tools._replace import replace_text
from overt.tools._result_texts import report_changes


class Replacement(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    old_string: str
    new_string: str
    replace_all: bool = False


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    edits: Annotated[tuple[Replacement, ...], Meta(min_length=1)]

    def subjects(self) -> tuple[str, ...]:
        return (self.path,)


@tool(
    order=40,
    aliases="MultiEdit multi_edit multi_edit_file multi_replace_string_in_file multi_str_replace batch_edit",
    advice="make fewer or smaller edits at a time",
    past="edited",
)
async def multiedit(args: Args, files: WriteFiles) -> Outcome:
    """Make several edits in one file, in order, each as in edit and on the result of the one before; if one
    fails, none is made."""
    file = await files.text(args.path)
    text = file.text
    for number, item in enumerate(args.edits, 1):
        try:
            text, _ = replace_text(text, item.old_string, item.new_string, every=item.replace_all)
        except ToolError as error:
            message = f"Edit {number} of {len(args.edits)} failed, none was made. {error.message}"
            raise ToolError(message, code=error.code) from error
    return report_changes(await files.change([Change(path=args.path, content=text, base=file.hash)]))
