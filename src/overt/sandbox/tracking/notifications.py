"""Seccomp notifications: the kernel stops chosen system calls of a program until we have looked at them.

The numbers and layouts here are those of `linux/seccomp.h`. This runs inside the sandbox: it imports only the standard
library and `overt.sandbox`.
"""

import ctypes
import errno
import fcntl
import os
import struct
import sys
from collections.abc import Iterable, Mapping

from overt.sandbox.mechanisms import seccomp

SECCOMP = {"x86_64": 317, "aarch64": 277}
SET_MODE_FILTER, NEW_LISTENER, WAIT_KILLABLE = 1, 1 << 3, 1 << 5
RECEIVE, SEND, SET_FLAGS = 0xC0502100, 0xC0182101, 0x40082104
SYNCHRONOUS_WAKE_UP, CONTINUE = 1, 1
NOTIFICATION = struct.Struct("=QIIiIQ6Q")
RESPONSE = struct.Struct("=QqiI")
OLDEST_KERNEL = (5, 5)
PAGE_SIZE = 4096
STRING_SIZE = 256
LONGEST_STRING = 2 * PAGE_SIZE


def install_listener(numbers: Iterable[int], opening: Mapping[int, int]) -> int:
    """Install the filter in this thread and everything it starts; return the descriptor that delivers notifications.

    `numbers` and `opening` as for `seccomp.notify_writes`. Raises OSError if the kernel refuses.
    """
    machine = os.uname().machine
    if _kernel_version() < OLDEST_KERNEL:
        raise OSError(errno.ENOSYS, "this kernel cannot let a call go on")
    if sys.platform != "linux" or machine not in SECCOMP:
        raise OSError(errno.ENOSYS, "no table of system calls for this machine")
    code = seccomp.notify_writes(numbers, opening)
    buffer = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    for flags in (NEW_LISTENER | WAIT_KILLABLE, NEW_LISTENER):  # the first needs Linux 5.19
        descriptor = libc.syscall(SECCOMP[machine], SET_MODE_FILTER, flags, head)
        if descriptor >= 0:
            return int(descriptor)
    raise OSError(ctypes.get_errno(), "no notifications of system calls")


def _kernel_version() -> tuple[int, ...]:
    numbers = os.uname().release.split("-")[0].split(".")[:2]
    return tuple(int(number) for number in numbers if number.isdigit())


class Listener:
    """The receiving end of notifications."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._received = bytearray(NOTIFICATION.size)
        try:
            fcntl.ioctl(descriptor, SET_FLAGS, SYNCHRONOUS_WAKE_UP)
        except OSError:
            pass  # before Linux 6.6: only slower

    def receive(self) -> tuple[int, int, int, list[int]] | None:
        """The id, process, number and arguments of the next call; None if its process was killed meanwhile."""
        self._received[:] = bytes(NOTIFICATION.size)
        try:
            fcntl.ioctl(self.descriptor, RECEIVE, self._received, True)
        except OSError as error:
            if error.errno in (errno.EINTR, errno.ENOENT):
                return None
            raise
        id, pid, _, number, _, _, *arguments = NOTIFICATION.unpack(self._received)
        return id, pid, number, arguments

    def answer(self, id: int, refusal: int) -> None:
        """Let a call go on as if nothing had happened, or make it fail with an errno."""
        try:
            fcntl.ioctl(self.descriptor, SEND, RESPONSE.pack(id, 0, -refusal, 0 if refusal else CONTINUE))
        except OSError:
            pass  # the process was killed meanwhile

    def close(self) -> None:
        os.close(self.descriptor)


class ProcessMemory:
    """Reads the memory of processes, with the last one kept open."""

    def __init__(self) -> None:
        self._pid = 0
        self._descriptor = -1

    def read_string(self, pid: int, address: int) -> bytes:
        """A string up to its NUL."""
        data = b""
        while b"\0" not in data and len(data) < LONGEST_STRING:
            at = address + len(data)
            data += self.read(pid, at, min(STRING_SIZE, PAGE_SIZE - at % PAGE_SIZE))
        return data.partition(b"\0")[0]

    def read(self, pid: int, address: int, size: int) -> bytes:
        for _ in range(2):
            if self._pid != pid:
                self.close()
                self._descriptor = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
                self._pid = pid
            if data := os.pread(self._descriptor, size, address):
                return data
            self._pid = 0  # the process runs another program by now
        raise OSError(errno.EFAULT, "no memory to read")

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._pid, self._descriptor = 0, -1
