"""A line with a delay: runs a program in a pseudo-terminal and hands bytes over, each so many seconds late.

As a program: python -m tests.fakes.slow_line SECONDS PROGRAM [WORD …]
"""

import fcntl
import os
import pty
import select
import signal
import sys
import termios
import time
import tty
from collections import deque


def main(seconds: float, argv: list[str]) -> int:
    size = fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8))
    pid, inside = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, size)
        os.execvp(argv[0], argv)
    signal.signal(
        signal.SIGWINCH,
        lambda *_: fcntl.ioctl(inside, termios.TIOCSWINSZ, fcntl.ioctl(0, termios.TIOCGWINSZ, bytes(8))),
    )
    before = termios.tcgetattr(0)
    tty.setraw(0)
    try:
        relay(seconds, inside)
    finally:
        termios.tcsetattr(0, termios.TCSADRAIN, before)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def relay(seconds: float, inside: int) -> None:
    """Each piece goes on when its time has come, in the order in which it came."""
    waiting: deque[tuple[float, int, bytes]] = deque()
    while True:
        now = time.monotonic()
        while waiting and waiting[0][0] <= now:
            _, target, data = waiting.popleft()
            os.write(target, data)
        patience = max(waiting[0][0] - now, 0) if waiting else None
        for source in select.select([0, inside], [], [], patience)[0]:
            try:
                data = os.read(source, 65536)
            except OSError:
                data = b""
            if not data:
                for _, target, rest in waiting:
                    if target == 1:
                        os.write(1, rest)
                return
            waiting.append((time.monotonic() + seconds, inside if source == 0 else 1, data))


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), sys.argv[2:]))
