"""The clipboard, with programs that stand in for those of a desktop."""

from pathlib import Path

import pytest

from overt.app.chat import clipboard
from overt.core.errors import OvertError

PNG = b"\x89PNG\r\n\x1a\nrest"
LISTS = 'case "$*" in *--list-types*|*TARGETS*) printf "{types}";; *{kind}*) cat {file};; *) exit 1;; esac\n'


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("WAYLAND_DISPLAY", "DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "cat").symlink_to("/bin/cat")
    (tmp_path / "sleep").symlink_to("/bin/sleep")
    monkeypatch.setenv("PATH", str(tmp_path))
    (tmp_path / "shot").write_bytes(PNG)
    return tmp_path


def program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}")
    (folder / name).chmod(0o755)


def why() -> str:
    with pytest.raises(OvertError) as caught:
        clipboard.attachment()
    return caught.value.message


@pytest.mark.parametrize(("name", "variable"), [("wl-paste", "WAYLAND_DISPLAY"), ("xclip", "DISPLAY")])
@pytest.mark.parametrize("kind", ["image/png", "image/jpeg"])
def test_the_image_comes_from_the_program_of_the_desktop(
    desktop: Path, monkeypatch: pytest.MonkeyPatch, name: str, variable: str, kind: str
) -> None:
    monkeypatch.setenv(variable, "0")
    program(desktop, name, LISTS.format(types=f"text/plain\\n{kind}\\n", kind=kind, file=desktop / "shot"))
    assert clipboard.image() == PNG
    assert clipboard.attachment().name == "clipboard"


def test_on_a_mac_pngpaste_is_asked(desktop: Path) -> None:
    program(desktop, "pngpaste", f"cat {desktop / 'shot'}\n")
    assert clipboard.attachment().image.data == PNG
    program(desktop, "pngpaste", "exit 1\n")
    assert why() == "There is no image in the clipboard."


def test_text_in_the_clipboard_is_no_image(desktop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":0")
    program(desktop, "xclip", LISTS.format(types="UTF8_STRING\\nTEXT\\n", kind="TEXT", file=desktop / "shot"))
    assert why() == "There is no image in the clipboard."


def test_without_a_program_it_says_which_to_install(desktop: Path) -> None:
    assert why() == "To paste an image, install one of: wl-paste (Wayland), xclip (X11), pngpaste (macOS)."


def test_a_program_that_hangs_is_stopped(desktop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clipboard, "SECONDS", 0.2)
    program(desktop, "pngpaste", "exec sleep 60\n")
    assert why() == "pngpaste did not answer within 0 s; no image was pasted."


def test_a_program_that_never_stops_talking_is_stopped(desktop: Path) -> None:
    program(desktop, "pngpaste", "exec cat /dev/zero\n")
    assert why() == "pngpaste is larger than 10 MB and was not attached."


def test_what_it_calls_an_image_must_be_one(desktop: Path) -> None:
    (desktop / "shot").write_bytes(b"<svg/>")
    program(desktop, "pngpaste", f"cat {desktop / 'shot'}\n")
    assert why() == "clipboard is no PNG, JPEG, GIF or WebP image inside and was not attached."
