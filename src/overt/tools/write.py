"""Write a whole file."""

from msgspec import Struct

from overt.core.capabilities import Change, WriteFiles
from overt.core.tool import Outcome, tool
from overt.tools._words import changed


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    content: str

    def subjects(self) -> tuple[str, ...]:
        return (self.path,)


@tool
async def write(args: Args, files: WriteFiles) -> Outcome:
    """Create a file, or replace all of one that you have read. Missing folders are made. For small changes
    prefer edit."""
    return changed(await files.change([Change(path=args.path, content=args.content, base="seen")]))
