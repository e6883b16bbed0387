"""The values that inspectors show, apart from how they are read, so that a frontend loads nothing else for them."""

from typing import TYPE_CHECKING, NamedTuple

from overt.core.capabilities import JobState
from overt.core.settings import Mode
from overt.core.views import FileDiff, Todo

if TYPE_CHECKING:
    from overt.app.inspect.permissions import Decided
    from overt.app.models.model_list import Listing


class JobListing(NamedTuple):
    """Background commands, the newest first, those that run before those that have ended."""

    jobs: tuple[JobState, ...]


class Todos(NamedTuple):
    items: tuple[Todo, ...]


class Models(NamedTuple):
    """`current` is what the conversation uses now: a provider and a model."""

    listing: "Listing"
    current: tuple[str, str]


class RequestBody(NamedTuple):
    """The body of a request, every value as it was sent, laid out for reading."""

    text: str


class Fragment(NamedTuple):
    """A fragment, a tool or a message. `share` is of the whole request, from 0 to 1; `text` is exactly what it says."""

    number: int
    key: str
    tokens: int
    share: float
    cached: str
    origin: str
    label: str
    text: str


class Contents(NamedTuple):
    """One request. `number` counts those that were sent from 1, and is 0 for the next one; `sent` is how many were.

    `used` of `limit` tokens were `reported` by the server, or are estimated.
    """

    number: int
    sent: int
    turn: int
    step: int
    summary: bool
    model: str
    length: int
    used: int
    limit: int
    reported: bool
    resets: tuple[str, ...]
    pieces: tuple[Fragment, ...]


class Kept(NamedTuple):
    """A session that can be gone on with; `here` is the one that is open."""

    id: str
    path: str
    title: str
    changed: float
    turns: int
    model: str
    size: int
    parent: str = ""
    here: bool = False
    hits: tuple[str, ...] = ()


class Piece(NamedTuple):
    """`following` is where the next piece begins, 0 after the last one; `total` are the sessions there are."""

    rows: tuple[Kept, ...]
    following: int
    total: int


class Preview(NamedTuple):
    """How a session ended: what was asked last and what came of it; empty where there is nothing of it."""

    prompt: str
    answer: str


class Turn(NamedTuple):
    """`files` is how many it changed; `undone`: they were put back. `speaks`: the conversation can go back to it."""

    turn: int
    text: str
    when: float
    files: int
    undone: bool
    speaks: bool


class Turns(NamedTuple):
    """The turns of a session, the newest first."""

    turns: tuple[Turn, ...]


class Changes(NamedTuple):
    """What differs between two moments. `others` are named without a comparison, each with why."""

    files: tuple[FileDiff, ...]
    others: tuple[str, ...]


class Ruled(NamedTuple):
    """`stored`: somebody answered `always`, and it can be taken back."""

    text: str
    action: str
    origin: str
    stored: bool


class Permits(NamedTuple):
    """`problem` says why stored rules do not hold."""

    mode: Mode
    rules: tuple[Ruled, ...]
    problem: str = ""


class Decisions(NamedTuple):
    """Decisions of the project, the newest first."""

    decisions: "tuple[Decided, ...]"


class Revoked(NamedTuple):
    """`here`: it no longer holds in the conversation that is open either."""

    text: str
    here: bool
