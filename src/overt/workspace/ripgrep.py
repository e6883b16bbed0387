"""Searching with ripgrep: started in an open folder, stopped when enough was found, its names kept exact.

ripgrep's own `--glob` would override `.gitignore`; a file type made up for one search does not, so wanted
names go in that way and patterns with folders are matched here. In a pattern, `*`, `?`, `[…]` and `{a,b}` stand for a
part of one name, and `**` for any number of folders.
"""

import asyncio
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from heapq import heapify, heappop
from typing import TypeVar

from msgspec import Struct

from overt.core.capabilities import Matches, Query
from overt.core.errors import ToolError
from overt.lib.encoding import show_name
from overt.workspace.contained_path import OpenPath

T = TypeVar("T")

CAP = 4 * 1024 * 1024
COLUMNS = 500
NEWEST = 5000
BATCH = 64
BASE = (
    "--no-config",
    "--no-messages",
    "--no-ignore-messages",
    "--no-follow",
    "--no-require-git",
    "--hidden",
    "--glob=!.git",
    "--color=never",
    "--crlf",
)
WILD = r"[*?\[{\\]"
SPECIAL = r"([*?\[\]{}\\!])"
RECORD = rb"([^\0]+)\0(\d+)([:-])([^\n]*)\n"
COUNT = rb"([^\0]+)\0(\d+)\r?\n"
BINARY = rb"(?m)^[^\n\0]*: (?:binary file matches|WARNING: stopped searching binary)[^\n]*\n"
NO_RG = (
    "No ripgrep (rg) was found that Overt can trust: one that came with Overt, or on PATH, where commands of the agent "
    "and other people cannot write. Install it, for example `apt-get install ripgrep`, or Overt outside this workspace."
)


class Pattern(Struct, frozen=True, kw_only=True):
    """A pattern split for speed: a literal folder to start in, a name for ripgrep, and the whole for us.

    `name` is empty when any name will do; `whole` is empty when the name alone decides.
    """

    folder: str
    name: str
    whole: str


async def finish_in_thread(work: Callable[[], T], *, stop: Callable[[], None] | None = None) -> T:
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


class Ripgrep:
    """ripgrep run in a thread, which the loop can stop. `passed` are descriptors the program may read.

    `program` are the words of its command line before its arguments.
    """

    def __init__(self, program: Sequence[str], spot: OpenPath, *, cap: int = CAP) -> None:
        if not program:
            raise ToolError(NO_RG, code="missing_program")
        self.program = program
        self.spot = spot
        self.passed: list[int] = []
        self.cap = cap
        self.child: subprocess.Popen[bytes] | None = None
        self.stopped = False

    async def run(self, *arguments: str) -> tuple[bytes, bool]:
        """Its output up to the cap, and whether there was more."""
        return await finish_in_thread(lambda: self.run_here(arguments), stop=self.stop)

    def run_here(self, arguments: tuple[str, ...]) -> tuple[bytes, bool]:
        with subprocess.Popen(
            [*self.program, *BASE, *(("--one-file-system",) if self.spot.root == "/" else ()), *arguments],
            cwd=_folder(self.spot),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={},
            bufsize=0,
            pass_fds=self.passed,
        ) as child:
            self.child = child
            if self.stopped:
                child.kill()
            output, more = self._drain(child)
            complaint = child.stderr.read().decode(errors="replace") if child.stderr else ""
        if child.returncode == 2 and not output and complaint:
            raise ToolError(f"The search could not run: {complaint.strip()}", code="invalid")
        return output, more

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


def _folder(spot: OpenPath) -> str:
    """The open folder itself where the system has a name for it, so that a swap cannot lead the child away."""
    own = f"/proc/self/fd/{spot.fd}"
    return own if os.path.isdir(own) else os.path.join(spot.root, *spot.parts[: len(spot.parts) - bool(spot.name)])


async def files_matching(
    program: Sequence[str], spot: OpenPath, pattern: Pattern, *, cap: int = 8 * CAP
) -> tuple[list[str], bool]:
    """Paths below a folder that match, unsorted, each starting with `./`."""
    chosen = (f"--type-add=overt:{pattern.name}", "--type=overt") if pattern.name else ()
    output, more = await Ripgrep(program, spot, cap=cap).run("--files", "--null", *chosen, "--", "./")
    names = os.fsdecode(output).split("\0")[:-1]
    if pattern.whole:
        whole = compile_glob(f"./{pattern.whole}").fullmatch
        names = [name for name in names if whole(name)]
    return names, more


def sort_by_age(spot: OpenPath, names: Sequence[str]) -> Iterator[str]:
    """By time of change; so many that asking each would take long come by name instead, and only as far as wanted."""
    if len(names) > NEWEST:
        heap = list(names)
        heapify(heap)
        while heap:
            yield heappop(heap)
        return

    def age(name: str) -> int:
        try:
            return -os.stat(name, dir_fd=spot.fd, follow_symlinks=False).st_mtime_ns
        except OSError:
            return 0

    for _, name in sorted((age(name), name) for name in names):
        yield name


class Grep:
    """One search in two runs: which files match, then what matches in them.

    ripgrep walks by path, so a folder that becomes a link under its feet would lead it out. The first run
    therefore only says which files to look at; the second reads descriptors that we opened ourselves.
    """

    def __init__(self, query: Query) -> None:
        self.query = query
        self.wanted = split_pattern(query.glob) if query.glob and not query.glob.startswith("!") else None
        self.by_type = self.wanted is not None and bool(self.wanted.name) and not query.type
        whole = self.wanted is not None and bool(self.wanted.folder or self.wanted.whole)
        self.by_path = self.wanted is not None and (whole or not self.by_type)
        self.lines: list[str] = []
        self.shown: dict[str, list[str]] = {}
        self.count = 0
        self.full = False
        self.one_file = False

    async def files(self, rg: Ripgrep, prefix: str) -> tuple[Sequence[str], bool]:
        """The paths on disk of files that seem to match, and whether there are more."""
        arguments = ["--files-with-matches", "--null"]
        if self.query.type:
            arguments.append(f"--type={self.query.type}")
        if self.query.glob.startswith("!"):
            arguments.append(f"--glob={self.query.glob}")
        elif self.by_type and self.wanted is not None:
            arguments += [f"--type-add=overt:{self.wanted.name}", "--type=overt"]
        raw, more = await rg.run(*arguments, *self._pattern(), "--", "./")
        if b": binary file matches" in raw or b": WARNING: stopped" in raw:
            raw = re.sub(BINARY, b"", raw)
        names = (os.fsdecode(name).removeprefix("./") for name in raw.split(b"\0")[:-1])
        return sorted((prefix + name for name in names if self._wants(name)), key=show_name), more

    def read(self, rg: Ripgrep, paths: Sequence[str], open_file: Callable[[str], int | None]) -> None:
        """Search files in order, a few at a time, until the limit is passed; what cannot be opened is left out."""
        for start in range(0, len(paths), BATCH):
            with ExitStack() as held:
                files: dict[bytes, str] = {}
                for path in paths[start : start + BATCH]:
                    if (fd := open_file(path)) is not None:
                        held.callback(os.close, fd)
                        files[b"/dev/fd/%d" % fd] = show_name(path)
                        rg.passed.append(fd)
                raw, cut = rg.run_here((*self._details(), "--", *map(os.fsdecode, files))) if files else (b"", False)
                rg.passed.clear()
            self._collect(raw, files)
            if self.full or cut or rg.stopped:
                self.full = True
                return

    def matches(self, *, more: bool) -> Matches:
        return Matches(text="\n".join(self.lines), count=self.count, more=more or self.full)

    def _pattern(self) -> tuple[str, ...]:
        flags = ("--engine=auto", *(("--ignore-case",) if self.query.ignore_case else ()))
        across = ("--multiline", "--multiline-dotall") if self.query.multiline else ()
        return (*flags, *across, f"--regexp={self.query.pattern}")

    def _details(self) -> tuple[str, ...]:
        query = self.query
        if query.mode != "content":
            how = "--files-with-matches" if query.mode == "files" else "--count"
            return (how, "--null", "--with-filename", *self._pattern())
        return (
            *("--line-number", "--no-heading", "--no-context-separator", "--null", "--with-filename"),
            *(f"--max-count={query.limit + 1}", f"--max-columns={COLUMNS}", "--max-columns-preview"),
            *(f"--before-context={query.before}", f"--after-context={query.after}"),
            *self._pattern(),
        )

    def _collect(self, raw: bytes, files: Mapping[bytes, str]) -> None:
        if b": binary file matches" in raw or b": WARNING: stopped" in raw:
            raw = re.sub(BINARY, b"", raw)
        if self.query.mode == "content":
            return self._content(raw, files)
        if self.query.mode == "files":
            endings = dict.fromkeys(raw.split(b"\0")[:-1], "")
        else:
            endings = {name: f":{int(count)}" for name, count in re.findall(COUNT, raw)}
        for name, path in files.items():
            if name in endings and not self.full:
                self._add(path + endings[name])
        return None

    def _content(self, raw: bytes, files: Mapping[bytes, str]) -> None:
        hits: dict[bytes, list[tuple[int, bool, bytes]]] = {}
        for name, number, sign, text in re.findall(RECORD, raw):
            hits.setdefault(name, []).append((int(number), sign == b":", text))
        gaps = self.query.before or self.query.after
        for name, path in files.items():
            last, start = -1, "" if self.one_file else path
            for number, hit, text in sorted(hits.get(name, ())):
                if hit and self.count >= self.query.limit:
                    self.full = True
                    return
                if gaps and self.lines and number != last + 1:
                    self.lines.append("--")
                sign, last, self.count = ":" if hit else "-", number, self.count + hit
                line = text.removesuffix(b"\r").decode(errors="replace")
                self.lines.append(f"{start}{sign if start else ''}{number}{sign}{line}")
                self.shown.setdefault(path, []).append(line)

    def _add(self, line: str) -> None:
        if self.count >= self.query.limit:
            self.full = True
        else:
            self.lines.append(line)
            self.count += 1

    def _wants(self, below: str) -> bool:
        return self.wanted is None or not self.by_path or _wants(self.wanted, below)


def _wants(pattern: Pattern, path: str) -> bool:
    if pattern.folder or pattern.whole:
        whole = "/".join(part for part in (pattern.folder, pattern.whole or f"**/{pattern.name or '*'}") if part)
        return bool(compile_glob(whole).fullmatch(path))
    return not pattern.name or bool(compile_glob(pattern.name).fullmatch(path.rpartition("/")[2]))


def split_pattern(pattern: str) -> Pattern:
    """A pattern without a slash matches at any depth."""
    parts = [part for part in pattern.split("/") if part not in ("", ".")] if "{" not in pattern else [pattern]
    if len(parts) == 1 and "/" not in parts[0]:
        return Pattern(folder="", name="" if parts[0] == "**" else parts[0], whole="")
    escape_glob = 0
    while escape_glob < len(parts) - 1 and not re.search(WILD, parts[escape_glob]):
        escape_glob += 1
    folder, rest = "/".join(parts[:escape_glob]), parts[escape_glob:]
    name = rest[-1]
    if name == "**" or "/" in name or ":" in name:
        name = ""
    simple = name and rest[:-1] == ["**"]
    return Pattern(folder=folder, name=name, whole="" if simple or rest == ["**"] else "/".join(rest))


def escape_glob(name: str) -> str:
    """The pattern that matches exactly this name."""
    return re.sub(SPECIAL, r"[\1]", name).replace("[\\]", r"\\").replace("[!]", "!")


def compile_glob(pattern: str) -> re.Pattern[str]:
    """A pattern as a regular expression for `fullmatch` on a path; repeated `**/` would take for ever to fail."""
    pattern = re.sub(r"(?:\*\*/)+", "**/", pattern)
    out: list[str] = []
    braces = position = 0
    while position < len(pattern):
        piece, position, braces = _piece(pattern, position, braces)
        out.append(piece)
    return re.compile("".join(out) + ")" * braces, re.DOTALL)


def _piece(pattern: str, at: int, braces: int) -> tuple[str, int, int]:
    """The expression for what stands at a position, where the next one starts, and how many braces are open."""
    if pattern.startswith("**/", at):
        return "(?:.*/)?", at + 3, braces
    if pattern.startswith("/**", at) and at + 3 == len(pattern):
        return "/.*", at + 3, braces
    if pattern.startswith("**", at):
        return ".*", at + 2, braces
    char = pattern[at]
    if char == "[" and (end := pattern.find("]", at + 2)) > 0:
        inner = pattern[at + 1 : end].replace("\\", r"\\").replace("[", r"\[")
        return f"[{'^' + inner[1:] if inner[0] in '!^' else inner}]", end + 1, braces
    if char == "{":
        return "(?:", at + 1, braces + 1
    if braces and char in ",}":
        return ("|", at + 1, braces) if char == "," else (")", at + 1, braces - 1)
    if char == "\\" and at + 1 < len(pattern):
        return re.escape(pattern[at + 1]), at + 2, braces
    return {"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char)), at + 1, braces
