"""Code in colour: the same as pygments gives for the whole, in any batches, and plain where it is too much."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pygments.lexers import get_lexer_by_name

from overt.frontends.tui.markdown import highlight
from overt.frontends.tui.markdown.highlight import MAX_CODE, MAX_LINE, STYLES, Highlighter, Rule, Token, lines
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, plain
from overt.frontends.tui.terminal.theme import theme

HERE = Path(__file__)
SAMPLES = {
    "python": HERE.read_text(),
    "javascript": "/* a\n b */\nconst f = async (x) => `a ${x + 1}\nb`; // c\nlet r = /a[/]b/g;\n" * 8,
    "typescript": "interface A<T> { b?: string }\nexport class C extends D { private e = 1 }\n" * 8,
    "bash": "if [ -f \"$A\" ]; then\n  echo 'x\ny' | sed s/a/b/\nfi\ncat <<EOF\n$B\nEOF\n" * 6,
    "rust": '/* a /* b */ c */\nfn main() { let s = r#"x\ny"#; println!("{}", s); }\n' * 8,
    "go": "package main\nfunc f() (int, error) { s := `a\nb`; return 1, nil } // c\n" * 8,
    "c": "#include <a.h>\n/* b\n c */\nint main(void) { return 'x' + 1; }\n" * 8,
    "toml": '[a]\nb = "c" # d\ne = [1, 2]\n' * 8,
    "sql": "SELECT a, 'b' FROM c -- d\nWHERE e = 1;\n" * 8,
    "css": "a:hover { color: #fff; /* b\n c */ }\n" * 8,
    "diff": "--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n" * 8,
}


def texts(rows: list[Row]) -> list[str]:
    return [plain(row) for row in rows]


@pytest.mark.parametrize("name", SAMPLES)
def test_states_give_what_pygments_gives(name: str) -> None:
    code = SAMPLES[name]
    found = get_lexer_by_name(name, stripnl=False, ensurenl=False).get_tokens_unprocessed(code)
    assert lines(code.removesuffix("\n"), name) == highlight._rows(iter(found), 0, len(code))


@pytest.mark.parametrize("name", ["python", "javascript", "typescript", "bash", "rust", "c", "toml", "sql", "css"])
@pytest.mark.parametrize("size", [1, 3, 16])
def test_batches_of_lines_give_the_text_of_the_whole(name: str, size: int) -> None:
    code = SAMPLES[name].split("\n")
    highlighter = Highlighter(name)
    rows = []
    for at in range(0, len(code), size):
        piece = "\n".join(code[at : at + size]) + "\n"
        assert highlighter.peek(piece) == highlighter.peek(piece)
        rows += highlighter.feed(piece)
    assert texts(rows) == [line.replace("\t", "    ") for line in code]


@pytest.mark.parametrize("size", [1, 2, 7])
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("javascript", "a; /* if\nreturn\n*/ return b;"),
        ("go", "a /* if\nreturn\n*/ return b"),
        ("bash", "ls /tmp/* if\nfor x in /*; do\necho; done"),
        ("css", "/* a {\n b: c;\n*/ d { e: f }"),
        ("python", 'x = """a\nif b\n"""\nreturn'),
        ("c", "a; /* if\nreturn\n*/ return b;"),
        ("rust", "/* if\nlet */ let a;"),
    ],
)
def test_what_spans_lines_keeps_its_colour_from_batch_to_batch(name: str, code: str, size: int) -> None:
    pieces = code.split("\n")
    highlighter = Highlighter(name)
    rows = []
    for at in range(0, len(pieces), size):
        rows += highlighter.feed("\n".join(pieces[at : at + size]) + "\n")
    assert rows == lines(code, name)


def test_a_file_name_or_the_word_behind_a_fence_says_the_language() -> None:
    coloured: Row = (Span("return", "tok.keyword"), Span(" x"))
    for hint in ("python", "py", "Python", "src/a.py", "python title=x", "python {1,2}", "a.PYI"):
        assert lines("return x", hint) == [coloured], hint
    assert [len(lines("FROM a AS b", hint)[0]) > 1 for hint in ("Dockerfile", "x/dockerfile", "docker")] == [True] * 3
    for hint in ("", "nosuchlanguage", "text", "a.lock", "a.unknown", "../..", "{}", "." * 500):
        assert lines("return x", hint) == [(Span("return x"),)], hint


def test_rows_are_lines_and_empty_lines_are_blank() -> None:
    assert lines("a\n\nb\n", "") == [(Span("a"),), BLANK, (Span("b"),), BLANK]
    assert texts(lines("x = 1\n\n\ty", "py")) == ["x = 1", "", "    y"]
    assert lines("", "py") == [BLANK]


def test_what_is_too_long_is_drawn_without_colour() -> None:
    long = "x = '" + "a" * MAX_LINE + "'"
    assert lines(long, "py") == [(Span(long),)]
    many = "return 1\n" * (MAX_CODE // 9 + 1)
    assert {row for row in lines(many, "py") if row} == {(Span("return 1"),)}
    highlighter = Highlighter("py")
    assert highlighter.feed("return 1\n") == lines("return 1", "py")
    assert highlighter.feed(long + "\nreturn 1\n") == [(Span(long),), (Span("return 1"),)]


def test_code_cannot_drive_the_terminal() -> None:
    for hint in ("py", "", "json", "html"):
        rows = lines("a = '\x1b[2J\u202e'\t#\x07\n\x9b", hint)
        assert all(span.text.isprintable() for row in rows for span in row)
    assert texts(lines("a\tb\n'\t'\t#", "py")) == ["a   b", "'   '   #"]


def test_every_style_is_one_of_the_theme() -> None:
    dark = theme("dark", depth=256)
    for style in STYLES.values():
        assert isinstance(dark.sgr(style), str)


class Stuck:
    """A lexer that moves between two states and never reads anything."""

    def __init__(self) -> None:
        import re

        empty = re.compile("").match
        self._tokens: dict[str, Sequence[Rule]] = {"root": [(empty, None, ("root",))]}

    def get_tokens_unprocessed(self, text: str) -> Iterator[Token]:
        raise NotImplementedError


def test_a_lexer_that_never_reads_is_left_behind() -> None:
    assert list(Highlighter("")._by_state(Stuck(), "ab\n")) == [
        (0, None, "a"),
        (1, None, "b"),
        (2, None, "\n"),
    ]
