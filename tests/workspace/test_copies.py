"""What differs in a copy of a folder, read from where overlayfs keeps it, and the commit that is made of it."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from overt.sandbox.overlay import Overlay, mount_overlay
from overt.workspace.copies.agent_commit import AgentCommits, KeptState
from overt.workspace.copies.changed_files import CopyChange, find_changes
from overt.workspace.git.state import find_repository


@pytest.fixture
def overlay(tmp_path: Path) -> Iterator[Overlay]:
    root = tmp_path / "w"
    (root / "d" / "e").mkdir(parents=True)
    for name in ("a.txt", "d/e/f", "d/g", "run.sh", "same"):
        (root / name).write_text(f"{name}\n")
    (root / "link").symlink_to("a.txt")
    (root / ".git").mkdir()
    time.sleep(0.02)  # two ticks of the clock of the file system
    (tmp_path / "copy").mkdir()
    view = mount_overlay(str(root), str(tmp_path / "copy"))
    yield view
    view.close()
    shutil.rmtree(tmp_path / "copy")


def changes(overlay: Overlay) -> dict[str, tuple[str, bool, bool]]:
    """Path → kind, whether something was there, whether that was changed too."""
    since = os.stat(Path(overlay.upper).parent / "work").st_ctime_ns
    found = find_changes(overlay.upper, overlay.root, since_ns=since)
    return {change.path: (change.kind, change.existed, change.conflict) for change in found}


def in_copy(overlay: Overlay, command: str) -> None:
    folder = os.open(overlay.view, os.O_RDONLY)
    try:
        subprocess.run(["sh", "-ec", command], check=True, preexec_fn=lambda: os.fchdir(folder))
    finally:
        os.close(folder)


def test_every_kind_of_change_is_seen_and_nothing_else(overlay: Overlay) -> None:
    in_copy(
        overlay,
        "echo more >> a.txt; rm -r d; mkdir d; echo new > d/new; rm link; ln -s same link; chmod +x run.sh; "
        "touch same; rm -r .git; mkdir .git; echo x > .git/config; mkfifo pipe; mkdir empty",
    )
    assert changes(overlay) == {
        "a.txt": ("file", True, False),
        "d/e/f": ("deleted", True, False),
        "d/g": ("deleted", True, False),
        "d/new": ("file", False, False),
        "link": ("link", True, False),
        "run.sh": ("file", True, False),
    }


def test_a_folder_in_place_of_a_file_and_the_other_way_round(overlay: Overlay) -> None:
    in_copy(overlay, "rm a.txt; mkdir a.txt; echo x > a.txt/inside; rm -r d; echo file > d")
    assert changes(overlay) == {
        "a.txt": ("deleted", True, False),
        "a.txt/inside": ("file", False, False),
        "d": ("file", True, False),
        "d/e/f": ("deleted", True, False),
        "d/g": ("deleted", True, False),
    }


def test_what_was_changed_below_too_is_a_conflict_unless_it_is_the_same(overlay: Overlay) -> None:
    in_copy(overlay, "echo theirs > a.txt; rm same; echo both > d/g; echo theirs > new")
    root = Path(overlay.root)
    time.sleep(0.02)
    (root / "a.txt").write_text("mine\n")
    (root / "same").write_text("mine\n")
    (root / "d" / "g").write_text("both\n")
    (root / "new").write_text("mine\n")
    assert changes(overlay) == {
        "a.txt": ("file", True, True),
        "same": ("deleted", True, True),
        "new": ("file", True, True),
    }


def test_a_commit_in_a_repository_without_a_first_one_holds_odd_names(overlay: Overlay, tmp_path: Path) -> None:
    shutil.rmtree(f"{overlay.root}/.git")
    subprocess.run(["git", "init", "-q", overlay.root], check=True)
    in_copy(overlay, "printf x > 'a \"b\\\\c\n'; printf y > \"$(printf '\\377')\"")
    kept = keep(overlay, tmp_path)
    shown = subprocess.run(
        ["git", "-C", overlay.root, "show", "-z", "--name-only", "--format=", kept.ref], capture_output=True, check=True
    )
    assert set(shown.stdout.split(b"\0")[:-1]) == {b'a "b\\\\c\n', b"\xff"}
    head = subprocess.run(["git", "-C", overlay.root, "rev-parse", "-q", "--verify", "HEAD"], capture_output=True)
    assert head.returncode == 1


def test_a_filter_of_the_repository_runs_neither_for_the_commit_nor_for_its_parent(
    overlay: Overlay, tmp_path: Path
) -> None:
    shutil.rmtree(f"{overlay.root}/.git")
    root = Path(overlay.root)
    subprocess.run(["git", "init", "-q", overlay.root], check=True)
    for key in ("clean", "smudge"):
        subprocess.run(
            ["git", "-C", overlay.root, "config", f"filter.x.{key}", f"touch {tmp_path}/ran; cat"], check=True
        )
    (root / ".gitattributes").write_text("* filter=x\n")
    in_copy(overlay, "echo mine > a.txt")
    kept = keep(overlay, tmp_path)
    shown = subprocess.run(
        ["git", "-C", overlay.root, "cat-file", "blob", f"{kept.ref}:a.txt"], capture_output=True, check=True
    )
    assert shown.stdout == b"mine\n"
    assert not (tmp_path / "ran").exists()


def keep(overlay: Overlay, tmp_path: Path) -> KeptState:
    found: list[CopyChange] = find_changes(overlay.upper, overlay.root, since_ns=time.time_ns())
    repository, git = find_repository(overlay.root), shutil.which("git")
    assert repository is not None and git is not None
    return AgentCommits(os.path.realpath(git), repository, overlay.root, str(tmp_path / "copy")).keep(
        found, name="id", message="worker: test"
    )
