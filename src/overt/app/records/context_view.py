"""What a model was sent, as `overt context` and `/context` show it: requests made again from the session file.

Nothing of a damaged file is shown as if it were what was sent: the entry that was changed is named instead.
"""

import os
from collections.abc import Callable, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from overt.app.records.rebuild import RebuiltRequest, rebuild
from overt.app.setting import Setting
from overt.context.cache import CacheMeter, CacheStep, CacheTotals, sum_steps
from overt.context.provenance import RequestSpan, mark_cached, scale_tokens, trace_spans
from overt.core.errors import SessionError, UsageError
from overt.core.events import Event, RequestSent
from overt.core.spending.usage import Usage
from overt.lib.translations import say
from overt.providers.wires import WireKind
from overt.sessions.entries import Entry, decode_line
from overt.sessions.index import find_path, latest_path
from overt.sessions.load import load, open_regular

RequestFilter = Callable[[RebuiltRequest], bool]


class OpenedSession(Struct, frozen=True, kw_only=True):
    """A session file as it was read; `damage` names every line that is not what was written."""

    path: str
    id: str
    entries: tuple[Entry[Event], ...]
    damage: tuple[str, ...] = ()
    limit: int = 0
    wires: tuple[WireKind, ...] = ()


class RequestRow(Struct, frozen=True, kw_only=True):
    """One request in the list of all. `step` is None as long as no reply has told what it took.

    `number` is 0 for a request beside the conversation: it has the name of its purpose instead.
    """

    number: int
    turn: int
    at: int
    length: int
    purpose: str
    model: str
    shared: int
    resets: tuple[str, ...] = ()
    step: CacheStep | None = None
    differs: str = ""


class RequestView(Struct, frozen=True, kw_only=True):
    """One request with the origin of each of its bytes. `used` is reported by the server, or else estimated."""

    session: str
    number: int
    turn: int
    step: int
    purpose: str
    provider: str
    model: str
    wire: str
    length: int
    digest: str
    limit: int
    used: int
    reported: bool
    usage: Usage
    resets: tuple[str, ...]
    spans: tuple[RequestSpan, ...]


def open_session(reference: str, setting: Setting) -> OpenedSession:
    """The session whose id begins so; without one the newest of the project."""
    path = _path(reference, setting)
    limit = setting.config.context_window or 0
    try:
        loaded = load(path)
    except SessionError as error:
        if error.code != "newer":
            raise
        raise SessionError(f"{path}: {_newer_line(path)}: {error.message}", code=error.code) from None
    wires = setting.registries.wires
    return OpenedSession(
        path=path, id=loaded.id, entries=loaded.entries, damage=loaded.damage, limit=limit, wires=wires
    )


def _path(reference: str, setting: Setting) -> str:
    data, project = setting.environment.data_dir, setting.roots.project
    if reference:
        return find_path(data, reference, project)
    path = latest_path(data, project)
    if path is None:
        raise SessionError(say("session.none", project=project), code="missing")
    return path


def _newer_line(path: str) -> str:
    """The first line that claims a newer format: one changed digit may be all that is new about it."""
    with open_regular(path) as file:
        for number, line in enumerate(file, 1):
            try:
                decode_line(line)
            except SessionError:
                return f"line {number}"
            except ValueError:
                continue
    return "line 1"


def exact_request(opened: OpenedSession, matches: RequestFilter, reference: str) -> RebuiltRequest:
    """The request as it was sent, to the byte, or an error that names the entry which does not let it be made."""
    if opened.damage:
        raise SessionError(
            f"{opened.path}: {'; '.join(opened.damage)}. What was sent cannot be made again from a file that was "
            f"changed; `overt sessions check {opened.id}` tells what is lost."
        )
    request = find_request(opened, matches, reference)
    if request.differs:
        raise SessionError(f"{opened.path}: line {request.seq}: entry {request.seq}: {request.differs}")
    return request


def find_request(opened: OpenedSession, matches: RequestFilter, reference: str) -> RebuiltRequest:
    """The last request that is wanted."""
    match: RebuiltRequest | None = None
    last: RebuiltRequest | None = None
    for request in rebuild(opened.entries, opened.wires):
        last = request
        match = request if matches(request) else match
    if match is None:
        match = next((request for request in reversed([*rebuild_other_agents(opened)]) if matches(request)), None)
    if match is not None:
        return match
    if last is None:
        raise SessionError(f"Session {opened.id} has no request: nothing was sent in it yet.", code="missing")
    raise UsageError(
        f"session {opened.id} has no request {reference}: there are {last.number}, in turns up to {last.turn}. "
        f"`overt context {opened.id} --requests` lists them."
    )


def requests_between(opened: OpenedSession, one: int, other: int) -> tuple[RebuiltRequest, ...]:
    """Those after the one, up to and with the other."""
    return tuple(request for request in rebuild(opened.entries, opened.wires) if one < request.number <= other)


def parse_reference(text: str, flag: str) -> RequestFilter:
    """`5`: the fifth request; `3.2`: the second step of turn 3; `title`: the one for the title of the session; `web`:
    the last one about a web page."""
    if text in ("title", "web"):
        return lambda request: request.sent.purpose == text
    turn, dot, step = text.partition(".")
    first, second = _number(turn), _number(step) if dot else 0
    if first is None or second is None:
        raise UsageError(f"{flag} takes the number of a request, or TURN.STEP as in 3.2, got {text!r}")
    if not dot:
        return lambda request: request.number == first
    return lambda request: (request.turn, request.step) == (first, second)


def parse_turn(turn: str, step: str) -> RequestFilter:
    """The last request of a turn, or the one of a step of it; without a turn the last of the session."""
    numbers = [_parse_number("--turn", turn), _parse_number("--step", step)]
    return lambda request: (
        request.number > 0
        and all(number in (None, actual) for number, actual in zip(numbers, (request.turn, request.step), strict=True))
    )


def _parse_number(flag: str, text: str) -> int | None:
    if not text:
        return None
    if number := _number(text):
        return number
    raise UsageError(f"{flag} must be a whole number above 0, got {text!r}")


def _number(text: str) -> int | None:
    """Return a number above 0, or None if the text is none."""
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    return number or None


def describe_request(opened: OpenedSession, request: RebuiltRequest) -> RequestView:
    steps = {step.number: step for step in measure_cache(opened.entries).steps} if request.number else {}
    usage = request.reply.usage if request.reply else Usage()
    step = steps.get(request.number)
    if step and not usage.input:
        usage = Usage(input=step.input, cached=step.cached)
    spans = trace_spans(request.wire(), request.request, vendor=request.opening.provider)
    spans = scale_tokens(spans, usage.input)
    if step and any(each.cached for each in steps.values()):
        spans = mark_cached(
            spans, tokens=step.cached, upto=request.sent.shared if _all_there_was(step, request.sent) else None
        )
    about = request.opening.about
    return RequestView(
        session=opened.id,
        number=request.number,
        turn=request.turn,
        step=request.step,
        purpose=request.sent.purpose,
        provider=request.opening.provider,
        model=request.opening.model,
        wire=request.opening.wire,
        length=request.sent.length,
        digest=request.sent.digest,
        limit=opened.limit or (about.window if about else 0),
        used=usage.input or sum(span.tokens for span in spans),
        reported=bool(usage.input),
        usage=usage,
        resets=request.resets,
        spans=spans,
    )


def _all_there_was(step: CacheStep, sent: RequestSent) -> bool:
    """The server had what it could have: then the cache ends where the common beginning does, to the byte.

    It may have had more, from another session: then only its tokens tell where that ends.
    """
    if step.cached * sent.length > 1.1 * step.input * sent.shared:
        return False
    return abs(step.possible - step.cached) <= max(1, step.possible // 200)


def list_requests(opened: OpenedSession) -> tuple[tuple[RequestRow, ...], CacheTotals]:
    """Every request in the order in which they were sent, those beside the conversation included, and their sums."""
    rows: list[tuple[int, RequestRow]] = []
    steps: list[CacheStep] = []
    for agent in dict.fromkeys(("main", *_aside(opened.entries))):
        meter = measure_cache(opened.entries, agent=agent)
        answered = {step.number: step for step in meter.steps}
        steps += meter.steps
        for request in rebuild(opened.entries, opened.wires, agent=agent):
            row = RequestRow(
                number=request.number if agent == "main" else 0,
                turn=request.turn,
                at=request.step,
                length=request.sent.length,
                purpose=request.sent.purpose,
                model=request.opening.model,
                shared=request.sent.shared,
                resets=request.resets,
                step=answered.get(request.number),
                differs=request.differs,
            )
            rows.append((request.seq, row))
    return tuple(row for _, row in sorted(rows, key=lambda pair: pair[0])), sum_steps(steps)


def rebuild_other_agents(opened: OpenedSession) -> Iterator[RebuiltRequest]:
    """Requests beside the conversation, as for a title; they have no number among its requests."""
    for agent in _aside(opened.entries):
        for request in rebuild(opened.entries, opened.wires, agent=agent):
            yield replace(request, number=0)


def _aside(entries: Iterable[Entry[Event]]) -> list[str]:
    return [agent for agent in dict.fromkeys(entry.agent for entry in entries) if agent != "main"]


def measure_cache(entries: Iterable[Entry[Event]], *, agent: str = "main") -> CacheMeter:
    meter = CacheMeter()
    for event in _of_agent(entries, agent):
        meter.feed(event)
    return meter


def _of_agent(entries: Iterable[Entry[Event]], agent: str) -> Iterator[Event]:
    """What happened to an agent, from its first prefix on, as `rebuild` counts it."""
    begun = False
    for entry in entries:
        if entry.agent == agent:
            begun = begun or entry.type == "prefix"
            if begun or not isinstance(entry.data, RequestSent):
                yield entry.data


def terminal_width(descriptor: int) -> int:
    """Return the width of the terminal, or 160 if the output is not a terminal."""
    try:
        return max(40, os.get_terminal_size(descriptor).columns)
    except OSError:
        return 160
