"""What skills and plugins cost a start that uses none of them: first paint and first request, beside one without."""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import json

from bench.runs import Site
from bench.server import Server, text
from bench.table import Row, compared
from bench.terminal import MARK, chat

EXAMPLE = Path(__file__).parent.parent / "examples/plugin"
AT_MOST = 1.05
REPLY_AFTER_S = 0.25
SETTLED_S = 3
"""Until the change times of files are old enough to be believed."""


def skills(site: Site) -> Iterator[Row]:
    """150 skills of the user, and the same in a trusted project."""
    user, project = _variant(site, "skills-user"), _variant(site, "skills-project")
    _add_skills(user.home / ".config/overt/skills")
    _add_skills(project.folder / "chat/.overt/skills")
    yield from _rows(site, {"150 skills of the user": user, "150 skills of a trusted project": project})


def plugins(site: Site) -> Iterator[Row]:
    """Ten plugins, each with a hook, an MCP server and twenty more files; then with 150 skills as well."""
    alone, both = _variant(site, "plugins"), _variant(site, "both")
    _add_plugins(alone)
    _add_plugins(both)
    _add_skills(both.home / ".config/overt/skills")
    yield from _rows(site, {"ten plugins": alone, "150 skills and ten plugins": both})


def _variant(site: Site, name: str) -> Site:
    """A home of its own, and the workspace `chat`."""
    variant = Site(site.fresh(name), quick=site.quick, program=site.program)
    variant.fresh("chat")
    return variant


def _add_skills(folder: Path) -> None:
    for number in range(150):
        name = f"skill-{number}"
        (folder / name).mkdir(parents=True)
        (folder / name / "SKILL.md").write_text(
            f"---\nname: {name}\ndescription: Work of the kind {number}. Use it when a task speaks of {number}.\n---\n"
            + f"# Skill {number}\n\n"
            + "1. Look at the files first.\n2. Change what must change.\n" * 40
        )


def _add_plugins(variant: Site) -> None:
    for number in range(10):
        name = f"plugin-{number}"
        folder = variant.fresh(f"source-{name}")
        shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
        (folder / ".claude-plugin/plugin.json").write_bytes(json.encode({"name": name}))
        for page in range(20):
            (folder / f"page-{page}.md").write_text("text\n" * 100)
        variant.run([variant.program, "plugin", "add", "--yes", str(folder)], cwd=variant.folder / "chat")
    lock = variant.home / ".config/overt/plugins.lock"
    assert len(json.decode(lock.read_bytes())["plugins"]) == 10


def _rows(site: Site, variants: dict[str, Site]) -> Iterator[Row]:
    """Three rows for each variant. All of them start in turn, so that a busy minute of the machine falls on each."""
    everyone = {"": _variant(site, f"none-{'-'.join(variants)}".replace(" ", "-")), **variants}
    for variant in everyone.values():
        variant.run([variant.program, "trust"], cwd=variant.folder / "chat")
    time.sleep(SETTLED_S)
    with Server(site, "extensions", [text(delay=REPLY_AFTER_S)], record="bodies") as server:

        def request(variant: Site) -> float:
            run = variant.overt(server.port, variant.folder / "chat")
            return server.arrivals()[0].at - run.began

        def work(variant: Site) -> float:
            argv, env = [variant.program, "run", "do the task"], variant.environment(server.port)
            folder = variant.folder / "chat"
            with subprocess.Popen(
                argv, env=env, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
            ) as run:
                while not server.arrivals():
                    assert run.poll() is None
                    time.sleep(0.005)
                time.sleep(REPLY_AFTER_S / 5)  # what still runs beside the request is work of the start too
                return _cpu(run.pid)

        def paint(variant: Site) -> float:
            with chat(variant, server.port) as pty:
                return pty.until(MARK, 0) - pty.began

        requests = _in_turn(site.times(41), everyone, request)
        works = _in_turn(site.times(41), everyone, work)
        paints = _in_turn(site.times(41), everyone, paint)
    for name in variants:
        yield compared(f"first request with {name} (none)", requests[name], requests[""], at_most=AT_MOST)
        yield compared(f"CPU until first request with {name} (none)", works[name], works[""], at_most=AT_MOST)
        yield compared(f"composer painted with {name} (none)", paints[name], paints[""], at_most=AT_MOST)


def _cpu(pid: int) -> float:
    """Return the seconds that all threads of a process have run. On a busy machine that says more than a clock."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def _in_turn(times: int, variants: dict[str, Site], measure: Callable[[Site], float]) -> dict[str, list[float]]:
    """Measure each variant `times` times; each round begins with another one, and a first round is not counted."""
    values: dict[str, list[float]] = {name: [] for name in variants}
    names = list(variants)
    for number in range(times + 1):
        for name in (*names[number % len(names) :], *names[: number % len(names)]):
            values[name].append(measure(variants[name]))
    return {name: measured[1:] for name, measured in values.items()}
