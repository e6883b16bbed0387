"""What a person is told about the things a command would change."""

from pathlib import Path

from overt.world.impact import MOST, weigh


def test_each_kind_of_thing_is_told_in_a_few_words(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text("x")
    (tmp_path / "build" / "deep").mkdir(parents=True)
    (tmp_path / "build" / "a").write_bytes(bytes(3000))
    (tmp_path / "build" / "deep" / "b").write_bytes(bytes(2120))
    (tmp_path / "link").symlink_to("/etc/passwd")
    names = ("one.txt", "build", "link", "missing", "*.log")
    assert [weigh(str(tmp_path / name), name) for name in names] == [
        "one.txt: a file of 1 byte",
        "build: a folder with 2 files, 5.0 KB",
        "link: a link to /etc/passwd",
        "missing: not there yet",
        "*.log",
    ]


def test_a_huge_folder_is_not_counted_to_the_end(tmp_path: Path) -> None:
    for number in range(MOST + 50):
        (tmp_path / str(number)).touch()
    assert weigh(str(tmp_path), "all") == f"all: a folder with more than {MOST} files, more than 0 bytes"


def test_a_name_that_cannot_be_one_is_no_error() -> None:
    assert weigh("a\0b", "a\0b") == "a\0b: not there yet"
