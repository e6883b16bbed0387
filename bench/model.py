"""The model server of the tests with a lighter record: when each request came, how long it was, and how long the
client had been busy with itself: from the last byte of the reply before to the first of this request.

Recording whole bodies costs more with each step of a long conversation, and would hide what is measured.
"""

import argparse
import signal
import socket
import time
from pathlib import Path

import msgspec
from tests.fakes.model_server import ModelServer, Recorded, Turn, load


class Timed(ModelServer):
    replied = 0.0

    def _answer(self, connection: socket.socket, request: Recorded) -> bool:
        stays = super()._answer(connection, request)
        self.replied = time.time()
        return stays


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.model")
    for flag in ("--script", "--port-file", "--record"):
        parser.add_argument(flag, required=True)
    given = parser.parse_args()
    turns = msgspec.convert(load(given.script)["turns"], tuple[Turn, ...])
    with open(given.record, "wb", buffering=0) as record:

        def choose(request: Recorded, number: int) -> Turn:
            own = request.began - server.replied
            line = {"at": request.at, "method": request.method, "size": len(request.body), "own": own}
            record.write(msgspec.json.encode(line) + b"\n")
            server.requests.clear()
            return turns[number % len(turns)]

        server = Timed(turns, choose=choose)
        with server:
            waiting = Path(f"{given.port_file}.new")
            waiting.write_text(str(server.port))
            waiting.rename(given.port_file)
            signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main()
