"""Images from files: what they are is read from their bytes."""

from pathlib import Path

import pytest

from overt.app.chat.attachments import LIMIT, Attachment, dropped_images, from_bytes, from_file
from overt.core.errors import OvertError
from overt.core.messages import Image

PNG = b"\x89PNG\r\n\x1a\nrest"


@pytest.mark.parametrize(
    ("data", "media"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0JFIF", "image/jpeg"),
        (b"GIF89a...", "image/gif"),
        (b"GIF87a...", "image/gif"),
        (b"RIFF\n\x00\x00\x00WEBPVP8 ", "image/webp"),
    ],
)
def test_the_first_bytes_tell_the_kind_whatever_the_name_says(data: bytes, media: str) -> None:
    assert from_bytes(data, "a.png") == Attachment("a.png", Image(media=media, data=data))


@pytest.mark.parametrize("data", [b"", b"<svg/>", b"RIFF1234WAVE", b"GIF90a", b" \x89PNG\r\n\x1a\n"])
def test_what_is_no_image_is_refused_in_words(data: bytes) -> None:
    with pytest.raises(OvertError) as caught:
        from_bytes(data, "a\x1b.png")
    assert caught.value.message == "a\\x1b.png is no PNG, JPEG, GIF or WebP image inside and was not attached."


def test_an_image_that_is_too_large_is_refused_without_reading_it_all(tmp_path: Path) -> None:
    path = tmp_path / "big.png"
    with path.open("wb") as file:
        file.write(PNG)
        file.truncate(1 << 40)
    with pytest.raises(OvertError) as caught:
        from_file(str(path))
    assert caught.value.message == "big.png is larger than 10 MB and was not attached."
    path.write_bytes(PNG + b"0" * (LIMIT - len(PNG)))
    assert from_file(str(path)).size == LIMIT


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hello",
        "/",
        "it's",
        "/tmp/missing.png",
        "relative.png",
        "~/missing.png",
        "\0/a.png",
        "/etc/passwd",
        "file://",
    ],
)
def test_a_text_that_is_no_path_of_an_image_is_a_text(text: str) -> None:
    assert dropped_images(text) == ((), "")


def test_a_text_with_more_than_paths_is_a_text(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(PNG)
    assert dropped_images(f"look at {path}") == ((), "")
    assert [each.name for each in dropped_images(f"{path} '{path}'")[0]] == ["a.png", "a.png"]


def test_a_path_from_the_home_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "A.JPEG").write_bytes(b"\xff\xd8\xff")
    assert [each.image.media for each in dropped_images("~/A.JPEG")[0]] == ["image/jpeg"]
