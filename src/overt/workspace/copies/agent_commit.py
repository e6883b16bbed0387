"""Commit the state of a copy in the repository of the workspace, without changing anything else there.

    HEAD ── files of the workspace as they are now, uncommitted ones included ── changes of the agent

So `git show` prints what the agent changed. Both commits are made with a separate index. Contents are stored byte for
byte: git reads them by their paths and runs no filter.
"""

import os
import shutil
from collections.abc import Iterator, Sequence, Set
from tempfile import TemporaryDirectory

from msgspec import Struct
from msgspec.structs import replace

from overt.core.errors import OvertError
from overt.lib.read_file import read_regular
from overt.workspace.copies.changed_files import CopyChange
from overt.workspace.git.process import NO_PROGRAMS, GitPlaces, start_git, wait_for_git
from overt.workspace.git.state import Repository

REFS = "refs/overt/agents/"
TIMEOUT_S = 60.0
LARGEST_BYTES = 16 * 1024 * 1024
"""Larger files are left out of the commit."""
MOST_IGNORED = 500
MOST_IGNORED_BYTES = 64 * 1024 * 1024
"""Ignored files are part of the commit only up to these limits."""
MOST_UNTRACKED = 20_000
RULES = ".gitignore"
MOST_RULES_BYTES = 1024 * 1024
DELETED = "0 "
"""The mode that removes a file from an index."""
SETTINGS = {"core.logAllRefUpdates": "false", "core.autocrlf": "false", "core.safecrlf": "false"}


class KeptState(Struct, frozen=True, kw_only=True):
    """The commit of a copy. `ignored` are changes that git ignores; `kept_ignored` says whether the commit has them.

    `left_out` are changes that it lacks: too large, not readable, or neither a file nor a link. `missing` are files of
    HEAD that the workspace lacks, of those that the agent wrote.
    """

    ref: str
    commit: str
    ignored: tuple[str, ...] = ()
    kept_ignored: bool = True
    left_out: tuple[str, ...] = ()
    missing: frozenset[str] = frozenset()


class AgentCommits:
    """Makes the commits for copies of `root`, which lies in `repository`. `scratch` is a temporary folder. Blocking."""

    def __init__(self, git: str, repository: Repository, root: str, scratch: str) -> None:
        self._git = git
        self._repository = repository
        self._root = root
        self._scratch = scratch
        self._index = os.path.join(scratch, "index")
        self._no_hash = "0" * 40
        self._prefix = "" if root == repository.work_tree else f"{os.path.relpath(root, repository.work_tree)}/"

    def find_ignored(self, changes: Sequence[CopyChange]) -> frozenset[str]:
        """Return the paths that git ignores, by the rules of the workspace or by those that the agent wrote.
        Paths in nested repositories are not checked."""
        own = {folder: self._is_own(folder) for folder in {os.path.dirname(change.path) for change in changes}}
        paths = [change.path for change in changes if own[os.path.dirname(change.path)]]
        feed = b"".join(os.fsencode(f"./{self._prefix}{path}") + b"\0" for path in paths)
        if not feed:
            return frozenset()
        places = self._places(work_tree=self._repository.work_tree, cwd=self._repository.work_tree)
        ignored = self._check_ignored(feed, places)
        if rules := [each for each in changes if os.path.basename(each.path) == RULES and each.kind == "file"]:
            with TemporaryDirectory(dir=self._scratch) as folder:
                for each in rules:
                    path = os.path.join(folder, self._prefix, each.path)
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "wb") as file:
                        file.write(read_regular(each.source, MOST_RULES_BYTES, os.O_NOFOLLOW)[0])
                ignored |= self._check_ignored(feed, self._places(work_tree=folder, cwd=folder))
        return ignored

    def _check_ignored(self, feed: bytes, places: GitPlaces) -> frozenset[str]:
        words = ("--no-literal-pathspecs", "check-ignore", "-z", "--stdin")  # it refuses literal pathspecs
        child = start_git(self._git, words, places, settings=SETTINGS, feed=True)
        out = wait_for_git(child, feed, timeout_s=TIMEOUT_S, none_is_error=False)
        return frozenset(os.fsdecode(name)[len(f"./{self._prefix}") :] for name in out.split(b"\0")[:-1])

    def _is_own(self, folder: str) -> bool:
        """False below a link or in a nested repository, where git cannot be asked."""
        parts = folder.split("/") if folder else []
        above = (os.path.join(self._root, *parts[:count]) for count in range(1, len(parts) + 1))
        return not any(os.path.islink(path) or os.path.lexists(os.path.join(path, ".git")) for path in above)

    def keep(self, changes: Sequence[CopyChange], *, name: str, message: str) -> KeptState:
        """Commit the state of a copy as `refs/overt/agents/NAME`."""
        ignored = self.find_ignored(changes)
        ignored_files = [each for each in changes if each.path in ignored and each.kind in ("file", "link")]
        keeps_ignored = (
            len(ignored_files) <= MOST_IGNORED and sum(each.size for each in ignored_files) <= MOST_IGNORED_BYTES
        )
        wanted = [each for each in changes if each.path not in ignored or keeps_ignored]
        left_out = [each.path for each in wanted if each.kind == "other" or each.size > LARGEST_BYTES]
        head = self._head()
        parent = self._commit_workspace(head)
        self._add([each for each in wanted if each.path not in left_out])
        commit = self._commit(message, parent)
        self._write("update-ref", f"{REFS}{name}", commit)
        return KeptState(
            ref=f"{REFS}{name}",
            commit=commit,
            ignored=tuple(sorted(ignored)),
            kept_ignored=keeps_ignored,
            left_out=tuple(left_out),
            missing=self._find_missing(head, parent, {each.path for each in changes if not each.existed}),
        )

    def _find_missing(self, head: str, parent: str, paths: Set[str]) -> frozenset[str]:
        """Return which of these paths were in HEAD and are not in the commit of the workspace."""
        if not head or head == parent or not paths:
            return frozenset()
        words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=D", *NO_PROGRAMS)
        child = start_git(self._git, (*words, head, parent), self._places(), settings=SETTINGS)
        names = wait_for_git(child, timeout_s=TIMEOUT_S).split(b"\0")[:-1]
        return frozenset(paths) & {os.fsdecode(name).removeprefix(self._prefix) for name in names}

    def _head(self) -> str:
        """Return the commit of HEAD, or an empty string before the first one."""
        child = start_git(self._git, ("rev-parse", "--verify", "--quiet", "HEAD^{commit}"), self._places())
        try:
            head = wait_for_git(child, timeout_s=TIMEOUT_S).decode().strip()
        except OvertError:
            return ""
        self._no_hash = "0" * len(head)
        return head

    def _commit_workspace(self, head: str) -> str:
        """Fill the index with the files of the workspace as they are now. Return their commit, or HEAD if it has
        the same files."""
        source = os.path.join(self._repository.git_dir, "index")
        if os.path.exists(source):
            shutil.copy2(source, self._index)  # keeps its time, by which git detects later changes
        try:
            self._add_uncommitted()
        except OvertError:  # git would have to run a filter, or refuses this operation now
            self._write("read-tree", *((head,) if head else ("--empty",)))
        tree = self._write("write-tree")
        if head and tree == self._write("rev-parse", f"{head}^{{tree}}"):
            return head
        return self._commit("Files of the workspace, before the changes of the agent", head, tree=tree)

    def _add_uncommitted(self) -> None:
        cwd = self._repository.work_tree
        places = self._places(work_tree=cwd, cwd=cwd, index=True)

        def names(*words: str) -> list[str]:
            child = start_git(self._git, ("ls-files", "-z", *words), places, settings=SETTINGS)
            out = wait_for_git(child, timeout_s=TIMEOUT_S)
            return [os.fsdecode(name) for name in out.split(b"\0")[:-1]]

        unmerged = [line.partition("\t")[2] for line in names("--unmerged")]
        untracked = names("--others", "--exclude-standard")[:MOST_UNTRACKED]
        changes = []
        links: dict[str, bool] = {"": False}
        for name in dict.fromkeys((*names("--modified", "--deleted"), *unmerged, *untracked)):
            path = os.path.join(cwd, name)
            if _is_link(cwd, os.path.dirname(name), links):
                changes.append(CopyChange(path=name, kind="deleted"))  # the link leads to other files
            elif os.path.islink(path):
                changes.append(CopyChange(path=name, kind="link", source=path))
            elif os.path.isfile(path) and os.access(path, os.R_OK):
                status = os.stat(path)
                if status.st_size <= LARGEST_BYTES:
                    changes.append(CopyChange(path=name, kind="file", source=path, mode=status.st_mode))
            elif not os.path.lexists(path):
                changes.append(CopyChange(path=name, kind="deleted"))
        self._add(changes, prefix="")

    def _add(self, changes: Sequence[CopyChange], *, prefix: str | None = None) -> None:
        """Add files to the index, and remove deleted ones."""
        links = os.path.join(self._scratch, "links")
        os.makedirs(links, exist_ok=True)
        sources: list[str] = []
        for number, change in enumerate(changes):
            source = change.source
            if change.kind == "link":
                source = os.path.join(links, str(number))
                with open(source, "wb") as file:
                    file.write(os.fsencode(os.readlink(change.source)))
            if change.kind != "deleted":
                sources.append(source)
        blobs: Iterator[str] = iter(())
        if sources:
            feed = b"".join(_quote_path(source) + b"\n" for source in sources)
            read = (self._repository.work_tree, self._repository.git_dir)
            words = ("hash-object", "-w", "--no-filters", "--stdin-paths")
            blobs = iter(self._write(*words, feed=feed, read=read).split())
        lines = []
        for change in changes:
            mode = "120000" if change.kind == "link" else "100755" if change.executable else "100644"
            entry = f"{DELETED}{self._no_hash}" if change.kind == "deleted" else f"{mode} {next(blobs)}"
            lines.append(f"{entry}\t{self._prefix if prefix is None else prefix}{change.path}\0")
        if lines:
            lines.sort(key=lambda line: not line.startswith(DELETED))  # a file may take the place of a folder
            feed = os.fsencode("".join(lines))
            self._write("update-index", "-z", "--index-info", feed=feed)
        shutil.rmtree(links, ignore_errors=True)

    def _commit(self, message: str, parent: str, *, tree: str = "") -> str:
        words = ("-p", parent) if parent else ()
        feed = f"{message}\n".encode("utf-8", "replace")
        return self._write("commit-tree", tree or self._write("write-tree"), *words, feed=feed)

    def _write(self, *words: str, feed: bytes | None = None, read: tuple[str, ...] = ("/",)) -> str:
        """Run git with write access to the repository and our index. Return its output."""
        places = replace(self._places(index=True, writes=True), read=read)
        child = start_git(self._git, words, places, settings=SETTINGS, feed=feed is not None)
        return wait_for_git(child, feed, timeout_s=TIMEOUT_S).decode().strip()

    def _places(self, *, work_tree: str = "", cwd: str = "", index: bool = False, writes: bool = False) -> GitPlaces:
        repository = self._repository
        return GitPlaces(
            git_dir=repository.git_dir,
            cwd=cwd or repository.git_dir,
            write=(self._scratch, *((repository.common_dir,) if writes else ())),
            read=("/",),
            work_tree=work_tree,
            index_file=self._index if index else "",
        )


def _is_link(root: str, folder: str, links: dict[str, bool]) -> bool:
    """True if a folder or one above it is a link. `links` remembers the folders that were checked."""
    if folder not in links:
        above = folder
        while above not in links and not os.path.islink(os.path.join(root, above)):
            above = os.path.dirname(above)
        links[folder] = links.get(above, True)
    return links[folder]


def _quote_path(path: str) -> bytes:
    """Quote a path for a line of git's input, with special bytes as octal numbers."""
    plain = (b"%c" % byte if 32 < byte < 127 and byte not in b'"\\' else b"\\%03o" % byte for byte in os.fsencode(path))
    return b'"' + b"".join(plain) + b'"'
