"""The queue and pipe between other threads and the thread that owns the terminal."""

import os
import threading
from contextlib import closing

from overt.frontends.wakeup_queue import Wake


def test_posting_after_the_terminal_has_closed_does_not_write_to_a_foreign_file() -> None:
    wake = Wake[str]()
    wake.close()
    ends = [os.pipe() for _ in range(4)]  # they get the numbers that the wake had
    try:
        wake.post("too late")
        for read, _ in ends:
            os.set_blocking(read, False)
            assert _read(read) == b""
    finally:
        for end in ends:
            for fd in end:
                os.close(fd)


def test_a_thread_that_posts_while_the_terminal_closes_never_fails() -> None:
    failures: list[BaseException] = []

    def post(wake: Wake[int], begun: threading.Event) -> None:
        begun.set()
        try:
            for number in range(200):
                wake.post(number)
        except BaseException as error:
            failures.append(error)

    for _ in range(20):
        wake, begun = Wake[int](), threading.Event()
        with closing(wake):
            thread = threading.Thread(target=post, args=(wake, begun))
            thread.start()
            assert begun.wait(10)
        thread.join(10)
    assert failures == []


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 10)
    except BlockingIOError:
        return b""
