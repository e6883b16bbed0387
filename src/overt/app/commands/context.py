"""`/context`: what the next request holds as things stand, and how much room is left."""

from overt.app.conversation import Conversation
from overt.app.inspect.inspector_values import Contents, RequestBody
from overt.app.slash_command import Command, CommandOutcome, offer_words
from overt.core.errors import OvertError


async def context(conversation: Conversation, argument: str) -> CommandOutcome:
    from overt.app.context.request_contents import next_request  # late: 2 ms
    from overt.app.records.context_lines import request_lines  # late: 2 ms
    from overt.app.records.context_view import terminal_width  # late: 2 ms

    if argument not in ("", "all"):
        raise OvertError(f"/context takes nothing or `all`, got {argument!r}; `overt context` shows what was sent.")
    request = await next_request(conversation)
    return CommandOutcome(
        lines=(*request_lines(request, terminal_width(1), every=argument == "all"), *conversation.cache.told())
    )


async def show_contents(conversation: Conversation, _text: str, number: int) -> Contents:
    from overt.app.context.request_contents import request_contents as contents_of  # late: 2 ms

    return await contents_of(conversation, number)


async def show_body(conversation: Conversation, _text: str, number: int) -> RequestBody:
    from overt.app.context.request_contents import request_body  # late: 2 ms

    return await request_body(conversation, number)


COMMAND = Command(
    name="context",
    run=context,
    usage="[all]",
    order=60,
    anytime=True,
    panel="context",
    complete=offer_words("all"),
    queries={"context": show_contents, "request": show_body},
)
