"""Read a web page, or have a question about it answered."""

from typing import Annotated

from msgspec import Meta, Struct

from overt.core.capabilities import Network
from overt.core.tool import Outcome, tool
from overt.core.views import Plain
from overt.lib.text import size
from overt.lib.web_url import host_of
from overt.tools._result_texts import FROM_THE_WEB, clip_result


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    url: Annotated[str, Meta(description="http:// or https://")]
    question: Annotated[str, Meta(description="What you want to know; without one you get the whole text")] = ""

    def subjects(self) -> tuple[str, ...]:
        return (self.url.strip(),)


@tool(
    order=210,
    aliases="WebFetch web_fetch fetch_url fetch url_fetch read_url read_web_page fetch_web_page fetch_webpage "
    "browse_url open_url read_website get_url visit_url webpage_reader",
    rare=True,
)
async def webfetch(args: Args, network: Network) -> Outcome:
    """Fetch a web page or text file from the internet. Ask a question to get the answer and short quotes in place of a
    long page. A redirect to another host is reported, not followed."""
    page = await network.fetch(args.url, args.question)
    if page.redirect:
        text = f"[{page.url} redirects ({page.status}) to {page.redirect} on another host. Fetch that URL to read it.]"
        return Outcome(text=text, view=Plain(text=f"→ {page.redirect}"), outside=page.url)
    facts = [page.url, page.title, page.media, "from the cache" if page.cached else ""]
    head = f"[{' · '.join(filter(None, facts))}]"
    notes = [f"[{page.note}]"] if page.note else []
    if page.truncated and not page.answered:
        notes.append("[the page is longer than this]")
    body = clip_result(page.text, "ask a question about it to get the part you need")
    shown = f"{host_of(page.url)}: {page.title or page.media} ({size(page.text)} B)"
    return Outcome(
        text="\n".join([head, FROM_THE_WEB, body or "[the page has no text]", *notes]),
        view=Plain(text=page.text if page.answered else shown),
        outside=page.url,
    )
