"""Where a path really lies, told without opening anything."""

import os
from pathlib import Path

import pytest

from overt.workspace.files import Workspace
from overt.workspace.real_path import Sight, look


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


def seen(root: Path, path: str) -> Sight:
    return look(Workspace(root=str(root), read=(str(root.parent / "readable"),)), path)


@pytest.mark.parametrize("path", ["plain", "chain", "absolute", "folder/../plain", "./plain", "sub/../../root/plain"])
def test_links_and_dots_are_resolved(root: Path, path: str) -> None:
    spelled = os.path.normpath(path).removeprefix("../root/")
    assert seen(root, path) == Sight(spelled=spelled, real=".env", inside=True, kind="file", links=1)


def test_what_does_not_exist_lies_in_its_real_folder(root: Path) -> None:
    assert seen(root, "folder/new/x") == Sight(spelled="folder/new/x", real="sub/new/x", inside=True)
    outside = f"{root.parent}/outside/new"
    assert seen(root, "out/new") == Sight(spelled="out/new", real=outside, inside=False)


def test_places_outside_are_absolute(root: Path) -> None:
    outside = f"{root.parent}/outside/x"
    assert seen(root, "out/x") == Sight(spelled="out/x", real=outside, inside=False, kind="file", links=1)
    assert seen(root, "../outside/x").spelled == outside
    assert seen(root, outside).real == outside
    (root.parent / "readable").mkdir()
    assert seen(root, "../readable") == Sight(
        spelled=f"{root.parent}/readable", real=f"{root.parent}/readable", inside=True, kind="folder"
    )
    (root.parent / "root-twin").mkdir()
    assert not seen(root, "../root-twin").inside


def test_the_names_of_one_file_are_counted(root: Path) -> None:
    os.link(root.parent / "outside/x", root / "hard")
    assert (seen(root, "hard").links, seen(root, ".env").links, seen(root, "sub").links) == (2, 1, 0)


def test_pipes_devices_and_circles_are_looked_at_and_not_opened(root: Path) -> None:
    os.mkfifo(root / "pipe")
    (root / "zero").symlink_to("/dev/zero")
    assert (seen(root, "pipe").kind, seen(root, "zero").kind, seen(root, "zero").real) == (
        "other",
        "other",
        "/dev/zero",
    )
    assert seen(root, "circle").kind == "link"


def test_a_name_written_as_it_is_shown_means_that_file(root: Path) -> None:
    (root / "odd\n").write_text("")
    assert seen(root, "odd\\x0a") == Sight(spelled="odd\\x0a", real="odd\n", inside=True, kind="file", links=1)
    assert seen(root, ".\\x65nv").real == ".env"
    assert seen(root, "no\\x0a") == Sight(spelled="no\\x0a", real="no\\x0a", inside=True)


def test_no_path_makes_it_fail(root: Path) -> None:
    assert seen(root, "").real == "."
    assert seen(root, "a\0b") == Sight(spelled="a\0b", real="a\0b", inside=False)
    assert not seen(root, "x" * 5000).exists
    assert not seen(root, ".env/below").exists
    assert not seen(root, "a\\x00b").exists
