"""No git of ours runs a program that the workspace names, and none writes outside its place."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.workspace.keeping_kit import GIT, shadow

from overt.core.errors import OvertError
from overt.sandbox.mechanisms import landlock
from overt.workspace.git import process as git_process
from overt.workspace.git.process import GitPlaces, start_git
from overt.workspace.undo import shadow_git as _shadow_git
from overt.workspace.undo import shadow_index
from overt.workspace.undo.shadow_git import Git
from overt.workspace.undo.shadow_repository import Shadow

PLACE = "a/b/c/d/e"
needs_landlock = pytest.mark.skipif(landlock.version() < 1, reason="this kernel has no Landlock")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / PLACE).mkdir(parents=True)
    (folder / "other.txt").write_text("other\n")
    return folder


@pytest.fixture(params=["landlock", "settings alone"])
def layers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The switches must hold on their own: macOS and old kernels have no Landlock."""
    if request.param != "landlock":
        monkeypatch.setattr(git_process, "limit_thread", lambda program, places: None)
    return str(request.param)


def run_git(folder: Path, *words: str) -> str:
    environment = {"PATH": os.defpath, "HOME": "/nowhere", "GIT_CONFIG_GLOBAL": "/dev/null"}
    names = ("-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        [GIT, *names, *words], cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def make_hostile(tmp_path: Path, store: Path) -> tuple[Path, list[Path]]:
    """A repository whose monitor leaves marks, one of them where even a bound git may write."""
    repository = tmp_path / "hostile"
    repository.mkdir()
    marks = [tmp_path / "mark", store / "mark"]
    program = tmp_path / "monitor"
    program.write_text("#!/bin/sh\n" + "".join(f"echo ran > '{mark}'\n" for mark in marks))
    program.chmod(0o755)
    run_git(repository, "init", "-q")
    (repository / "file").write_text("content\n")
    run_git(repository, "add", "file")
    run_git(repository, "commit", "-qm", "first")
    (repository / "file").write_text("changed\n")
    run_git(repository, "config", "core.fsmonitor", str(program))
    return repository, marks


FLIP = """
import os, random, sys, time
x, repository, file, seed = sys.argv[1:]
pause = random.Random(int(seed))
while True:
    for old, new in ((file, repository), (repository, file)):
        time.sleep(pause.uniform(0.0, 0.003))
        os.rename(x, old)
        os.rename(new, x)
"""


class Flipper:
    """Swaps a name between a file and a repository with renames, as fast as it goes or one swap at a time."""

    def __init__(self, tmp_path: Path, root: Path, repository: Path) -> None:
        self._x, self._repository, self._file = root / PLACE / "x", repository, tmp_path / "file"
        self._file.write_text("a file\n")
        self._is_repository = False
        self._file.rename(self._x)

    def flip(self) -> None:
        old, new = (self._repository, self._file) if self._is_repository else (self._file, self._repository)
        self._x.rename(old)
        new.rename(self._x)
        self._is_repository = not self._is_repository

    @contextmanager
    def flipping(self, seed: int) -> Iterator[None]:
        """In a process of its own: against the code before the cure this won 8 of 8 tries within 1.1 s."""
        paths = [str(path) for path in (self._x, self._repository, self._file)]
        with subprocess.Popen([sys.executable, "-c", FLIP, *paths, str(seed)], stdin=subprocess.PIPE) as child:
            try:
                yield
            finally:
                assert child.poll() is None
                child.kill()


def take_if_possible(it: Shadow) -> None:
    try:
        it.take()
    except OvertError:
        pass  # a name that keeps changing may spoil a snapshot


def gitlinks(store: Path, root: Path) -> list[str]:
    listed = run_git(root, f"--git-dir={store}", "ls-files", "--stage")
    return [line for line in listed.splitlines() if line.startswith("160000")]


def swap_before_entering(it: Shadow, flip: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the name become a repository in the moment between the check and `update-index`."""
    real = Git.run
    swapped: list[int] = []

    def run(self: Git, *words: str, feed: bytes | None = None, more: dict[str, str] | None = None) -> bytes:
        if words[:2] == ("update-index", "--add") and not swapped:
            swapped.append(1)
            flip()
        return real(self, *words, feed=feed, more=more)

    monkeypatch.setattr(Git, "run", run)
    it.take()
    monkeypatch.setattr(Git, "run", real)
    assert swapped


@pytest.mark.parametrize("first", [True, False])
def test_a_file_that_becomes_a_repository_while_it_is_added_runs_nothing(
    tmp_path: Path, root: Path, layers: str, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    store = tmp_path / "store"
    repository, marks = make_hostile(tmp_path, store)
    it = shadow(store, root)
    if not first:
        it.take()
    flipper = Flipper(tmp_path, root, repository)
    swap_before_entering(it, flipper.flip, monkeypatch)
    assert gitlinks(store, root) == []
    assert f"{PLACE}/x/ (a repository of its own)" in it.take().uncovered
    assert [mark for mark in marks if mark.exists()] == []


def test_a_gitlink_in_an_old_store_is_removed_and_runs_nothing(tmp_path: Path, root: Path, layers: str) -> None:
    store = tmp_path / "store"
    repository, marks = make_hostile(tmp_path, store)
    it = shadow(store, root)
    it.take()
    commit = run_git(repository, "rev-parse", "HEAD")
    run_git(root, f"--git-dir={store}", "update-index", "--add", "--cacheinfo", f"160000,{commit},{PLACE}/x")
    (store / shadow_index.CHECKED).unlink()
    repository.rename(root / PLACE / "x")
    it = shadow(store, root)
    assert it.take().name
    assert gitlinks(store, root) == []
    assert [mark for mark in marks if mark.exists()] == []


def test_flipping_a_name_between_file_and_repository_runs_nothing(tmp_path: Path, root: Path, layers: str) -> None:
    assert count_successes(tmp_path, root, tries=2, seconds=0.8) == 0


@pytest.mark.soak
def test_twenty_long_tries_at_flipping_run_nothing(tmp_path: Path, root: Path, layers: str) -> None:
    assert count_successes(tmp_path, root, tries=20, seconds=3.5) == 0


def count_successes(tmp_path: Path, root: Path, *, tries: int, seconds: float) -> int:
    successes = 0
    for number in range(tries):
        own = tmp_path / str(number)
        own.mkdir()
        store = own / "store"
        repository, marks = make_hostile(own, store)
        flipper = Flipper(own, root, repository)
        it = shadow(store, root)
        with flipper.flipping(seed=number):
            end = time.monotonic() + seconds
            while time.monotonic() < end and not any(mark.exists() for mark in marks):
                (root / "other.txt").write_text(f"{time.monotonic()}\n")
                take_if_possible(it)
        successes += any(mark.exists() for mark in marks)
        shutil.rmtree(root / PLACE)
        (root / PLACE).mkdir()
    return successes


@needs_landlock
def test_git_can_write_only_its_place_and_execute_only_itself(tmp_path: Path) -> None:
    repository, outside = tmp_path / "repository", tmp_path / "outside"
    for folder in (repository, outside):
        folder.mkdir()
        run_git(folder, "init", "-q")
    places = GitPlaces(git_dir=str(outside / ".git"), cwd="/", write=(str(repository),), read=(str(outside),))
    refused = start_git(GIT, ["config", "a.b", "c"], places)
    assert b"Permission denied" in refused.communicate()[1]
    unreadable = start_git(GIT, ["config", "--list"], GitPlaces(git_dir=str(outside / ".git"), cwd="/"))
    assert b"Permission denied" in unreadable.communicate()[1]
    both = GitPlaces(git_dir=str(outside / ".git"), cwd="/", write=(str(outside),))
    alias = start_git(GIT, ["-c", "alias.evil=!/bin/true", "evil"], both)
    alias.communicate()
    assert alias.returncode != 0
    written = start_git(GIT, ["config", "a.b", "c"], both)
    assert (written.communicate()[1], written.returncode) == (b"", 0)


@needs_landlock
def test_a_folder_swapped_for_a_link_brings_nothing_from_outside_into_the_store(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("the outside secret\n")
    (root / "folder").mkdir()
    (root / "folder/key").write_text("inside\n")
    store = tmp_path / "store"
    monkeypatch.setattr(_shadow_git.Git, "clear", lambda self: None)
    git = Git(GIT, str(store), str(root))
    with git.locked():
        (root / "folder").rename(tmp_path / "aside")
        (root / "folder").symlink_to(secret)
        with pytest.raises(OvertError, match="Permission denied"):
            git.run("hash-object", "-w", "--no-filters", "folder/key")


def test_every_setting_of_a_repository_that_names_a_program_is_overruled(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    run_git(repository, "init", "-q")
    for name in ("core.hooksPath", "core.fsmonitor", "core.sshCommand", "core.pager"):
        run_git(repository, "config", name, str(tmp_path / "program"))
    places = GitPlaces(git_dir=str(repository / ".git"), cwd=str(repository), read=(str(repository),))
    for name in ("core.hooksPath", "core.fsmonitor", "core.sshCommand", "core.pager"):
        out, _ = start_git(GIT, ["config", name], places).communicate()
        assert out.decode().strip() == git_process.SETTINGS[name]
    assert "SSH_AUTH_SOCK" not in git_process.make_environment(places, {})


def test_only_one_module_starts_git() -> None:
    """Whoever knows where git is starts it through `start_git`; `git` is never a word of another start."""
    source = Path(git_process.__file__).parents[2]
    texts = {str(path.relative_to(source)): path.read_text() for path in source.rglob("*.py")}
    starts = re.compile(r"subprocess\.(Popen|run|check_output)\(|create_subprocess_exec|posix_spawnp?\(")
    starters = {name for name, text in texts.items() if starts.search(text)}
    assert {name for name in starters if "git" in name or "find_git" in texts[name]} == {"workspace/git/process.py"}
    assert git_process.read_git_version(GIT, 10.0).startswith("git version ")
