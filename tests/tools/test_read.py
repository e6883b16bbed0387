"""Reading as the model meets it."""

import json
import random
from pathlib import Path

import pytest
from tests.workspace.files_kit import done, files, refused

from overt.core.messages import Document, Image
from overt.core.tool import Outcome
from overt.core.views import Excerpt, Plain
from overt.lib.result_limit import limited_to, result_limit
from overt.lib.tokens import estimate
from overt.tools.read import Args, read

PNG = b"\x89PNG\r\n\x1a\n\0"


def test_lines_come_with_numbers_and_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\nb\nc\n")
    assert done(read.run(Args(path="f", limit=2), files(tmp_path))) == Outcome(
        text="     1\ta\n     2\tb\n[lines 1-2 of 3; go on with offset=3]",
        view=Excerpt(path="f", first=1, last=2, total=3),
    )
    assert done(read.run(Args(path="f", offset=3), files(tmp_path))).text == "     3\tc"


def test_an_empty_file_and_a_line_past_the_end_are_said(tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    assert done(read.run(Args(path="f"), files(tmp_path))).text == "[f is empty]"
    (tmp_path / "f").write_text("a\n")
    error = refused(read.run(Args(path="f", offset=5), files(tmp_path)))
    assert error.message == "f has 1 lines; line 5 is past its end."


def test_long_lines_are_cut_and_long_files_stop_at_a_line(tmp_path: Path) -> None:
    (tmp_path / "wide").write_text("x" * 5000)
    assert done(read.run(Args(path="wide"), files(tmp_path))).text.endswith("x [... 3000 more characters]")
    (tmp_path / "long").write_text("word " * 20 + "\n")
    (tmp_path / "long").write_text(("word " * 20 + "\n") * 2000)
    text = done(read.run(Args(path="long"), files(tmp_path))).text
    assert len(text) < result_limit(0).bytes and estimate(text) < 8_000
    last = text.split("\n")[-2].split("\t")[0].strip()
    assert text.endswith(f"[lines 1-{last} of 2000; go on with offset={int(last) + 1}]")


CODE = (
    "def total(items):",
    "    amount = 0",
    "    for item in items:",
    "        amount += item.price",
    "    return amount",
    "",
)


@pytest.mark.parametrize(
    ("window", "least", "most"),
    [(16_000, 400, 700), (64_000, 800, 1_300), (200_000, 1_900, 2_000), (300_000, 2_000, 2_000)],
)
def test_a_large_window_gets_about_two_thousand_lines_of_code_at_once(
    tmp_path: Path, window: int, least: int, most: int
) -> None:
    (tmp_path / "f.py").write_text("\n".join(CODE * 400) + "\n")
    with limited_to(result_limit(window)):
        text = done(read.run(Args(path="f.py"), files(tmp_path))).text
    lines, note = text.rpartition("\n")[0].split("\n"), text.rpartition("\n")[2]
    assert least <= len(lines) <= most
    assert note == f"[lines 1-{len(lines)} of 2400; go on with offset={len(lines) + 1}]"
    assert 0.9 * min(result_limit(window).tokens, 16_000) < estimate(text) <= result_limit(window).tokens


@pytest.mark.parametrize("window", [4_000, 200_000])
def test_what_read_gives_is_not_cut_again_in_its_middle(tmp_path: Path, window: int) -> None:
    chance = random.Random(3)
    lines = (
        f"{chance.getrandbits(chance.choice((8, 64, 300))):x} {'word ' * chance.randrange(9)}" for _ in range(9000)
    )
    (tmp_path / "f").write_text("\n".join(lines))
    limit = result_limit(window)
    with limited_to(limit):
        text = done(read.run(Args(path="f", limit=9000), files(tmp_path))).text
    assert limit.clip(text) == text
    assert estimate(text) > 0.85 * limit.tokens


def test_a_guessed_encoding_is_said(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes("Maß".encode("latin-1"))
    assert done(read.run(Args(path="f"), files(tmp_path))).text == "     1\tMaß\n[decoded as latin-1]"


def test_images_and_documents_are_handed_over_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "i.png").write_bytes(PNG)
    (tmp_path / "d.pdf").write_bytes(b"%PDF-1.4")
    hands = files(tmp_path)
    assert done(read.run(Args(path="i.png"), hands)) == Outcome(
        text="[i.png: image/png, 9 bytes]",
        view=Plain(text="[i.png: image/png, 9 bytes]"),
        parts=(Image(media="image/png", data=PNG),),
    )
    assert done(read.run(Args(path="d.pdf"), hands)).parts == (
        Document(media="application/pdf", data=b"%PDF-1.4", name="d.pdf"),
    )
    assert set(hands.journal.seen) == {"i.png", "d.pdf"}
    (tmp_path / "x.bin").write_bytes(b"\0\1")
    assert refused(read.run(Args(path="x.bin"), hands)).code == "binary"


def test_a_notebook_comes_as_cells_with_short_outputs(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Title\n", "text"]},
        {
            "cell_type": "code",
            "source": "print(1)",
            "outputs": [
                {"output_type": "stream", "text": ["1\n"] * 2000},
                {"output_type": "error", "ename": "E", "evalue": "v"},
                {"output_type": "display_data", "data": {"image/png": "AAAA"}},
            ],
        },
    ]
    (tmp_path / "n.ipynb").write_text(json.dumps({"cells": cells}))
    text = done(read.run(Args(path="n.ipynb"), files(tmp_path))).text
    assert text.startswith("[cell 1, markdown]\n# Title\ntext\n\n[cell 2, code]\nprint(1)\n\n[output]\n1\n")
    assert "left out" in text
    assert "[output]\nE: v\n\n[output]\n(image/png not shown)" in text
    assert '"cells"' in done(read.run(Args(path="n.ipynb", limit=1000), files(tmp_path))).text
    (tmp_path / "broken.ipynb").write_text("not json")
    assert done(read.run(Args(path="broken.ipynb"), files(tmp_path))).text == "     1\tnot json"
