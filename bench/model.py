"""The model server of the tests with a lighter record: when each request came and how long it was.

Recording whole bodies costs more with each step of a long conversation, and would hide what is measured.
"""

import argparse
import signal
from pathlib import Path

import msgspec
from tests.fakes.model_server import ModelServer, Recorded, Turn, load


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.model")
    for flag in ("--script", "--port-file", "--record"):
        parser.add_argument(flag, required=True)
    given = parser.parse_args()
    turns = msgspec.convert(load(given.script)["turns"], tuple[Turn, ...])
    with open(given.record, "wb", buffering=0) as record:

        def choose(request: Recorded, number: int) -> Turn:
            line = {"at": request.at, "method": request.method, "size": len(request.body)}
            record.write(msgspec.json.encode(line) + b"\n")
            server.requests.clear()
            return turns[number % len(turns)]

        server = ModelServer(turns, choose=choose)
        with server:
            waiting = Path(f"{given.port_file}.new")
            waiting.write_text(str(server.port))
            waiting.rename(given.port_file)
            signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main()
