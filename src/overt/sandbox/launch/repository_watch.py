"""What commands made of git's folders while nothing protected them: looked at when they end, moved aside if it would
run something outside.

What is there while no command runs is the person's and known from then on. What appears while one runs is young:
looked at again and again, until a box stands that protects it.
"""

import os
import stat
from collections.abc import Iterable, Iterator, Sequence

from overt.sandbox.git_folders import modules, worktrees
from overt.sandbox.protected_paths import OF_GIT, TOP, find_near_repositories, find_repositories

Identity = tuple[int, int, int, str]
MOVED = (
    "the new {name} would run programs outside the sandbox ({what}) and was moved to {aside}; "
    "make the repository first, and let a person add what it runs"
)
STAYED = (
    "the new {name} would run programs outside the sandbox ({what}); it could not be moved away ({error}): remove it"
)
PUT_BACK = "the link {name} was replaced; what stood in its place was moved to {aside}, and the link put back"


class RepositoryWatch:
    """For the roots that commands may write; in `loose` ones only repositories are looked for. `repositories` are git
    folders that lie elsewhere."""

    def __init__(
        self, workspace: str, roots: Sequence[str], loose: Sequence[str], repositories: Sequence[str] = ()
    ) -> None:
        self._workspace = workspace
        self._roots = tuple(roots)
        self._all = (*roots, *loose)
        self._tops = [*(f"{root}/.git" for root in roots), *repositories]
        self._known: dict[str, Identity] = {}
        self._young: set[str] = set()
        self._links: dict[str, str] = {}
        self._index: list[tuple[int, int]] = []
        self._nested: dict[str, None] = {}
        self._noted: list[int] = []
        self._touched = False

    def nested_repositories(self) -> tuple[str, ...]:
        """Those of the person's repositories that lie below a root."""
        return tuple(self._nested)

    def watches(self, path: str) -> bool:
        """Whether it belongs to something young, which every look looks at again."""
        return any(f"{path}/".startswith(f"{young}/") for young in self._young)

    def look(self, *, busy: bool, deep: bool = False) -> list[str]:
        """What had to be done, in words. `busy` says that a command could have been at it since the last look."""
        found: list[str] = []
        deep = self._index_changed() or deep
        self._touched |= busy
        near = {*self._tops, *self._nested, *find_near_repositories(self._all)}
        for path, git in tuple(self._places(near, deep)):
            now = _identity(path)
            if now is None:
                self._young.discard(path)
            elif self._known.get(path) == now:
                continue
            elif not busy and path not in self._young and (git in near or not self._touched):
                self._accept(path, now, top=path == git)
            else:
                self._young.add(path)
                if what := self._harm(path, git):
                    found.append(self._move(path, git, what))
        if deep:
            self._touched = busy
        if busy:
            found += self._put_back()
        else:
            self._note_links()
        return found

    def settle(self, guarded: Iterable[str]) -> None:
        """A box stands that keeps these; what was found harmless in them stays so."""
        guarded = tuple(guarded)
        for path in tuple(self._young):
            now = _identity(path)
            if now and any(each == path or each.startswith(path + "/") for each in guarded):
                self._known[path] = now
                self._young.discard(path)

    def _places(self, near: set[str], deep: bool) -> Iterator[tuple[str, str]]:
        """Paths to look at, each with the `.git` it belongs to."""
        gits = dict.fromkeys(sorted(near))
        if deep:
            gits |= dict.fromkeys(find_repositories(self._all))
        gits |= dict.fromkeys(path for path in self._young if os.path.basename(path) == ".git")
        for git in gits:
            yield git, git
            if self._known.get(git, (0,))[0] != stat.S_IFDIR:
                continue  # a young one is looked at as a whole
            if os.access(f"{git}/modules", os.F_OK):
                yield from ((path, git) for path in modules(git) or ())
            if os.access(f"{git}/worktrees", os.F_OK):
                yield from ((path, git) for path in worktrees(git))
            for folder in (f"{git}/modules", f"{git}/worktrees"):
                if os.path.islink(folder):
                    yield folder, git

    def _accept(self, path: str, now: Identity, *, top: bool) -> None:
        self._known[path] = now
        if top and path not in self._tops:
            self._nested[path] = None

    def _harm(self, path: str, git: str) -> str:
        from overt.sandbox import harmful_repository  # late: 2 ms

        if path == git:
            return harmful_repository.harmful(git)
        if os.path.islink(path):
            return "it leads elsewhere"
        if os.path.dirname(path) == f"{git}/worktrees":
            return harmful_repository.harmful_worktree(path)
        return harmful_repository.harmful_module(path, git)

    def _move(self, path: str, git: str, what: str) -> str:
        name = os.path.relpath(path, self._workspace)
        self._young.discard(path)
        from overt.sandbox.harmful_repository import set_aside  # late: 2 ms

        try:
            if path == git:
                aside = set_aside(path)
                if link := self._links.get(path):
                    os.symlink(link, path)
            else:
                # Out of the folders that git goes through.
                blocked = "../" * (path.removeprefix(git).count("/") - 1) + f"blocked-{os.path.basename(path)}"
                aside = set_aside(path, name=blocked)
        except OSError as error:
            return STAYED.format(name=name, what=what, error=error.strerror)
        return MOVED.format(name=name, what=what, aside=aside)

    def _note_links(self) -> None:
        """Again only where one of the folders they lie in has changed."""
        gits = (*self._tops, *self._nested)
        changed = [_changed(path) for path in (*self._roots, *gits)]
        if changed != self._noted:
            self._noted = changed
            self._links = dict(self._links_now())

    def _links_now(self) -> Iterator[tuple[str, str]]:
        """Protected names that are links: nothing can be mounted on them."""
        gits = (*self._tops, *self._nested)
        names = [f"{root}/{name}" for root in self._roots for name in TOP]
        names += [f"{git}/{name}" for git in gits for name in (*OF_GIT, "modules", "worktrees")]
        for path in (*names, *gits):
            try:
                yield path, os.readlink(path)
            except OSError:
                pass  # no link

    def _put_back(self) -> list[str]:
        found = []
        for path, text in self._links.items():
            try:
                if os.readlink(path) == text:
                    continue
            except OSError:
                pass  # something else, or nothing
            if os.path.basename(path) == ".git" or not os.path.isdir(os.path.dirname(path)):
                continue  # a new repository in its place was looked at as such
            aside = "nothing"
            try:
                if os.path.lexists(path):
                    from overt.sandbox.harmful_repository import set_aside  # late: 2 ms

                    aside = set_aside(path)
                os.symlink(text, path)
            except OSError as error:
                aside = f"nowhere ({error.strerror})"
            found.append(PUT_BACK.format(name=os.path.relpath(path, self._workspace), aside=aside))
        return found

    def _index_changed(self) -> bool:
        """A repository put below another is entered by git only once it is in the index of that."""
        now = []
        for top in self._tops:
            try:
                found = os.lstat(f"{top}/index")
            except OSError:
                continue
            now.append((found.st_mtime_ns, found.st_ino))
        before, self._index = self._index, now
        return now != before


def _changed(path: str) -> int:
    try:
        return os.lstat(path).st_ctime_ns
    except OSError:
        return 0


def _identity(path: str) -> Identity | None:
    try:
        found = os.lstat(path)
        kind = stat.S_IFMT(found.st_mode)
        text = os.readlink(path) if kind == stat.S_IFLNK else "" if kind == stat.S_IFDIR else str(found.st_mtime_ns)
    except OSError:
        return None
    return kind, found.st_dev, found.st_ino, text
