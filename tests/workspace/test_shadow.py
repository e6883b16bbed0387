"""The workspace around a command: every byte, mode and folder of it, and nothing of the project is run."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.workspace.keeping_kit import GIT, folder, shadow, whole

from overt.core.errors import OvertError
from overt.core.file_states import FileChange, FileState
from overt.workspace.files import Workspace
from overt.workspace.trusted_programs import find_git
from overt.workspace.undo.content_store import ContentStore
from overt.workspace.undo.restore import name_in_git, restore, state_of
from overt.workspace.undo.snapshot_keeper import SnapshotKeeper


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


def blob(raw: bytes, mode: int = 0o644) -> FileState:
    return FileState(hash=name_in_git(raw), mode=mode)


def test_a_pass_without_a_change_gives_the_same_name(tmp_path: Path, root: Path) -> None:
    (root / "a").write_text("a")
    it = shadow(tmp_path / "s", root)
    one = it.take()
    assert {it.take().name, shadow(tmp_path / "s", root).take().name} == {one.name}


def test_every_kind_of_change_is_seen(tmp_path: Path, root: Path) -> None:
    for name in ("edited", "gone", "moded", "sub/kept"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("old")
    (root / "link").symlink_to("edited")
    it = shadow(tmp_path / "s", root)
    before = it.take()
    (root / "edited").write_text("new")
    (root / "gone").unlink()
    os.chmod(root / "moded", 0o600)
    os.chmod(root / "sub", 0o700)
    (root / "made").mkdir()
    (root / "made/数据 $(x)\n").write_bytes(b"\r\n")
    (root / "empty/deep").mkdir(parents=True)
    (root / "link").unlink()
    (root / "link").symlink_to("nowhere")
    after = it.take()
    link = 0o120000
    expected = (
        FileChange(path="edited", before=blob(b"old"), after=blob(b"new")),
        FileChange(path="empty", before=None, after=folder()),
        FileChange(path="empty/deep", before=None, after=folder()),
        FileChange(path="gone", before=blob(b"old"), after=None),
        FileChange(path="link", before=blob(b"edited", link), after=blob(b"nowhere", link)),
        FileChange(path="made", before=None, after=folder()),
        FileChange(path="made/数据 $(x)\\x0a", before=None, after=blob(b"\r\n")),
        FileChange(path="moded", before=blob(b"old"), after=blob(b"old", 0o600)),
        FileChange(path="sub", before=folder(), after=folder(0o700)),
    )
    assert it.changes(before.name, after.name) == expected
    assert shadow(tmp_path / "s", root).changes(before.name, after.name) == expected


def test_a_mode_changed_right_after_a_pass_is_seen_again_and_again(tmp_path: Path, root: Path) -> None:
    (root / "a").write_text("a")
    it = shadow(tmp_path / "s", root)
    names = []
    for mode in (0o644, 0o600, 0o640, 0o600, 0o644):
        os.chmod(root / "a", mode)
        names.append(it.take().name)
    assert (names[0], names[1]) == (names[4], names[3])
    assert len(set(names)) == 3


def test_attributes_of_the_project_neither_change_a_byte_nor_run_a_filter(tmp_path: Path, root: Path) -> None:
    (root / ".gitattributes").write_text(
        "* text=auto eol=crlf ident filter=evil\n*.u16 working-tree-encoding=UTF-16\n"
        "[attr]all filter=evil text\n* all\n"
    )
    contents = {"dos.txt": b"a\r\nb\r\n", "unix.txt": b"a\nb\n", "id.txt": b"$Id$\n", "x.u16": "é\n".encode("utf-16")}
    for name, raw in contents.items():
        (root / name).write_bytes(raw)
    subprocess.run([GIT, "init", "-q", "."], cwd=root, check=True)
    for key in ("clean", "smudge", "process"):
        subprocess.run([GIT, "config", f"filter.evil.{key}", f"touch {tmp_path}/ran; cat"], cwd=root, check=True)
    subprocess.run([GIT, "config", "core.fsmonitor", f"touch {tmp_path}/ran"], cwd=root, check=True)
    (root / ".git/hooks").mkdir(exist_ok=True)
    hook = root / ".git/hooks/post-index-change"
    hook.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    hook.chmod(0o755)
    before = whole(root)
    it = shadow(tmp_path / "s", root)
    it.take()
    for raw in contents.values():
        assert dict(it.contents([name_in_git(raw)])) == {name_in_git(raw): raw}
    assert whole(root) == before
    assert not (tmp_path / "ran").exists()


def test_nothing_is_executed_but_git(tmp_path: Path, root: Path) -> None:
    (root / "a").write_text("a\n")
    (root / ".gitattributes").write_text("* filter=evil\n")
    script = (
        "import sys; from pathlib import Path; from tests.workspace.keeping_kit import shadow\n"
        "from overt.workspace.undo import first_snapshot; first_snapshot.FIRST_SNAPSHOT_LIMIT_S = 100.0\n"
        "it = shadow(Path(sys.argv[1]), Path(sys.argv[2])); one = it.take(); Path(sys.argv[2], 'b').write_text('b')\n"
        "two = it.take(); print(len(it.changes(one.name, two.name)))"
    )
    trace = tmp_path / "trace"
    words = ["strace", "-f", "-qq", "-e", "trace=execve,connect", "-o", str(trace)]
    python = [sys.executable, "-c", script, str(tmp_path / "s"), str(root)]
    done = subprocess.run([*words, *python], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
    lines = [line.partition(" ")[2].lstrip() for line in trace.read_text().splitlines() if " = -1 " not in line]
    assert {line.split('"')[1] for line in lines if line.startswith("execve")} == {sys.executable, GIT}
    assert [line for line in lines if line.startswith("connect")] == []


def test_what_is_not_covered_is_named(tmp_path: Path, root: Path) -> None:
    (root / "large.bin").write_bytes(b"x" * 2048)
    (root / "small").write_text("s")
    (root / ".gitignore").write_text("ignored/\n")
    (root / "ignored").mkdir()
    (root / "ignored/a").write_text("a")
    for name in ("inner", "bare-bones"):
        subprocess.run([GIT, "init", "-q", name], cwd=root, check=True)
    (root / "inner/file").write_text("i")
    (root / "overt.toml").write_text("")
    os.mkfifo(root / "pipe")
    it = shadow(tmp_path / "s", root, largest=1024)
    one = it.take()
    assert one.uncovered == (
        "bare-bones/ (a repository of its own)", "inner/ (a repository of its own)", "large.bin (0 MB)",
    )  # fmt: skip
    (root / "small").write_bytes(b"y" * 4096)
    (root / "ignored/a").write_text("b")
    two = it.take()
    assert [each.path for each in it.changes(one.name, two.name)] == ["small"]
    assert "small (0 MB)" in two.uncovered


def test_folders_of_overt_inside_the_workspace_are_no_part_of_it(tmp_path: Path, root: Path) -> None:
    (root / "a").write_text("a")
    it = shadow(root / "data/shadow", root, own=(str(root / "data"),))
    one = it.take()
    (root / "data/session").write_text("s")
    assert it.take().name == one.name


def test_a_killed_pass_is_made_up_for_by_the_next_one(tmp_path: Path, root: Path) -> None:
    (root / "a").write_text("a")
    os.chmod(root / "a", 0o600)
    one = shadow(tmp_path / "s", root).take()
    (tmp_path / "s/index.lock").write_text("")
    (tmp_path / "s/state").unlink()
    assert shadow(tmp_path / "s", root).take().name == one.name
    (tmp_path / "s/index").write_bytes(b"DIRC broken")
    assert shadow(tmp_path / "s", root).take().name == one.name


def test_a_stopped_shadow_starts_nothing_more(tmp_path: Path, root: Path) -> None:
    it = shadow(tmp_path / "s", root)
    it.stop()
    with pytest.raises(OvertError, match="broken off"):
        it.take()


def test_a_git_that_a_command_could_have_put_there_is_not_taken(tmp_path: Path) -> None:
    fake = tmp_path / "bin/git"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\n")
    fake.chmod(0o755)
    assert find_git(str(fake.parent), writable=(str(tmp_path),)) == GIT


def test_a_large_change_of_the_tree_goes_there_and_back(tmp_path: Path, root: Path) -> None:
    for number in range(300):
        path = root / f"d{number % 7}/e{number % 3}/f{number}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{number}\n")
        os.chmod(path, (0o644, 0o600, 0o755, 0o444)[number % 4])
    it = shadow(tmp_path / "s", root)
    before, was = it.take(), whole(root)
    harm = "rm -r d0 d1; find . -name 'f*1' -exec sh -c 'echo x >> {}' ';'; mv d2 d9; touch d3/new"
    subprocess.run(["sh", "-c", harm], cwd=root, check=True)
    os.chmod(root / "d4", 0o711)
    (root / "d5/e0/f5").unlink(missing_ok=True)
    (root / "d6").rename(root / "d60")
    (root / "d6").write_text("a file where a folder was\n")
    after = it.take()
    keeping = SnapshotKeeper(ContentStore(str(tmp_path / "c")), it)
    changes = it.changes(before.name, after.name)
    names = keeping.fetch([state for each in changes for state in (each.before, each.after) if state])
    workspace = Workspace(root=str(root))

    def named(state: FileState | None) -> FileState | None:
        return FileState(hash=names.get(state.hash, ""), mode=state.mode) if state else None

    then = whole(root)
    steps = [FileChange(path=each.path, before=named(each.after), after=named(each.before)) for each in changes]
    restore(workspace, steps, keeping.content)
    assert whole(root) == was
    restore(
        workspace, [FileChange(path=each.path, before=each.after, after=each.before) for each in steps], keeping.content
    )
    assert whole(root) == then
    assert state_of(workspace, "d6")[1] == b"a file where a folder was\n"
