"""Putting files back: inside the walls, all or none, each one whole."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.workspace.keeping_kit import folder, whole

from overt.core.errors import OvertError, ToolError
from overt.core.file_states import FileChange, FileState
from overt.workspace.files import Workspace
from overt.workspace.undo import restore as module
from overt.workspace.undo.content_store import ContentStore
from overt.workspace.undo.restore import RestoreError, require_restorable, restore, state_of, unlock_folders

Kept = Callable[..., FileState]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


class Keep:
    def __init__(self, path: Path) -> None:
        self.store = ContentStore(str(path))

    def __call__(self, text: str, mode: int = 0o644) -> FileState:
        return FileState(hash=self.store.put(text.encode()), mode=mode)

    def content(self, state: FileState) -> bytes:
        return self.store.get(state.hash)


@pytest.fixture
def keep(tmp_path: Path) -> Keep:
    return Keep(tmp_path / "store")


def test_states_come_and_go(root: Path, keep: Keep) -> None:
    (root / "edited").write_text("new")
    (root / "made/deep").mkdir(parents=True)
    (root / "made/deep/file").write_text("new")
    workspace = Workspace(root=str(root))
    steps = [
        FileChange(path="edited", before=keep("new"), after=keep("old", 0o640)),
        FileChange(path="made", before=folder(), after=None),
        FileChange(path="made/deep", before=folder(), after=None),
        FileChange(path="made/deep/file", before=keep("new"), after=None),
        FileChange(path="gone/数据.txt", before=None, after=keep("back", 0o400)),
        FileChange(path="gone", before=None, after=folder(0o500)),
        FileChange(path="link", before=None, after=keep("edited", 0o120000)),
    ]
    restore(workspace, steps, keep.content)
    assert whole(root) == {
        "edited": ("-rw-r-----", b"old"),
        "gone": ("dr-x------", ""),
        "gone/数据.txt": ("-r--------", b"back"),
        "link": ("lrwxrwxrwx", "edited"),
    }
    os.chmod(root / "gone", 0o700)


def test_a_folder_that_others_use_stays(root: Path, keep: Keep) -> None:
    (root / "made").mkdir()
    (root / "made/mine").write_text("mine")
    restore(Workspace(root=str(root)), [FileChange(path="made", before=folder(), after=None)], keep.content)
    assert whole(root) == {"made": ("drwxr-xr-x", ""), "made/mine": ("-rw-r--r--", b"mine")}


def test_a_missing_folder_above_is_made(root: Path, keep: Keep) -> None:
    restore(Workspace(root=str(root)), [FileChange(path="a/b/c", before=None, after=keep("c"))], keep.content)
    assert (root / "a/b/c").read_text() == "c"


def test_nothing_is_written_through_a_link(tmp_path: Path, root: Path, keep: Keep) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "way").symlink_to(outside)
    (root / "inner").mkdir()
    (root / "other").symlink_to("inner")
    workspace = Workspace(root=str(root))
    for path in ("way/file", "other/file", "../file", "/etc/file"):
        with pytest.raises((RestoreError, ToolError)):
            restore(workspace, [FileChange(path=path, before=None, after=keep("evil"))], keep.content)
    assert (list(outside.iterdir()), list((root / "inner").iterdir())) == ([], [])


def test_a_link_at_the_place_itself_is_replaced_and_not_followed(tmp_path: Path, root: Path, keep: Keep) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    (root / "a").symlink_to(target)
    workspace = Workspace(root=str(root))
    require_restorable(workspace, "a")
    now, raw = state_of(workspace, "a")
    assert (now, raw) == (FileState(hash=keep(str(target)).hash, mode=0o120000), str(target).encode())
    restore(workspace, [FileChange(path="a", before=now, after=keep("old"))], keep.content)
    assert (target.read_text(), (root / "a").read_text(), (root / "a").is_symlink()) == ("mine", "old", False)


@pytest.mark.parametrize("path", [".git/config", "overt.toml", "sub/.envrc", ".overt/x", "own/file", "denied.txt"])
def test_protected_and_forbidden_places_are_left(root: Path, path: str) -> None:
    workspace = Workspace(
        root=str(root),
        own=(str(root / "own"),),
        forbid=lambda effect, path: "edit(denied*)" if path == "denied.txt" and effect == "write" else "",
    )
    (root / "own").mkdir()
    with pytest.raises(ToolError):
        require_restorable(workspace, path)


def test_a_failure_takes_back_what_was_done(root: Path, keep: Keep) -> None:
    (root / "a").write_text("a now")
    (root / "z").write_text("z now")
    before = whole(root)
    lost = FileState(hash="0" * 64, mode=0o644)
    steps = [
        FileChange(path="a", before=keep("a now"), after=keep("a then")),
        FileChange(path="gone/b", before=None, after=keep("b")),
        FileChange(path="z", before=keep("z now"), after=lost),
    ]
    with pytest.raises(RestoreError) as caught:
        restore(Workspace(root=str(root)), sorted(steps, key=lambda step: step.path), keep.content)
    assert (caught.value.path, caught.value.done) == ("z", ())
    found = whole(root)
    assert {name: found[name] for name in before} == before and "gone/b" not in found


def test_what_cannot_be_taken_back_is_named(root: Path, keep: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "a").write_text("a now")
    calls = iter([None])
    real = module._put

    def once(*words: object) -> None:
        if next(calls, "over") == "over":
            raise OSError(28, "No space left on device")
        real(*words)  # type: ignore[arg-type]

    monkeypatch.setattr(module, "_put", once)
    steps = [FileChange(path=name, before=keep("a now"), after=keep("then")) for name in ("a", "b")]
    with pytest.raises(RestoreError, match="No space") as caught:
        restore(Workspace(root=str(root)), steps, keep.content)
    assert [step.path for step in caught.value.done] == ["a"]
    assert (root / "a").read_text() == "then"


def test_what_is_no_file_is_not_touched(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with pytest.raises(OvertError, match="something else"):
        state_of(Workspace(root=str(root)), "pipe")


def test_folders_that_their_owner_may_not_change_are_open_meanwhile(root: Path) -> None:
    (root / "a/b/c").mkdir(parents=True)
    for name, mode in (("a/b/c", 0o000), ("a/b", 0o555), ("a", 0o750)):
        os.chmod(root / name, mode)
    workspace = Workspace(root=str(root))
    with unlock_folders(workspace, ["a/b/c/file", "a/b/other", "missing/file", ".git/hooks/x"]) as opened:
        assert opened == {"a/b": 0o555, "a/b/c": 0o000}
        assert [os.stat(root / name).st_mode & 0o777 for name in ("a", "a/b", "a/b/c")] == [0o750, 0o755, 0o700]
        del opened["a/b"]
    assert [os.stat(root / name).st_mode & 0o777 for name in ("a", "a/b", "a/b/c")] == [0o750, 0o755, 0o000]


def test_an_interrupt_takes_back_what_was_done(root: Path, keep: Keep) -> None:
    (root / "a").write_text("a now")
    (root / "d").mkdir()
    before = whole(root)

    def content(state: FileState) -> bytes:
        if keep.content(state) == b"b":
            raise KeyboardInterrupt
        return keep.content(state)

    steps = [
        FileChange(path="a", before=keep("a now"), after=keep("a then")),
        FileChange(path="b", before=None, after=keep("b")),
        FileChange(path="d", before=folder(), after=folder(0o700)),
    ]
    with pytest.raises(KeyboardInterrupt):
        restore(Workspace(root=str(root)), steps, content)
    assert whole(root) == before


@pytest.mark.parametrize("path", ["x/.git/hooks/y", "x/.envrc", "own/y", "x/denied"])
def test_what_makes_room_makes_none_for_protected_places(root: Path, path: str) -> None:
    workspace = Workspace(
        root=str(root),
        own=(str(root / "own"),),
        forbid=lambda effect, place: "deny" if (effect, place) == ("write", "x/denied") else "",
    )
    require_restorable(workspace, "x/free", cleared=True)
    with pytest.raises(ToolError):
        require_restorable(workspace, path, cleared=True)
