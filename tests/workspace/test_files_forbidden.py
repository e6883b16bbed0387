"""A deny rule holds for the place that is really reached, for every way to look at it or change it."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.workspace.files_kit import PYTHON, RG, done, files, names, put, refused

from overt.core.capabilities import Change, FolderEntry, FoundFiles, Matches, Query
from overt.lib.protected_names import fold_name
from overt.workspace.files import Files
from overt.workspace.read_file import digest


def forbid(effect: str, real: str) -> str:
    """No reading of `.env` anywhere nor below `secret`; no writing below `frozen`."""
    parts = fold_name(real).split("/")
    if effect == "read":
        return "read(.env)" if parts[-1] == ".env" else "read(secret)" if parts[0] == "secret" else ""
    return "edit(frozen/**)" if parts[0] == "frozen" and len(parts) > 1 else ""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "root"
    for path, text in {
        ".env": "token=1\n",
        "sub/.env": "token=2\n",
        "sub/fine.txt": "token=3\n",
        "secret/deep/key.txt": "token=4\n",
        "frozen/a.txt": "token=5\n",
        "Sub2/.ENV": "token=6\n",
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (folder / "link.txt").symlink_to(".env")
    (folder / "twice").symlink_to("link.txt")
    (folder / "open").symlink_to("secret/deep")
    (folder / "absolute").symlink_to(folder / "secret")
    (folder / "thaw").symlink_to("frozen")
    return folder


@pytest.fixture
def hands(root: Path) -> Files:
    return files(root, forbid=forbid)


WAYS = [
    ".env",
    "./sub/../.env",
    "link.txt",
    "twice",
    "sub/.env",
    "open/key.txt",
    "absolute/deep/key.txt",
    "open/../deep/key.txt",
    ".\\x65nv",
    "Sub2/.ENV",
    "secret/missing",
]


@pytest.mark.parametrize("path", WAYS)
def test_a_denied_file_is_not_read_by_any_way_that_leads_there(hands: Files, root: Path, path: str) -> None:
    for work in (
        hands.text(path),
        hands.lines(path, offset=1, limit=9),
        hands.blob(path),
        hands.search(Query(pattern="token", path=path)),
        hands.text(f"{root}/{path}"),
    ):
        error = refused(work)
        assert error.code == "denied"
        assert "token" not in error.message


def test_the_refusal_names_the_real_place_and_the_rule(hands: Files) -> None:
    assert refused(hands.text("link.txt")).message == (
        ".env may not be read: the rule read(.env) denies it. Do without it."
    )
    assert refused(put_async(hands, "thaw/a.txt")).message == (
        "frozen/a.txt may not be changed: the rule edit(frozen/**) denies it. Do without it."
    )


async def put_async(hands: Files, path: str) -> object:
    return await hands.change([Change(path=path, content="x", base="absent")])


def test_searching_and_finding_pass_over_what_may_not_be_read(hands: Files) -> None:
    assert done(hands.search(Query(pattern="token"))) == Matches(
        text="frozen/a.txt:1:token=5\nsub/fine.txt:1:token=3", count=2, more=False
    )
    assert done(hands.search(Query(pattern="token", mode="files", limit=1))) == Matches(
        text="frozen/a.txt", count=1, more=True
    )
    assert done(hands.search(Query(pattern="token", mode="count", path="sub"))) == Matches(
        text="sub/fine.txt:1", count=1, more=False
    )
    assert set(done(hands.find("*", path=".", limit=99)).paths) == {"frozen/a.txt", "sub/fine.txt"}
    assert done(hands.find(".env", path=".", limit=1)) == FoundFiles(paths=(), more=False)
    assert len(done(hands.find("**/*", path=".", limit=1)).paths) == 1


def test_a_folder_that_may_not_be_read_is_neither_searched_nor_listed(hands: Files) -> None:
    for path in ("secret", "open", "absolute/deep"):
        assert refused(hands.search(Query(pattern="token", path=path))).code == "denied"
        assert refused(hands.find("*", path=path, limit=9)).code == "denied"
        assert refused(hands.list(path, depth=2, limit=9)).code == "denied"
    assert refused(hands.find("secret/**/*.txt", path=".", limit=9)).code == "denied"


def test_a_list_shows_the_name_of_what_is_denied_and_nothing_below_it(hands: Files) -> None:
    entries, more = done(hands.list(".", depth=3, limit=99))
    assert more is False
    assert [entry for entry in entries if entry.path.startswith(("secret", "sub"))] == [
        FolderEntry(path="secret", kind="folder", depth=1),
        FolderEntry(path="sub", kind="folder", depth=1),
        FolderEntry(path="sub/.env", kind="file", depth=2),
        FolderEntry(path="sub/fine.txt", kind="file", depth=2),
    ]


@pytest.mark.parametrize("path", ["frozen/a.txt", "thaw/a.txt", "frozen/new", "thaw/deep/new", "sub/../frozen/new"])
def test_a_denied_place_is_not_written_by_any_way_that_leads_there(hands: Files, root: Path, path: str) -> None:
    for base in ("absent", "seen", digest(b"token=5\n")):
        assert refused(hands.change([Change(path=path, content="x", base=base)])).code == "denied"
    move = Change(path="sub/fine.txt", content=None, base=digest(b"token=3\n"), move_to=path)
    assert refused(hands.change([move])).code == "denied"
    assert (names(root / "frozen"), (root / "frozen/a.txt").read_text()) == (["a.txt"], "token=5\n")


def test_what_may_not_be_read_is_not_moved_or_deleted_into_a_difference_that_shows_it(hands: Files, root: Path) -> None:
    base = digest(b"token=1\n")
    for change in (
        Change(path=".env", content=None, base=base, move_to="readable.txt"),
        Change(path="link.txt", content=None, base=base),
        Change(path=".env", content="x", base=base),
    ):
        assert refused(hands.change([change])).code == "denied"
    assert (root / ".env").read_text() == "token=1\n"
    assert put(hands, "new/.env", "x", base="absent").change == "created"


def test_every_match_beyond_the_first_files_is_found_and_counted(tmp_path: Path) -> None:
    for number in range(130):
        (tmp_path / f"{number:03}.txt").write_text("needle\nneedle\n")
    hands = files(tmp_path, forbid=lambda effect, real: "read(1*)" if real.startswith("1") else "")
    found = done(hands.search(Query(pattern="needle", limit=199)))
    assert (found.count, found.more, found.text.splitlines()[-1]) == (199, True, "099.txt:1:needle")
    found = done(hands.search(Query(pattern="needle", limit=200)))
    assert (found.count, found.more) == (200, False)
    found = done(hands.search(Query(pattern="needle", mode="count", limit=200)))
    assert (found.count, found.more, found.text.splitlines()[-1]) == (100, False, "099.txt:2")
    assert len(os.listdir("/proc/self/fd")) < 100


FEW_DESCRIPTORS = """
import asyncio, resource, sys
from overt.core.capabilities import Query
from overt.core.errors import ToolError
from overt.core.protocols import Journal
from overt.workspace.files import Files, FileServices, Workspace
services = FileServices(workspace=Workspace(root=sys.argv[1]), rg=sys.argv[2])
hands = Files(services, call_id="c", journal=Journal(), seen={})
resource.setrlimit(resource.RLIMIT_NOFILE, (48, 48))
try:
    print(asyncio.run(hands.search(Query(pattern="needle"))).count)
except ToolError as error:
    print(error.code)
"""


def test_a_search_that_runs_out_of_descriptors_says_so_instead_of_finding_less(tmp_path: Path) -> None:
    for number in range(60):
        (tmp_path / f"{number}.txt").write_text("needle\n")
    ran = subprocess.run(
        [PYTHON, "-c", FEW_DESCRIPTORS, str(tmp_path), RG], capture_output=True, text=True, timeout=60, check=True
    )
    assert ran.stdout == "busy\n"
