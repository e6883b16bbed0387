"""`make bench`: measure everything, print the table."""

import argparse
import compileall
import os
import platform
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from bench import agents, box, extensions, search, sessions, snapshots, startup, steps, terminal, wholes, wires
from bench.runs import OVERT, ROOT, Site
from bench.table import Row, printed

SCENARIOS: dict[str, Callable[[Site], Iterator[Row]]] = {
    "version": startup.version,
    "first-request": startup.first_request,
    "skills": extensions.skills,
    "plugins": extensions.plugins,
    "servers": startup.servers,
    "step": steps.reading,
    "shell": steps.shell,
    "growth": steps.growth,
    "twenty": wholes.twenty,
    "parallel": wholes.parallel,
    "agents": agents.agents,
    "stream": wholes.stream,
    "wires": wires.wires,
    "search": search.search,
    "sessions": sessions.sessions,
    "box": box.box,
    "snapshots": snapshots.snapshots,
    "prompt": startup.prompt,
    "painting": terminal.painting,
    "typing": terminal.typing,
    "streaming": terminal.streaming,
    "asking": terminal.asking,
    "pasting": terminal.pasting,
    "long-session": terminal.long_session,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a third of the repetitions")
    parser.add_argument("--only", action="append", choices=SCENARIOS, metavar="NAME", help=", ".join(SCENARIOS))
    parser.add_argument("--strict", action="store_true", help="end with code 1 when a budget is exceeded")
    given = parser.parse_args()
    if not Path(OVERT).exists():
        parser.error(f"{OVERT} does not exist; install the project first: make bench does")
    compileall.compile_dir(ROOT / "src" / "overt", quiet=2)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="overt-bench-") as folder:
        site = Site(Path(folder), quick=given.quick)
        for name in given.only or SCENARIOS:
            print(f"bench: {name} …", file=sys.stderr, flush=True)
            rows += SCENARIOS[name](site)
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    print(
        f"Python {platform.python_version()}, {os.cpu_count()} cores, load {load}; medians, the smallest in brackets\n"
    )
    print(printed(rows))
    over = [row.name for row in rows if row.ok is False]
    print(f"\n{len(over)} over budget" + (f": {'; '.join(over)}" if over else ""))
    return 1 if over and given.strict else 0


if __name__ == "__main__":
    sys.exit(main())
