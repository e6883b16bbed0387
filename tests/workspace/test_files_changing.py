"""Changing files: guards, forms that are kept, all or none, and failing disks."""

import asyncio
import json
import os
import stat
import struct
import subprocess
import sys
from pathlib import Path

import pytest
from tests.workspace.files_kit import done, files, names, put, refused

from overt.core.capabilities import Change
from overt.core.events import SnapshotTaken
from overt.core.views import FileDiff
from overt.workspace.read_file import digest


def test_a_new_file_is_created_with_its_folders_and_counts_as_seen(tmp_path: Path) -> None:
    hands = files(tmp_path)
    (diff,) = done(hands.change([Change(path="a/b/new.txt", content="one\ntwo", base="seen")]))
    assert diff == FileDiff(
        path="a/b/new.txt",
        diff="@@ -0,0 +1,2 @@\n+one\n+two\n\\ No newline at end of file\n",
        change="created",
        added=2,
    )
    assert (tmp_path / "a/b/new.txt").read_bytes() == b"one\ntwo"
    assert hands.journal.seen == {"a/b/new.txt": digest(b"one\ntwo")}
    folder = stat.S_IFDIR | 0o755
    assert hands.journal.facts == [
        SnapshotTaken(call_id="c1", path="a", existed=False, after_mode=folder),
        SnapshotTaken(call_id="c1", path="a/b", existed=False, after_mode=folder),
        SnapshotTaken(call_id="c1", path="a/b/new.txt", existed=False, after=digest(b"one\ntwo"), after_mode=0o644),
    ]
    assert names(tmp_path / "a/b") == ["new.txt"]


def test_the_state_before_a_change_is_on_record(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    os.chmod(tmp_path / "a", 0o640)
    hands = files(tmp_path)
    put(hands, "a", "new")
    assert hands.journal.facts == [
        SnapshotTaken(
            call_id="c1",
            path="a",
            existed=True,
            hash=digest(b"old"),
            mode=0o640,
            after=digest(b"new"),
            after_mode=0o640,
        )
    ]


def test_a_file_that_was_not_read_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    hands = files(tmp_path)
    error = refused(hands.change([Change(path="a", content="new", base="seen")]))
    assert (error.code, error.message) == ("unread", "a exists and has not been read. Read it first, then write.")
    done(hands.lines("a", offset=1, limit=1))
    assert put(hands, "a", "new", base="seen").change == "updated"
    assert put(hands, "a", "newer", base="seen").change == "updated"


def test_a_file_that_changed_since_it_was_read_is_stale(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    hands = files(tmp_path)
    done(hands.lines("a", offset=1, limit=1))
    (tmp_path / "a").write_text("by somebody else")
    assert refused(hands.change([Change(path="a", content="new", base="seen")])).code == "stale"
    assert refused(hands.change([Change(path="a", content="new", base=digest(b"old"))])).code == "stale"
    assert refused(hands.change([Change(path="a", content="new", base="absent")])).code == "exists"
    assert (tmp_path / "a").read_text() == "by somebody else"


def test_an_edit_of_a_file_the_model_never_saw_does_not_make_it_seen(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    hands = files(tmp_path)
    put(hands, "a", "new")
    assert hands.journal.seen == {}


@pytest.mark.parametrize(
    ("before", "content", "after"),
    [
        (b"a\r\nb\r\n", "a\nc\n", b"a\r\nc\r\n"),
        (b"a\rb\r", "a\nc\n", b"a\rc\r"),
        (b"a\r\nb\n", "a\r\nc\n", b"a\r\nc\n"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        ("\ufeffa\r\n".encode("utf-16-le"), "ö\n", "\ufeffö\r\n".encode("utf-16-le")),
        ("\ufeffa\n".encode("utf-16-be"), "ö\n", "\ufeffö\n".encode("utf-16-be")),
        ("Größe".encode("latin-1"), "Maß", "Maß".encode("latin-1")),
        (b"a\n", "a", b"a"),
    ],
)
def test_encoding_mark_and_line_ends_are_kept(tmp_path: Path, before: bytes, content: str, after: bytes) -> None:
    (tmp_path / "f").write_bytes(before)
    put(files(tmp_path), "f", content)
    assert (tmp_path / "f").read_bytes() == after


def test_a_character_the_encoding_lacks_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("Größe".encode("latin-1"))
    found = done(files(tmp_path).text("f"))
    error = refused(files(tmp_path).change([Change(path="f", content="读", base=found.hash)]))
    assert (error.code, "kept in latin-1, which has no U+8BFB" in error.message) == ("encoding", True)
    error = refused(files(tmp_path).change([Change(path="new", content="\ud800", base="seen")]))
    assert error.code == "encoding"


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o444, 0o640])
def test_the_mode_of_a_file_is_kept(tmp_path: Path, mode: int) -> None:
    (tmp_path / "f").write_text("a")
    os.chmod(tmp_path / "f", mode)
    put(files(tmp_path), "f", "b")
    assert stat.S_IMODE((tmp_path / "f").stat().st_mode) == mode


def test_attributes_and_the_access_list_of_a_file_are_kept(tmp_path: Path) -> None:
    entries = [(1, 6, -1), (2, 4, 65534), (4, 4, -1), (0x10, 4, -1), (0x20, 0, -1)]  # one more reader by name
    access = struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries)
    (tmp_path / "f").write_text("a")
    try:
        os.setxattr(tmp_path / "f", "user.colour", b"red")
        os.setxattr(tmp_path / "f", "system.posix_acl_access", access)
    except OSError:
        pytest.skip("this file system keeps no attributes")
    mode = (tmp_path / "f").stat().st_mode
    put(files(tmp_path), "f", "b")
    kept = {name: os.getxattr(tmp_path / "f", name) for name in os.listxattr(tmp_path / "f")}
    assert kept == {"user.colour": b"red", "system.posix_acl_access": access}
    assert ((tmp_path / "f").stat().st_mode, (tmp_path / "f").read_text()) == (mode, "b")


def test_an_unchanged_file_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"a\r\n")
    before = (tmp_path / "f").stat()
    hands = files(tmp_path)
    assert put(hands, "f", "a\n") == FileDiff(path="f", diff="", change="unchanged")
    assert (tmp_path / "f").stat().st_ino == before.st_ino
    assert hands.journal.facts == []


def test_files_are_written_deleted_and_moved_together(tmp_path: Path) -> None:
    for name in ("edit", "delete", "move", "both"):
        (tmp_path / name).write_text(f"{name}\n")
    (tmp_path / "binary").write_bytes(b"\0\1")
    hands = files(tmp_path)
    base = {name: digest(f"{name}\n".encode()) for name in ("edit", "delete", "move", "both")}
    diffs = done(
        hands.change(
            [
                Change(path="edit", content="edited\n", base=base["edit"]),
                Change(path="delete", content=None, base=base["delete"]),
                Change(path="move", content=None, base=base["move"], move_to="to/moved"),
                Change(path="both", content="BOTH\n", base=base["both"], move_to="renamed"),
                Change(path="binary", content=None, base=digest(b"\0\1"), move_to="raw"),
            ]
        )
    )
    assert [(diff.path, diff.change, diff.added, diff.removed) for diff in diffs] == [
        ("edit", "updated", 1, 1),
        ("delete", "deleted", 0, 1),
        ("to/moved", "updated", 0, 0),
        ("renamed", "updated", 1, 1),
        ("raw", "updated", 0, 0),
    ]
    assert diffs[2].diff == "rename from move\nrename to to/moved\n"
    assert names(tmp_path) == ["edit", "raw", "renamed", "to"]
    assert (tmp_path / "to/moved").read_text() == "move\n"
    assert (tmp_path / "raw").read_bytes() == b"\0\1"


def test_a_preview_computes_the_same_and_touches_nothing(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\n")
    before = state(tmp_path)
    look = files(tmp_path, preview=True)
    changes = [
        Change(path="f", content="b\n", base=digest(b"a\n")),
        Change(path="x/y/z", content="new\n", base="absent"),
    ]
    shown = done(look.change(changes))
    assert state(tmp_path) == before
    assert (look.journal.facts, look.journal.seen) == ([], {})
    assert refused(look.change([Change(path="f", content="b", base="absent")])).code == "exists"
    assert refused(look.change([Change(path="f", content="b", base="seen")])).code == "unread"
    assert done(files(tmp_path).change(changes)) == shown


def test_when_the_second_file_is_refused_the_first_is_untouched(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("one")
    (tmp_path / "two").write_text("two")
    before = state(tmp_path)
    first = Change(path="one", content="ONE", base=digest(b"one"))
    hands = files(tmp_path)
    for second, code in (
        (Change(path="two", content="TWO", base="nonsense"), "stale"),
        (Change(path="../three", content="TWO", base="seen"), "outside"),
        (Change(path="one", content="again", base=digest(b"one")), "invalid"),
        (Change(path="one/below", content="x", base="seen"), "invalid"),
        (Change(path="missing", content=None, base="seen"), "missing"),
        (Change(path="two", content=None, base=digest(b"two"), move_to="one"), "exists"),
    ):
        assert refused(hands.change([first, second])).code == code
        assert state(tmp_path) == before


def test_a_cancelled_change_has_happened_or_not_and_the_record_knows(tmp_path: Path) -> None:
    async def main() -> None:
        for number in range(30):
            hands = files(tmp_path)
            task = asyncio.create_task(hands.change([Change(path=f"f{number}", content="x", base="absent")]))
            await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert bool(hands.journal.facts) == (tmp_path / f"f{number}").exists()

    asyncio.run(main())


SCRIPT = """
import asyncio, sys
from overt.core.capabilities import Change
from overt.core.errors import ToolError
from overt.core.protocols import Journal
from overt.workspace.read_file import digest
from overt.workspace.files import Files, FileServices, Workspace
services = FileServices(workspace=Workspace(root=sys.argv[1]), rg="")
hands = Files(services, call_id="c", journal=Journal(), seen={})
changes = [
    Change(path="one", content="ONE" * 9, base=digest(b"one")),
    Change(path="two", content="TWO", base=digest(b"two")),
    Change(path="new/three", content="x", base="absent"),
    Change(path="four", content=None, base=digest(b"four")),
]
try:
    hands._change(changes)
    code = "done"
except ToolError as error:
    code = error.code
sys.stderr.write(code)
"""

FAULTS = [
    *((call, "ENOSPC", when, "full") for call in ("write",) for when in (1, 2, 3)),
    *((call, "EIO", when, "io") for call in ("fsync",) for when in (1, 2, 3)),
    *(("renameat", "EIO", when, "io") for when in (1, 2, 3, 4)),
    ("mkdirat", "EACCES", 1, "denied"),
    ("linkat", "EPERM", 1, "done"),
]


@pytest.mark.parametrize(("call", "error", "when", "code"), FAULTS)
def test_a_failing_disk_leaves_every_file_as_it_was(
    tmp_path: Path, call: str, error: str, when: int, code: str
) -> None:
    for name in ("one", "two", "four"):
        (tmp_path / name).write_text(name)
    before = state(tmp_path)
    inject = ("-e", f"inject={call}:error={error}:when={when}")
    ran = subprocess.run(
        [
            "strace",
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            f"trace={call}",
            *inject,
            sys.executable,
            "-c",
            SCRIPT,
            tmp_path,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
    )
    assert ran.stderr == code
    if code == "done":
        assert names(tmp_path) == ["new", "one", "two"]
    else:
        assert state(tmp_path) == before


def test_a_full_disk_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "one").write_text("one")
    limited = SCRIPT.replace("import asyncio, sys", "import resource, signal, sys").replace(
        "hands =",
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (5, 5))\nhands =",
    )
    limited = limited.replace("code = error.code", "code = error.message")
    limited = limited.replace("hands._change(changes)", "hands._change(changes[:1])")
    ran = subprocess.run([sys.executable, "-c", limited, str(tmp_path)], capture_output=True, text=True, timeout=60)
    assert ran.stderr == "one: the file would exceed the size limit; nothing was changed."
    assert (tmp_path / "one").read_text() == "one"
    assert names(tmp_path) == ["one"]


def state(root: Path) -> str:
    """Names, modes, inodes and contents of everything below."""
    found = {}
    for folder, _, inside in os.walk(root):
        for name in (".", *inside):
            path = Path(folder) / name
            content = path.read_bytes().decode("latin-1") if path.is_file() else ""
            found[str(path)] = (path.stat().st_ino, path.stat().st_mode, content)
    return json.dumps(found, sort_keys=True)
