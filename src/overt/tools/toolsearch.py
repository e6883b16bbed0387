"""Look up tools and skills that the model has not been told of."""

from typing import Annotated

from msgspec import Meta, Struct

from overt.core.capabilities import FindTools, SkillSummary, ToolMatches
from overt.core.codec import compact
from overt.core.tool import Outcome, tool
from overt.core.views import Listing

MOST = 20


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    query: Annotated[str, Meta(description="What it should do, or its name")]
    limit: Annotated[int, Meta(ge=1, le=MOST)] = 5

    def subjects(self) -> tuple[str, ...]:
        return (self.query,)


@tool(order=120, aliases="ToolSearch tool_search search_tools find_tools list_tools")
async def toolsearch(args: Args, tools: FindTools) -> Outcome:
    """Find further tools (run one with toolcall) and skills (load one with skill) by keywords."""
    matches = await tools.search(args.query, args.limit)
    return Outcome(
        text=_describe(matches, args.query), view=Listing(what=f"tools for {args.query!r}", count=len(matches.specs))
    )


def _describe(matches: ToolMatches, query: str) -> str:
    lines = [
        compact({"skill": spec.name, "description": spec.description})
        if isinstance(spec, SkillSummary)
        else compact({"name": spec.name, "description": spec.description, "arguments": spec.schema})
        for spec in matches.specs
    ]
    if not lines:
        lines = [f"No tool fits {query!r} among {matches.total}. Try other words."]
    return "\n".join((*lines, *matches.problems))
