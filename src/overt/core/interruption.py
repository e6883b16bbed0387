"""How a cancelled call hands over what it had done so far."""

import asyncio


class Interrupted(asyncio.CancelledError):
    """A cancellation that carries what the call had printed, so that the model and the record keep it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text
