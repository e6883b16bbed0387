"""A workspace on disk and the file capabilities of one call on it."""

import asyncio
import os
import sys
from collections.abc import Awaitable
from pathlib import Path
from typing import TypeVar

from overt.core.capabilities import Change
from overt.core.errors import ToolError
from overt.core.protocols import Journal
from overt.core.views import FileDiff
from overt.workspace.contained_path import Forbid
from overt.workspace.files import Files, FileServices, Workspace
from overt.workspace.trusted_programs import find_rg
from overt.workspace.undo.recorder import UndoRecorder
from overt.workspace.undo.snapshot_keeper import SnapshotKeeper

T = TypeVar("T")
Roots = tuple[str, ...]
RG = find_rg(os.environ["PATH"])


def files(
    root: Path,
    *,
    preview: bool = False,
    forbid: Forbid | None = None,
    home: str = "",
    own: Roots = (),
    write: Roots = (),
    read: Roots = (),
    keeper: SnapshotKeeper | None = None,
    recorder: UndoRecorder | None = None,
) -> Files:
    workspace = Workspace(root=os.path.realpath(root), write=write, read=read, home=home, own=own, forbid=forbid)
    services = FileServices(workspace=workspace, rg=RG, keeper=keeper, recorder=recorder)
    return Files(services, call_id="c1", journal=Journal(), seen={}, preview=preview)


def done(work: Awaitable[T]) -> T:
    async def main() -> T:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(main())


def refused(work: Awaitable[object]) -> ToolError:
    try:
        found = done(work)
    except ToolError as error:
        return error
    raise AssertionError(f"not refused: {found!r}")


def put(hands: Files, path: str, content: str, *, base: str = "") -> FileDiff:
    """Write a file whatever it held."""

    async def work() -> FileDiff:
        if base:
            return (await hands.change([Change(path=path, content=content, base=base)]))[0]
        found = await hands.text(path)
        return (await hands.change([Change(path=path, content=content, base=found.hash)]))[0]

    return done(work())


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))


PYTHON = sys.executable
