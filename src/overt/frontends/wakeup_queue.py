"""What happened elsewhere, for the thread that owns the terminal: a queue, and a pipe that ends its `select`."""

import os
import signal
import threading
from collections import deque
from typing import Generic, TypeVar

Item = TypeVar("Item")


class Wake(Generic[Item]):
    def __init__(self) -> None:
        self.items: deque[Item] = deque()
        self.awake, self._write = os.pipe()
        self._closed = False
        self._lock = threading.RLock()  # reentrant: a signal handler may post while its own thread does
        os.set_blocking(self.awake, False)
        os.set_blocking(self._write, False)
        # A signal that comes just before `select` would else be seen only after it.
        signal.set_wakeup_fd(self._write, warn_on_full_buffer=False)

    def fileno(self) -> int:
        return self.awake

    def post(self, *items: Item) -> None:
        """Queue items and wake the terminal. After `close` nothing happens: a thread may finish later than the chat."""
        self.items.extend(items)
        with self._lock:  # the terminal may take the item, end and close the pipe before the byte is written
            if self._closed:
                return
            try:
                os.write(self._write, b".")
            except BlockingIOError:
                pass  # so many wait to be read that the terminal wakes anyway

    def drain(self) -> bytes:
        """What woke the terminal: a dot for each time something was posted, the number of each signal."""
        try:
            return os.read(self.awake, 65536)
        except BlockingIOError:
            return b""

    def close(self) -> None:
        signal.set_wakeup_fd(-1)
        with self._lock:
            self._closed = True
            os.close(self.awake)
            os.close(self._write)
