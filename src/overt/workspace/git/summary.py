"""Summarise a git repository for the model: files with uncommitted changes, and the last commits.

Two git processes read at the same time. They cannot run a program of the repository (see `git_process`), write
nothing, and are killed at the deadline.
"""

import os
import re
import subprocess
from collections.abc import Sequence
from time import monotonic

from msgspec import Struct

from overt.core.errors import OvertError
from overt.lib.encoding import show_name
from overt.lib.read_file import read_regular
from overt.lib.text import visible
from overt.workspace.git.process import find_loader, start_git
from overt.workspace.git.state import Repository, find_repository
from overt.workspace.trusted_programs import find_git

DEADLINE_S = 2.0
MOST_FILES, MOST_COMMITS = 20, 5
MOST_SUBJECT, MOST_NAME = 100, 200
MOST_CONFIG_BYTES = 1024**2
STATUS = ("status", "--porcelain=v1", "-z", "--no-renames", "--ignore-submodules=all", "--untracked-files=normal", ".")
LOG = ("log", f"-{MOST_COMMITS}", "-z", "--no-decorate", "--no-show-signature", "--format=%h %s")
NAMES_PROGRAMS = re.compile(rb"\[\s*(?:filter|include)", re.IGNORECASE)
"""Sections of a configuration that can name a program which `git status` would run."""


class GitSummary(Struct, frozen=True, kw_only=True):
    """`changes` are the first lines of `git status` with paths from the workspace, None if they were not read."""

    changes: tuple[str, ...] | None
    change_count: int
    commits: tuple[str, ...]

    def text(self) -> str:
        more = self.change_count - len(self.changes or ())
        lines: list[str] = []
        if self.changes is not None:
            head = f"Uncommitted changes ({self.change_count}):" if self.changes else "Uncommitted changes: none"
            lines += [head, *self.changes, *([f"… and {more} more"] if more else [])]
        return "\n".join([*lines, *(["Last commits:", *self.commits] if self.commits else [])])


class SummaryReader:
    """Two git processes that were started; `finish` waits for them."""

    def __init__(self, program: str, repository: Repository, workspace: str) -> None:
        self._deadline = monotonic() + DEADLINE_S
        self._prefix = below if (below := os.path.relpath(workspace, repository.work_tree)) != "." else ""
        self._may_compare = _runs_nothing_else(program) or not _names_programs(repository)
        self._children: list[subprocess.Popen[bytes]] = []
        try:
            for words in (STATUS, LOG) if self._may_compare else (LOG,):
                self._children.append(start_git(program, words, repository.places(workspace)))
        except OvertError:
            self._close()
            raise

    def finish(self) -> GitSummary | None:
        """Wait for both, at most until the deadline. Return None if one of them is too slow."""
        try:
            outputs = [_finish(child, self._deadline) for child in self._children]
        except subprocess.TimeoutExpired:
            return None
        finally:
            self._close()
        commits, changes = outputs[-1] or b"", outputs[0] if self._may_compare else None
        rows = None if changes is None else [row for row in changes.split(b"\0") if row]
        return GitSummary(
            changes=None if rows is None else tuple(_describe_change(row, self._prefix) for row in rows[:MOST_FILES]),
            change_count=len(rows or ()),
            commits=tuple(_describe_commit(row) for row in commits.split(b"\0") if row),
        )

    def kill(self) -> None:
        """End both; `finish`, which may wait in another thread, then returns."""
        for child in self._children:
            child.kill()

    def _close(self) -> None:
        self.kill()
        for child in self._children:
            with child:
                pass  # closes its pipes and waits


def start_summary(workspace: str, project: str, *, search_path: str, writable: Sequence[str]) -> SummaryReader | None:
    """Start reading the repository of a project. Return None if there is none or git does not start.

    No git is taken from a folder below `writable`.
    """
    repository = find_repository(workspace)
    if repository is None or not f"{repository.work_tree}/".startswith(f"{project.rstrip('/')}/"):
        return None
    program = find_git(search_path, writable=[os.path.realpath(path) for path in writable])
    try:
        return SummaryReader(program, repository, workspace) if program else None
    except OvertError:
        return None


def _finish(child: "subprocess.Popen[bytes]", deadline: float) -> bytes | None:
    """The output, or None if git failed, as `git log` does without a commit."""
    out, _ = child.communicate(timeout=max(0.0, deadline - monotonic()))
    return out if child.returncode == 0 else None


def _runs_nothing_else(program: str) -> bool:
    """True if the kernel keeps git from executing other programs."""
    from overt.sandbox.mechanisms import landlock  # late: 6 ms

    return landlock.version() >= 1 and find_loader(program) is not None


def _names_programs(repository: Repository) -> bool:
    """True if the configuration may name a filter. One that cannot be read counts as well."""
    for path in (f"{repository.common_dir}/config", f"{repository.git_dir}/config.worktree"):
        try:
            content, _ = read_regular(path, MOST_CONFIG_BYTES, os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        except OSError:
            return True
        if len(content) > MOST_CONFIG_BYTES or NAMES_PROGRAMS.search(content):
            return True
    return False


def _describe_change(row: bytes, prefix: str) -> str:
    state, path = row[:2].decode("ascii", "replace"), row[3:].decode("utf-8", "surrogateescape")
    below = (path.removeprefix(f"{prefix}/") or "./") if prefix else path
    return f"{state} {_shorten(show_name(below), MOST_NAME)}"


def _describe_commit(row: bytes) -> str:
    hash, _, subject = row.decode("utf-8", "replace").partition(" ")
    return f"{hash} {_shorten(visible(' '.join(subject.split())), MOST_SUBJECT)}"


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
