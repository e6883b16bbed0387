"""Markdown on the screen: how every block looks, and that nothing in it can drive a terminal."""

import pytest

from overt.frontends.tui.markdown.markdown import Markdown
from overt.frontends.tui.terminal.rows import Row, Span, plain

WIDTH = 40


def drawn(text: str, columns: int = WIDTH, *, links: bool = True) -> list[Row]:
    markdown = Markdown(links=links)
    markdown.feed(text)
    return [*markdown.take(columns), *markdown.end(columns)]


def shown(text: str, columns: int = WIDTH, *, links: bool = True) -> list[str]:
    return [plain(row) for row in drawn(text, columns, links=links)]


@pytest.mark.parametrize(
    ("source", "rows"),
    [
        ("one\ntwo", ["one two"]),
        ("one\n\n\n\ntwo", ["one", "", "two"]),
        ("第一行\n第二行", ["第一行第二行"]),
        ("one  \ntwo\\\nthree", ["one", "two", "three"]),
        ("# Head\ntext\n## Next", ["Head", "text", "", "Next"]),
        ("Head\n====\ntext", ["Head", "text"]),
        ("text\n- one\n- two\n\nmore", ["text", "• one", "• two", "", "more"]),
        ("- one\n\n- two", ["• one", "", "• two"]),
        ("- one\n  - two\n    - three\n      - four", ["• one", "  ◦ two", "    ▪ three", "      ▪ four"]),
        ("- one\n\n  more", ["• one", "", "  more"]),
        ("- [ ] open\n- [x] done\n- [y] text", ["☐ open", "☑ done", "• [y] text"]),
        ("3. three\n4. four\n7. seven", ["3. three", "4. four", "7. seven"]),
        ("1. one\n1. two\n1. three", ["1. one", "2. two", "3. three"]),
        ("1) one\n2) two", ["1) one", "2) two"]),
        ("1. one\n   ```sh\n   ls\n   ```\n2. two", ["1. one", "     sh", "     ls", "2. two"]),
        ("-\n- two", ["•", "• two"]),
        ("> one\n> two\n>\n> - three\nlazy", ["▎ one two", "▎", "▎ • three lazy"]),
        ("a\n\n***\n\nb", ["a", "", "───", "", "b"]),
        ("text\n```\ncode\n\n  more\n```\nend", ["text", "", "  code", "", "    more", "", "end"]),
        ("```python\nx = 1", ["  python", "  x = 1"]),
        ("~~~\n```\n~~~", ["  ```"]),
        ("```\n```", []),
        ("    code\n\n    more", ["  code", "", "  more"]),
        ("<details>\n<b>x</b>\n</details>\n\nend", ["<details>", "<b>x</b>", "</details>", "", "end"]),
        ("a <b>c</b> &amp; &lt;d&gt; \\*e\\*", ["a <b>c</b> & <d> *e*"]),
        ("one\rtwo\r\n\r\nthree\r", ["one two", "", "three"]),
        ("", []),
        ("\n\n \n", []),
    ],
)
def test_a_block_is_drawn_like_this(source: str, rows: list[str]) -> None:
    assert shown(source) == rows


def test_styles_say_what_the_source_marks() -> None:
    assert drawn("# A *b*\n## C\n### D\n#### E\n\n**f** *g* ~~h~~ `i` ***j***") == [
        (Span("A ", "bold underline head"), Span("b", "bold underline head italic")),
        (),
        (Span("C", "bold head"),),
        (),
        (Span("D", "bold"),),
        (),
        (Span("E", "underline"),),
        (),
        (
            Span("f", "bold"),
            Span(" "),
            Span("g", "italic"),
            Span(" "),
            Span("h", "strike"),
            Span(" "),
            Span("i", "code"),
            Span(" "),
            Span("j", "italic bold"),
        ),
    ]


def test_a_quote_and_a_list_have_marks_of_their_own_style() -> None:
    assert drawn("> a\n\n- b") == [
        (Span("▎ ", "border"), Span("a", "quote")),
        (),
        (Span("• ", "accent"), Span("b")),
    ]


def test_code_has_nothing_beside_it_but_two_spaces() -> None:
    assert drawn("```python\nreturn 'x'\n```\n") == [
        (Span("  "), Span("python", "muted")),
        (Span("  "), Span("return", "tok.keyword"), Span(" "), Span("'x'", "tok.string")),
    ]


def test_long_code_goes_on_in_the_next_row_with_every_character() -> None:
    assert shown("```\n" + "0123456789" * 3 + "\n```", 14) == ["  012345678901", "  234567890123", "  456789"]
    assert shown("```\n" + "a b  " * 4 + "\n```", 10) == ["  a b  a b", "    a b  a", "   b"]


def test_words_wrap_and_what_is_longer_than_a_row_is_broken() -> None:
    assert shown("- some words that wrap here\n- " + "x" * 20, 14) == [
        "• some words",
        "  that wrap",
        "  here",
        "• xxxxxxxxxxxx",
        "  xxxxxxxx",
    ]
    assert shown("中文" * 8, 10) == ["中文中文中", "文中文中文", "中文中文中", "文"]


@pytest.mark.parametrize(
    ("source", "links", "row"),
    [
        ("[a](https://b.org/c)", True, (Span("a", "link", "https://b.org/c"),)),
        ("[a](https://b.org/c)", False, (Span("a", "link", "https://b.org/c"), Span(" (https://b.org/c)", "muted"))),
        ("<https://b.org>", False, (Span("https://b.org", "link", "https://b.org"),)),
        ("<x@b.org>", False, (Span("x@b.org", "link", "mailto:x@b.org"),)),
        ("see https://b.org/c.", True, (Span("see "), Span("https://b.org/c", "link", "https://b.org/c"), Span("."))),
        ("(https://b.org/(d))", True, (Span("("), Span("https://b.org/(d)", "link", "https://b.org/(d)"), Span(")"))),
        ("见https://b.org/c。", True, (Span("见"), Span("https://b.org/c", "link", "https://b.org/c"), Span("。"))),
        ("[a](javascript:b)", True, (Span("[a](javascript:b)"),)),
        ("[a](ftp://b.org)", True, (Span("a"), Span(" (ftp://b.org)", "muted"))),
        ("[a](file:///etc/passwd)", True, (Span("[a](file:///etc/passwd)"),)),
        ("![a](https://b.org/c.png)", True, (Span("a", "italic link", "https://b.org/c.png"),)),
        ("[a](http://b/中)", False, (Span("a", "link", "http://b/%E4%B8%AD"), Span(" (http://b/中)", "muted"))),
    ],
)  # fmt: skip
def test_links_lead_to_the_web_only(source: str, links: bool, row: Row) -> None:
    assert drawn(source, 60, links=links) == [row]


def test_words_that_claim_another_address_do_not_hide_the_real_one() -> None:
    assert shown("[https://good.org](https://bad.org)", 60) == ["https://good.org (https://bad.org)"]


def test_a_reference_holds_for_what_follows_it() -> None:
    assert shown("[a] first\n\n[a]: https://b.org\n\n[a] then", links=False) == [
        "[a] first",
        "",
        "a (https://b.org) then",
    ]


@pytest.mark.parametrize(
    "source",
    [
        "\x1b[31mred",
        "a &#27;]0;title&#7; b",
        "`\x1b]52;c;AAAA\x07`",
        "```\x1b[2J\n\x1b[2J\x9b31m\n```",
        "    \x1b[2J",
        "# \x1b[2J",
        "| \x1b[2J |\n|---|\n| \x07 |",
        "<b \x1b[2J>",
        "<div>\x1b[2J",
        "[\x1b[2J](https://b.org/\x1b[2J)",
        "[a](<https://b.org/\x1b[2J>)",
        "https://b.org/\x1b[2J",
        "![\x1b[2J](\x1b[2J)",
        "a\u202eb\u200bc\u2028d\U000e0041",
        "- \x9b2J",
        "> \x85x",
        "\x00\x08\x0b\x0c",
    ],
)
def test_nothing_in_a_text_can_drive_the_terminal(source: str) -> None:
    markdown = Markdown(links=False)
    markdown.feed(source)
    for made in (markdown.tail(WIDTH, 20), markdown.end(WIDTH)):
        for span in (span for row in made for span in row):
            assert span.text.isprintable() and span.link.isprintable() and span.link.isascii(), span


def test_tabs_become_columns() -> None:
    assert shown("```\n\tx\na\tb\n```\nc\td") == ["      x", "  a   b", "", "c   d"]


def test_a_row_is_never_wider_than_the_screen_even_where_there_is_hardly_any() -> None:
    assert shown("- - - - - deep\n\n> > > > > text\n\n```\nabcdefghij\n```", 8) == [
        "• ◦ ▪ ▪",
        "▪ deep",
        "",
        "▎ ▎ ▎ ▎",
        "▎ text",
        "",
        "  abcdef",
        "  ghij",
    ]
