"""Let the user change a text in an editor of their choice.

The caller releases the terminal before and takes it back after. The file is private and deleted afterwards; whatever
fails, the text that the caller holds is untouched.
"""

import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from overt.core.errors import OvertError
from overt.lib.atomic import write_all
from overt.lib.read_file import read_regular
from overt.lib.text import visible
from overt.lib.translations import say

LIMIT = 16 << 20
GRACE = 0.7
"""Seconds."""


def edit(text: str, words: Sequence[str]) -> str:
    """Return what the user left in the file, without the line end that editors add. `words` is the command."""
    shown = visible(" ".join(words))
    try:
        fd, path = tempfile.mkstemp(prefix="overt-", suffix=".md")
    except OSError as error:
        raise OvertError(say("tui.composer.editor_file", why=error.strerror or error)) from None
    try:
        _write(fd, text)
        try:
            with _signals_ignored():
                code = _run([*words, path])
        except OSError as error:
            why = error.strerror or error
            raise OvertError(say("tui.composer.editor_start", command=shown, why=why)) from None
        if code != 0:
            raise OvertError(say("tui.composer.editor_failed", command=shown, code=code))
        return _read_back(path, ended=text.endswith("\n"))
    finally:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass  # the editor moved it away


def _run(words: Sequence[str]) -> int:
    """Run the editor. If this process is ended, the editor gets time to restore the terminal."""
    with subprocess.Popen(words) as child:
        try:
            return _waited(child)
        except BaseException:
            child.terminate()
            try:
                child.wait(GRACE)
            except subprocess.TimeoutExpired:
                child.kill()
            raise


def _waited(child: "subprocess.Popen[bytes]") -> int:
    """Wait in short steps: in one long wait, a signal could be noticed only when the editor ends."""
    while True:
        try:
            return child.wait(1.0)
        except subprocess.TimeoutExpired:
            continue


def _write(fd: int, text: str) -> None:
    try:
        write_all(fd, text.encode("utf-8", "surrogatepass"))
    except OSError as error:
        raise OvertError(say("tui.composer.editor_file", why=error.strerror or error)) from None
    finally:
        os.close(fd)


@contextmanager
def _signals_ignored() -> Iterator[None]:
    """Leave Ctrl+C to the editor. Unlike SIG_IGN, a handler is not inherited by the child."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [(number, signal.signal(number, lambda *_: None)) for number in (signal.SIGINT, signal.SIGQUIT)]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _read_back(path: str, *, ended: bool) -> str:
    try:
        data, _ = read_regular(path, LIMIT)
        if len(data) > LIMIT:
            raise OSError(0, f"> {LIMIT >> 20} MB")
        text = data.decode("utf-8", "surrogatepass")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise OvertError(say("tui.composer.editor_unread", why=why)) from None
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if ended or not text.endswith("\n") else text[:-1]
