"""A model server on loopback that speaks the chat-completions wire for real and plays a script.

In a test:      with ModelServer([Turn(text="hello")]) as server: …   (server.url, server.requests)
As a program:   python -m tests.fakes.model_server --script S --port-file F [--port N] [--record R]

A script is a JSON list of turns, or {"turns": […], "after": "error" | "repeat" | "loop", "models": […]}; the fields
of a turn and of its fault are those of the structs below. Turns are played in the order of requests. With
`--record`, every request becomes a line {"at", "method", "path", "headers", "body"} of the file R.
"""

import argparse
import contextlib
import json
import os
import signal
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Literal, Self

import msgspec
from msgspec import Struct

AFTER = Literal["error", "repeat", "loop"]
SPLIT = 256 * 1024


class FakeCall(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`arguments` as an object is written compactly; a string is sent as it stands, valid or not."""

    name: str
    arguments: Any = {}
    id: str = ""


class Fault(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What goes wrong. Counts are of events; seconds end early when the server stops."""

    status: int = 0
    headers: dict[str, str] = {}
    body: str = ""
    close_before_headers: bool = False
    stall_before_headers: float = 0.0
    cut_after: int | None = None
    stall_after: int | None = None
    stall: float = 3600.0
    invalid_utf8: bool = False
    malformed: int = 0
    html: bool = False
    huge: int = 0
    endless: bool = False
    content_type: str = ""
    duplicate_ids: bool = False
    comments: int = 0
    comment_pause: float = 0.0
    no_finish: bool = False
    no_done: bool = False
    stay_open: bool = False


class Turn(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One reply. `chunk` is characters per event (0: all in one), `delay` seconds before each event.

    `events` replaces all of it by payloads as they stand. `framing` "event" puts every event into a chunk of its
    own, as most servers do; "block" lets a chunk hold many; "close" has no chunks and ends by closing.
    """

    text: str = ""
    reasoning: str = ""
    calls: tuple[FakeCall, ...] = ()
    usage: dict[str, Any] | None = None
    chunk: int = 0
    delay: float = 0.0
    finish: str = ""
    fault: Fault = Fault()
    events: tuple[str, ...] = ()
    framing: Literal["block", "event", "close"] = "block"
    close: bool = False


class Recorded(Struct, frozen=True, kw_only=True):
    """`began` is when its first line had come, `at` when all of it had."""

    began: float
    at: float
    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


Choose = Callable[[Recorded, int], Turn]
"""Given the request and its number (from 0), the turn to play."""


class ModelServer:
    """`connections` counts the TCP connections that were opened.

    `listing` are the items of the list of models as they stand; `answers` maps the end of a path to what a GET of
    it is told.
    """

    def __init__(
        self,
        turns: Sequence[Turn] = (),
        *,
        choose: Choose | None = None,
        after: AFTER = "error",
        models: Sequence[str] = ("fake-model",),
        listing: Sequence[Any] | None = None,
        answers: Mapping[str, Any] | None = None,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.requests: list[Recorded] = []
        self.connections = 0
        self.record: str = ""
        self._turns = tuple(turns)
        self._choose = choose
        self._after = after
        self._listing = [{"id": name, "object": "model"} for name in models] if listing is None else list(listing)
        self._answers = dict(answers or {})
        self._port = port
        self._tls = tls
        self._encoded: dict[int, list[bytes]] = {}
        self._previous = b""
        self._played = 0
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._open: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []

    @property
    def url(self) -> str:
        return f"https://localhost:{self._port}/v1" if self._tls else f"http://127.0.0.1:{self._port}/v1"

    @property
    def port(self) -> int:
        return self._port

    @property
    def posts(self) -> list[Recorded]:
        return [request for request in self.requests if request.method == "POST"]

    def start(self) -> Self:
        # Calls are encoded afresh each time, because each gets an id of its own.
        self._encoded = {id(turn): list(_encode(turn)) for turn in self._turns if not turn.calls}
        self._listener = socket.create_server(("127.0.0.1", self._port), backlog=128)
        self._port = self._listener.getsockname()[1]
        self._spawn(self._accept)
        return self

    def stop(self) -> None:
        self._stopping.set()
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop_connections()
        for thread in list(self._threads):
            thread.join(5)

    def drop_connections(self) -> None:
        """Close every connection, as a server does with those that lie idle."""
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _spawn(self, target: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=target, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._stopping.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self._lock:
                self.connections += 1
            self._spawn(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        if self._tls is not None:
            try:
                connection = self._tls.wrap_socket(connection, server_side=True)
            except OSError:
                connection.close()
                return
        with self._lock:
            self._open.add(connection)
        reader = connection.makefile("rb", buffering=64 * 1024)
        try:
            while (request := _read_request(reader)) is not None:
                if not self._answer(connection, request):
                    return
        except OSError:
            return
        finally:
            reader.close()
            with self._lock:
                self._open.discard(connection)
                connection.close()

    def _answer(self, connection: socket.socket, request: Recorded) -> bool:
        """Whether the connection stays open."""
        with self._lock:
            number = self._played
            self.requests.append(request)
            if request.method == "POST":
                self._played += 1
                cached = _common(self._previous, request.body)
                self._previous = request.body
        if self.record:
            self._write_record(request)
        if request.method == "GET":
            connection.sendall(self._told(request.path.partition("?")[0]))
            return True
        turn = self._choose(request, number) if self._choose else self._turn(number)
        if turn is None:
            connection.sendall(_plain(400, {"error": {"message": "the script is over", "param": "script"}}))
            return True
        return self._play(connection, turn, request, cached)

    def _told(self, path: str) -> bytes:
        for end, answer in self._answers.items():
            if path.endswith(end):
                return _plain(200, answer)
        if path.endswith("/models"):
            return _plain(200, {"object": "list", "data": self._listing})
        return _plain(404, {"detail": "Not Found"})

    def _turn(self, number: int) -> Turn | None:
        if number < len(self._turns):
            return self._turns[number]
        if not self._turns or self._after == "error":
            return None
        return self._turns[-1] if self._after == "repeat" else self._turns[number % len(self._turns)]

    def _play(self, connection: socket.socket, turn: Turn, request: Recorded, cached: int) -> bool:
        fault = turn.fault
        if fault.close_before_headers:
            return False
        if fault.stall_before_headers:
            self._stopping.wait(fault.stall_before_headers)
            if self._stopping.is_set():
                return False
        if fault.status:
            connection.sendall(_plain(fault.status, fault.body, fault.headers))
            return True
        if fault.html:
            page = "<!DOCTYPE html><html><body>Welcome to the router</body></html>"
            connection.sendall(_plain(200, page, {"Content-Type": "text/html; charset=utf-8"}))
            return True
        chunked = turn.framing != "close"
        head = (
            f"HTTP/1.1 200 OK\r\nContent-Type: {fault.content_type or 'text/event-stream'}\r\n"
            + ("Transfer-Encoding: chunked\r\n" if chunked else "")
            + ("Connection: close\r\n" if turn.close or not chunked else "")
            + "\r\n"
        ).encode()
        if _is_simple(turn):
            events = [*self._events(turn), *_closing(turn, request, cached)]
            if turn.framing == "event":
                data = b"".join(map(_chunk, events))
            else:
                whole = b"".join(events)
                pieces = [whole[at : at + SPLIT] for at in range(0, len(whole), SPLIT)]
                data = b"".join(map(_chunk, pieces)) if chunked else whole
            connection.sendall(head + data + (b"0\r\n\r\n" if chunked else b""))
            return chunked and not turn.close
        connection.sendall(head)
        frame = _chunk if chunked else bytes
        for number, event in enumerate(self._faulty(turn, request, cached)):
            if fault.cut_after is not None and number >= fault.cut_after:
                return False
            pause = fault.stall if fault.stall_after == number else turn.delay
            if (pause and self._stopping.wait(pause)) or self._stopping.is_set():
                return False
            connection.sendall(frame(event))
        if fault.stay_open:
            self._stopping.wait()
        if chunked:
            connection.sendall(b"0\r\n\r\n")
        return chunked and not turn.close

    def _faulty(self, turn: Turn, request: Recorded, cached: int) -> Iterator[bytes]:
        fault = turn.fault
        for _ in range(fault.comments):
            self._stopping.wait(fault.comment_pause)
            yield b": keep-alive\n\n"
        events = self._events(turn)
        yield from events[:1]
        for _ in range(fault.malformed):
            yield b'data: {"choices": [{"delta": \n\n'
        if fault.invalid_utf8:
            yield b'data: {"choices":[{"index":0,"delta":{"content":"<\xff\xc3>"},"finish_reason":null}]}\n\n'
        if fault.huge:
            yield b'data: {"choices":[{"index":0,"delta":{"content":"'
            for _ in range(fault.huge // SPLIT + 1):
                yield b"x" * SPLIT
            yield b'"}}]}\n\n'
        while fault.endless:
            yield _event({"content": "x" * 8000}) * 8
        yield from events[1:]
        yield from _closing(turn, request, cached)

    def _events(self, turn: Turn) -> list[bytes]:
        """The events of a turn up to its finish."""
        known = self._encoded.get(id(turn))
        return list(_encode(turn)) if known is None else known

    def _write_record(self, request: Recorded) -> None:
        line = {
            "at": request.at,
            "method": request.method,
            "path": request.path,
            "headers": request.headers,
            "body": request.body.decode("utf-8", "replace"),
        }
        with self._lock, open(self.record, "ab") as file:
            file.write(msgspec.json.encode(line) + b"\n")


def _is_simple(turn: Turn) -> bool:
    plain = Fault(
        content_type=turn.fault.content_type,
        duplicate_ids=turn.fault.duplicate_ids,
        no_finish=turn.fault.no_finish,
        no_done=turn.fault.no_done,
    )
    return not turn.delay and turn.fault == plain


def _encode(turn: Turn) -> Iterator[bytes]:
    if turn.events:
        yield from (f"data: {payload}\n\n".encode() for payload in turn.events)
        return
    yield _event({"role": "assistant", "content": ""})
    for name, text in (("reasoning_content", turn.reasoning), ("content", turn.text)):
        before, after = _event({name: "@"}).split(b'"@"')
        size = turn.chunk or max(1, len(text))
        for at in range(0, len(text), size):
            yield before + msgspec.json.encode(text[at : at + size]) + after
    for index, call in enumerate(turn.calls):
        arguments = call.arguments if isinstance(call.arguments, str) else msgspec.json.encode(call.arguments).decode()
        made = "call_same" if turn.fault.duplicate_ids else call.id or f"call_{os.urandom(6).hex()}"
        function = {"name": call.name, "arguments": ""}
        yield _event({"tool_calls": [{"index": index, "id": made, "type": "function", "function": function}]})
        size = turn.chunk or max(1, len(arguments))
        for at in range(0, len(arguments), size):
            piece = {"index": index, "function": {"arguments": arguments[at : at + size]}}
            yield _event({"tool_calls": [piece]})


def _closing(turn: Turn, request: Recorded, cached: int) -> Iterator[bytes]:
    if not turn.events:
        finish = turn.finish or ("tool_calls" if turn.calls else "stop")
        if not turn.fault.no_finish:
            yield _event({}, finish)
        usage = turn.usage or {
            "prompt_tokens": len(request.body) // 4,
            "completion_tokens": (len(turn.text) + len(turn.reasoning)) // 4 + 20 * len(turn.calls),
            "prompt_tokens_details": {"cached_tokens": cached // 4},
        }
        yield b"data: " + msgspec.json.encode({"model": "fake-model", "choices": [], "usage": usage}) + b"\n\n"
    if not turn.fault.no_done:
        yield b"data: [DONE]\n\n"


def _event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "fake-model"}
    return b"data: " + msgspec.json.encode({**chunk, "choices": [choice]}) + b"\n\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def _plain(status: int, body: Any, headers: dict[str, str] | None = None) -> bytes:
    data = body.encode() if isinstance(body, str) else msgspec.json.encode(body)
    lines = {"Content-Type": "application/json", **(headers or {}), "Content-Length": str(len(data))}
    head = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status} Status\r\n{head}\r\n".encode() + data


def _read_request(reader: Any) -> Recorded | None:
    first = reader.readline(64 * 1024).split()
    if len(first) < 3:
        return None
    began = time.time()
    headers: dict[str, str] = {}
    while (line := reader.readline(64 * 1024).strip()) != b"":
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.strip().lower()] = value.strip()
    length = int(headers.get("content-length", "0"))
    body = reader.read(length)
    if len(body) < length:
        return None
    path = first[1].decode("latin-1")
    return Recorded(at=time.time(), began=began, method=first[0].decode(), path=path, headers=headers, body=body)


def _common(one: bytes, other: bytes) -> int:
    """Length of the common beginning, found by halves so that long bodies stay cheap."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def load(path: str) -> dict[str, Any]:
    script = msgspec.json.decode(Path(path).read_bytes())
    return script if isinstance(script, dict) else {"turns": script}


def main() -> None:
    parser = argparse.ArgumentParser(prog="model_server")
    parser.add_argument("--script", required=True)
    parser.add_argument("--port-file", required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--record", default="")
    given = parser.parse_args()
    script = load(given.script)
    turns = msgspec.convert(script.get("turns", []), tuple[Turn, ...])
    models = script.get("models", ["fake-model"])
    server = ModelServer(turns, after=script.get("after", "error"), models=models, port=given.port)
    server.record = given.record
    ended = threading.Event()

    def end(_signal: int, _frame: FrameType | None) -> None:
        ended.set()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    with server:
        waiting = Path(f"{given.port_file}.new")
        waiting.write_text(str(server.port))
        waiting.rename(given.port_file)
        ended.wait()


if __name__ == "__main__":
    main()
