"""Search the web."""

from typing import Annotated

from msgspec import Meta, Struct

from overt.core.capabilities import Network
from overt.core.tool import Outcome, tool
from overt.core.views import Listing
from overt.tools._result_texts import FROM_THE_WEB, clip_result


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    query: str
    allowed_domains: Annotated[tuple[str, ...], Meta(description="Only hits on these")] = ()
    blocked_domains: tuple[str, ...] = ()
    limit: Annotated[int, Meta(ge=1, le=20)] = 10

    def subjects(self) -> tuple[str, ...]:
        return (self.query,)


@tool(
    order=220,
    aliases="WebSearch web_search google_web_search search_web google_search internet_search brave_web_search "
    "duckduckgo_search search_internet",
    rare=True,
)
async def websearch(args: Args, network: Network) -> Outcome:
    """Search the web. Returns titles, URLs and snippets; read a page with webfetch."""
    hits = await network.search(
        args.query, allowed=args.allowed_domains, blocked=args.blocked_domains, limit=args.limit
    )
    view = Listing(what=args.query, count=len(hits))
    if not hits:
        return Outcome(text="[nothing found]", view=view)
    lines = [f"{number}. {hit.title}\n   {hit.url}\n   {hit.snippet}".rstrip() for number, hit in enumerate(hits, 1)]
    text = clip_result("\n".join(lines), "search for fewer hits with `limit`")
    return Outcome(text=f"{FROM_THE_WEB}\n{text}", view=view, outside=f"search: {args.query}")
