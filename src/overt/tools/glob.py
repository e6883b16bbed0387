"""Find files by name."""

from typing import Annotated

from msgspec import Meta, Struct

from overt.core.capabilities import ReadFiles
from overt.core.tool import Outcome, tool
from overt.core.views import Listing
from overt.tools._words import bounded


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pattern: Annotated[str, Meta(description="Such as *.py (any depth) or src/**/*.{ts,tsx}")]
    path: str = "."
    limit: Annotated[int, Meta(ge=1, le=2000)] = 100

    def subjects(self) -> tuple[str, ...]:
        return (self.path,)


@tool(
    order=70,
    aliases="Glob find_files glob_search file_search search_files find_path FindFiles find_file glob_files "
    "find_by_name match_files fileSearch",
)
async def glob(args: Args, files: ReadFiles) -> Outcome:
    """Find files whose path below `path` matches, newest first. Honours .gitignore. For content use grep."""
    found = await files.find(args.pattern, path=args.path, limit=args.limit)
    lines = list(found.paths) or ["[no file matches]"]
    if found.more:
        shown = f"only {len(found.paths)}" if found.total is None else f"{len(found.paths)} of {found.total}"
        lines.append(f"[{shown} shown; narrow the pattern or raise limit]")
    view = Listing(what=args.pattern, count=len(found.paths), more=found.more)
    return Outcome(text=bounded("\n".join(lines), "narrow the pattern"), view=view)
