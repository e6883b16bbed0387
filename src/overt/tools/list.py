"""List a folder as a tree."""

from typing import Annotated

from msgspec import Meta, Struct

from overt.core.capabilities import FolderEntry, ReadFiles
from overt.core.tool import Outcome, tool
from overt.core.views import Listing
from overt.tools._result_texts import clip_result

LIMIT = 400
MARK = {"file": "", "folder": "/", "link": "@", "other": "|"}


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str = "."
    depth: Annotated[int, Meta(ge=1, le=10)] = 2

    def subjects(self) -> tuple[str, ...]:
        return (self.path,)


@tool(
    order=60,
    aliases="LS List ls list_dir list_directory list_files listFiles directory_tree listDirectory read_folder "
    "ReadFolder list_folder fs_list listdir",
)
async def list_(args: Args, files: ReadFiles) -> Outcome:
    """Show a folder as a tree, hidden files too. Links end in @ and are not followed. To find files by name
    use glob."""
    entries, more = await files.list(args.path, depth=args.depth, limit=LIMIT)
    lines = [_line(entry) for entry in entries] or ["[empty folder]"]
    if more:
        lines.append(f"[only {len(entries)} entries shown; list a folder below, or use glob]")
    view = Listing(what=args.path, count=len(entries), more=more)
    return Outcome(text=clip_result("\n".join(lines), "list a folder below"), view=view)


def _line(entry: FolderEntry) -> str:
    return f"{'  ' * (entry.depth - 1)}{entry.path.rpartition('/')[2]}{MARK[entry.kind]}"
