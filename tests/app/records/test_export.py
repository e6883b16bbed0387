"""An export holds everything, in a form that nothing in it can break: Markdown, JSON, and HTML that runs nothing."""

import json
import re
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from tests.app.records.export_kit import ANSWER, PIXEL, hostile, ordinary, record
from tests.sessions.samples import prompt, reply

from overt.app.records.archive import export_text, format_for
from overt.app.records.export_html import POLICY
from overt.app.records.export_markdown import _tagless
from overt.app.records.export_prose import fence, split_fences
from overt.core.events import UserSpoke
from overt.core.messages import Text, said
from overt.core.text_fragments import Origin
from overt.lib.translations import set_language

CHROMIUM = next(
    (found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))), ""
)
TAGS = {
    "a", "article", "b", "body", "br", "code", "dd", "details", "div", "dl", "dt", "em", "footer", "h1", "h2", "h3",
    "h4", "h5", "h6", "head", "header", "html", "img", "li", "main", "meta", "nav", "ol", "p", "pre", "section", "span",
    "strong", "style", "summary", "table", "td", "th", "time", "title", "tr", "ul",
}  # fmt: skip


class Tags(HTMLParser):
    """Every tag and attribute of a page, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str]] = set()
        self.words = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {(name, value or "") for name, value in attrs}

    def handle_data(self, data: str) -> None:
        self.words += data


@pytest.fixture
def hits() -> Iterator[tuple[str, list[str]]]:
    """A server on loopback, and the paths anybody asked it for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(204)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}", asked
    server.shutdown()
    thread.join()
    server.server_close()


def test_json_is_one_object_with_every_turn(tmp_path: Path) -> None:
    path = record(tmp_path, ordinary())
    found = json.loads(export_text(path, "json"))
    assert list(found) == ["format", "session", "turns", "usage", "damage"]
    assert (found["format"], found["damage"]) == (1, [])
    assert found["session"]["title"] == "Fix the total of the cart · 购物车合计"
    assert found["session"]["models"] == ["tiny"]
    assert found["usage"] == {"input": 9 * 5 + 30, "output": 2 * 5 + 5}
    first, second, third = found["turns"]
    assert [(message["role"], message.get("origin", "")) for message in first["messages"]] == [
        ("user", "file notes.md"),
        ("user", ""),
        ("assistant", ""),
        ("tool", ""),
        ("assistant", ""),
        ("tool", ""),
        ("assistant", ""),
    ]
    assert first["ended"]["reason"] == "done"
    assert first["messages"][2]["calls"] == [{"id": "c1", "name": "read", "arguments": '{"path":"shop/total.py"}'}]
    assert first["messages"][-1]["text"] == ANSWER
    image = next(message for message in second["messages"] if message["role"] == "tool")["files"]
    assert image == [{"media": "image/png", "data": b64encode(PIXEL).decode()}]
    assert [(message["role"], message["text"]) for message in third["messages"] if message.get("error")] == [
        ("assistant", "half of a"),
        ("tool", "No result was recorded."),
    ]
    assert third["ended"] is None


def test_markdown_keeps_its_shape_whatever_stands_in_it(tmp_path: Path) -> None:
    text = export_text(record(tmp_path, hostile("http://127.0.0.1:1")), "markdown")
    outside = "\n".join(piece for language, piece in split_fences(text) if language is None)
    assert re.findall(r"(?m)^# .*", outside) == [outside.split("\n")[0]]
    assert len(re.findall(r"(?m)^## Turn \d · ", outside)) == 4
    assert len(re.findall(r"(?m)^## ", outside)) == 4
    assert outside.count("<details>") == outside.count("</details>") == 4 * 2
    outside = outside.replace("`\"><script>document.title='RAN'</script>`", "")  # code of one line
    assert re.findall(r"(?i)(?<!\\)<(?!/?details>|/?summary>)[a-z/!]", outside) == []
    assert "![" not in re.sub(r"(?m)^<details><summary>.*", "", outside)


def test_the_lines_of_an_attached_file_stay_as_they_are_in_html(tmp_path: Path) -> None:
    lines = "[overt] The user refers to a.py:\n     1\tif x:\n     2\t    y"
    attached = UserSpoke(message=said(lines, origin=Origin(kind="file", where="a.py")))
    text = export_text(record(tmp_path, [[attached, prompt("look")]]), "html")
    assert f"<code>{lines}</code>" in text


def test_markdown_reads_well(tmp_path: Path) -> None:
    text = export_text(record(tmp_path, ordinary()), "markdown")
    assert (
        "> Fix the total of the cart, please. 请用中文注释。\n>\n> It is one too low:\n>\n> ```\n> >>> total([1])"
        in text
    )
    assert "<details><summary>edit shop/total.py</summary>\n\n```json\n" in text
    assert "```diff\n--- shop/total.py\n@@ -1,2 +1,2 @@\n" in text
    assert "#### How to check" in text
    assert text.endswith("3 turns, 75 tokens in (0 of them cached), 15 out. Exported by Overt.\n")


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("a `List<int>` b <b>", "a `List<int>` b &lt;b>"),
        ("``a ` <i>`` <i>", "``a ` <i>`` &lt;i>"),
        ("```` x <i> ` <i>", "```` x &lt;i> ` &lt;i>"),
        ("open `\nb `<script>` c", "open `\nb `&lt;script>` c"),
        ("\\`<i>` x", "\\`&lt;i>` x"),
        ("1 < 2 ![x](http://a)", "1 < 2 !\\[x](http://a)"),
    ],
)
def test_tags_are_obeyed_nowhere_but_shown_in_code(written: str, expected: str) -> None:
    assert _tagless(written) == expected


@pytest.mark.parametrize("inner", ["plain", "```\ncode\n```", "````", "`", "~~~\n```", ""])
def test_a_fence_is_longer_than_what_it_holds(inner: str) -> None:
    made = f"before\n{fence(inner, 'py`x')}\nafter"
    assert list(split_fences(made)) == [(None, "before"), ("pyx", inner), (None, "after")]


@pytest.mark.parametrize(
    "line",
    [
        "`" * 300_000,
        "` " * 150_000,
        "`a`" * 100_000,
        "**a " * 100_000,
        "# " + " " * 300_000 + "x",
        "```" + " " * 300_000 + "`",
    ],
    ids=["run", "marks", "spans", "bold", "heading", "fence"],
)
def test_a_very_long_line_takes_no_longer_than_its_length(tmp_path: Path, line: str) -> None:
    path = record(tmp_path, [[prompt(line), reply(Text(text=f"{line}\n<i>"))]])
    assert "<i>" not in export_text(path, "html")
    assert export_text(path, "markdown").count("<i>") <= 1, "in code it is shown as it is"


def test_a_fence_that_was_not_closed_ends_with_the_text() -> None:
    assert list(split_fences("a\n```py\nb\n## c")) == [(None, "a"), ("py", "b\n## c")]


def test_html_holds_only_the_tags_it_makes_itself(tmp_path: Path) -> None:
    page = export_text(record(tmp_path, hostile("http://127.0.0.1:1")), "html")
    found = Tags(page)
    assert found.tags <= TAGS
    assert {name for name, _ in found.attributes} == {
        "alt", "charset", "class", "content", "href", "http-equiv", "id", "lang", "name", "src", "tabindex", "value",
    }  # fmt: skip
    assert {value for name, value in found.attributes if name == "href"} == {f"#turn-{turn}" for turn in range(1, 5)}
    sources = {value.partition(",")[0] for name, value in found.attributes if name == "src"}
    assert sources == {"data:image/png;base64"}
    assert ("content", POLICY) in found.attributes
    assert found.words.count("<script>document.title='RAN'</script>") > 100, "it is all there, as words"


def test_html_shows_all_of_a_session(tmp_path: Path) -> None:
    words = Tags(export_text(record(tmp_path, ordinary()), "html")).words
    for wanted in (
        "Fix the total of the cart · 购物车合计",
        "请用中文注释。",
        "Probably an off-by-one.",
        "+    return sum(prices)  # 合计",
        "off by one",
        "the model was slow",
        "The objective: a right total.",
        "half of a",
        "No result was recorded.",
        "interrupted",
    ):
        assert wanted in words, wanted


def test_an_export_speaks_the_language_of_the_person(tmp_path: Path) -> None:
    path = record(tmp_path, ordinary())
    set_language("zh")
    try:
        page, text = export_text(path, "html"), export_text(path, "markdown")
    finally:
        set_language("en")
    assert '<html lang="zh">' in page and "第 1 轮" in page and "推理" in text


def test_damage_is_told_in_every_form(tmp_path: Path) -> None:
    path = Path(record(tmp_path, ordinary()))
    path.write_bytes(path.read_bytes() + b'{"v":1,')
    for form in ("markdown", "json", "html"):
        assert "ends in the middle" in export_text(str(path), form)


@pytest.mark.parametrize(
    ("format", "target", "expected"),
    [
        ("", "", "markdown"),
        ("", "a.HTML", "html"),
        ("", "a.json", "json"),
        ("html", "a.md", "html"),
        ("", "x", "markdown"),
    ],
)
def test_the_form_is_the_one_named_or_the_one_of_the_file(format: str, target: str, expected: str) -> None:
    assert format_for(format, target) == expected


def chromium(folder: Path, page: Path, *flags: str) -> str:
    done = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync",
            "--disable-dev-shm-usage", f"--user-data-dir={folder / 'profile'}", "--virtual-time-budget=3000", *flags,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_in_a_browser_nothing_of_a_session_runs_and_nothing_is_asked_for(
    tmp_path: Path, hits: tuple[str, list[str]]
) -> None:
    server, asked = hits
    control = tmp_path / "control.html"
    control.write_text(f"<title>x</title><img src={server}/img><script>document.title = 'RAN'</script>")
    assert "<title>RAN</title>" in chromium(tmp_path, control, "--dump-dom")
    assert asked == ["/img"], "the trap works"
    asked.clear()

    page = tmp_path / "evil.html"
    page.write_text(export_text(record(tmp_path / "data", hostile(server)), "html"))
    dom = chromium(tmp_path, page, "--dump-dom")
    assert "<title>RAN</title>" not in dom
    assert "</footer>" in dom
    assert Tags(dom).tags <= TAGS | {"tbody"}
    assert asked == []


@pytest.mark.skipif(not CHROMIUM, reason="chromium is not installed")
def test_a_browser_draws_an_export(tmp_path: Path) -> None:
    page, shot = tmp_path / "page.html", tmp_path / "shot.png"
    page.write_text(export_text(record(tmp_path / "data", ordinary()), "html"))
    chromium(tmp_path, page, f"--screenshot={shot}", "--window-size=1200,1600")
    assert shot.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert shot.stat().st_size > 20_000, "a blank page is smaller"
