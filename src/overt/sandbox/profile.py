"""What a box lets through: paths and the network, the same for every kind of wall."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from overt.core.protocols import Profile
from overt.sandbox.protected_paths import TOP, ProtectedNames, find_protected_names, is_below, worktree
from overt.sandbox.secret_places import FOLDERS_OF_SOCKETS, HIDDEN, ExistingNames, ListeningSockets

PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
OVERT = os.path.realpath(f"{PACKAGE}/overt")
IN_CACHE = (
    "pip pypoetry pdm npm yarn go-build golangci-lint gopls mypy black pylint ruff ccache sccache composer huggingface "
    "torch matplotlib"
)
"""Below the folder for caches, in which shells also keep what they run at their start."""
IN_HOME = (
    ".npm .yarn/berry/cache .cargo/registry .cargo/git go/pkg .m2/repository .gradle/caches .gradle/daemon "
    ".nuget/packages .ivy2/cache .cabal/packages .hex/packages .cpan/sources .ccache .composer/cache "
    ".bundle/cache .gem/specs"
)
CACHES = (*IN_HOME.split(), *(f".cache/{name}" for name in IN_CACHE.split()))
"""Below home: what package tools keep between runs. Folders that hold programs are not among them (what one
project left there would run in another, and some tools link their files into every project), nor those with settings or
plug-ins that run by themselves."""
BUILT = tuple("go-build ccache .ccache sccache golangci-lint gopls mypy black pylint ruff target".split())
"""What builds keep; the others hold what was fetched, and nothing is fetched without the network."""
CACHE_VARIABLES = {
    "XDG_CACHE_HOME": IN_CACHE, "CARGO_HOME": "registry git", "GOPATH": "pkg", "GOMODCACHE": "", "GOCACHE": "",
    "npm_config_cache": "", "UV_CACHE_DIR": "", "PIP_CACHE_DIR": "", "YARN_CACHE_FOLDER": "", "DENO_DIR": "",
    "GRADLE_USER_HOME": "caches daemon wrapper/dists native", "CARGO_TARGET_DIR": "",
}  # fmt: skip
"""Where else they may be: the variable, and which folders below what it names."""
SPARE = {
    "XDG_CACHE_HOME": ".cache", "npm_config_cache": ".npm", "GOMODCACHE": "go/pkg", "GOCACHE": ".cache/go-build",
    "PIP_CACHE_DIR": ".cache/pip", "UV_CACHE_DIR": ".cache/uv", "YARN_CACHE_FOLDER": ".cache/yarn",
    "DENO_DIR": ".cache/deno", "PRE_COMMIT_HOME": ".cache/pre-commit", "POETRY_CACHE_DIR": ".cache/pypoetry",
    "CCACHE_DIR": ".cache/ccache", "SCCACHE_DIR": ".cache/sccache", "GOLANGCI_LINT_CACHE": ".cache/golangci-lint",
    "COMPOSER_CACHE_DIR": ".cache/composer", "ZIG_GLOBAL_CACHE_DIR": ".cache/zig",
}  # fmt: skip
"""The variable that sends a tool elsewhere, and where it would go by itself."""
MUST_WRITE = ("UV_CACHE_DIR", "PRE_COMMIT_HOME", "DENO_DIR", "GOCACHE", "ZIG_GLOBAL_CACHE_DIR", "CCACHE_DIR")
"""Tools that do not go on where they cannot write there; the others make do with reading."""
PRIVATE = ("/tmp", "/var/tmp")
"""Replaced by a folder of the box's own."""
OF_THE_SYSTEM = frozenset(
    "/bin /boot /dev /etc /lib /lib32 /lib64 /libx32 /opt /proc /root /run /sbin /snap /sys /tmp /usr /var".split()
)
MOST_SPREAD = 500


class AccessRules(Struct, frozen=True, kw_only=True):
    """Absolute real paths. Everything may be read but `hidden`, nothing written but `write`.

    `protected` lie below `write` and stay as they are; `absent` are protected places where nothing is yet.
    `read` lie below what is hidden or replaced and can be read all the same; the deepest of all these counts.
    `awaited` would be hidden if they were there, which walls that are put up once for all can see to.
    `temp` is the private folder that a program sees as its temporary one.
    """

    write: tuple[str, ...] = ()
    protected: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    awaited: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    temp: str = ""
    network: bool = False


class SandboxPlace(Struct, frozen=True, kw_only=True):
    """Where a conversation is: real paths of the person's folders. `write` and `read` are what the configuration
    adds, `caches` what `cache_folders` found, `temp` the folder in which a private one is made. `plugin_data` are the
    folders in which plugins keep what they need. `isolated`: the workspace is a copy, in which nothing is protected,
    and nothing outside of it may be written."""

    workspace: str
    project: str
    home: str
    config_dir: str
    data_dir: str
    cache_dir: str
    state_dir: str = ""
    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()
    plugin_data: tuple[str, ...] = ()
    temp: str = "/tmp"
    isolated: bool = False


class RuleSource:
    """The rules of one profile in one place, for every command anew.

    The disk is looked at once for everything that commands cannot change. What is hidden is worked out again only when
    other names or sockets are there than before. `roots` get every guard, `loose` those that exist.
    """

    def __init__(self, profile: Profile, place: SandboxPlace, *, temp: str = "") -> None:
        wanted = [place.workspace, *place.write] if profile.write else []
        joins = profile.write and not place.isolated
        shared = (worktree(place.workspace) or _enclosing(place)) if joins else ""
        wanted = list(dict.fromkeys(os.path.realpath(path) for path in wanted))
        # Whoever opens a folder of Overt's own code could otherwise have it rewritten, and it runs outside.
        open_ = [path for path in wanted if not is_below(path, OVERT)]
        whole = [path for path in open_ if not is_below(place.home, path)]
        loose = [path for root in open_ if root not in whole for path in _spread(root, place.home)]
        caches = [path for path in place.caches if profile.write and not is_below(place.home, path)]
        caches = caches if profile.network else list(built(caches))
        # Logs and saved replies are as private as sessions.
        private = [os.path.realpath(path) for path in (place.config_dir, place.data_dir, place.state_dir) if path]
        data = place.plugin_data if profile.write else ()
        write = _outermost([*whole, *loose, *caches, *data, *([shared] if shared else [])])
        own = [*private, os.path.realpath(place.cache_dir)]
        keep = [_made(path) for path in own if any(is_below(path, root) for root in write)]
        self.roots = tuple(path for path in whole if os.path.isdir(path))
        self.loose = tuple(path for path in loose if os.path.isdir(path))
        self.repositories = (shared,) if shared else ()
        self._place = place
        self._fixed = AccessRules(write=write, protected=(*keep, *own_code(write)), temp=temp, network=profile.network)
        self._in_repository = _in_repository(place)
        self._private = [path for path in private if path != place.workspace]
        self._visible = [*wanted, place.workspace, place.project, place.home, PACKAGE, *_interpreter()]
        self._visible += map(os.path.realpath, place.read)
        self._names = ExistingNames(place.home, HIDDEN)
        self._sockets = ListeningSockets(place.home)
        self._seen: tuple[object, ...] = ()
        self._hiding = AccessRules()

    def now(self) -> AccessRules:
        """The rules as they have to be at this moment."""
        found = ProtectedNames()
        if self._fixed.write and not self._place.isolated:
            found = find_protected_names(
                self.roots, loose=self.loose, repositories=self.repositories, inside=self._in_repository
            )
        hiding = self._hide()
        own = tuple(path for path in self._fixed.protected if path not in hiding.hidden)
        return replace(hiding, protected=(*own, *found.protected), absent=found.absent)

    def _hide(self) -> AccessRules:
        """The fixed rules with what is hidden now, and what can be read all the same."""
        names = self._names.now()
        services = tuple(path for path in FOLDERS_OF_SOCKETS if os.access(path, os.F_OK))
        private = tuple(path for path in self._private if os.access(path, os.F_OK))
        sockets = self._sockets.now()
        if (seen := (names, services, private, sockets)) != self._seen:
            self._seen = seen
            named = [*(f"{self._place.home}/{name}" for name in names), *services]
            self._hiding = self._work_out(named, private, sockets)
        return self._hiding

    def _work_out(self, named: Sequence[str], private: Sequence[str], sockets: Sequence[str]) -> AccessRules:
        place, write = self._place, self._fixed.write
        shown = {os.path.realpath(path) for path in (*place.read, *place.write)} | {place.workspace}
        found = [os.path.realpath(path) for path in named]
        secret = [path for path in found if path != "/" and not is_below(place.home, path) and path not in shown]
        hidden = _outermost([*secret, *private])
        covered = [*hidden, *PRIVATE, "/run"]
        shown_again = [path for path in self._visible if _covered(path, covered, write) and os.path.exists(path)]
        # A home in /tmp can be read, but not what is hidden in it, except for the skills in there.
        in_hidden = [path for path in shown_again if any(is_below(path, place) for place in hidden)]
        read = (*_outermost(path for path in shown_again if path not in in_hidden), *_outermost(in_hidden))
        leading = [path for path in sockets if not _covered(path, covered, (*write, *read))]
        # With the network, sockets in the workspace may well be those of programs in a box like this one.
        if self._fixed.network:
            leading = [path for path in leading if not any(is_below(path, root) for root in write)]
        awaited = [path for name in HIDDEN if (path := f"{place.home}/{name}") not in (*named, *shown)]
        return replace(self._fixed, hidden=(*hidden, *leading), awaited=tuple(awaited), read=read)


def own_code(write: Sequence[str]) -> tuple[str, ...]:
    """Of what Overt itself consists and is run by, that which lies below a place that may be written: a command
    that could change it would run outside with the next thing that Overt starts."""
    needed = os.path.dirname(msgspec.__file__)
    code = (OVERT, needed, os.path.dirname(needed), os.path.dirname(os.__file__))
    places = {os.path.realpath(path) for path in (*code, *_interpreter())}
    return _outermost(path for path in places if any(path != root and is_below(path, root) for root in write))


def writable(place: SandboxPlace) -> tuple[str, ...]:
    """Wherever a program in one of the boxes may write: nothing from there is ever run outside."""
    return tuple(os.path.realpath(path) for path in (place.workspace, *place.write, *place.caches, *place.plugin_data))


def cache_folders(home: str, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Existing folders in which package tools keep what they fetched."""
    named = [f"{home}/{name}" for name in CACHES]
    for name, inner in CACHE_VARIABLES.items():
        if os.path.isabs(value := variables.get(name, "")):
            named += [f"{value}/{each}" for each in inner.split()] or [value]
    found = [os.path.realpath(path) for path in named if os.path.isdir(path)]
    return _outermost(path for path in found if path.count("/") > 1 and not is_below(home, path))


def built(caches: Iterable[str]) -> tuple[str, ...]:
    return tuple(path for path in caches if os.path.basename(path) in BUILT)


def spare_caches(
    place: SandboxPlace, variables: Mapping[str, str], folder: str, write: Sequence[str]
) -> dict[str, str]:
    """Variables that send tools to the private folder where their usual one is not there to be written."""
    return {
        name: f"{folder}/{usual.replace('/', '-')}"
        for name, usual in SPARE.items()
        if (
            name in MUST_WRITE
            and not any(
                is_below(os.path.realpath(variables.get(name) or f"{place.home}/{usual}"), root) for root in write
            )
        )
        or (not variables.get(name) and not os.path.isdir(f"{place.home}/{usual}"))
    }


def _spread(root: str, home: str) -> list[str]:
    """A root that holds the home folder is opened by what is in it: nothing new beside the start files there."""
    found: list[str] = []
    try:
        with os.scandir(root) as entries:
            seen = sorted(entry.path for entry in entries if not entry.is_symlink() and not entry.name.startswith("."))
    except OSError:
        return []
    for path in seen[:MOST_SPREAD]:
        if is_below(home, path):
            found += _spread(path, home)
        elif path not in OF_THE_SYSTEM and os.path.basename(path) not in (*TOP, "bin"):
            found.append(path)
    return found


def _enclosing(place: SandboxPlace) -> str:
    """The git folder of the repository that the workspace is a part of: work is committed there too."""
    git = f"{place.project}/.git"
    part = place.workspace != place.project and is_below(place.workspace, place.project)
    return git if part and os.path.isdir(git) and not os.path.islink(git) else ""


def _in_repository(place: SandboxPlace) -> bool:
    folder = os.path.dirname(place.workspace)
    while folder not in ("/", place.home):
        if os.path.lexists(f"{folder}/.git"):
            return True
        folder = os.path.dirname(folder)
    return False


def _interpreter() -> list[str]:
    programs = (sys.executable, os.path.realpath(sys.executable))
    return [sys.prefix, sys.base_prefix, sys.exec_prefix, *(os.path.dirname(path) for path in programs if path)]


def _covered(path: str, covered: Sequence[str], shown: Sequence[str]) -> bool:
    """Whether what lies nearest above a path takes it out of sight."""
    nearest = max((place for place in (*covered, *shown) if is_below(path, place)), key=len, default="")
    return nearest != "" and nearest not in shown


def _made(path: str) -> str:
    """Overt's own folder where programs can write beside it: it has to be there to be kept."""
    os.makedirs(path, mode=0o700, exist_ok=True)
    return path


def _outermost(paths: Iterable[str]) -> tuple[str, ...]:
    kept: list[str] = []
    for path in sorted(set(paths), key=lambda each: each.split("/")):
        if not kept or not is_below(path, kept[-1]):
            kept.append(path)
    return tuple(kept)
