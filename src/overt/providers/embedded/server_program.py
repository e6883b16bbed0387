"""The program of the embedded model's server: a child of Overt that lives exactly as long as Overt does.

What to serve comes as one line of JSON on stdin, the token among it: arguments and the environment of a process
can be read by others, a pipe cannot. The port goes back as one line on stdout. Every further line on stdin asks for
the context to be saved, and another on stdout says that this is over. When stdin ends, Overt is gone, however it
died, and this ends at once; where the kernel offers it, it is asked to see to that as well. Nothing of Overt is
imported, and nothing is logged.
"""

import ctypes
import json
import os
import signal
import sys
import threading
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from typing import Protocol, TypedDict

PR_SET_PDEATHSIG = 1


class ServerArguments(TypedDict):
    """The line on stdin: what to serve and how."""

    path: str
    name: str
    token: str
    context: int
    threads: int
    slot: str
    library: str
    parent: int


class LlamaServer(Protocol):
    """The part of the library's server that is used here."""

    listening_address: str


class Served:
    """A running server and the one slot whose context can be kept between runs."""

    def __init__(self, told: ServerArguments) -> None:
        self._token: str = told["token"]
        self._slot: str = told["slot"]
        self._server = _server(told)
        self.port = int(self._server.listening_address.rpartition(":")[2])

    def restore(self) -> None:
        """What was read in an earlier run; a file that does not fit is refused and costs nothing."""
        if os.path.isfile(self._slot):
            self._ask("restore", os.path.basename(self._slot))

    def save(self, report: int) -> None:
        """Beside first: another run may be reading or writing the same file."""
        beside = f"{self._slot}.{os.getpid()}"
        saved = False
        with suppress(OSError):  # a full disk: the next run reads the prompt again
            if self._ask("save", os.path.basename(beside)):
                os.replace(beside, self._slot)
                saved = True
        with suppress(OSError):
            os.unlink(beside)
        with suppress(OSError):
            _say(report, {"saved": saved})

    def _ask(self, action: str, name: str) -> bool:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=600)
        try:
            headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
            connection.request("POST", f"/slots/0?action={action}", json.dumps({"filename": name}), headers)
            return connection.getresponse().status == 200
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()


def _server(told: ServerArguments) -> LlamaServer:
    sys.path.append(told["library"])
    import xllamacpp as library  # late: 19 ms

    wanted = library.CommonParams()
    wanted.model.path = told["path"]
    wanted.model_alias = told["name"]
    wanted.hostname = "127.0.0.1"
    wanted.port = 0
    wanted.api_keys = [told["token"]]
    wanted.n_ctx = told["context"]
    wanted.n_parallel = 1
    wanted.cpuparams.n_threads = told["threads"]
    wanted.cpuparams_batch.n_threads = told["threads"]
    wanted.use_jinja = True
    wanted.cache_prompt = True
    wanted.cache_ram_mib = 256
    wanted.slot_save_path = os.path.dirname(told["slot"]) + "/"
    wanted.webui = False
    wanted.warmup = False  # the first request does the same
    wanted.verbosity = -1
    server: LlamaServer = library.Server(wanted)
    return server


def _end_with_parent(parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the turn, not for the server
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)


def main() -> None:
    os.umask(0o077)
    told: ServerArguments = json.loads(sys.stdin.buffer.readline() or b"null") or os._exit(0)
    _end_with_parent(told["parent"])
    report = os.dup(1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    wishes: list[Served] = []
    threading.Thread(target=_listen, args=(wishes, report), daemon=True).start()
    try:
        served = Served(told)
    except (ImportError, RuntimeError, ValueError, OSError) as error:
        _say(report, {"failed": f"{type(error).__name__}: {error}"[:400]})
        return
    served.restore()
    wishes.append(served)
    _say(report, {"port": served.port})
    threading.Event().wait()


def _listen(served: list[Served], report: int) -> None:
    while sys.stdin.buffer.readline():
        for each in served:
            threading.Thread(target=each.save, args=(report,), daemon=True).start()
    os._exit(0)


def _say(pipe: int, what: dict[str, object]) -> None:
    os.write(pipe, json.dumps(what).encode() + b"\n")


if __name__ == "__main__":
    main()
    os._exit(0)
