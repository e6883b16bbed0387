"""A process that writes a session and says on stdout, one line per record, what it was told is safe.

`writer create DATA_DIR COUNT`, `writer open PATH COUNT`, `writer repair PATH`, `writer hold PATH`,
`writer race PATH ROUNDS TAG`, `writer squeeze DATA_DIR FIRST LAST`.
"""

import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

from overt.core.errors import SessionError
from overt.core.events import Noticed
from overt.sessions.load import load
from overt.sessions.log import SessionLog


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def hear(notice: Noticed) -> None:
    os.write(2, f"{notice.level}: {notice.text}\n".encode())


def fill(log: SessionLog, count: int) -> None:
    for number in range(count):
        log.append(Noticed(text=f"record {number} " + "é" * 40), turn=1, step=number)
        say(f"saved {number}")
        if number % 10 == 9:
            log.sync()
    log.close()


def create(data_dir: str, count: str) -> None:
    log = SessionLog.create(data_dir, workspace="/tmp/p", project="/tmp/p", overt="0", notify=hear)
    say(log.path)
    fill(log, int(count))


def reopen(path: str, count: str) -> None:
    log, _ = SessionLog.open(path, notify=hear)
    fill(log, int(count))


def repair(path: str) -> None:
    SessionLog.open(path)[0].close()


def hold(path: str) -> None:
    log, _ = SessionLog.open(path)
    say(str(os.getpid()))
    sys.stdin.readline()
    log.close()


def race(path: str, rounds: str, tag: str) -> None:
    say("ready")
    sys.stdin.readline()
    marks = [Path(f"{path}.{name}") for name in ("left", "right")]  # on a busy machine one could end before the other
    Path(f"{path}.{tag}").touch()
    while not all(mark.exists() for mark in marks):
        time.sleep(0.0005)
    lost = 0
    for won in range(int(rounds)):
        while True:
            try:
                log, _ = SessionLog.open(path)
                break
            except SessionError as error:
                assert error.code == "locked", error
                lost += 1
                time.sleep(0.001)
        for part in range(3):
            log.append(Noticed(text=f"{tag} {won} {part}"), turn=1, step=part)
            time.sleep(0.001)  # long enough for the other to come in between, were there no lock
        log.close()
    say(str(lost))


def squeeze(data_dir: str, first: str, last: str) -> None:
    """For each limit of the file's size: fill past it, see that nothing half stands there, then lift it."""
    for limit in range(int(first), int(last)):
        heard: list[Noticed] = []
        log = SessionLog.create(data_dir, workspace="/", project="/", overt="0", notify=heard.append)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        for number in range(4):
            log.append(Noticed(text=f"record {number}"), turn=1, step=number)
        within = load(log.path)
        assert within.damage == () or within.entries == (), within.damage
        assert Path(log.path).stat().st_size == within.good_length <= limit
        assert len(within.entries) + log.unsaved == 5
        assert [notice.level for notice in heard] == ["warning"]
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        log.append(Noticed(text="record 4"), turn=1, step=4)
        log.close()
        after = load(log.path)
        assert (len(after.entries), after.damage, log.unsaved) == (6, (), 0)
        assert [notice.level for notice in heard] == ["warning", "info"]
    say("all limits held")


COMMANDS: dict[str, Callable[..., None]] = {
    "create": create,
    "open": reopen,
    "repair": repair,
    "hold": hold,
    "race": race,
    "squeeze": squeeze,
}

if __name__ == "__main__":
    COMMANDS[sys.argv[1]](*sys.argv[2:])
