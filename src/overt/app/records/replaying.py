"""What `overt replay` asks: a session run again, with what each of its requests cost."""

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from overt.app.records.replay import State, Unlike, rerun
from overt.app.records.replay_tools import Again, run_tools
from overt.config.paths import read_environment
from overt.core.events import Event, RequestSent, TitleSet
from overt.core.spending.cost import dollars
from overt.core.spending.spend import Spend, fold_spend
from overt.core.spending.usage import Usage
from overt.sessions.entries import Entry
from overt.sessions.index import find
from overt.sessions.load import load

__all__ = ["Again", "Line", "Report", "Spent", "Unlike", "dollars", "replay"]


class Spent(Struct, frozen=True, kw_only=True):
    """What the reply to a request cost; `possible` is what a cache could have held of the request, in tokens.

    `cost` is in US dollars at the price that was recorded with the session; None: nobody knows it.
    """

    usage: Usage = Usage()
    possible: int = 0
    cost: float | None = None
    ms: int = 0


class Line(Struct, frozen=True, kw_only=True):
    """One request: where it stands, what it cost, and whether it would be the same today."""

    agent: str
    turn: int
    step: int
    seq: int
    purpose: Literal["step", "summary", "title"]
    bytes: int
    spent: Spent
    state: State
    why: str = ""


class Report(Struct, frozen=True, kw_only=True):
    """`damage` is what the file itself has lost; `tools` are the calls that were run again."""

    session: str
    path: str
    turns: int
    lines: tuple[Line, ...]
    unlike: tuple[Unlike, ...]
    damage: tuple[str, ...] = ()
    tools: tuple[Again, ...] = ()

    @property
    def identical(self) -> bool:
        return not self.unlike and not self.damage and all(call.state != "differs" for call in self.tools)


async def replay(reference: str, *, tools: bool = False) -> Report:
    path = find(read_environment().data_dir, reference, None)
    loaded = load(path)
    found = await rerun(loaded.entries)
    spent = spending(loaded.entries)
    lines = (
        Line(
            agent=check.agent,
            turn=check.turn,
            step=check.step,
            seq=check.seq,
            purpose="title" if isinstance(check.sent, TitleSet) else check.sent.purpose,
            bytes=check.sent.length,
            spent=spent.get(check.seq, Spent()),
            state=check.state,
            why=check.why,
        )
        for check in found.checks
    )
    return Report(
        session=loaded.id,
        path=path,
        turns=len({entry.turn for entry in loaded.entries if entry.turn}),
        lines=tuple(lines),
        unlike=found.unlike,
        damage=loaded.damage,
        tools=await run_tools(loaded.entries, loaded.opened.workspace) if tools else (),
    )


def spending(entries: Sequence[Entry[Event]]) -> dict[int, Spent]:
    """Return what each answered request cost, by the number of its entry."""
    costs: dict[int, Spent] = {}
    sent: dict[str, int] = {}
    spend = Spend()
    for entry in entries:
        before, spend = spend.last, fold_spend(spend, entry.data)
        if isinstance(entry.data, RequestSent):
            sent[entry.agent] = entry.seq
        if (charge := spend.last) and charge is not before:
            seq = entry.seq if isinstance(entry.data, TitleSet) else sent[entry.agent]
            costs[seq] = Spent(usage=charge.usage, possible=charge.possible, cost=charge.cost, ms=charge.ms)
    return costs
