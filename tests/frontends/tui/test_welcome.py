"""The panels before the first prompt: what they tell, and what a key means to them."""

from collections.abc import Iterator

import pytest

from overt.app.chat.trust_question import ProjectFile, TrustQuestion
from overt.frontends.tui.chat.welcome import no_model_panel, trust_panel
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row, columns, plain
from overt.frontends.tui.terminal.theme import theme
from overt.lib.translations import set_language

QUESTION = TrustQuestion(
    project="/home/ada/shop",
    described_files=(
        ProjectFile(name="overt.toml", effects=("allows bash(make *)", "sends requests to https://models.test/v1")),
        ProjectFile(name=".env", effects=()),
    ),
    before="yes",
    changed=("overt.toml",),
)


@pytest.fixture(autouse=True)
def english_again() -> Iterator[None]:
    yield
    set_language("en")


def lines(rows: list[Row]) -> list[str]:
    return [plain(row) for row in rows]


def test_a_question_names_the_folder_what_changed_and_what_its_files_would_bring_about() -> None:
    assert lines(trust_panel(QUESTION).opening(100)) == [
        "Do you trust this folder? /home/ada/shop",
        "Changed since you last answered: overt.toml",
        "If you do, these files may set permissions, endpoints, programs to run and keys:",
        "  overt.toml *",
        "    allows bash(make *)",
        "    sends requests to https://models.test/v1",
        "  .env",
    ]


def test_each_choice_has_a_key_and_a_row() -> None:
    rows, cursor = trust_panel(QUESTION).draw(100, 10)
    assert (lines(rows), cursor) == (
        ["  y  yes, trust it", "  n  no, work here without obeying anything in it", "  q  leave"],
        None,
    )


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (Key("text", "y"), "yes"),
        (Key("text", "Y"), "yes"),
        (Key("text", "n"), "no"),
        (Key("text", "q"), "leave"),
        (Key("esc"), "leave"),
        (Key("ctrl-c"), "leave"),
        (Key("ctrl-d"), "leave"),
        (Key("enter"), ""),
        (Key("text", "x"), ""),
        (Key("text", "yes"), ""),
        (Key("paste", "y"), ""),
        (Key("reply", "y"), ""),
    ],
)
def test_only_one_key_that_was_meant_answers_for_trust(key: Key, expected: str) -> None:
    assert trust_panel(QUESTION).press(key) == expected


def test_a_folder_with_a_problem_cannot_be_trusted() -> None:
    panel = trust_panel(TrustQuestion(project="/x", problem="overt.toml is a link"))
    assert "It cannot be trusted: overt.toml is a link." in lines(panel.opening(100))
    assert lines(panel.draw(100, 10)[0]) == ["  n  no, work here without obeying these files", "  q  leave"]
    assert (panel.press(Key("text", "y")), panel.press(Key("text", "n"))) == ("", "no")


def test_words_of_the_folder_cannot_drive_the_terminal() -> None:
    evil = "a\x1b]0;x\x07\x9b2J\u202eb\r\nc\td"
    panel = trust_panel(
        TrustQuestion(
            project=evil,
            described_files=(ProjectFile(name=evil, effects=(evil,)),),
            changed=(evil,),
            warning=evil,
            problem=evil,
            more=1,
        )
    )
    text = "".join(lines([*panel.opening(60), *panel.draw(60, 9)[0]]))
    assert [char for char in text if not char.isprintable()] == []
    forged = trust_panel(TrustQuestion(project="/x\nIt is harmless.", described_files=(ProjectFile(name="a\n  b"),)))
    assert lines(forged.opening(100)) == [
        "Do you trust this folder? /x\\nIt is harmless.",
        "If you do, these files may set permissions, endpoints, programs to run and keys:",
        "  a\\n  b",
    ]


def test_whatever_the_width_no_row_is_wider_or_ends_in_a_space() -> None:
    long = TrustQuestion(
        project="/home/ada/" + "项目/" * 40,
        described_files=(ProjectFile(name="x" * 300, effects=("说明 " * 60,)),),
        broad="home",
    )
    for wide in (20, 40, 79, 200):
        for panel in (
            trust_panel(long),
            no_model_panel("a\nb " * 30, embedded="Qwen 1.12 GB, licence " * 6, size="1.12 GB"),
        ):
            for row in (*panel.opening(wide), *panel.draw(wide, 12)[0], *panel.draw(wide, 2)[0]):
                assert columns(row) <= wide
                assert not plain(row).endswith(" ")


def test_on_a_screen_with_too_few_rows_the_keys_stay() -> None:
    panel = trust_panel(QUESTION)
    assert lines(panel.draw(24, 3)[0]) == ["  y  yes, trust it", "  n  no, work here with…", "  q  leave"]
    assert lines(panel.draw(24, 1)[0]) == ["  y  n  q"]


def test_every_style_is_one_of_the_theme() -> None:
    panels = (trust_panel(QUESTION), trust_panel(TrustQuestion(project="/", broad="root", problem="p", warning="w")))
    drawn = [row for panel in panels for row in (*panel.opening(80), *panel.draw(80, 9)[0])]
    other = no_model_panel("looked", embedded="what", size="1 GB")
    dark = theme("dark", depth=256)
    for row in (*drawn, *other.opening(80), *other.draw(80, 9)[0]):
        for span in row:
            dark.sgr(span.style)


def test_without_a_model_there_are_three_ways_on_and_the_size_is_told() -> None:
    panel = no_model_panel(
        "keys in the environment: none", embedded="Qwen, 1.12 GB, licence Apache-2.0.", size="1.12 GB"
    )
    assert lines(panel.opening(80)) == [
        "No model was found. Looked for:",
        "  keys in the environment: none",
        "What can be fetched:",
        "  Qwen, 1.12 GB, licence Apache-2.0.",
    ]
    assert lines(panel.draw(80, 9)[0]) == [
        "  s  set one up now (a vendor, a key or a server of yours: about a minute)",
        "  f  fetch a small model that runs inside of Overt (1.12 GB), without a key",
        "  q  leave",
    ]
    assert [panel.press(Key("text", key)) for key in "sfqy"] == ["setup", "fetch", "leave", ""]


def test_what_cannot_be_fetched_is_not_offered() -> None:
    panel = no_model_panel("nothing")
    assert [panel.press(Key("text", key)) for key in "sf"] == ["setup", ""]
    assert lines(panel.draw(80, 9)[0])[1:] == ["  q  leave"]


def test_the_panels_speak_chinese() -> None:
    set_language("zh")
    assert lines(trust_panel(QUESTION).draw(80, 9)[0]) == [
        "  y  信任它",
        "  n  不信任，继续工作但不采用其中的任何设置",
        "  q  退出",
    ]
