"""A model server that bills: it writes as much as a request lets it, and counts what it read and wrote."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Lock

from msgspec.structs import replace
from tests.fakes.model_server import FakeCall, ModelServer, Recorded, Turn

from overt.app.conversation import Conversation
from overt.app.options import Options
from overt.app.start import open_conversation
from overt.config.paths import read_environment

UNLIMITED = 40_000
"""Tokens that a model without a limit for its reply would write: more than any cap here pays for."""
BYTES_PER_TOKEN = 4.5
INPUT, OUTPUT = 3.0, 15.0


class BillingServer:
    """Bills each request at `INPUT` and `OUTPUT` dollars a million. `script` gives the calls of a reply."""

    def __init__(
        self, script: Callable[[Recorded], Turn], *, writes: Callable[[int], int] = lambda limit: limit
    ) -> None:
        self.billed = 0.0
        self.tokens = 0
        self.limits: list[int | None] = []
        self.price = (INPUT, OUTPUT)
        self.cached: Callable[[int], int] = lambda prompt: 0
        """Returns how many tokens of a prompt were read from the cache."""
        self._script = script
        self._writes = writes
        self._lock = Lock()

    def choose(self, request: Recorded, _: int) -> Turn:
        body = request.json()
        reply = self._script(request)
        prompt = round(len(request.body) / BYTES_PER_TOKEN)
        limit = body.get("max_tokens")
        written = self._writes(UNLIMITED if limit is None else limit)
        with self._lock:
            self.limits.append(limit)
            self.billed += (prompt * self.price[0] + written * self.price[1]) / 1e6
            self.tokens += prompt + written
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": written,
            "prompt_tokens_details": {"cached_tokens": self.cached(prompt)},
        }
        return replace(reply, usage=usage)


def configuration(url: str, price: tuple[float, float], more: str) -> str:
    return (
        f'default_model = "here/priced"\n{more}\n[[providers]]\nname = "here"\nbase_url = "{url}"\n'
        f'[[providers.models]]\nname = "priced"\nwindow = 200000\n'
        f"price = {{ input = {price[0]}, output = {price[1]} }}\n"
    )


@asynccontextmanager
async def billed_chat(
    folder: Path, bill: BillingServer, more: str = "", *, interactive: bool = False
) -> AsyncIterator[tuple[Conversation, ModelServer]]:
    folder.mkdir(exist_ok=True)
    (folder / "a.txt").write_text("hello\n")
    with ModelServer(choose=bill.choose, models=("priced",)) as server:
        config = Path(read_environment().config_dir)
        config.mkdir(parents=True, exist_ok=True)
        (config / "config.toml").write_text(configuration(server.url, bill.price, more))
        options = Options(directory=str(folder), mode="yolo", interactive=interactive)
        conversation = await open_conversation(options)
        try:
            yield conversation, server
        finally:
            await conversation.close()


def reads_for_ever(request: Recorded) -> Turn:
    """Never the same call twice, so that it does not count as a loop."""
    return Turn(calls=(FakeCall(name="grep", arguments={"pattern": f"word{len(request.body)}"}),))


def delegates(agents: int, replies: Callable[[Recorded], Turn] = reads_for_ever) -> Callable[[Recorded], Turn]:
    """The main agent starts sub-agents with its first reply, and says that it is done with the next."""

    def script(request: Recorded) -> Turn:
        messages = request.json()["messages"]
        if any("look around" in str(message["content"]) for message in messages if message["role"] == "user"):
            return replies(request)
        if messages[-1]["role"] == "tool":
            return Turn(text="done")
        arguments = {"prompt": "look around", "description": "Look", "agent": "explore"}
        return Turn(calls=tuple(FakeCall(name="task", arguments=arguments) for _ in range(agents)))

    return script
