"""HTML as Markdown: what a reader would see, and nothing that is hidden."""

import pytest

from overt.providers.web.page_text import page_text

BASE = "https://example.org/docs/page"


def text(html: str) -> str:
    return page_text(html, base=BASE, limit=10_000).text


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<h1>One</h1><p>a <b>b</b>\n c</p><h3>Two</h3>x", "# One\n\na b c\n\n### Two\n\nx"),
        ("<p>see <a href='../api#x'>the  API</a>.</p>", "see [the API](https://example.org/api#x)."),
        ("<a href='#top'>top</a> <a href='javascript:x()'>run</a> <a>bare</a>", "top run bare"),
        ("<ul><li>one<li>two<ul><li>deep</li></ul></ul>after", "- one\n- two\n\n  - deep\n\nafter"),
        ("<pre>a  b\n  c &lt;d&gt;</pre>", "```\na  b\n  c <d>\n```"),
        ("<p>call <code>f()</code></p>", "call `f()`"),
        ("<table><tr><th>a</th><th>b</th></tr><tr><td>1<td>2</table>", "| a | b\n| 1 | 2"),
        ("a<br>b<hr>c", "a\nb\n\n---\n\nc"),
        ("<img src=x alt='a  chart'><img src=y>", "![a chart]"),
        ("&copy; caf&eacute; &#x41;", "© café A"),
        ("<p>one<p>two", "one\n\ntwo"),
        ("just text", "just text"),
        ("", ""),
    ],
)
def test_a_page_becomes_markdown(html: str, expected: str) -> None:
    assert text(html) == expected


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>evil()</script>",
        "<style>p { color: red }</style>",
        "<template><p>evil</p></template>",
        "<noscript>evil</noscript>",
        "<svg><title>evil</title><text>evil</text></svg>",
        "<div hidden>evil <b>more</b></div>",
        "<div style='color: red; display : none'>evil</div>",
        "<span style='visibility:hidden'>evil</span>",
        "<p aria-hidden='true'>evil</p>",
        "<div hidden><div>evil</div><div>evil</div></div>",
        "<!-- evil -->",
        "<select><option>evil</select>",
    ],
)
def test_parts_that_nobody_sees_are_left_out(hidden: str) -> None:
    assert text(f"<p>before</p>{hidden}<p>after</p>") == "before\n\nafter"


def test_the_title_is_that_of_the_page() -> None:
    html = "<html><head><title>A\n page</title></head><body><svg><title>icon</title></svg>x</body></html>"
    assert page_text(html, base=BASE, limit=100).title == "A page"
    assert text(html) == "x"


def test_a_long_page_is_cut_at_the_limit() -> None:
    page = page_text("<p>word</p>" * 100_000, base=BASE, limit=1000)
    assert page.truncated and len(page.text) == 1000


@pytest.mark.parametrize(
    "piece",
    [
        "<",
        "<a ",
        "<!--",
        "</",
        "<div>",
        "&#",
        "<a href='",
        "<p hidden>",
        "<title>",
        "<script>",
        "<a =",
        '<a b="',
        "<ul><li>",
        "&a",
        "<svg>",
        "<pre>",
    ],
)
def test_broken_markup_is_read_in_bounded_time(piece: str) -> None:
    page = page_text(piece * 200_000, base=BASE, limit=1000)
    assert len(page.text) <= 1000
