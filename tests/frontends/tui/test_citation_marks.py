"""Places in prose: which texts are taken for one, and what becomes of those that are there and those that are not."""

from pathlib import Path

import pytest

from overt.app.chat.citations import Citations
from overt.frontends.tui.markdown.citations import marked
from overt.frontends.tui.markdown.markdown import Markdown
from overt.frontends.tui.terminal.rows import Row, Span, plain


@pytest.fixture
def cited(tmp_path: Path) -> Citations:
    (tmp_path / "src" / "[id]").mkdir(parents=True)
    (tmp_path / "src" / "a.py").write_text("x\n" * 20)
    (tmp_path / "src" / "[id]" / "page.tsx").write_text("x\n" * 20)
    (tmp_path / "Makefile").write_text("x\n" * 20)
    (tmp_path / "文档.md").write_text("x\n" * 20)
    return Citations(str(tmp_path))


def found(text: str, cited: Citations) -> list[tuple[str, str]]:
    return [(span.text, span.style) for span in marked(text, "", cited) if span.style]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("see src/a.py:3.", "src/a.py:3"),
        ("(src/a.py:3)", "src/a.py:3"),
        ("src/a.py:3-9, and", "src/a.py:3-9"),
        ("src/a.py:3:14: error", "src/a.py:3:14"),
        ("src/a.py#L3", "src/a.py#L3"),
        ("src/a.py#L3-L9", "src/a.py#L3-L9"),
        ("src/a.py#L3-9", "src/a.py#L3-9"),
        ("./src/a.py:20", "./src/a.py:20"),
        ("src/[id]/page.tsx:1", "src/[id]/page.tsx:1"),
        ("Makefile:3", "Makefile:3"),
        ("请看src/a.py:3的代码", "src/a.py:3"),
        ("文档.md:3，如上", "文档.md:3"),
        ("`src/a.py:3`", "src/a.py:3"),
    ],
)
def test_a_place_that_is_there_is_a_link(text: str, place: str, cited: Citations) -> None:
    assert found(text, cited) == [(place, "cite")]


@pytest.mark.parametrize(
    "text",
    ["src/a.py:21", "src/a.py:9-21", "src/b.py:1", "b.py:1", "b.py#L2", "src/nothing:3", "lib/x.y:3", "src/a.py:0"],
)  # fmt: skip
def test_a_place_that_is_not_there_is_struck_through(text: str, cited: Citations) -> None:
    assert marked(f"see {text}!", "", cited) == [Span("see "), Span(text, "cite.broken"), Span("!")]


@pytest.mark.parametrize(
    "text",
    [
        "12:30", "12:30:45", "a:b", "std::x", "Foo:1", "localhost:8000", "image:latest", "ratio 3/4:1", "127.0.0.1:80",
        "example.com:443", "user@host.org:22", "docker.io/library/x:3", "library/postgres:16", "v1.2.3:4", "C:1",
        "Class.method:12", "note:3", "2024-01-02T03:04", "::1:80", "a.py:", "a.py", "src/a.py", "a.py:x", "a.py:1px",
        "../outside.py:3", "/etc/passwd:3", "~/x.py:3", "std::a.py:3", "x:src", "#L3", ":3", "你好:3", "在文档.md:3",
    ],
)  # fmt: skip
def test_what_only_looks_like_a_place_is_left_alone(text: str, cited: Citations) -> None:
    assert marked(text, "", cited) == [Span(text)]


def test_an_address_is_an_address_and_not_a_place(cited: Citations) -> None:
    assert [span.style for span in marked("http://host:80/src/a.py:3", "", cited)] == ["link"]
    assert found("http://host:80 and src/a.py:3", cited) == [("http://host:80", "link"), ("src/a.py:3", "cite")]


def drawn(text: str, cited: Citations | None) -> list[Row]:
    markdown = Markdown(cites=cited)
    markdown.feed(text)
    assert [span for row in markdown.tail(60, 9) for span in row if "cite" in span.style] == []
    return markdown.end(60)


def test_places_are_marked_in_prose_in_code_and_in_what_a_link_leads_to(cited: Citations) -> None:
    there = cited.link("src/a.py", 3)
    assert drawn("**src/a.py:3** `src/a.py:99` [here](src/a.py#L3) [gone](src/b.py#L3) [x](src/a.py)", cited) == [
        (
            Span("src/a.py:3", "bold cite", there),
            Span(" "),
            Span("src/a.py:99", "code cite.broken"),
            Span(" "),
            Span("here", "cite", there),
            Span(" "),
            Span("gone", "cite.broken"),
            Span(" "),
            Span("x", "cite", cited.link("src/a.py", 1)),
        )
    ]


def test_fenced_code_holds_no_places(cited: Citations) -> None:
    assert {span.style for row in drawn("```\nsrc/a.py:3 src/b.py:1\n```", cited) for span in row} == {""}


def test_without_a_workspace_nothing_is_marked() -> None:
    assert drawn("src/a.py:3 and [x](src/a.py)", None) == [
        (Span("src/a.py:3 and x"), Span(" (src/a.py)", "muted")),
    ]


def test_a_place_that_wraps_keeps_its_link_on_both_rows(cited: Citations) -> None:
    markdown = Markdown(cites=cited)
    markdown.feed("src/[id]/page.tsx:12")
    rows = markdown.end(12)
    assert [plain(row) for row in rows] == ["src/[id]/pag", "e.tsx:12"]
    assert {span.link for row in rows for span in row} == {cited.link("src/[id]/page.tsx", 12)}
