"""Where a path really lies, told without opening anything."""

import os
from pathlib import Path

import pytest

from overt.core.protocols import ResolvedPath
from overt.workspace.files import Workspace
from overt.workspace.real_path import describe_path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    (folder / "sub").mkdir(parents=True)
    (folder / ".env").write_text("KEY=1")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/x").write_text("x")
    (folder / "plain").symlink_to(".env")
    (folder / "chain").symlink_to("plain")
    (folder / "absolute").symlink_to(folder / ".env")
    (folder / "folder").symlink_to("sub")
    (folder / "out").symlink_to("../outside")
    (folder / "circle").symlink_to("circle")
    return folder


def seen(root: Path, path: str) -> ResolvedPath:
    return describe_path(Workspace(root=str(root), read=(str(root.parent / "readable"),)), path)


@pytest.mark.parametrize("path", ["plain", "chain", "absolute", "folder/../plain", "./plain", "sub/../../root/plain"])
def test_links_and_dots_are_resolved(root: Path, path: str) -> None:
    spelled = os.path.normpath(path).removeprefix("../root/")
    assert seen(root, path) == ResolvedPath(spelled=spelled, real=".env", links=1)


def test_what_does_not_exist_lies_in_its_real_folder(root: Path) -> None:
    assert seen(root, "folder/new/x") == ResolvedPath(spelled="folder/new/x", real="sub/new/x", links=0)
    outside = f"{root.parent}/outside/new"
    assert seen(root, "out/new") == ResolvedPath(spelled="out/new", real=outside, links=0)


def test_places_outside_are_absolute(root: Path) -> None:
    outside = f"{root.parent}/outside/x"
    assert seen(root, "out/x") == ResolvedPath(spelled="out/x", real=outside, links=1)
    assert seen(root, "../outside/x").spelled == outside
    assert seen(root, outside).real == outside
    (root.parent / "readable").mkdir()
    assert seen(root, "../readable") == ResolvedPath(
        spelled=f"{root.parent}/readable", real=f"{root.parent}/readable", links=0
    )
    (root.parent / "root-twin").mkdir()
    assert seen(root, "../root-twin").real == f"{root.parent}/root-twin"


def test_the_names_of_one_file_are_counted(root: Path) -> None:
    os.link(root.parent / "outside/x", root / "hard")
    assert (seen(root, "hard").links, seen(root, ".env").links, seen(root, "sub").links) == (2, 1, 0)


def test_pipes_devices_and_circles_are_looked_at_and_not_opened(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "zero").symlink_to("/dev/zero")
    assert (seen(root, "pipe").links, seen(root, "zero").links, seen(root, "zero").real) == (0, 0, "/dev/zero")
    assert seen(root, "circle") == ResolvedPath(spelled="circle", real="circle", links=0)


def test_a_name_written_as_it_is_shown_means_that_file(root: Path) -> None:
    (root / "odd\n").write_text("")
    assert seen(root, "odd\\x0a") == ResolvedPath(spelled="odd\\x0a", real="odd\n", links=1)
    assert seen(root, ".\\x65nv").real == ".env"
    assert seen(root, "no\\x0a") == ResolvedPath(spelled="no\\x0a", real="no\\x0a", links=0)


def test_no_path_makes_it_fail(root: Path) -> None:
    assert seen(root, "").real == "."
    assert seen(root, "a\0b") == ResolvedPath(spelled="a\0b", real="a\0b", links=0)
    assert seen(root, "x" * 5000).links == 0
    assert seen(root, ".env/below").links == 0
    assert seen(root, "a\\x00b").links == 0
