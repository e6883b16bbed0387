"""Every style means something readable in every theme, and nothing coloured where colours are unwanted."""

import re

import pytest

from overt.frontends.tui.terminal.theme import BARE, STYLES, TABLE, Depth, TextAttributes, Theme, shade, theme

ALL = [theme(name, depth=depth) for name in ("dark", "light") for depth in (0, 16, 256)]
EXPECTED = (
    "bold dim italic underline strike reverse user answer plan tool error warn good accent muted quote link code head "
    "border add remove hunk add.word remove.word lineno cite cite.broken hazard key selected mode.review mode.auto "
    "mode.plan mode.yolo tok.keyword tok.name tok.string tok.number tok.comment tok.operator tok.builtin "
    "tok.type tok.meta"
)


def test_the_styles_are_those_that_were_agreed_on() -> None:
    assert sorted(STYLES) == sorted(EXPECTED.split())


@pytest.mark.parametrize("worn", ALL, ids=lambda worn: f"{worn.name}-{worn.depth}")
def test_every_style_is_a_well_formed_sequence_or_nothing(worn: Theme) -> None:
    for style in STYLES:
        assert re.fullmatch(r"(\x1b\[[0-9;]+m)?", worn.sgr(style)), style


@pytest.mark.parametrize("name", ["dark", "light"])
def test_without_colours_only_weight_and_lines_remain(name: str) -> None:
    worn = theme(name, depth=0)  # type: ignore[arg-type]
    used = {number for style in STYLES for number in re.findall(r"\d+", worn.sgr(style))}
    assert used <= {"1", "2", "4", "7", "9"}


def test_a_style_nobody_knows_is_an_error() -> None:
    with pytest.raises(KeyError):
        theme("dark", depth=256).sgr("bold sparkling")


def test_names_add_up_and_a_later_colour_wins() -> None:
    worn = theme("dark", depth=256)
    assert (worn.sgr("bold error"), worn.sgr("error accent"), worn.sgr("")) == (
        "\x1b[1;38;5;203m",
        "\x1b[38;5;111m",
        "",
    )
    assert theme("dark", depth=16).sgr("error") == "\x1b[91m"
    assert theme("light", depth=16).sgr("hazard") == "\x1b[1;97;41m"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "bold", "\x1b[1m"), ("bold", "", "\x1b[m"), ("bold", "bold error", "\x1b[38;5;203m"),
        ("bold error", "error", "\x1b[22m"), ("bold", "dim", "\x1b[0;2m"), ("error", "good", "\x1b[38;5;114m"),
        ("underline error", "underline", "\x1b[39m"), ("bold dim", "bold", "\x1b[0;1m"),
    ],
)  # fmt: skip
def test_the_way_from_one_style_to_another_is_short(old: str, new: str, expected: str) -> None:
    worn = theme("dark", depth=256)
    assert worn.turn(worn.look(old), worn.look(new)) == expected


@pytest.mark.parametrize("worn", ALL, ids=lambda worn: f"{worn.name}-{worn.depth}")
def test_every_way_leads_to_the_style_it_should(worn: Theme) -> None:
    for first in STYLES:
        for second in ("", "bold", "dim", "error", "hazard", "add.word", "underline good"):
            old, new = worn.look(first), worn.look(second)
            assert _after(old, worn.turn(old, new)) == new, (first, second)


def _after(look: TextAttributes, sequence: str) -> TextAttributes:
    """What a terminal wears after a sequence."""
    numbers = [int(number or 0) for number in sequence[2:-1].split(";")] if sequence else []
    ink, paper, flags = look.ink, look.paper, set(look.flags)
    while numbers:
        number = numbers.pop(0)
        if number == 0:
            ink, paper, flags = "", "", set()
        elif number in (38, 48):
            colour = f"{number};5;{numbers[1]}"
            ink, paper = (colour, paper) if number == 38 else (ink, colour)
            numbers = numbers[2:]
        elif number == 39:
            ink = ""
        elif number == 49:
            paper = ""
        elif number in (22, 23, 24, 27, 29):
            flags -= {22: {1, 2}, 23: {3}, 24: {4}, 27: {7}, 29: {9}}[number]
        elif number < 10:
            flags.add(number)
        elif 30 <= number <= 37 or 90 <= number <= 97:
            ink = str(number)
        else:
            paper = str(number)
    return TextAttributes(ink, paper, frozenset(flags)) if (ink, paper, flags) != ("", "", set()) else BARE


def _light(number: int) -> float:
    """Relative luminance of one of the 256 colours."""
    if number < 16:
        levels = [(0, 0, 0), (205, 0, 0), (0, 205, 0), (205, 205, 0), (0, 0, 238), (205, 0, 205), (0, 205, 205)]
        parts = (levels + [(229, 229, 229)] * 8 + [(255, 255, 255)])[number]
    elif number >= 232:
        parts = ((number - 232) * 10 + 8,) * 3
    else:
        cube = (0, 95, 135, 175, 215, 255)
        place = number - 16
        parts = (cube[place // 36], cube[place // 6 % 6], cube[place % 6])
    red, green, blue = ((part / 255) ** 2.2 for part in parts)
    return float(0.2126 * red + 0.7152 * green + 0.0722 * blue)


def _contrast(one: float, other: float) -> float:
    low, high = sorted((one, other))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(("name", "paper"), [("dark", 0.015), ("light", 0.95)])
def test_text_stands_out_from_real_backgrounds(name: str, paper: float) -> None:
    """The dark one is as light as dark themes get, the light one a little less than white."""
    faint = {"border": 1.3, "lineno": 2.2}
    weak = {}
    for style, row in TABLE.items():
        ink, _, ground = row[0 if name == "dark" else 1].partition("/")
        if ink:
            behind = _light(int(ground)) if ground else paper
            reached = _contrast(_light(int(ink)), behind)
            if reached < faint.get(style, 4.5):
                weak[style] = round(reached, 2)
    assert weak == {}


@pytest.mark.parametrize(
    ("reply", "dark"),
    [
        ("]11;rgb:1e1e/1e1e/2e2e", True), ("]11;rgb:ffff/ffff/ffff", False), ("]11;rgb:fd/f6/e3", False),
        ("]11;rgba:0000/0000/0000/ffff", True), ("]10;rgb:ffff/ffff/ffff", None), ("[12;40R", None),
        ("]11;rgb:zz/0/0", None), ("]11;rgb:1/2", None), ("]11;?", None), ("]11;rgb://", None),
    ],
)  # fmt: skip
def test_the_background_is_read_from_the_answer(reply: str, dark: bool | None) -> None:
    assert shade(reply) is dark


def test_a_depth_is_one_of_three() -> None:
    depths: list[Depth] = [0, 16, 256]
    assert [theme("dark", depth=depth).depth for depth in depths] == depths
