"""Search the content of files."""

from typing import Literal

from msgspec import Struct

from overt.core.capabilities import Query, ReadFiles
from overt.core.tool import Outcome, tool
from overt.core.views import Listing
from overt.tools._result_texts import clip_result

NO_LIMIT = 10_000
"""What a limit of 0 stands for: more matches than a result can hold."""


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pattern: str
    path: str = "."
    mode: Literal["content", "files", "count"] = "content"
    before: int = 0
    after: int = 0
    context: int = 0
    ignore_case: bool = False
    type: str = ""
    glob: str = ""
    limit: int = 200
    multiline: bool = False

    def subjects(self) -> tuple[str, ...]:
        return (self.path,)


@tool(
    order=80,
    aliases="Grep search ripgrep rg grep_search search_file_content search_content search_code code_search SearchText "
    "grep_files content_search codebase_search search_text searchContent text_search regex_search find_in_files "
    "grep_code textSearch",
    meant_by={"regex": (), "regexp": (), "regex_pattern": ()},
)
async def grep(args: Args, files: ReadFiles) -> Outcome:
    """Search files with a regular expression (ripgrep). Gives path:line:text, paths or counts; `type` is such as
    py. Honours .gitignore. Prefer it to grep or rg in bash."""
    query = Query(
        pattern=args.pattern,
        path=args.path,
        mode=args.mode,
        before=_lines(args.before or args.context),
        after=_lines(args.after or args.context),
        ignore_case=args.ignore_case,
        type=args.type,
        glob=args.glob,
        limit=args.limit if args.limit > 0 else NO_LIMIT,
        multiline=args.multiline,
    )
    matches = await files.search(query)
    text = clip_result(matches.text, "narrow the pattern, path or glob") or "[no match]"
    if matches.more:
        text += f"\n[only the first {matches.count} shown; narrow the search or raise limit]"
    return Outcome(text=text, view=Listing(what=args.pattern, count=matches.count, more=matches.more))


def _lines(asked: int) -> int:
    return min(max(asked, 0), 100)
