"""A recorded session run again without a network: the real loop and fold, recorded replies and outcomes.

Every request is made twice. Once from the entries alone, by the same fold as a resume; once by the loop, which is
given what the model said and what the tools brought, and has to come to the same bytes by itself: repair, storms,
limits, nudges and the order of things included. A step that the loop cannot be driven through stands on the first
alone, and its line says why.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from overt.app.records._looping import Looping
from overt.app.records._recorded import Stretch, stretch
from overt.app.records.rebuild import rebuild, wire_of
from overt.app.session_title import title_request
from overt.context.assemble import Assembler
from overt.core.events import Compacted, Event, PrefixReset, PrefixSet, RequestSent, TitleSet, UserSpoke
from overt.core.fragments import USER
from overt.core.history import History, fold, fold_all
from overt.core.requests import Request
from overt.providers.wires.registry import make_wire
from overt.sessions.entries import Entry

State = Literal["same", "folded", "differs"]


class Unlike(Struct, frozen=True, kw_only=True):
    """A difference: `seq` is the entry it was found at, `byte` the first one of the request where that is known."""

    agent: str
    turn: int
    step: int
    seq: int
    what: str
    byte: int | None = None


class Check(Struct, frozen=True, kw_only=True):
    """One request. `folded`: it is the same, made from the entries; `why` the loop was not asked."""

    agent: str
    turn: int
    step: int
    seq: int
    sent: RequestSent | TitleSet
    state: State
    why: str = ""


class Rerun(Struct, frozen=True, kw_only=True):
    checks: tuple[Check, ...]
    unlike: tuple[Unlike, ...]


async def rerun(entries: Sequence[Entry[Event]]) -> Rerun:
    """Every request of every agent of a session, made again and compared with what was sent."""
    checks: list[Check] = []
    unlike: list[Unlike] = []
    for agent in dict.fromkeys(entry.agent for entry in entries):
        driving = _Driving(tuple(entry for entry in entries if entry.agent == agent), agent)
        await driving.run()
        checks += driving.checks
        unlike += driving.unlike
    return Rerun(
        checks=tuple(sorted(checks, key=lambda check: check.seq)),
        unlike=tuple(sorted(unlike, key=lambda found: found.seq)),
    )


class _Driving:
    """One agent's entries, with the loop run over every stretch of them that asked a model."""

    def __init__(self, entries: tuple[Entry[Event], ...], agent: str) -> None:
        self.checks: list[Check] = []
        self.unlike: list[Unlike] = []
        self._entries = entries
        self._agent = agent
        self._rebuilt = {found.seq: found.differs for found in rebuild(entries, agent=agent)}
        self._history = History()
        self._opening: PrefixSet | None = None
        self._assembler: Assembler | None = None
        self._turn_begun = 0
        self._unled = ""

    async def run(self) -> None:
        at = 0
        while at < len(self._entries):
            entry = self._entries[at]
            if isinstance(entry.data, RequestSent) and entry.data.purpose == "step":
                at = await self._stretch(at)
            else:
                self._absorb(entry)
                at += 1

    def _absorb(self, entry: Entry[Event]) -> None:
        """What the loop has no part in is taken as it was recorded."""
        match entry.data:
            case PrefixSet() as opening:
                self._opening = opening
                self._assembler = Assembler(wire_of(opening), vendor=opening.provider)
            case PrefixReset() | Compacted():
                if self._assembler:
                    self._assembler.forget()
            case _:
                self._beside(entry)
        self._history = fold(self._history, entry.data)

    def _beside(self, entry: Entry[Event]) -> None:
        """Requests that the loop has no part in."""
        match entry.data:
            case RequestSent(purpose="summary" | "title" as purpose) as sent:
                self._settle(entry, sent, f"it asked for a {purpose}")
            case TitleSet(digest=digest) as title if digest:
                self._title(entry, title)
            case _:
                pass

    async def _stretch(self, start: int) -> int:
        """Run the loop from here as far as the record goes; where the next entry stands that it did not cover."""
        found, before = stretch(self._entries, start), self._history
        turn = self._entries[start].turn
        why, self._unled = self._unled, ""
        if self._opening is None or self._assembler is None:
            self._settle(found.steps[0].entry, found.steps[0].sent, why)
            stop = found.steps[1].at if len(found.steps) > 1 else found.stop
        else:
            looping = Looping(found, before, self._opening, self._assembler, fresh=self._turn_begun != turn)
            await looping.run(self._agent)
            stop = self._judge(looping, found, why)
        for entry in self._entries[start:stop]:
            self._beside(entry)
        self._turn_begun = turn
        self._history = fold_all(before, (entry.data for entry in self._entries[start:stop]))
        return stop

    def _judge(self, looping: Looping, found: Stretch, why: str) -> int:
        """Enter what the loop came to. From the first step that it did not, another run begins."""
        seen = looping.passed
        for number, step in enumerate(found.steps[:seen]):
            self._settle(step.entry, step.sent, why if number == 0 else "")
        if looping.unlike:
            where, what, request = looping.unlike
            self._unlike(where.entry, what, request)
            if request is not None:
                self._check(where.entry, where.sent, "differs", what)
                seen += 1
        if seen == 0:
            first = found.steps[0]
            self._settle(first.entry, first.sent, looping.unable or "the loop did not ask for it")
            seen = 1
        elif seen < len(found.steps):
            self._unled = looping.unable or "the loop had gone another way before it"
        return found.steps[seen].at if seen < len(found.steps) else found.stop

    # ── what was found ───────────────────────────────────────────────────────────────────────────────────

    def _settle(self, entry: Entry[Event], sent: RequestSent, why: str) -> None:
        """The loop had nothing against it: the fold has to agree."""
        differs = self._rebuilt.get(entry.seq, "no prefix was recorded before it")
        if differs:
            self._unlike(entry, differs, None)
        self._check(entry, sent, "differs" if differs else "folded" if why else "same", differs or why)

    def _check(self, entry: Entry[Event], sent: RequestSent | TitleSet, state: State, why: str) -> None:
        self.checks.append(
            Check(agent=self._agent, turn=entry.turn, step=entry.step, seq=entry.seq, sent=sent, state=state, why=why)
        )

    def _unlike(self, entry: Entry[Event], what: str, request: Request | None) -> None:
        byte = self._first_byte(entry, request)
        self.unlike.append(
            Unlike(agent=self._agent, turn=entry.turn, step=entry.step, seq=entry.seq, what=what, byte=byte)
        )

    def _first_byte(self, entry: Entry[Event], request: Request | None) -> int | None:
        """Known when the entries give the body that was sent, and the loop another."""
        if request is None or self._rebuilt.get(entry.seq, "?"):
            return None
        for found in rebuild(self._entries, agent=self._agent):
            if found.seq == entry.seq:
                one, other = found.made.request.body(), request.body()
                return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
        return None

    def _title(self, entry: Entry[Event], title: TitleSet) -> None:
        spoken = (each.data for each in self._entries if isinstance(each.data, UserSpoke))
        prompt = next((event.message.text() for event in spoken if event.message.origin == USER), "")
        made = title_request(make_wire(title.wire, title.about), title.model, prompt).request
        same = (made.digest, made.length) == (title.digest, title.length)
        what = f"the request for a title was {title.length} bytes, and its prompt gives {made.length}"
        if not same:
            self._unlike(entry, what, None)
        self._check(entry, title, "folded" if same else "differs", "it asked for a title" if same else what)
