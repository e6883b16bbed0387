"""Sources become fragments: headings, caps, marks of a cut, lines and hashes."""

from hashlib import sha256

from hypothesis import given
from hypothesis import strategies as st

from overt.context.prefix_sources import IndexedNote, environment, file, files, given_prompt, notes, order, shares
from overt.core.text_fragments import Fragment, Origin, SourceFile


def digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def source(where: str, text: str) -> SourceFile:
    return SourceFile(path="", where=where, content=text.encode())


def test_a_file_stands_under_its_place_with_its_lines_and_hash() -> None:
    text = "\ufeff\n\nBe kind.\n要简短。\n\n"
    assert files("project", "Rules of this project", [source("pkg/AGENTS.md", text)], 100) == (
        Fragment(
            key="project",
            text="# Rules of this project (pkg/AGENTS.md)\nBe kind.\n要简短。",
            origin=Origin(kind="file", where="pkg/AGENTS.md", lines="3-4", hash=digest(text)),
        ),
    )


def test_a_cut_is_marked_and_shown_as_one() -> None:
    made = file("project", "# Rules (a.md)", source("a.md", "one\ntwo\nthree\n"), 7)
    assert made == Fragment(
        key="project",
        text="# Rules (a.md)\none\ntwo\n[cut here: a.md has 13 characters, of which 7 are shown]",
        origin=Origin(kind="file", where="a.md", lines="1-2", hash=digest("one\ntwo\nthree\n")),
        cap=7,
    )


def test_a_file_that_was_not_read_to_its_end_says_so_and_has_no_hash() -> None:
    made = file("project", "# Rules (a.md)", SourceFile(path="", where="a.md", content=b"one\n", whole=False), 100)
    assert (made.origin.hash, made.cap) == ("", 100)
    assert made.text.endswith("[cut here: a.md is too large; its first 3 characters are shown]")


def test_files_share_a_cap_and_the_nearest_keep_the_most() -> None:
    made = files("project", "Rules", [source("a", "a" * 8), source("b", "b" * 8), source("c", "c" * 8)], 12)
    assert [fragment.text.split("\n")[1:] for fragment in made] == [
        ["[cut here: a has 8 characters, of which 0 are shown]"],
        ["bbbb", "[cut here: b has 8 characters, of which 4 are shown]"],
        ["cccccccc"],
    ]


def test_an_empty_file_says_nothing() -> None:
    assert files("project", "Rules", [source("a", " \n"), source("b", "b")], 10)[0].origin.where == "b"


@given(st.lists(st.integers(0, 1000)), st.integers(0, 2000))
def test_shares_never_exceed_the_cap_and_waste_nothing(sizes: list[int], cap: int) -> None:
    rooms = shares(sizes, cap)
    assert all(0 <= room <= size for room, size in zip(rooms, sizes, strict=True))
    assert sum(rooms) == min(sum(sizes), cap)


def test_the_order_is_told_where_there_are_several_rules() -> None:
    rules = files("project", "Rules", [source("AGENTS.md", "a"), source("pkg/AGENTS.md", "b")], 10)
    (told,) = order(rules)
    assert told.text.endswith("the later one holds: AGENTS.md, pkg/AGENTS.md")
    assert list(order(rules[:1])) == []


def test_short_notes_stand_in_the_index_and_longer_ones_behind_it() -> None:
    made = notes(
        "Notes",
        "~/notes",
        [
            IndexedNote(name="a", first="Use pnpm.", source=source("~/notes/a.md", "Use pnpm.\n")),
            IndexedNote(name="b", first="Deploy", source=source("~/notes/b.md", "# Deploy\nCall Ann first.\n")),
        ],
        200,
    )
    assert [(fragment.text, fragment.origin.where, fragment.cap) for fragment in made] == [
        ("# Notes (~/notes)\n- a: Use pnpm.\n- b: Deploy", "~/notes", 0),
        ("## b\n# Deploy\nCall Ann first.", "~/notes/b.md", 0),
    ]
    assert made[1].origin.hash == digest("# Deploy\nCall Ann first.\n")


def test_notes_for_which_there_is_no_room_are_named() -> None:
    entries = [IndexedNote(name=name, first=name, source=source(name, f"{name}\n" + "x" * 50)) for name in "abc"]
    made = notes("Notes", "~/notes", entries, 100)
    assert made[0].text == "# Notes (~/notes)\n- a: a\n- b: b\n- c: c\n[left out, no room: c]"
    assert [fragment.text.partition("\n")[0] for fragment in made[1:]] == ["## a", "## b"]
    assert "[cut here: b has 52 characters" in made[2].text
    assert made[0].cap == 100
    assert sum(fragment.text.count("x") for fragment in made) <= 100


def test_an_index_that_is_too_long_is_cut_as_well() -> None:
    entries = [IndexedNote(name=f"n{n}", first="word", source=source("x", "word")) for n in range(100)]
    (only,) = notes("Notes", "~/notes", entries, 100)
    assert len(only.text) < 200
    assert only.text.endswith("of which 100 are shown]")
    assert notes("Notes", "~/notes", (), 100) == ()


def test_a_given_prompt_is_cut_at_its_cap_in_the_open() -> None:
    origin = Origin(kind="flag", where="--system-prompt")
    assert given_prompt("system", " Be brief. ", origin=origin, cap=9).text == "Be brief."
    made = given_prompt("system", "Be brief. ", origin=origin, cap=2)
    assert (made.text, made.cap) == ("Be\n[cut here: --system-prompt has 9 characters, of which 2 are shown]", 2)


def test_facts_are_one_line_each() -> None:
    made = environment({"Platform": "linux", "Date": "2026-01-02"}, cap=100)
    assert (made.key, made.text) == ("environment", "# Environment\nPlatform: linux\nDate: 2026-01-02")
