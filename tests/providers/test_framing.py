"""Bodies end where HTTP says they end, whatever the size of the reads."""

import pytest

from overt.core.errors import ProviderError
from overt.providers._framing import Chunked, framing_of

BODY = b"5\r\nhello\r\n1;ext=1\r\n \r\n0a\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_chunks_are_joined_in_any_cut(size: int) -> None:
    framing = Chunked()
    found = b"".join(framing.feed(BODY[at : at + size]) for at in range(0, len(BODY), size))
    assert (found, framing.done, framing.clean) == (b"hello 0123456789", True, True)


def test_chunk_data_that_looks_like_a_line_end_stays_data() -> None:
    framing = Chunked()
    assert framing.feed(b"4\r\n\r\n\r\n\r\n0\r\n\r\n") == b"\r\n\r\n"
    assert framing.done


def test_bytes_behind_the_end_make_the_connection_unusable() -> None:
    framing = Chunked()
    framing.feed(BODY + b"HTTP/1.1 200 OK")
    assert (framing.done, framing.clean) == (True, False)


@pytest.mark.parametrize("body", [b"xyz\r\n", b"-5\r\n", b"3\r\nabcdef\r\n", b"\r\n"])
def test_a_chunk_without_a_valid_size_is_an_error(body: bytes) -> None:
    with pytest.raises(ProviderError) as caught:
        Chunked().feed(body)
    assert caught.value.kind == "cut"


def test_a_length_ends_a_body_and_nothing_else_does_without_one() -> None:
    sized = framing_of(200, {"content-length": "3"})
    assert (sized.feed(b"ab"), sized.done, sized.feed(b"cd"), sized.done, sized.clean) == (
        b"ab",
        False,
        b"c",
        True,
        False,
    )
    open_ended = framing_of(200, {})
    assert (open_ended.feed(b"abc"), open_ended.done) == (b"abc", False)
    assert framing_of(204, {}).done
