"""Find files by name."""

from typing import Annotated

from msgspec import Meta, Struct

from overt.core.capabilities import ReadFiles
from overt.core.tool import Outcome, tool
from overt.core.views import Listing
from overt.tools._result_texts import clip_result


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
    matches = await files.find(args.pattern, path=args.path, limit=args.limit)
    lines = list(matches.paths) or ["[no file matches]"]
    if matches.more:
        shown = f"only {len(matches.paths)}" if matches.total is None else f"{len(matches.paths)} of {matches.total}"
        lines.append(f"[{shown} shown; narrow the pattern or raise limit]")
    view = Listing(what=args.pattern, count=len(matches.paths), more=matches.more)
    return Outcome(text=clip_result("\n".join(lines), "narrow the pattern"), view=view)
