"""What a prompt points at with `@`: only what exists, as the read tool shows it, and bounded."""

import asyncio
import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from tests.workspace.files_kit import files

from overt.app.context.references import MOST, MOST_LOOKED, TRIES, references
from overt.core.events import Noticed, UserSpoke
from overt.core.history import History, fold
from overt.core.messages import Image, Message, Text
from overt.core.protocols import Loan
from overt.core.text_fragments import Origin
from overt.lib.result_limit import ResultLimit, result_limit
from overt.workspace.contained_path import Forbid

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 40


class Lender:
    """Hands that lend real files of a folder and nothing else."""

    def __init__(self, root: Path, forbid: Forbid | None = None) -> None:
        self._root = root
        self._forbid = forbid

    def lend(self, call_id: str, needs: Any, **rest: Any) -> Loan:
        assert needs == {"files": "read"}
        hands = files(self._root, forbid=self._forbid)
        return Loan(capabilities={"files": hands}, journal=hands.journal)


def refer(
    root: Path, text: str, *, deny: str = "", limit: ResultLimit | None = None, led: bool = False, forbid: Any = None
) -> tuple[tuple[Message, ...], list[str]]:
    async def main() -> tuple[tuple[Message, ...], tuple[Noticed, ...]]:
        async with asyncio.timeout(60):
            return await references(
                text,
                Lender(root, forbid),  # type: ignore[arg-type]
                lambda path: path != deny,
                exists=lambda path: os.path.lexists(root / path),
                limit=limit or result_limit(0),
                led=led,
            )

    found, notices = asyncio.run(main())
    return found, [notice.text for notice in notices]


def put(root: Path, name: str, content: str | bytes) -> str:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return sha256(path.read_bytes()).hexdigest()


def message(text: str, *, where: str, lines: str = "", hash: str = "") -> Message:
    origin = Origin(kind="file", where=where, lines=lines, hash=hash)
    return Message(role="user", parts=(Text(text=text),), origin=origin)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    put(tmp_path, "src/a.py", "one\ntwo\nthree\nfour\n")
    put(tmp_path, "with space.md", "spaced\n")
    put(tmp_path, "文档/说明.md", "中文\n")
    return tmp_path


def test_a_file_comes_numbered_and_counts_as_seen(root: Path) -> None:
    digest = put(root, "b.txt", "x\ny\n")
    found, notices = refer(root, "see @b.txt please")
    assert found == (
        message("[overt] The user refers to b.txt:\n     1\tx\n     2\ty", where="b.txt", lines="1-2", hash=digest),
    )
    assert notices == []
    assert fold(History(), UserSpoke(message=found[0])).seen == {"b.txt": digest}


@pytest.mark.parametrize(
    ("word", "lines", "shown"),
    [
        ("@src/a.py:2-3", "2-3", "     2\ttwo\n     3\tthree"),
        ("@src/a.py:2", "2-2", "     2\ttwo"),
        ("@src/a.py:3-99", "3-4", "     3\tthree\n     4\tfour"),
        ('@"src/a.py":2', "2-2", "     2\ttwo"),
    ],
)
def test_a_part_of_a_file_comes_with_its_lines_and_is_not_all_that_was_seen(
    root: Path, word: str, lines: str, shown: str
) -> None:
    found, _ = refer(root, f"why {word}?")
    text = found[0].text().partition("\n")
    assert text[0] == f"[overt] The user refers to src/a.py, lines {lines}:"
    assert text[2].startswith(shown)
    assert found[0].origin == Origin(kind="file", where="src/a.py", lines=lines)


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("看@src/a.py。", ["src/a.py"]),
        ("看@src/a.py里的错误", ["src/a.py"]),
        ("请读@文档/说明.md，然后改", ["文档/说明.md"]),
        ("读@文档/说明.md里的说明", ["文档/说明.md"]),
        ("@src/a.py:2-3行有错", ["src/a.py"]),
        ("(@src/a.py)", ["src/a.py"]),
        ("is it @src/a.py?", ["src/a.py"]),
        ("it is @src/a.py.", ["src/a.py"]),
        ("`@src/a.py`", ["src/a.py"]),
        ("@./src/a.py and @src/a.py", ["src/a.py"]),
        ('@"with space.md" and @src/a.py', ["with space.md", "src/a.py"]),
        ("@src/", ["src/"]),
        ("@src", ["src/"]),
        ("mail me@src/a.py", []),
        ("me@example.com", []),
        ("@property def x", []),
        ("@pytest.mark.parametrize('a', [])", []),
        ("npm i @babel/core", []),
        ("@", []),
        ("@@src/a.py", []),
        ("@.", []),
        ("@/", []),
        ("a @ b", []),
    ],
)
def test_only_what_is_there_is_a_reference(root: Path, text: str, places: list[str]) -> None:
    found, notices = refer(root, text)
    assert ([each.origin.where for each in found], notices) == (places, [])


def test_a_folder_comes_as_a_listing(root: Path) -> None:
    assert refer(root, "@src/")[0] == (message("[overt] The user refers to the folder src/:\na.py", where="src/"),)


@pytest.mark.parametrize("text", ["@src/b.py", '@"no file"', "@b.txt", "@src/b.py:3", "看@src/b.py。"])
def test_a_file_that_is_not_there_is_told(root: Path, text: str) -> None:
    found, (notice,) = refer(root, text)
    assert found == ()
    assert notice.startswith("@") and "nothing is there" in notice


@pytest.mark.parametrize(
    ("text", "name"),
    [("@没有.txt", "没有.txt"), ("@没有.txt:3", "没有.txt"), ("@没有.py.", "没有.py"), ("@b.py:", "b.py")],
)
def test_a_file_that_is_not_there_is_told_by_its_whole_name(root: Path, text: str, name: str) -> None:
    assert refer(root, text) == ((), [f"@{name}: nothing is there, so nothing was attached"])


def test_what_a_rule_keeps_and_what_lies_outside_are_told_and_not_read(root: Path) -> None:
    put(root, ".env", "x=1")
    put(root, "shut.md", "shut")
    os.symlink("/etc/passwd", root / "link.txt")
    forbid = lambda effect, path: "read(shut.md)" if path == "shut.md" else ""  # noqa: E731
    found, notices = refer(root, "@.env @link.txt @/etc/passwd @shut.md @../x", deny=".env", forbid=forbid)
    assert found == ()
    assert [notice.partition(":")[0] for notice in notices] == ["@.env", "@link.txt", "@/etc/passwd", "@shut.md"]


def test_a_long_file_is_cut_in_the_open_and_not_seen(root: Path) -> None:
    put(root, "long.txt", "".join(f"line {n}\n" for n in range(20_000)))
    found, _ = refer(root, "@long.txt")
    assert found[0].origin.hash == ""
    assert "[lines 1-" in found[0].text()
    (short,), _ = refer(root, "@long.txt", limit=ResultLimit(200, 600))
    assert len(short.text()) < 800
    assert "go on with offset=" in short.text()


def test_a_line_that_was_cut_is_not_a_whole_file(root: Path) -> None:
    put(root, "wide.txt", "x" * 5000)
    (found,), _ = refer(root, "@wide.txt")
    assert found.origin == Origin(kind="file", where="wide.txt", lines="1-1")


def test_a_small_picture_is_shown_and_other_bytes_are_only_named(root: Path) -> None:
    put(root, "a.png", PNG)
    put(root, "b.bin", bytes(range(256)) * 4)
    put(root, "c.pdf", b"%PDF-1.7\n" + bytes(range(256)))
    found, notices = refer(root, "@a.png @b.bin @c.pdf")
    assert [each.parts[1:] for each in found] == [(Image(media="image/png", data=PNG),), (), ()]
    assert found[0].text() == "[overt] The user refers to a.png:\n[a.png: image/png, 48 bytes]"
    assert "is not text" in found[1].text() and "not attached" in found[1].text()
    assert "application/pdf" in found[2].text() and "not attached" in found[2].text()
    assert notices == []


def test_there_are_not_more_than_so_many_and_none_twice(root: Path) -> None:
    for number in range(MOST + 2):
        put(root, f"f{number}.txt", "x")
    found, notices = refer(root, " ".join(f"@f{number}.txt @f{number}.txt" for number in range(MOST + 2)))
    assert [each.origin.where for each in found] == [f"f{number}.txt" for number in range(MOST)]
    assert notices == [f"not attached, because it is too much at once: @f{MOST}.txt, @f{MOST + 1}.txt"]


def test_for_a_small_model_whole_files_are_left_to_its_lead(root: Path) -> None:
    found, _ = refer(root, "@src/a.py @src/a.py:1 @src/", led=True)
    assert [(each.origin.where, each.origin.lines) for each in found] == [("src/a.py", "1-1"), ("src/", "")]


def test_an_empty_file_is_seen_as_empty(root: Path) -> None:
    digest = put(root, "none.txt", "")
    (found,), _ = refer(root, "@none.txt")
    assert found == message("[overt] The user refers to none.txt:\n[none.txt is empty]", where="none.txt", hash=digest)


def test_any_number_of_words_that_name_nothing_is_told_in_two_lines(root: Path) -> None:
    asked: list[str] = []

    def exists(path: str) -> bool:
        asked.append(path)
        return False

    text = " ".join(f"看@某{number}a里b的c错d误e吗.py" for number in range(10_000))
    found, notices = asyncio.run(references(text, Lender(root), lambda _: True, exists=exists, limit=result_limit(0)))  # type: ignore[arg-type]
    assert (found, len(notices)) == ((), 2)
    assert notices[1].text.endswith(f", + {MOST_LOOKED - MOST}")
    assert len(asked) < MOST_LOOKED * 2 * (TRIES + 1)


def test_a_name_that_is_told_is_short(root: Path) -> None:
    found, notices = refer(root, '@"' + "x" * 5000 + '"')
    assert found == ()
    assert [len(text) < 250 for text in notices] == [True]


def test_many_parts_of_a_file_are_told_in_short_lines(root: Path) -> None:
    put(root, "long", "line\n" * 1000)
    found, notices = refer(root, " ".join(f"@long:{number}" for number in range(1, 1000)))
    assert len(found) == MOST
    assert [text.count("@long") for text in notices] == [1, MOST]
