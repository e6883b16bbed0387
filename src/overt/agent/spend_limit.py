"""The spend limit of a session: checked before each request, so that the one beyond the limit is never sent."""

from typing import NamedTuple, Protocol

from overt.core.history import History


class SpendCheck(NamedTuple):
    """If there is a `refusal`, nothing more is sent. A `warning` is shown and the work goes on."""

    refusal: str = ""
    warning: str = ""


class SpendLimit(Protocol):
    def check(self, history: History) -> SpendCheck: ...
