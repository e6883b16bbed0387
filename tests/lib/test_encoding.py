"""Bytes to text and back, unchanged."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from overt.lib.encoding import Form, NotText, decode, encode, read_name, show_name, sniff_media

UTF8 = Form()


@pytest.mark.parametrize(
    ("raw", "text", "form"),
    [
        (b"", "", UTF8),
        (b"a\nb", "a\nb", UTF8),
        (b"a\r\nb\r\n", "a\nb\n", Form(newline="\r\n")),
        (b"a\rb\r", "a\nb\n", Form(newline="\r")),
        (b"a\r\nb\nc\r", "a\r\nb\nc\r", Form(newline="")),
        (b"\xef\xbb\xbfa\n", "a\n", Form(bom=b"\xef\xbb\xbf")),
        ("\ufeffä\r\n".encode("utf-16-le"), "ä\n", Form(encoding="utf-16-le", bom=b"\xff\xfe", newline="\r\n")),
        ("\ufeffä\n".encode("utf-16-be"), "ä\n", Form(encoding="utf-16-be", bom=b"\xfe\xff")),
        ("Größe\n".encode("latin-1"), "Größe\n", Form(encoding="latin-1")),
        ("读取\n文件\n中文\n内容\n".encode("gb18030"), "读取\n文件\n中文\n内容\n", Form(encoding="gb18030")),
    ],
)
def test_text_in_each_form_is_decoded_and_comes_back_exactly(raw: bytes, text: str, form: Form) -> None:
    assert decode(raw) == (text, form)
    assert encode(text, form) == raw


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_whatever_decodes_comes_back_exactly(raw: bytes) -> None:
    try:
        text, form = decode(raw)
    except NotText:
        return
    assert encode(text, form) == raw


@pytest.mark.parametrize("raw", [b"a\0b", b"\x01\xff\xfe\xfd", b"\xff\xfea"])
def test_bytes_that_are_no_text_are_refused(raw: bytes) -> None:
    with pytest.raises(NotText):
        decode(raw)


def test_first_bytes_tell_the_media_type() -> None:
    assert sniff_media(b"\x89PNG\r\n\x1a\nrest") == "image/png"
    assert sniff_media(b"RIFF....WEBPVP8 ") == "image/webp"
    assert sniff_media(b"%PDF-1.7") == "application/pdf"
    assert sniff_media(b"hello") == ""


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("plain/ä.txt", "plain/ä.txt"),
        ("new\nline", "new\\x0aline"),
        (b"\xff".decode("utf-8", "surrogateescape"), "\\xff"),
        ("a\\x41", "a\\x5cx41"),
        ("a\\n", "a\\n"),
        ("r\u202el", "r\\xe2\\x80\\xael"),
    ],
)
def test_an_odd_name_is_shown_printable_and_read_back(name: str, shown: str) -> None:
    assert show_name(name) == shown
    assert read_name(shown) == name


@settings(deadline=None)
@given(st.binary(max_size=40))
def test_every_name_survives_being_shown(raw: bytes) -> None:
    name = raw.decode("utf-8", "surrogateescape")
    shown = show_name(name)
    assert read_name(shown) == name
    assert "\n" not in shown.encode().decode()
