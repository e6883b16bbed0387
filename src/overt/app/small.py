"""Small things that a small model does beside the conversation: today the title of a session."""

import asyncio
from contextlib import aclosing

from overt.context.assemble import Assembler
from overt.core.errors import OvertError
from overt.core.events import TitleSet
from overt.core.fragments import HARNESS, USER, Fragment
from overt.core.messages import Text, said
from overt.core.ports import Provider
from overt.core.requests import Params, Prefix, Reply

INSTRUCTION = "Give the task below a title of at most six words, in its own language. Reply with the title alone."
MOST_ASKED, MOST_TITLE, MOST_TOKENS = 2000, 80, 400
WITHIN = 60.0


async def titled(provider: Provider, model: str, prompt: str) -> TitleSet | None:
    """A title for a session that begins with this prompt; None when the model gives none, whatever the reason."""
    system = Fragment(key="title", text=INSTRUCTION, origin=HARNESS)
    params = Params(model=model, max_tokens=MOST_TOKENS)
    made = Assembler(provider.wire).assemble(
        Prefix(system=(system,), tools=()), (said(prompt[:MOST_ASKED], origin=USER),), params
    )
    reply: Reply | None = None
    try:
        async with asyncio.timeout(WITHIN), aclosing(provider.stream(made.request)) as deltas:
            async for delta in deltas:
                reply = delta if isinstance(delta, Reply) else reply
    except (OvertError, TimeoutError):
        return None
    text = "".join(part.text for part in reply.parts if isinstance(part, Text)) if reply else ""
    title = " ".join(text.split()).strip("\"'“”`*#. ")[:MOST_TITLE]
    return TitleSet(title=title, model=model, usage=reply.usage) if title and reply else None
