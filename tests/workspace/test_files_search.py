"""Finding and listing: what ripgrep finds, with exact names, within limits."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from tests.workspace.files_kit import RG, done, files, put, refused

from overt.core.capabilities import FolderEntry, FoundFiles, Matches, Query
from overt.workspace.files import Files, FileServices
from overt.workspace.ripgrep import Ripgrep, compile_glob, escape_glob
from overt.workspace.trusted_programs import find_rg

ODD = [
    b"new\nline",
    b"-rf",
    b"$(x)",
    b"\xff\xfe.txt",
    b"a b",
    b"back\\x41slash",
    b"tab\there",
    b"'quote\"",
    b"*star[1]",
    b"r\xe2\x80\xael",
]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for path, text in {
        "src/a.py": "import os\nneedle = 1\n",
        "src/b.ts": "const needle = 2\r\n",
        "src/deep/c.py": "x\nneedle\ny\nneedle\n",
        "build/out.py": "needle\n",
        "notes.log": "needle\n",
        ".hidden/h.py": "needle\n",
        ".git/config": "needle\n",
        ".gitignore": "build/\n*.log\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(text.encode())
    for age, path in enumerate(("src/deep/c.py", "src/a.py", ".hidden/h.py", "src/b.ts")):
        os.utime(tmp_path / path, (1_000_000 - age, 1_000_000 - age))
    return tmp_path


def test_content_is_found_with_path_and_line_sorted_by_path(tree: Path) -> None:
    assert done(files(tree).search(Query(pattern="needle"))) == Matches(
        text=".hidden/h.py:1:needle\nsrc/a.py:2:needle = 1\nsrc/b.ts:1:const needle = 2\n"
        "src/deep/c.py:2:needle\nsrc/deep/c.py:4:needle",
        count=5,
        more=False,
    )


def test_the_limit_counts_matches_and_says_there_are_more(tree: Path) -> None:
    assert done(files(tree).search(Query(pattern="needle", path="src", limit=2))) == Matches(
        text="src/a.py:2:needle = 1\nsrc/b.ts:1:const needle = 2", count=2, more=True
    )


@pytest.mark.parametrize(
    ("query", "text"),
    [
        (Query(pattern="needle", mode="files"), ".hidden/h.py\nsrc/a.py\nsrc/b.ts\nsrc/deep/c.py"),
        (Query(pattern="needle", mode="count", path="src"), "src/a.py:1\nsrc/b.ts:1\nsrc/deep/c.py:2"),
        (Query(pattern="NEEDLE", mode="files", path="src/deep"), ""),
        (Query(pattern="NEEDLE", mode="files", path="src/deep", ignore_case=True), "src/deep/c.py"),
        (Query(pattern="needle", mode="files", type="ts"), "src/b.ts"),
        (Query(pattern="needle", mode="files", glob="*.log"), ""),
        (Query(pattern="needle", mode="files", glob="*.{ts,log}"), "src/b.ts"),
        (Query(pattern="needle", mode="files", glob="src/*.py"), "src/a.py"),
        (Query(pattern="needle", mode="files", glob="src/**/*.py"), "src/a.py\nsrc/deep/c.py"),
        (Query(pattern="needle", mode="files", glob="*.py", type="ts"), ""),
        (Query(pattern="needle", mode="files", glob="!*.py"), "src/b.ts"),
        (Query(pattern="needle", mode="files", path="src/a.py"), "src/a.py"),
        (Query(pattern="needle", path="src/a.py"), "2:needle = 1"),
        (Query(pattern="ned(?=x)|needle(?= =)", path="src/a.py"), "2:needle = 1"),
        (Query(pattern="needle\ny", path="src", multiline=True), "src/deep/c.py:2:needle\nsrc/deep/c.py:3:y"),
        (Query(pattern="-rf"), ""),
        (
            Query(pattern="needle", path="src/deep", before=1),
            "src/deep/c.py-1-x\nsrc/deep/c.py:2:needle\nsrc/deep/c.py-3-y\nsrc/deep/c.py:4:needle",
        ),
    ],
)
def test_searches_of_every_kind(tree: Path, query: Query, text: str) -> None:
    assert done(files(tree).search(query)).text == text


def test_groups_of_context_are_set_apart(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\n.\n.\n.\n.\na\n")
    found = done(files(tmp_path).search(Query(pattern="a", after=1)))
    assert found.text == "f:1:a\nf-2-.\n--\nf:6:a"


def test_a_bad_pattern_type_or_place_is_refused_with_a_reason(tree: Path) -> None:
    hands = files(tree)
    assert "unclosed" in refused(hands.search(Query(pattern="("))).message
    assert "unrecognized file type: nope" in refused(hands.search(Query(pattern="x", type="nope"))).message
    assert refused(hands.search(Query(pattern="x", path="srx"))).message == "srx does not exist. Did you mean src?"
    assert refused(hands.search(Query(pattern="x", path="../"))).code == "outside"
    assert refused(hands.find("../*", path=".", limit=9)).code == "outside"
    assert refused(hands.find("*", path="src/a.py", limit=9)).message == "src/a.py is not a folder."


def test_long_lines_are_cut_and_binary_files_skipped(tmp_path: Path) -> None:
    (tmp_path / "min.js").write_text("x" * 100_000 + "\n")
    (tmp_path / "late.bin").write_bytes(b"x\n" * 60_000 + b"\0")
    found = done(files(tmp_path).search(Query(pattern="x", limit=200_000)))
    (line,) = [line for line in found.text.split("\n") if line.startswith("min.js")]
    assert len(line) < 600
    assert "binary file" not in found.text
    assert "binary file" not in done(files(tmp_path).search(Query(pattern="x", path="late.bin"))).text


def test_links_are_not_followed_in_searches(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "o.py").write_text("needle\n")
    (tree / "src" / "out").symlink_to(outside)
    (tree / "src" / "o.py").symlink_to(outside / "o.py")
    hands = files(tree)
    assert "o.py" not in done(hands.search(Query(pattern="needle", mode="files"))).text
    assert done(hands.find("**/o.py", path=".", limit=9)).paths == ()
    assert refused(hands.search(Query(pattern="x", path="src/o.py"))).code == "outside"


@pytest.mark.parametrize(
    ("pattern", "paths"),
    [
        ("*.py", ("src/deep/c.py", "src/a.py", ".hidden/h.py")),
        ("**/*.py", ("src/deep/c.py", "src/a.py", ".hidden/h.py")),
        ("src/*.py", ("src/a.py",)),
        ("src/**/*.{py,ts}", ("src/deep/c.py", "src/a.py", "src/b.ts")),
        ("./src/*", ("src/a.py", "src/b.ts")),
        ("*.log", ()),
        ("nowhere/*.py", ()),
        ("s*/[ab].*", ("src/a.py", "src/b.ts")),
        ("src/deep/**", ("src/deep/c.py",)),
        ("src/a.py", ("src/a.py",)),
    ],
)
def test_files_are_found_by_pattern_newest_first(tree: Path, pattern: str, paths: tuple[str, ...]) -> None:
    assert done(files(tree).find(pattern, path=".", limit=9)) == FoundFiles(paths=paths, more=False)


def test_a_pattern_may_be_absolute_and_the_limit_is_kept(tree: Path) -> None:
    assert done(files(tree).find(f"{tree}/src/*.ts", path=".", limit=9)).paths == ("src/b.ts",)
    assert done(files(tree).find("*.py", path="src", limit=1)) == FoundFiles(
        paths=("src/deep/c.py",), more=True, total=2
    )


def test_odd_names_round_trip_through_every_way_of_finding_them(tmp_path: Path) -> None:
    for name in ODD:
        Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name))).write_text("needle\n")
    hands = files(tmp_path)
    listed = {entry.path for entry in done(hands.list(".", depth=1, limit=99))[0]}
    globbed = set(done(hands.find("*", path=".", limit=99)).paths)
    found = set(done(hands.search(Query(pattern="needle", mode="files"))).text.split("\n"))
    matched = {line.removesuffix(":1:needle") for line in done(hands.search(Query(pattern="needle"))).text.split("\n")}
    assert listed == globbed == found == matched
    assert len(listed) == len(ODD)
    for number, shown in enumerate(sorted(listed)):
        assert shown.isprintable()
        assert done(hands.lines(shown, offset=1, limit=1)).lines == ("needle",)
        assert done(hands.search(Query(pattern="needle", path=shown))).text == "1:needle"
        put(hands, shown, f"{number}\n")
        assert done(hands.text(shown)).text == f"{number}\n"
    assert sorted(os.listdir(os.fsencode(tmp_path))) == sorted(ODD)


def test_a_folder_is_listed_as_a_tree_folders_first_links_not_followed(tree: Path) -> None:
    (tree / "link").symlink_to("src")
    os.mkfifo(tree / "pipe")
    (tree / "node_modules" / "x").mkdir(parents=True)
    entries, more = done(files(tree).list(".", depth=2, limit=99))
    assert not more
    assert entries == (
        FolderEntry(path=".hidden", kind="folder", depth=1),
        FolderEntry(path=".hidden/h.py", kind="file", depth=2),
        FolderEntry(path="build", kind="folder", depth=1),
        FolderEntry(path="build/out.py", kind="file", depth=2),
        FolderEntry(path="node_modules", kind="folder", depth=1),
        FolderEntry(path="src", kind="folder", depth=1),
        FolderEntry(path="src/deep", kind="folder", depth=2),
        FolderEntry(path="src/a.py", kind="file", depth=2),
        FolderEntry(path="src/b.ts", kind="file", depth=2),
        FolderEntry(path=".gitignore", kind="file", depth=1),
        FolderEntry(path="link", kind="link", depth=1),
        FolderEntry(path="notes.log", kind="file", depth=1),
        FolderEntry(path="pipe", kind="other", depth=1),
    )


def test_a_limited_listing_shows_every_neighbour_before_anything_deeper(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for number in range(50):
        (tmp_path / "a" / str(number)).touch()
    (tmp_path / "z").touch()
    entries, more = done(files(tmp_path).list(".", depth=3, limit=4))
    assert [entry.path for entry in entries] == ["a", "a/0", "a/1", "z"]
    assert more
    assert refused(files(tmp_path).list("z", depth=1, limit=9)).code == "invalid"


def test_a_cancelled_search_ends_its_program(tmp_path: Path) -> None:
    """A stand-in for ripgrep that never ends."""
    program = tmp_path / "rg"
    program.write_text("#!/bin/sh\nexec sleep 300\n")
    program.chmod(0o755)

    async def main() -> None:
        hands = files(tmp_path)
        hands.rg = (str(program),)
        task = asyncio.create_task(hands.search(Query(pattern="x")))
        await asyncio.sleep(0.2)
        task.cancel()
        async with asyncio.timeout(20):
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(main())
    assert subprocess.run(["pgrep", "-P", str(os.getpid()), "sleep"], capture_output=True).stdout == b""


def test_more_output_than_the_cap_stops_the_program(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("needle\n" * 10_000)
    with_cap = files(tmp_path)

    async def main() -> tuple[bytes, bool]:
        from overt.workspace.contained_path import open_path

        with open_path(with_cap.workspace, ".") as spot:
            return await Ripgrep((RG,), spot, cap=1000).run("--null", "-n", "-H", "-e", "needle", "./")

    found, more = done(main())
    assert (more, len(found) > 1000) == (True, True)


def test_without_ripgrep_the_message_says_how_to_get_it(tmp_path: Path) -> None:
    hands = files(tmp_path)
    hands.rg = ()
    assert refused(hands.search(Query(pattern="x"))).code == "missing_program"


def program(path: Path) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)
    return str(path)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing beside Python and nothing of the system."""
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    monkeypatch.setattr("overt.workspace.trusted_programs.SYSTEM_FOLDERS", ())


def test_the_ripgrep_that_came_with_overt_comes_before_the_one_on_the_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, other = program(tmp_path / "own" / "rg"), program(tmp_path / "other" / "rg")
    monkeypatch.setattr("sys.executable", str(tmp_path / "own" / "python"))

    assert find_rg(os.path.dirname(other)) == own
    assert find_rg(os.path.dirname(other), writable=[str(tmp_path)]) == own


@pytest.mark.usefixtures("alone")
def test_no_ripgrep_is_taken_that_a_box_or_another_user_could_have_put_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    work = tmp_path / "work"
    inside = os.path.dirname(program(work / "bin" / "rg"))
    (tmp_path / "linked").symlink_to(work / "bin")
    open_ = Path(program(tmp_path / "open" / "rg")).parent
    open_.chmod(0o777)
    (tmp_path / "shims").mkdir()
    (tmp_path / "shims" / "rg").symlink_to("/bin/sh")
    kept = program(tmp_path / "kept" / "rg")
    folders = [inside, str(tmp_path / "linked"), "work/bin", "", str(open_), str(tmp_path / "shims")]

    assert [find_rg(folder, writable=[str(work)]) for folder in folders] == [""] * 6
    assert find_rg(os.pathsep.join([*folders, os.path.dirname(kept)]), writable=[str(work)]) == kept


@pytest.mark.skipif(os.geteuid() != 0, reason="giving a file away takes root")
@pytest.mark.usefixtures("alone")
def test_the_program_of_another_user_is_not_run(tmp_path: Path) -> None:
    path = program(tmp_path / "theirs" / "rg")
    os.chown(path, 12345, 12345)

    assert find_rg(os.path.dirname(path)) == ""


@pytest.mark.usefixtures("alone")
def test_a_ripgrep_inside_the_workspace_is_never_run(tmp_path: Path) -> None:
    planted = program(tmp_path / ".venv" / "bin" / "rg")
    hands = files(tmp_path)

    found = Files(FileServices(workspace=hands.workspace, rg=planted), call_id="c1", journal=hands.journal, seen={})

    assert refused(found.search(Query(pattern="x"))).code == "missing_program"


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("**/*.py", "a.py", True),
        ("a/**", "a/b/c", True),
        ("a/*", "a/b/c", False),
        ("a?c", "a/c", False),
        ("[!a]b", "cb", True),
        ("[!a]b", "ab", False),
        ("x.{js,ts}", "x.ts", True),
        ("a\\*", "a*", True),
        ("[", "[", True),
    ],
)
def test_patterns_mean_what_a_shell_user_expects(pattern: str, path: str, matches: bool) -> None:
    assert bool(compile_glob(pattern).fullmatch(path)) == matches


def test_a_name_can_be_said_as_a_pattern() -> None:
    for name in ("a*b", "[x]", "{a,b}", "a\\b", "!x"):
        assert compile_glob(escape_glob(name)).fullmatch(name)
