"""A text in the editor of the person's choice, and back.

The caller has given the terminal back before, and takes it again after. The file is for its owner only and is gone
afterwards; whatever fails, the text the caller holds is untouched.
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
from overt.lib.catalogue import say
from overt.lib.read_file import read_regular
from overt.lib.text import visible

LIMIT = 16 << 20
GRACE = 0.7
"""Seconds."""


def edit(text: str, words: Sequence[str]) -> str:
    """What the person left in the file; the line end that editors add is taken away again. `words`: the command."""
    shown = visible(" ".join(words))
    try:
        fd, path = tempfile.mkstemp(prefix="overt-", suffix=".md")
    except OSError as error:
        raise OvertError(say("tui.composer.editor_file", why=error.strerror or error)) from None
    try:
        _write(fd, text)
        try:
            with _deaf():
                code = _run([*words, path])
        except OSError as error:
            why = error.strerror or error
            raise OvertError(say("tui.composer.editor_start", command=shown, why=why)) from None
        if code != 0:
            raise OvertError(say("tui.composer.editor_failed", command=shown, code=code))
        return _left(path, ended=text.endswith("\n"))
    finally:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass  # the editor moved it away


def _run(words: Sequence[str]) -> int:
    """An editor that is told to end with us has the time to put the terminal back."""
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
    """In short steps: a signal that strikes just before a wait without an end, or another thread, would be heard only
    when the editor ends."""
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
def _deaf() -> Iterator[None]:
    """Ctrl+C in the editor is the editor's; a handler, unlike SIG_IGN, does not go over to the child."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = [(number, signal.signal(number, lambda *_: None)) for number in (signal.SIGINT, signal.SIGQUIT)]
    try:
        yield
    finally:
        for number, handler in before:
            signal.signal(number, handler)


def _left(path: str, *, ended: bool) -> str:
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
