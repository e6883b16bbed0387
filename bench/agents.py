"""What sub-agents cost: ten at once against one, with a server that takes a second for each reply."""

from collections.abc import Iterator
from statistics import median

from tests.fakes.model_server import FakeCall, Fault, ModelServer, Recorded, Turn

from bench.runs import Run, Site, interleaved
from bench.server import write_files
from bench.table import Row, Series

AT_ONCE, FILES = 10, 20
REPLY_S = 1.0
AT_MOST = 1.5
MIB_EACH = 6.0
SLOW = Fault(stall_before_headers=REPLY_S)


def agents(site: Site) -> Iterator[Row]:
    workspace = site.fresh("agents")
    names = write_files(workspace, count=FILES)
    with (
        ModelServer(choose=lambda request, _: _reply(request, AT_ONCE, names)) as many,
        ModelServer(choose=lambda request, _: _reply(request, 1, names)) as one,
    ):

        def run(server: ModelServer) -> Run:
            return site.overt(server.port, workspace)

        ours, alone = interleaved(site.times(3), lambda: run(many), lambda: run(one))
    mine, theirs = Series([each.wall for each in ours]), Series([each.wall for each in alone])
    yield Row(
        name=f"ten sub-agents, {FILES} files each, {REPLY_S:g} s a reply (one)",
        ours=mine.s(),
        yardstick=theirs.s(),
        ratio=mine.median / theirs.median,
        budget=f"{AT_MOST:g} x",
        ok=mine.median / theirs.median <= AT_MOST,
    )
    each = (median(run.mib for run in ours) - median(run.mib for run in alone)) / (AT_ONCE - 1)
    yield Row(
        name="memory of one more sub-agent",
        ours=f"{each:.1f} MiB",
        yardstick=Series([run.mib for run in alone]).mib(),
        budget=f"{MIB_EACH:g} MiB",
        ok=each <= MIB_EACH,
    )


def _reply(request: Recorded, count: int, names: list[str]) -> Turn:
    """The main agent starts `count` agents; each of them reads one file a step."""
    messages = request.json()["messages"]
    answered = sum(message["role"] == "tool" for message in messages)
    if not any(message["role"] == "user" and "read the notes" in str(message["content"]) for message in messages):
        tasks = [FakeCall(name="task", arguments={"prompt": f"read the notes, part {part}"}) for part in range(count)]
        return Turn(text="done", fault=SLOW) if answered else Turn(calls=tuple(tasks), fault=SLOW)
    if answered == len(names):
        return Turn(text="all read", fault=SLOW)
    return Turn(calls=(FakeCall(name="read", arguments={"path": names[answered]}),), fault=SLOW)
