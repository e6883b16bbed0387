"""Read for small models: the bare text, because they copy line numbers into their edits."""

from msgspec import Struct

from overt.core.capabilities import ReadFiles
from overt.core.tool import Outcome
from overt.core.views import Excerpt
from overt.tools._words import bounded
from overt.tools.read import read as full_read

LIMIT = 400


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str

    def subjects(self) -> tuple[str, ...]:
        return (self.path,)


@full_read.variant
async def read(args: Args, files: ReadFiles) -> Outcome:
    """Show a file."""
    found = await files.lines(args.path, offset=1, limit=LIMIT)
    last = len(found.lines)
    more = f"\n[lines 1-{last} of {found.total or 'many'}]" if found.total is None or last < found.total else ""
    text = "\n".join(found.lines) or f"[{found.path} is empty]"
    view = Excerpt(path=found.path, first=1, last=last, total=found.total or 0)
    return Outcome(text=bounded(text, "find the rest with grep") + more, view=view)
