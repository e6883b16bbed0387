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
from tests.workspace.files_kit import done, files, names, put, refused

from overt.core.capabilities import Change, Query
from overt.core.errors import ToolError
from overt.workspace.files import Files


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
                found = await hands.text("sub/a.txt")
                assert found.text != "untouched"
                await hands.change([Change(path="sub/a.txt", content=f"{number}\n", base=found.hash)])
            else:
                await hands.change([Change(path=f"sub/new-{number}", content=f"{number}\n", base="absent")])
        except ToolError:
            continue
        finally:
            hands.journal.facts.clear()
        went += 1
    return went


def race(hands: Files, root: Path, target: Path, count: int) -> None:
    """Edit below `sub` while it is exchanged with a link to `target`, of which nothing may be read or changed."""
    (target / "a.txt").write_text("untouched")
    before = {path: path.read_bytes() for path in target.iterdir()}
    (root / "other").symlink_to(target)
    with swapped(root / "sub", root / "other"):
        went = asyncio.run(asyncio.wait_for(edit_many(hands, count), 1800))
    assert {path: path.read_bytes() for path in target.iterdir()} == before
    assert 0 < went < count, "the swapper must have met some edits and missed others"


def secret_is_denied(effect: str, real: str) -> str:
    return f"{effect}(secret/**)" if real.startswith("secret/") else ""


def test_no_edit_lands_outside_while_a_parent_is_swapped_for_a_link(root: Path, outside: Path) -> None:
    race(files(root), root, outside, 1500)


def test_no_edit_lands_in_a_forbidden_folder_while_a_parent_is_swapped_for_a_link(root: Path) -> None:
    (root / "secret").mkdir()
    race(files(root, forbid=secret_is_denied), root, root / "secret", 1500)


@pytest.mark.soak
@pytest.mark.timeout(1900)
def test_no_edit_of_twenty_thousand_lands_outside(root: Path, outside: Path) -> None:
    race(files(root), root, outside, 20_000)


@pytest.mark.soak
@pytest.mark.timeout(1900)
def test_no_edit_of_twenty_thousand_lands_in_a_forbidden_folder(root: Path) -> None:
    (root / "secret").mkdir()
    race(files(root, forbid=secret_is_denied), root, root / "secret", 20_000)


async def search_many(hands: Files, count: int) -> tuple[int, int]:
    """How many searches showed the line of the workspace, and how many the one that it must not see."""
    fine = leaked = 0
    for _ in range(count):
        found = await hands.search(Query(pattern="token"))
        fine += "token of the workspace" in found.text
        leaked += "token of others" in found.text
    return fine, leaked


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("count", [60, pytest.param(3000, marks=[pytest.mark.soak, pytest.mark.timeout(600)])])
def test_no_search_reads_through_a_link_that_was_put_there_while_it_walks(
    root: Path, outside: Path, inside: bool, count: int
) -> None:
    target = root / "secret" if inside else outside
    target.mkdir(exist_ok=True)
    (target / "a.txt").write_text("token of others\n")
    (root / "sub/a.txt").write_text("token of the workspace\n")
    (root / "other").symlink_to(target)
    with swapped(root / "sub", root / "other"):
        fine, leaked = done(search_many(files(root, forbid=secret_is_denied), count))
    assert leaked == 0
    assert 0 < fine < count


def test_a_root_that_was_replaced_leads_nowhere(root: Path, outside: Path) -> None:
    hands = files(root)
    root.rename(root.parent / "moved")
    root.symlink_to(outside)
    assert refused(hands.text("secret.txt")).code == "outside"
    assert refused(hands.change([Change(path="new", content="x", base="absent")])).code == "outside"
    assert refused(hands.search(Query(pattern="secret"))).code == "outside"
    assert names(outside) == ["secret.txt"]
    root.unlink()
    (root.parent / "moved").rename(root)
    assert done(hands.text("sub/a.txt")).text == "a\n"


def test_one_file_has_one_path_whichever_root_it_is_reached_from(root: Path, tmp_path: Path) -> None:
    hands = files(root, write=(str(tmp_path),))
    paths = ("sub/a.txt", "../root/sub/a.txt", f"{tmp_path}/root/sub/a.txt", f"{tmp_path}/outside/../root/sub/a.txt")
    assert {done(hands.text(path)).path for path in paths} == {"sub/a.txt"}


def test_descriptors_do_not_pile_up(root: Path) -> None:
    hands = files(root)
    before = len(os.listdir("/proc/self/fd"))
    for number in range(50):
        put(hands, "sub/a.txt", f"{number}\n")
        put(hands, f"fresh/{number}/deep/x", "x", base="absent")
        refused(hands.text("leak/secret.txt"))
        refused(hands.text("nothing"))
        refused(hands.text("..\\x2foutside"))
        done(hands.search(Query(pattern="a")))
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_new_folder_and_file_follow_the_umask(root: Path) -> None:
    before = os.umask(0o027)
    try:
        put(files(root), "made/new.txt", "x", base="absent")
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "made").stat().st_mode) == 0o750
    assert stat.S_IMODE((root / "made" / "new.txt").stat().st_mode) == 0o640
