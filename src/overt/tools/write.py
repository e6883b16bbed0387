"""Write a whole file."""

from msgspec import Struct

from overt.core.capabilities import Change, WriteFiles
from overt.core.tool import Outcome, tool
from overt.tools._result_texts import report_changes


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    content: str

    def subjects(self) -> tuple[str, ...]:
        return (self.path,)


@tool(
    order=20,
    aliases="Write write_file create_file create writeFile WriteFile file_write save_file write_to_file "
    "create_new_file write_text_file fs_write overwrite_file new_file put_file",
    meant_by={"command": ("create", "write")},
    advice="write a first part of the file, then add the rest with edit",
    past="written",
)
async def write(args: Args, files: WriteFiles) -> Outcome:
    """Create a file, or replace all of one that you have read. Missing folders are made. For small changes
    prefer edit."""
    return report_changes(await files.change([Change(path=args.path, content=args.content, base="seen")]))
