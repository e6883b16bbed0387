"""What happened, past tense. Facts among these are entries of the session file (see `sessions/entry_types.py`).

Live run, resume, replay and fork fold the same structs. `agent` is the path of the agent it happened to;
the session line carries it beside the data, so it is left out of the data when that is written.
"""

from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from overt.core.file_states import GitState
from overt.core.messages import Call, Message, Result
from overt.core.redaction import Exact, RuleText
from overt.core.requests import Finish, Params, Prefix
from overt.core.settings import Calls, ModelFacts
from overt.core.spending.usage import Usage
from overt.core.views import Todo, View

EndReason = Literal["done", "interrupted", "error", "limit", "denied", "storm", "terminated"]
Level = Literal["info", "warning", "error"]


class Event(Struct, frozen=True, kw_only=True, omit_defaults=True):
    agent: Exact = "main"


Emit = Callable[[Event], None]
"""Record an event, fold it into the state of the session and publish it, before it returns."""


# ── facts: recorded before they are shown ────────────────────────────────────────────────────────────────


class SessionOpened(Event, frozen=True, kw_only=True):
    """The header line. `parent` is the session that this one was forked from or, with an `agent_path`, the session of
    the agent that started this one."""

    id: Exact
    format: int
    overt: str
    workspace: Exact
    project: Exact
    created: str
    parent: Exact = ""
    agent_path: Exact = ""


class PrefixSet(Event, frozen=True, kw_only=True):
    """The system prompt and the tools in full, for every request up to the next `PrefixSet`.

    `about` and `calls` say how the wire was used. `tool_names` are the tools that the system prompt describes itself.
    `profile` names the profile of the agent; empty for the usual main agent.
    """

    prefix: Prefix
    provider: Exact
    model: Exact
    wire: Exact
    encoder: int
    fingerprint: Exact
    about: ModelFacts | None = None
    calls: Calls = "native"
    tool_names: tuple[str, ...] = ()
    profile: Exact = ""


class UserSpoke(Event, frozen=True, kw_only=True):
    """A prompt that opened a turn, or a text that steered one."""

    message: Message
    steered: bool = False


class RequestSent(Event, frozen=True, kw_only=True):
    """`digest` and `length` are of the exact body; `stable` is the running hash without the closing bytes.

    `shared` is how many of its bytes the request before had in the same place: what a cache could hold. `also` are
    messages that went out behind the history and are no part of it, as for a `summary` or a `title`.
    """

    digest: Exact
    length: int
    stable: Exact
    stable_length: int
    params: Params
    messages: int
    encoder: int
    forced: bool = False
    shared: int = 0
    purpose: Literal["step", "summary", "title", "web"] = "step"
    also: tuple[Message, ...] = ()


class Replied(Event, frozen=True, kw_only=True):
    """With `estimated`, the reply broke off before the server had counted it: `usage` is our estimate."""

    message: Message
    finish: Finish
    usage: Usage
    model: str = ""
    forced: bool = False
    skipped: int = 0
    ms: int = 0
    estimated: bool = False


class Repaired(Event, frozen=True, kw_only=True):
    """`before` is what the model wrote, where the reply does not hold it any more."""

    call_id: Exact
    note: str
    before: str = ""


class ToolStarted(Event, frozen=True, kw_only=True):
    """`call` is the repaired call; what the model wrote stands in the reply."""

    call: Call
    effects: tuple[str, ...] = ()
    headline: str = ""


class PermissionDecided(Event, frozen=True, kw_only=True):
    """`rule` is the text of the rule that decided and `origin` the place that set it.

    `allowed_by` are flags or settings that would have allowed a call which was denied because nobody could be asked.
    """

    call_id: Exact
    verdict: Literal["allow", "deny"]
    rule: str
    origin: str
    by: Literal["rule", "mode", "person", "guard"]
    reason: str = ""
    remembered: str = ""
    allowed_by: tuple[str, ...] = ()


class SnapshotTaken(Event, frozen=True, kw_only=True):
    """The state of a file just before a change, and `after` it: hash and mode, or that it did not exist.

    `hash` names the content in the store of snapshots. `uncovered` says why it could not be kept there.
    """

    call_id: Exact
    path: Exact
    existed: bool
    hash: Exact = ""
    mode: int = 0
    after: Exact = ""
    after_mode: int = 0
    uncovered: str = ""


class TreeTaken(Event, frozen=True, kw_only=True):
    """The files of the workspace before and after a command that may write, as the shadow store names them.

    `changed` counts the files that differ; `uncovered` names what the store does not hold, and why. If the command was
    `tracked`, it made all changes between the two but those in `others`, and those in `shared` were also changed by
    somebody else. If not, any of them may be somebody else's.
    """

    call_id: Exact
    before: Exact
    after: Exact
    changed: int = 0
    uncovered: tuple[str, ...] = ()
    tracked: bool = False
    shared: tuple[Exact, ...] = ()
    others: tuple[Exact, ...] = ()


class GitMoved(Event, frozen=True, kw_only=True):
    """The repository at `git_dir` before and after a command that changed HEAD, a ref, the stash or the index.

    The `refs` of both states hold only refs that differ. With the call id `restore`, `overt undo --git` did it, for
    the git changes of `turns`.
    """

    call_id: Exact
    git_dir: Exact
    before: GitState
    after: GitState
    turns: tuple[int, ...] = ()


class Restored(Event, frozen=True, kw_only=True):
    """Files were put back to how they stood before `turn` (`undo`, `rewind`) or after it (`redo`).

    `left` are paths that were not put back, because somebody else may have changed them.
    """

    way: Literal["undo", "redo", "rewind"]
    turn: int
    paths: tuple[str, ...] = ()
    left: tuple[Exact, ...] = ()


class ToolFinished(Event, frozen=True, kw_only=True):
    """`seen` maps paths whose content the model now knows to the hash of that content."""

    result: Result
    view: View
    seen: dict[Exact, Exact] = {}
    code: str = ""
    ms: int = 0


class TodoSet(Event, frozen=True, kw_only=True):
    items: tuple[Todo, ...]


class ModeSet(Event, frozen=True, kw_only=True):
    mode: str
    by: str


class ModelSet(Event, frozen=True, kw_only=True):
    provider: Exact
    model: Exact
    by: str


class TitleSet(Event, frozen=True, kw_only=True):
    """What a list of sessions calls this one. Without a `model` a person gave the name.

    In older sessions the request for it has no entries of its own: `usage` is what it cost, and with `wire` and
    `about` it can be made again from the first prompt; `digest` and `length` are of its body.
    """

    title: str
    model: Exact
    usage: Usage = Usage()
    provider: Exact = ""
    wire: Exact = ""
    about: ModelFacts | None = None
    digest: Exact = ""
    length: int = 0
    ms: int = 0


class PrefixReset(Event, frozen=True, kw_only=True):
    """From here on a request need not extend the one before it. `keep` messages of the history remain.

    With `era` they are those of an earlier state: see `History.eras`. With `turn` the user went back to before it.
    """

    cause: str
    keep: int | None = None
    era: int | None = None
    turn: int = 0


class Compacted(Event, frozen=True, kw_only=True):
    """Older parts of the history gave way; what left stands in the entries before this one.

    The results of `pruned` calls give their place to `text`. Messages `start` to `end` (not included) give theirs
    to `summary`: what stays word for word, then the summary itself. `before` and `after` are estimated tokens.
    """

    cause: Literal["limit", "asked", "overflow"]
    pruned: tuple[Exact, ...] = ()
    text: str = ""
    start: int = 0
    end: int = 0
    summary: tuple[Message, ...] = ()
    before: int = 0
    after: int = 0
    usage: Usage = Usage()
    model: str = ""
    ms: int = 0


class Pinned(Event, frozen=True, kw_only=True):
    """The person wants these words to survive every compaction as they are; `off` takes it back."""

    text: str
    off: bool = False


class BudgetSet(Event, frozen=True, kw_only=True):
    """The user set a spend limit for the session in US dollars or uncached tokens; 0 is no limit, None no change."""

    dollars: float | None = None
    tokens: int | None = None


class Noticed(Event, frozen=True, kw_only=True):
    """A text for the user. The `kind` is `waiting` if it only says that the server has not answered yet.

    Earlier versions wrote a notice with `budget` in place of `BudgetSet`.
    """

    text: str
    level: Level = "info"
    kind: str = ""
    budget: float | None = None


class PartialSaved(Event, frozen=True, kw_only=True):
    """What had streamed so far, for a reader after a crash; never folded into the history."""

    text: str


class TurnEnded(Event, frozen=True, kw_only=True):
    reason: EndReason
    text: str = ""
    usage: Usage = Usage()
    steps: int = 0
    ms: int = 0
    kind: str = ""


class Unknown(Event, frozen=True, kw_only=True):
    """An entry of a type this version does not know; kept as it stands, skipped by fold."""

    type: Exact
    data: Any = None


# ── not facts: shown at once, never recorded as such ─────────────────────────────────────────────────────


class TurnStarted(Event, frozen=True, kw_only=True):
    turn: int


class TextStreamed(Event, frozen=True, kw_only=True):
    text: str


class ReasoningStreamed(Event, frozen=True, kw_only=True):
    text: str


class CallStreamed(Event, frozen=True, kw_only=True):
    index: int
    name: str
    characters: int
    ready: int


class PermissionAsked(Event, frozen=True, kw_only=True):
    """A question for a person. `always` is the rule that `always` would store; empty: only once or deny.

    `affects` are the things the call would change, each with what stands there now. `hazards` are the words of a
    command that make it dangerous; `described` is what the model says of it, which need not be true.
    `network`: to allow it opens the network to it, and `session` is an answer too; `network_reason` is why it needs
    the network in the words of the model.
    """

    id: Exact
    call: Call
    headline: str
    why: str
    view: View
    always: RuleText = ""
    dangerous: bool = False
    affects: tuple[str, ...] = ()
    hazards: tuple[str, ...] = ()
    described: str = ""
    network: bool = False
    network_reason: str = ""


class ToolProgressed(Event, frozen=True, kw_only=True):
    call_id: Exact
    text: str


class Retried(Event, frozen=True, kw_only=True):
    attempt: int
    attempts: int
    wait: float
    reason: str
