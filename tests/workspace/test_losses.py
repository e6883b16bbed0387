"""What undo would not bring back of what a command changes."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.workspace.keeping_kit import GIT, shadow

from overt.core.protocols import CommandChange, Survey
from overt.workspace.undo.undo_coverage import NOT_IGNORED, UndoCover

LARGEST = 1000


@pytest.fixture
def work(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    for name in ("src/a.py", "src/b.py", "notes.txt", ".env", "data/big.bin", "node_modules/x/i.js", "dist/app.js"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / "src" / "__pycache__").mkdir()
    (root / "src" / "__pycache__" / "a.pyc").touch()
    (root / "data" / "big.bin").write_bytes(bytes(LARGEST + 1))
    (root / ".gitignore").write_text(".env\nnode_modules\ndist\n__pycache__\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


def cover_of(work: Path, *, write: tuple[str, ...] = ()) -> UndoCover:
    store = shadow(work.parent / "shadow", work, largest=LARGEST)
    return UndoCover(
        root=str(work), home=str(work.parent / "home"), write=write, snapshot=store.take(), shadow=store, git=GIT
    )


def change(scope: str, *paths: str, follows: bool = True) -> CommandChange:
    return CommandChange(scope=scope, paths=paths, follows=follows)  # type: ignore[arg-type]


def lost(survey: Survey) -> dict[str, str]:
    return {loss.path: loss.why for loss in survey.losses}


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (("src/a.py",), []),
        (("src",), []),
        (("src/*.py",), []),
        (("new.txt",), []),
        ((".env",), [".env"]),
        ((".e*",), [".env"]),
        (("*",), ["data/big.bin"]),
        (("data",), ["data/big.bin"]),
        (("node_modules",), []),
        (("dist",), []),
        (("dist/app.js",), []),
        (("/tmp/x", "/var/tmp/y"), []),
        (("**/*.pyc",), []),
        (("**/*.bin",), ["data/big.bin"]),
        (("/etc/hosts",), ["/etc/hosts"]),
        (("/etc/*.conf",), ["/etc"]),
        (("../other",), ["{up}/other"]),
        (("~/x",), ["{up}/home/x"]),
        (("~other/x",), ["/home/other/x"]),
        ((".git/config",), [".git/config"]),
        ((".git",), [".git"]),
        ((".GIT",), [".GIT"]),
        (("overt.toml",), ["overt.toml"]),
        ((".",), [".git", "data/big.bin", ".env"]),
    ],
)  # fmt: skip
def test_each_path_is_held_against_what_the_snapshot_covers(
    work: Path, paths: tuple[str, ...], expected: list[str]
) -> None:
    found = lost(cover_of(work).survey(change("paths", *paths)))
    up = str(work.parent)
    matching = [path for path in found if not (path.startswith("/etc/") and expected == ["/etc"])]
    assert matching == [path.format(up=up) for path in expected]


def test_the_whole_workspace_counts_where_no_path_is_known(work: Path) -> None:
    survey = cover_of(work, write=("/srv/shared",)).survey(change("everything"))
    assert lost(survey) == {
        ".git": "git's own files",
        "/srv/shared": "outside the workspace",
        "data/big.bin": "0 MB",
        ".env": "ignored by git",
    }


def test_a_scope_leaves_out_what_the_command_leaves_out(work: Path) -> None:
    cover = cover_of(work)
    assert set(lost(cover.survey(change("below", ".")))) == {"data/big.bin", ".env"}
    assert set(lost(cover.survey(change("unignored", ".")))) == {"data/big.bin"}
    assert set(lost(cover.survey(change("paths", NOT_IGNORED)))) == {"data/big.bin"}


def test_what_can_be_rebuilt_is_named_and_undo_is_not_promised(work: Path) -> None:
    survey = cover_of(work).survey(change("paths", "node_modules"))
    assert (survey.losses, survey.rebuilt, survey.undone) == ((), ("node_modules",), False)
    survey = cover_of(work).survey(change("paths", "src"))
    assert (survey.losses, survey.rebuilt, survey.undone) == ((), ("src/__pycache__/",), True)


def test_without_a_snapshot_only_what_is_rebuilt_or_new_may_go(work: Path) -> None:
    cover = UndoCover(root=str(work), home="/home/me", why_not="undo is off", git=GIT)
    paths = ("notes.txt", "node_modules", "new.txt", "/tmp/x")
    assert lost(cover.survey(change("paths", *paths))) == {"notes.txt": "undo is off"}
    assert lost(cover.survey(change("tracked"))) == {"uncommitted work": "undo is off"}


def test_a_link_is_followed_only_where_the_command_follows_it(work: Path) -> None:
    (work / "link").symlink_to("/etc/hosts")
    (work / "folder").symlink_to("/etc")
    cover = cover_of(work)
    assert lost(cover.survey(change("paths", "link", follows=False))) == {}
    assert lost(cover.survey(change("paths", "link"))) == {"/etc/hosts": "outside the workspace"}
    assert lost(cover.survey(change("paths", "folder/hosts", follows=False))) == {"/etc/hosts": "outside the workspace"}


def test_a_file_with_a_second_name_is_not_changed_in_place_on_the_strength_of_undo(work: Path) -> None:
    os.link(work / "notes.txt", work.parent / "elsewhere")
    cover = cover_of(work)
    assert lost(cover.survey(change("paths", "notes.txt"))) == {
        "notes.txt": "it has another name elsewhere (a hard link)"
    }
    assert lost(cover.survey(change("paths", "notes.txt", follows=False))) == {}


def test_a_repository_inside_of_this_one_is_a_loss(work: Path) -> None:
    subprocess.run(["git", "init", "-q", str(work / "vendor")], check=True)
    (work / "vendor" / "x").touch()
    cover = cover_of(work)
    assert "vendor/" in lost(cover.survey(change("paths", "vendor")))
    assert "vendor/" in lost(cover.survey(change("paths", "vendor/x")))
    assert "vendor/" in lost(cover.survey(change("tracked", "vendor")))
    assert lost(cover.survey(change("tracked", "."))) == {}


def test_git_work_is_a_loss_only_in_changed_files_that_undo_does_not_cover(work: Path) -> None:
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e@x", *words], cwd=work, check=True)

    git("add", "-f", "src", "notes.txt", ".env", "data")
    git("commit", "-qm", "first")
    assert lost(cover_of(work).survey(change("tracked"))) == {}
    (work / "notes.txt").write_text("changed")
    assert lost(cover_of(work).survey(change("tracked"))) == {}
    (work / ".env").write_text("changed")
    (work / "data" / "big.bin").write_bytes(bytes(LARGEST + 2))
    assert set(lost(cover_of(work).survey(change("tracked")))) == {".env", "data/big.bin"}
    assert set(lost(cover_of(work).survey(change("tracked", "data")))) == {"data/big.bin"}
    assert lost(cover_of(work).survey(change("tracked", "src"))) == {}


def test_a_whole_work_tree_outside_the_temporary_folders_is_covered(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("overt.workspace.undo.undo_coverage.PRIVATE", ())
    (work / "data" / "big.bin").unlink()
    assert lost(cover_of(work).survey(change("tracked", "."))) == {}
