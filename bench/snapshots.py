"""What undo costs: keeping a content before an edit, and the pass over 20 000 files around a command."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from bench.runs import Site, interleaved
from bench.table import Row, Series
from overt.workspace.trusted_programs import find_git
from overt.workspace.undo.content_store import ContentStore
from overt.workspace.undo.shadow_git import Git
from overt.workspace.undo.shadow_repository import Shadow

FILES = 20_000
EDITS = 300
PASSES = 15
MOST_EDIT = 0.002
MOST_PASS = 0.2


def snapshots(site: Site) -> Iterator[Row]:
    yield _edit(site)
    yield from _passes(site)


def _edit(site: Site) -> Row:
    folder = site.fresh("contents")
    store = ContentStore(str(folder / "store"))
    (folder / "plain").mkdir()
    contents = iter([os.urandom(20_000) for _ in range(2 * (site.times(EDITS) + 1))])

    def ours() -> float:
        raw = next(contents)
        begun = time.perf_counter()
        store.put(raw)
        return time.perf_counter() - begun

    def plain() -> float:
        raw = next(contents)
        begun = time.perf_counter()
        with open(folder / "plain" / raw[:8].hex(), "wb") as file:
            file.write(raw)
        return time.perf_counter() - begun

    mine, theirs = (Series(values) for values in interleaved(site.times(EDITS), ours, plain))
    return Row(
        name="a content of 20 kB kept before an edit, against a plain write",
        ours=mine.ms(),
        yardstick=theirs.ms(),
        ratio=mine.median / theirs.median,
        budget=f"{MOST_EDIT * 1000:g} ms",
        ok=mine.median < MOST_EDIT,
    )


def _passes(site: Site) -> Iterator[Row]:
    root = site.fresh("covered")
    for number in range(FILES):
        path = root / f"p{number // 200:03}" / f"s{number % 10}" / f"f{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"def f{number}():\n    return {number}\n" * 8)
    git = find_git(os.environ.get("PATH", ""), writable=())
    shadow = Shadow(Git(git, str(site.folder / "shadow"), str(root)), str(root))
    begun = time.perf_counter()
    shadow.take()
    yield Row(name=f"the first pass over {FILES} files, in the background", ours=f"{time.perf_counter() - begun:.2f} s")
    bare = _bare(site, git, root)
    count = iter(range(10**6))

    def ours(*, changing: bool) -> float:
        if changing:
            (root / f"p000/s0/new{next(count)}.py").write_text("x\n")
        begun = time.perf_counter()
        shadow.take()
        return time.perf_counter() - begun

    def add() -> float:
        begun = time.perf_counter()
        subprocess.run([git, "add", "-A"], cwd=root, env=bare, check=True)
        return time.perf_counter() - begun

    for name, changing in (("nothing changed", False), ("one file is new", True)):
        mine, theirs = interleaved(site.times(PASSES), lambda changing=changing: ours(changing=changing), add)  # type: ignore[misc]
        yield Row(
            name=f"a pass over {FILES} files, {name}, against git add -A",
            ours=Series(mine).ms(),
            yardstick=Series(theirs).ms(),
            ratio=Series(mine).median / Series(theirs).median,
            budget=f"{MOST_PASS * 1000:g} ms",
            ok=Series(mine).median < MOST_PASS,
        )
    shutil.rmtree(root)


def _bare(site: Site, git: str, root: Path) -> dict[str, str]:
    env = {"PATH": os.defpath, "HOME": str(site.home), "GIT_DIR": str(site.folder / "bare"), "GIT_WORK_TREE": str(root)}
    subprocess.run([git, "init", "-q"], cwd=root, env=env, check=True)
    subprocess.run([git, "add", "-A"], cwd=root, env=env, check=True)
    return env
