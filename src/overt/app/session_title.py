"""Ask a small model for the title of a session, beside the conversation."""

import asyncio

from overt.agent.agent import SpendLimit
from overt.app.models.side_request import build_side_request, send_side_request
from overt.app.services import ModelSource
from overt.context.assemble import AssembledRequest
from overt.core.errors import OvertError
from overt.core.events import CallStreamed, Emit, Event, ReasoningStreamed, Replied, TextStreamed, TitleSet
from overt.core.messages import said
from overt.core.protocols import Provider, Wire
from overt.core.settings import ModelFacts
from overt.core.text_fragments import USER
from overt.lib.logs.background import log_failure

INSTRUCTION = "Give the task below a title of at most six words, in its own language. Reply with the title alone."
MOST_ASKED, MOST_TITLE, MOST_TOKENS = 2000, 80, 400


def title_request(wire: Wire, model: str, prompt: str) -> AssembledRequest:
    """Build the request for the title of a session that begins with this prompt."""
    asked = said(prompt[:MOST_ASKED], origin=USER)
    return build_side_request(wire, model, INSTRUCTION, (asked,), purpose="title", max_tokens=MOST_TOKENS)


class Titling:
    """Asks for a title in the background, but not before the first reply has begun: nothing delays that request.

    A failure is logged; the session goes on without a title.
    """

    def __init__(self, models: ModelSource, record: Emit) -> None:
        self._models = models
        self._record = record
        self._prompt = ""
        self._task: asyncio.Task[None] | None = None

    def want(self, prompt: str) -> None:
        self._prompt = prompt

    def see(self, event: Event) -> None:
        if self._prompt and isinstance(event, ReasoningStreamed | TextStreamed | CallStreamed | Replied):
            prompt, self._prompt = self._prompt, ""
            self._task = asyncio.create_task(self._models.title(prompt, self._record))
            self._task.add_done_callback(log_failure("title"))

    async def close(self) -> None:
        """Cancel the request: its answer is not worth waiting for."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])


async def ask_title(
    provider: Provider, about: ModelFacts, prompt: str, record: Emit, limits: SpendLimit | None = None
) -> None:
    """Ask for a title and record it. A failure is recorded and logged. If the limits leave too little, do nothing."""
    made = title_request(provider.wire, about.name, prompt)
    try:
        text = await send_side_request(provider, about, made, record, purpose="title", limits=limits)
    except OvertError:
        return
    if title := " ".join(text.split()).strip("\"'“”`*#. ")[:MOST_TITLE]:
        record(TitleSet(title=title, model=about.name, provider=provider.name))
