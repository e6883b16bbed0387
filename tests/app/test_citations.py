"""Places in the workspace: there or not, never outside, never anything but a file, and read once."""

import os
import socket
from pathlib import Path

import pytest

from overt.app.chat import citations
from overt.app.chat.citations import Citations
from overt.lib.read_file import read_regular


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "a.py").write_text("one\ntwo\nthree")
    (folder / "empty").write_text("")
    (tmp_path / "outside.py").write_text("x\n" * 9)
    return folder


@pytest.mark.parametrize(
    ("path", "line", "standing"),
    [
        ("src/a.py", 1, "good"),
        ("src/a.py", 3, "good"),
        ("src/a.py", 4, "broken"),
        ("src/a.py", 0, "broken"),
        ("./src/../src/a.py", 2, "good"),
        ("src", 1, "broken"),
        ("src/b.py", 1, "broken"),
        ("src/a.py/x", 1, "broken"),
        ("empty", 1, "good"),
        ("empty", 2, "broken"),
        ("../outside.py", 1, "elsewhere"),
        ("/etc/passwd", 1, "elsewhere"),
        ("~/x.py", 1, "elsewhere"),
        ("x" * 5000, 1, "broken"),
    ],
)
def test_a_place_is_there_or_not(root: Path, path: str, line: int, standing: str) -> None:
    cited = Citations(str(root))
    assert (cited.standing(path, line), cited.check(path, line)) == (standing, standing == "good")


def test_an_absolute_path_into_the_workspace_is_as_good(root: Path) -> None:
    assert Citations(str(root)).check(str(root / "src" / "a.py"), 3)


def test_links_that_stay_inside_count_and_links_out_do_not(root: Path) -> None:
    (root / "in.py").symlink_to("src/a.py")
    (root / "out.py").symlink_to(root.parent / "outside.py")
    (root / "away").symlink_to(root.parent)
    (root / "loop").symlink_to("loop")
    cited = Citations(str(root))
    found = {name: cited.standing(name, 1) for name in ("in.py", "out.py", "away/outside.py", "loop")}
    assert found == {"in.py": "good", "out.py": "elsewhere", "away/outside.py": "elsewhere", "loop": "broken"}


def test_a_workspace_that_is_itself_a_link_is_the_folder_it_leads_to(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    assert Citations(str(root.parent / "alias")).check("src/a.py", 3)


def test_pipes_and_sockets_are_never_opened(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(root / "pipe.py")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(root)
        listening.bind("sock.py")
        monkeypatch.setattr(citations, "read_regular", lambda *_: pytest.fail("it was opened"))
        cited = Citations(str(root))
        assert [cited.standing(name, 1) for name in ("pipe.py", "sock.py")] == ["broken", "broken"]


def test_a_file_is_counted_again_only_when_it_changed(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def counted(path: str, limit: int, flags: int = 0) -> tuple[bytes, os.stat_result]:
        opened.append(path)
        return read_regular(path, limit, flags)

    monkeypatch.setattr(citations, "read_regular", counted)
    cited = Citations(str(root))
    assert [cited.check("src/a.py", line) for line in (1, 2, 3, 4)] == [True, True, True, False]
    (root / "src" / "a.py").write_text("1\n2\n3\n4\n5\n")
    assert cited.check("src/a.py", 5)
    assert opened == [str(root / "src" / "a.py")] * 2


def test_a_file_too_large_to_count_has_any_line(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(citations, "MAX_READ", 8)
    assert Citations(str(root)).check("src/a.py", 4000)


def test_a_file_that_was_named_in_full_is_known_by_its_name(root: Path) -> None:
    cited = Citations(str(root))
    before = cited.check("a.py", 1)
    cited.check("src/a.py", 1)
    assert (before, cited.check("a.py", 3), cited.check("a.py", 4)) == (False, True, False)
    assert cited.link("a.py", 3).endswith("/work/src/a.py#3")


def test_the_link_names_the_host_and_holds_nothing_but_plain_characters(root: Path) -> None:
    (root / "中 #\x1b.py").write_text("x")
    link = Citations(str(root)).link("中 #\x1b.py", 1)
    assert link == f"file://{os.uname().nodename}{root}/%E4%B8%AD%20%23%1B.py#1"


def test_only_a_folder_of_the_workspace_makes_a_path_plausible(root: Path) -> None:
    cited = Citations(str(root))
    assert [cited.folder(path) for path in ("src/x", "lib/x", "/etc/x", "../x", "empty/x")] == [True] + [False] * 4
