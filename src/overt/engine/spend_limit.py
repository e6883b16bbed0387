"""What a session may cost: asked before each request, so that the one which would go beyond is never sent."""

from typing import NamedTuple, Protocol

from overt.core.history import History


class Looked(NamedTuple):
    """`refusal`: why nothing more is sent. `warning` is told once and the work goes on."""

    refusal: str = ""
    warning: str = ""


class Purse(Protocol):
    def look(self, history: History) -> Looked: ...
