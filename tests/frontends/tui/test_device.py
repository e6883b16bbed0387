"""The terminal as a file: modes found are modes left, and bytes arrive whole."""

import errno
import fcntl
import os
import struct
import termios
import threading
from collections.abc import Iterator

import pytest

from overt.frontends.tui.terminal.device import Device, Gone
from overt.frontends.tui.terminal.rows import row
from overt.frontends.tui.terminal.screen import Frame, Terminal
from overt.frontends.tui.terminal.theme import theme


class Pair:
    def __init__(self) -> None:
        self.master, self.slave = os.openpty()
        self.device = Device(reads=self.slave, writes=self.slave)
        self._open = {self.master, self.slave}

    def mode(self) -> list[object]:
        return [*termios.tcgetattr(self.slave)]

    def close(self, end: int) -> None:
        if end in self._open:
            self._open.remove(end)
            os.close(end)


@pytest.fixture
def pair() -> Iterator[Pair]:
    made = Pair()
    yield made
    made.close(made.master)
    made.close(made.slave)


def test_the_mode_that_was_found_comes_back(pair: Pair) -> None:
    before = pair.mode()
    pair.device.raw()
    raw = pair.mode()
    pair.device.raw()
    assert isinstance(raw[3], int)
    gone = raw[3] & (termios.ISIG | termios.ICANON | termios.ECHO | termios.IEXTEN)
    assert (gone, pair.device.is_raw(), raw == before) == (0, True, False)
    pair.device.usual()
    pair.device.usual()
    assert (pair.mode(), pair.device.is_raw()) == (before, False)


def test_a_mode_that_somebody_changed_before_is_put_back_too(pair: Pair) -> None:
    before = termios.tcgetattr(pair.slave)
    early = termios.tcgetattr(pair.slave)
    early[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(pair.slave, termios.TCSANOW, early)
    device = Device(reads=pair.slave, writes=pair.slave, before=before)
    device.raw()
    device.usual()
    assert pair.mode() == before


def test_keys_typed_before_are_kept_in_order(pair: Pair) -> None:
    os.write(pair.master, b"abc")
    early = termios.tcgetattr(pair.slave)
    early[3] &= ~(termios.ECHO | termios.ICANON)
    termios.tcsetattr(pair.slave, termios.TCSANOW, early)
    os.write(pair.master, b"d")
    pair.device.raw()
    os.write(pair.master, b"e\r\n\x1a\x03")
    read = b""
    while len(read) < 9:
        read += pair.device.read()
    assert read == b"abcde\r\n\x1a\x03"


def test_the_size_is_that_of_the_terminal_or_an_ordinary_one(pair: Pair) -> None:
    sizes = [pair.device.size()]
    for lines, columns in ((12, 40), (1, 1)):
        fcntl.ioctl(pair.slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        sizes.append(pair.device.size())
    reads, writes = os.pipe()
    sizes.append(Device(reads=reads, writes=writes).size())
    os.close(reads)
    os.close(writes)
    assert sizes == [(80, 24), (40, 12), (2, 2), (80, 24)]


@pytest.mark.parametrize("blocking", [True, False])
def test_a_terminal_that_reads_slowly_gets_everything(pair: Pair, blocking: bool) -> None:
    pair.device.raw()
    os.set_blocking(pair.slave, blocking)
    text = "0123456789中" * 20_000
    got = bytearray()

    def read() -> None:
        while len(got) < len(text.encode()):
            got.extend(os.read(pair.master, 1000))

    reader = threading.Thread(target=read)
    reader.start()
    pair.device.write(text)
    reader.join(60)
    assert bytes(got) == text.encode()


def test_a_terminal_that_went_away_is_one_kind_of_error(pair: Pair) -> None:
    pair.device.raw()
    pair.close(pair.master)
    for use in (lambda: pair.device.write("x"), pair.device.read):
        with pytest.raises(Gone) as wrong:
            use()
        assert wrong.value.errno == errno.EIO
    pair.device.usual()


def test_leaving_a_terminal_that_went_away_does_not_fail(pair: Pair) -> None:
    terminal = Terminal(pair.device, theme("dark", depth=0))
    terminal.enter()
    pair.close(pair.master)
    with pytest.raises(Gone):
        terminal.show(Frame((row("x"),)))
    terminal.leave()


def test_what_is_no_terminal_cannot_be_entered() -> None:
    reads, writes = os.pipe()
    try:
        with pytest.raises(Gone):
            Terminal(Device(reads=reads, writes=writes), theme("dark", depth=0)).enter()
    finally:
        os.close(reads)
        os.close(writes)
