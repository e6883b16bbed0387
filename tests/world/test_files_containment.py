"""Nothing leaves the roots, whatever the path says and whoever swaps folders meanwhile."""

import asyncio
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.world.files_kit import done, files, names, put, refused

from overt.core.effects import Change
from overt.core.errors import ToolError
from overt.world.files import Files


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("secret")
    return folder


@pytest.fixture
def root(tmp_path: Path, outside: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "a.txt").write_text("a\n")
    (tmp_path / "root-twin").mkdir()
    (tmp_path / "root-twin" / "x.txt").write_text("x")
    (folder / "leak").symlink_to(outside)
    (folder / "leak.txt").symlink_to("../outside/secret.txt")
    (folder / "dangling").symlink_to(outside / "new.txt")
    return folder


ESCAPES = (
    "../outside/secret.txt",
    "sub/../../outside/secret.txt",
    "leak/secret.txt",
    "leak.txt",
    "../root-twin/x.txt",
    "sub/../leak/./secret.txt",
    "/etc/passwd",
    "leak/../outside/secret.txt",
)


@pytest.mark.parametrize("path", ESCAPES)
def test_every_way_out_is_refused_for_reading_and_writing(root: Path, outside: Path, path: str) -> None:
    hands = files(root)
    assert refused(hands.text(path)).code == "outside"
    assert refused(hands.lines(path, offset=1, limit=1)).code == "outside"
    assert refused(hands.change([Change(path=path, content="x", base="seen")])).code == "outside"
    assert (outside / "secret.txt").read_text() == "secret"


def test_a_link_to_a_file_that_does_not_exist_outside_creates_nothing(root: Path, outside: Path) -> None:
    assert refused(files(root).change([Change(path="dangling", content="x", base="absent")])).code == "outside"
    assert names(outside) == ["secret.txt"]


def test_the_same_folder_by_absolute_path_link_or_dots_is_the_same_file(root: Path) -> None:
    (root / "inner").symlink_to("sub")
    (root / "absolute").symlink_to(root / "sub")
    hands = files(root)
    paths = ("sub/a.txt", f"{root}/sub/a.txt", "inner/a.txt", "absolute/a.txt", "inner/../sub/a.txt", "sub/./a.txt/")
    assert {done(hands.text(path)).path for path in paths} == {"sub/a.txt"}


def test_a_root_reached_through_a_link_is_still_the_root(root: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    assert done(files(root).text(f"{tmp_path}/alias/sub/a.txt")).path == "sub/a.txt"


def test_writing_through_a_link_changes_its_target_and_keeps_the_link(root: Path) -> None:
    (root / "link.txt").symlink_to("sub/a.txt")
    assert put(files(root), "link.txt", "new\n").path == "sub/a.txt"
    assert (root / "link.txt").is_symlink()
    assert (root / "sub" / "a.txt").read_text() == "new\n"


def test_extra_roots_may_be_written_or_only_read(root: Path, outside: Path) -> None:
    secret = str(outside / "secret.txt")
    assert put(files(root, write=(str(outside),)), secret, "changed").path == secret
    readable = files(root, read=(str(outside),))
    assert done(readable.text(secret)).text == "changed"
    error = refused(readable.change([Change(path=secret, content="x", base="seen")]))
    assert (error.code, "may be read but not changed" in error.message) == ("outside", True)


@pytest.mark.parametrize("path", [".git/config", ".git/hooks/new", "sub/.GIT/x", ".git"])
def test_gits_own_data_is_never_written(root: Path, path: str) -> None:
    (root / ".git").mkdir(exist_ok=True)
    assert refused(files(root).change([Change(path=path, content="x", base="seen")])).code in ("protected", "folder")
    assert names(root / ".git") == []


def test_a_hard_link_to_an_outside_file_is_cut_not_written_through(root: Path, outside: Path) -> None:
    os.link(outside / "secret.txt", root / "hard.txt")
    put(files(root), "hard.txt", "mine")
    assert (outside / "secret.txt").read_text() == "secret"


SWAPPER = """
import ctypes, os, sys
exchange = ctypes.CDLL(None).renameat2
real, link = (os.fsencode(path) for path in sys.argv[1:])
while os.getppid() == PARENT:
    for _ in range(1000):
        if exchange(-100, real, -100, link, 2):
            sys.exit("the exchange failed")
"""
"""Exchanges a folder and a link to outside, each time in one system call, as fast as possible."""


@contextmanager
def swapped(real: Path, link: Path) -> Iterator[None]:
    program = SWAPPER.replace("PARENT", str(os.getpid()))
    with subprocess.Popen([sys.executable, "-c", program, str(real), str(link)]) as child:
        try:
            yield
            assert child.poll() is None
        finally:
            child.kill()


async def edit_many(hands: Files, count: int) -> int:
    """Edits that went through, of a file that exists and of new ones."""
    went = 0
    for number in range(count):
        try:
            if number % 2:
                base = (await hands.text("sub/a.txt")).hash
                await hands.change([Change(path="sub/a.txt", content=f"{number}\n", base=base)])
            else:
                await hands.change([Change(path=f"sub/new-{number}", content=f"{number}\n", base="absent")])
        except ToolError:
            continue
        finally:
            hands.journal.facts.clear()
        went += 1
    return went


def race(root: Path, outside: Path, count: int) -> None:
    before = {path: path.read_bytes() for path in outside.iterdir()}
    (root / "other").symlink_to(outside)
    with swapped(root / "sub", root / "other"):
        went = asyncio.run(asyncio.wait_for(edit_many(files(root), count), 1800))
    assert {path: path.read_bytes() for path in outside.iterdir()} == before
    assert 0 < went < count, "the swapper must have met some edits and missed others"


def test_no_edit_lands_outside_while_a_parent_is_swapped_for_a_link(root: Path, outside: Path) -> None:
    (outside / "a.txt").write_text("untouched")
    race(root, outside, 1500)


@pytest.mark.soak
@pytest.mark.timeout(1900)
def test_no_edit_of_twenty_thousand_lands_outside(root: Path, outside: Path) -> None:
    (outside / "a.txt").write_text("untouched")
    race(root, outside, 20_000)


def test_descriptors_do_not_pile_up(root: Path) -> None:
    hands = files(root)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(50):
        put(hands, "sub/a.txt", f"{number}\n")
        put(hands, f"fresh/{number}/deep/x", "x", base="absent")
        refused(hands.text("leak/secret.txt"))
        refused(hands.text("nothing"))
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_new_folder_and_file_follow_the_umask(root: Path) -> None:
    before = os.umask(0o027)
    try:
        put(files(root), "made/new.txt", "x", base="absent")
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "made").stat().st_mode) == 0o750
    assert stat.S_IMODE((root / "made" / "new.txt").stat().st_mode) == 0o640
