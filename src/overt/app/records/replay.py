"""`overt replay`: a recorded session run again without a network, with what each of its requests cost.

Every request is made twice. Once from the entries alone, by the same fold as a resume; once by the real loop, which is
given the recorded replies and outcomes and has to come to the same bytes by itself: repair, storms, limits, nudges and
the order of things included. Where the loop cannot be led to a step, only the first is done, and its line says why.
"""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from overt.app.records.loop_replay import LoopDifference, LoopReplay
from overt.app.records.rebuild import Rebuilder, wire_of
from overt.app.records.recorded_steps import read_steps
from overt.app.records.replay_tools import ReplayedCall, run_tools
from overt.app.registries import Registries
from overt.app.session_title import title_request
from overt.config.paths import read_environment
from overt.context.assemble import common_length
from overt.core.agents.agent_events import AgentCharged
from overt.core.events import Event, RequestSent, TitleSet, UserSpoke
from overt.core.requests import Request
from overt.core.spending.spend import Purpose, Spend, fold_spend
from overt.core.spending.usage import Usage
from overt.core.text_fragments import USER
from overt.providers.wires import WireKind, make_wire
from overt.sessions.entries import Entry
from overt.sessions.index import find_path
from overt.sessions.load import load

ASKED_FOR: dict[Purpose, str] = {"summary": "for a summary", "title": "for a title", "web": "about a web page"}


class RequestCost(Struct, frozen=True, kw_only=True):
    """What the reply to a request cost; `possible` is what a cache could have held of the request, in tokens.

    `cost` is in US dollars at the price that was recorded with the session, None if it is unknown.
    """

    usage: Usage = Usage()
    possible: int = 0
    cost: float | None = None
    ms: int = 0


class ReplayedRequest(Struct, frozen=True, kw_only=True):
    """One request: where it stands, what it cost, and whether it would be the same today.

    `folded`: it is the same, made from the entries; `why` says why the loop was not asked.
    """

    agent: str
    turn: int
    step: int
    seq: int
    purpose: Purpose
    bytes: int
    spent: RequestCost = RequestCost()
    state: Literal["same", "folded", "differs"]
    why: str = ""


class ReplayDifference(Struct, frozen=True, kw_only=True):
    """`seq` is the entry where it was found, `byte` the first one of the request that differs, if it is known."""

    agent: str
    turn: int
    step: int
    seq: int
    what: str
    byte: int | None = None


class Report(Struct, frozen=True, kw_only=True):
    """`damage` is what the file itself has lost; `tools` are the calls that were run again."""

    session: str
    path: str
    turns: int
    lines: tuple[ReplayedRequest, ...]
    unlike: tuple[ReplayDifference, ...]
    damage: tuple[str, ...] = ()
    tools: tuple[ReplayedCall, ...] = ()

    @property
    def identical(self) -> bool:
        return not self.unlike and not self.damage and all(call.state != "differs" for call in self.tools)


async def replay(reference: str, registries: Registries, *, tools: bool = False) -> Report:
    path = find_path(read_environment().data_dir, reference, None)
    loaded = load(path)
    requests, differences = await replay_entries(loaded.entries, registries.wires)
    costs = request_costs(loaded.entries)
    return Report(
        session=loaded.id,
        path=path,
        turns=len({entry.turn for entry in loaded.entries if entry.turn}),
        lines=tuple(replace(each, spent=costs.get(each.seq, each.spent)) for each in requests),
        unlike=differences,
        damage=loaded.damage,
        tools=await run_tools(loaded.entries, loaded.opened.workspace, registries) if tools else (),
    )


def request_costs(entries: Sequence[Entry[Event]]) -> dict[int, RequestCost]:
    """Return what each answered request cost, by the number of its entry."""
    costs: dict[int, RequestCost] = {}
    sent: dict[str, int] = {}
    spend = Spend()
    for entry in entries:
        before, spend = spend.last, fold_spend(spend, entry.data)
        if isinstance(entry.data, RequestSent):
            sent[entry.agent] = entry.seq
        if (charge := spend.last) and charge is not before and not isinstance(entry.data, AgentCharged):
            seq = entry.seq if isinstance(entry.data, TitleSet) else sent[entry.agent]
            costs[seq] = RequestCost(usage=charge.usage, possible=charge.possible, cost=charge.cost, ms=charge.ms)
    return costs


async def replay_entries(
    entries: Sequence[Entry[Event]], wires: Sequence[WireKind] = ()
) -> tuple[tuple[ReplayedRequest, ...], tuple[ReplayDifference, ...]]:
    """Make every request of every agent of a session again and compare it with what was sent."""
    requests: list[ReplayedRequest] = []
    differences: list[ReplayDifference] = []
    for agent in dict.fromkeys(entry.agent for entry in entries):
        run = _AgentReplay(tuple(entry for entry in entries if entry.agent == agent), agent, wires)
        await run.run()
        requests += run.requests
        differences += run.differences
    return tuple(sorted(requests, key=lambda each: each.seq)), tuple(sorted(differences, key=lambda each: each.seq))


class _AgentReplay:
    """Walks over the entries of one agent, and runs the loop wherever a turn asked the model."""

    def __init__(self, entries: tuple[Entry[Event], ...], agent: str, wires: Sequence[WireKind]) -> None:
        self.requests: list[ReplayedRequest] = []
        self.differences: list[ReplayDifference] = []
        self._entries = entries
        self._agent = agent
        self._rebuilder = Rebuilder(wires)
        self._wires = wires
        self._turn = 0
        self._why = ""

    async def run(self) -> None:
        at = 0
        while at < len(self._entries):
            if isinstance(sent := self._entries[at].data, RequestSent) and sent.purpose == "step":
                at = await self._replay_steps(at)
            else:
                self._read(self._entries[at])
                at += 1

    async def _replay_steps(self, start: int) -> int:
        """Run the loop as far as the record goes. Return where the next entry is; another run begins at the first step
        that this one did not come to."""
        recorded = read_steps(self._entries, start)
        steps, turn = recorded.steps, self._entries[start].turn
        why, self._why = self._why, ""
        covered, unable, difference = 0, "", None
        opening, assembler = self._rebuilder.opening, self._rebuilder.assembler
        if opening and assembler:
            is_first = self._turn != turn
            wire = wire_of(opening, self._wires)
            loop = LoopReplay(
                recorded, self._rebuilder.history, opening, assembler.beside(), wire=wire, is_first=is_first
            )
            await loop.run(self._agent)
            unable, difference = loop.unable, loop.difference
            covered = loop.passed + (difference is not None and difference.request is not None)
        if not covered:
            covered, why = 1, unable or "the loop did not ask for it"
        elif covered < len(steps):
            self._why = unable or "the loop had gone another way before it"
        stop = steps[covered].at if covered < len(steps) else recorded.stop
        for at in range(start, stop):
            here = difference if difference and difference.step.at == at else None
            self._read(self._entries[at], why if at == start else "", here)
        self._turn = turn
        return stop

    def _read(self, entry: Entry[Event], why: str = "", difference: LoopDifference | None = None) -> None:
        """Fold an entry. If it is a request, add what the entries before it and the loop came to."""
        self._rebuilder.take(entry)
        match entry.data:
            case RequestSent(purpose="step") if difference and difference.request:
                byte = self._first_byte(entry, difference.request)
                self._add(entry, "step", difference.what, is_same=False, byte=byte)
            case RequestSent(purpose=purpose):
                if difference:
                    self._differ(entry, difference.what)
                rebuilt = self._rebuilder.request_at(entry)
                differs = rebuilt.differs if rebuilt else "no prefix was recorded before it"
                reason = why if purpose == "step" else f"it asked {ASKED_FOR[purpose]}"
                self._add(entry, purpose, differs or reason, is_same=not differs)
            case TitleSet(digest=digest) as title if digest:
                request = self._title_request(title)
                is_same = (request.digest, request.length) == (title.digest, title.length)
                differs = f"the request for a title was {title.length} bytes, and its prompt gives {request.length}"
                self._add(entry, "title", "it asked for a title" if is_same else differs, is_same=is_same)
            case _:
                pass

    def _add(
        self,
        entry: Entry[Event],
        purpose: Purpose,
        why: str,
        *,
        is_same: bool,
        byte: int | None = None,
    ) -> None:
        assert isinstance(entry.data, RequestSent | TitleSet)
        if not is_same:
            self._differ(entry, why, byte)
        self.requests.append(
            ReplayedRequest(
                agent=self._agent,
                turn=entry.turn,
                step=entry.step,
                seq=entry.seq,
                purpose=purpose,
                bytes=entry.data.length,
                state="differs" if not is_same else "folded" if why else "same",
                why=why,
            )
        )

    def _differ(self, entry: Entry[Event], what: str, byte: int | None = None) -> None:
        self.differences.append(
            ReplayDifference(agent=self._agent, turn=entry.turn, step=entry.step, seq=entry.seq, what=what, byte=byte)
        )

    def _first_byte(self, entry: Entry[Event], request: Request) -> int | None:
        """Return the first byte that differs. It is known if the entries give the body that was sent."""
        rebuilt = self._rebuilder.request_at(entry)
        if rebuilt is None or rebuilt.differs:
            return None
        return common_length(rebuilt.request.body(), request.body())

    def _title_request(self, title: TitleSet) -> Request:
        spoken = (each.data.message for each in self._entries if isinstance(each.data, UserSpoke))
        prompt = next((message.text() for message in spoken if message.origin == USER), "")
        return title_request(make_wire(title.wire, title.about, extra=self._wires), title.model, prompt).request
