"""Read for small models: the bare text, because they copy line numbers into their edits."""

from msgspec import Struct

from overt.core.capabilities import ReadFiles
from overt.core.tool import Outcome
from overt.core.views import Excerpt
from overt.tools._result_texts import clip_result
from overt.tools.read import read as full_read

LIMIT = 400


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str

    def subjects(self) -> tuple[str, ...]:
        return (self.path,)


@full_read.variant
async def read(args: Args, files: ReadFiles) -> Outcome:
    """Show a file."""
    window = await files.lines(args.path, offset=1, limit=LIMIT)
    last = len(window.lines)
    more = f"\n[lines 1-{last} of {window.total or 'many'}]" if window.total is None or last < window.total else ""
    text = "\n".join(window.lines) or f"[{window.path} is empty]"
    view = Excerpt(path=window.path, first=1, last=last, total=window.total or 0)
    return Outcome(text=clip_result(text, "find the rest with grep") + more, view=view)
