"""A model server on loopback with abilities and faults to choose, on all three wires: what a doctor may meet.

with OddServer(Odd(tools="leaks", form="refused")) as server: …   (server.url, server.bodies)
"""

import contextlib
import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, Self

from msgspec import Struct

LEAKED = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
NUMBERS = "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"


class Odd(Struct, frozen=True, kw_only=True):
    """`window` maps a path to the JSON it answers; `key` is the only one let in, where one is set.

    `status` is all it ever answers; after `lasts` requests it answers 503.
    """

    tools: Literal["native", "refused", "leaks", "ignored", "misfit"] = "native"
    required: bool = True
    parallel: bool = True
    form: Literal["kept", "refused", "ignored", "cut"] = "kept"
    stream: bool = True
    usage: bool = True
    cache: bool = True
    system: bool = True
    developer: Literal["obeyed", "refused", "ignored"] = "obeyed"
    images: Literal["seen", "refused", "crash", "ignored"] = "seen"
    reasoning: str = ""
    models: tuple[str, ...] = ("odd-model",)
    window: dict[str, Any] = {}
    key: str = ""
    status: int = 0
    lasts: int = 1000


class Said(Struct, frozen=True, kw_only=True):
    text: str = ""
    cities: tuple[str, ...] = ()
    status: int = 0
    arguments: str = ""
    cut: bool = False


class OddServer:
    def __init__(self, odd: Odd) -> None:
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self._seen: set[str] = set()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.paths.append(self.path)
                if self.path == "/v1/models" and self.path not in odd.window:
                    self._plain(200, {"data": [{"id": name} for name in odd.models]})
                else:
                    self._plain(200 if self.path in odd.window else 404, odd.window.get(self.path, {"detail": "no"}))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                if not self.path.startswith("/v1/"):
                    outer.paths.append(self.path)
                    self._plain(200 if self.path in odd.window else 404, odd.window.get(self.path, {}))
                    return
                outer.bodies.append(json.loads(body))
                given = self.headers.get("authorization", "").removeprefix("Bearer ") or self.headers.get("x-api-key")
                if odd.key and given != odd.key:
                    self._plain(401, {"error": {"message": f"wrong key {given}"}})
                    return
                if odd.status or len(outer.bodies) > odd.lasts:
                    self._plain(odd.status or 503, {"error": {"message": "out of order"}})
                    return
                said = answer(odd, body)
                if said.status:
                    self._plain(said.status, {"error": {"message": said.text}})
                    return
                kept = outer.kept(body)
                if not odd.stream:
                    self._plain(200, whole(odd, said, kept))
                    return
                self.send_response(200)
                self.send_header("Content-Type", "text/event-stream")
                self.send_header("Connection", "close")
                self.end_headers()
                wire = {"/v1/messages": messages, "/v1/responses": responses}.get(self.path, chat)
                for event in wire(odd, said, kept):
                    self.wfile.write(event)
                    self.wfile.flush()
                    time.sleep(0.002)
                self.close_connection = True

            def _plain(self, status: int, value: Any) -> None:
                data = json.dumps(value).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, format: str, *args: Any) -> None:
                """Nobody reads it."""

        class Server(ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A client that went away is no news."""

            def server_bind(self) -> None:
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                super().server_bind()

        self._server = Server(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})

    def kept(self, body: str) -> int:
        """Tokens known from before: all of a body that came once already."""
        known = body in self._seen
        self._seen.add(body)
        return 300 if known else 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        with contextlib.suppress(OSError):
            self._server.server_close()


def answer(odd: Odd, body: str) -> Said:
    """What the model behind it makes of a question, told apart by what the probe sends."""
    if "iVBOR" in body:
        return {
            "seen": Said(text="Orange."),
            "refused": Said(status=400, text="this model takes no images"),
            "crash": Said(status=500, text="image input is not supported"),
            "ignored": Said(text="Blue."),
        }[odd.images]
    if secret := re.search(r"password of today is ([a-z-]+)\.", body):
        developer = '"role":"developer"' in body
        if developer and odd.developer == "refused":
            return Said(status=400, text="unknown role developer")
        obeys = odd.developer == "obeyed" if developer else odd.system
        return Said(text=secret[1] if obeys else "I do not know it.")
    if "json_schema" in body:
        return {
            "kept": Said(text='{"tool":"read","path":"notes.txt","lines":5}'),
            "refused": Said(status=400, text="response_format is not available"),
            "ignored": Said(text="Use head -5 notes.txt."),
            "cut": Said(text='{"tool":"read","path":"aaaaaaaa', cut=True),
        }[odd.form]
    if '"tools"' in body:
        return _called(odd, body)
    return Said(text=NUMBERS)


def _called(odd: Odd, body: str) -> Said:
    if odd.tools == "refused":
        return Said(status=400, text="this model does not support tools")
    if re.search(r'"tool_choice":("required"|\{"type":"any"\})', body):
        return Said(cities=("Rome",)) if odd.required else Said(text="Hello!")
    if odd.tools == "leaks":
        return Said(text=LEAKED)
    if odd.tools == "ignored":
        return Said(text="It is sunny in Paris.")
    if odd.tools == "misfit":
        return Said(cities=("Paris",), arguments='{"town":"Paris"}')
    return Said(cities=("Paris", "Oslo") if "both cities" in body and odd.parallel else ("Paris",))


def pieces(text: str) -> list[str]:
    return [text[at : at + 4] for at in range(0, len(text), 4)]


def arguments(said: Said, city: str) -> str:
    return said.arguments or json.dumps({"city": city})


def event(value: Any, name: str = "") -> bytes:
    return (f"event: {name}\n" if name else "").encode() + f"data: {json.dumps(value)}\n\n".encode()


def usage(odd: Odd, kept: int) -> dict[str, Any]:
    found: dict[str, Any] = {"prompt_tokens": 320, "completion_tokens": 9}
    return found | {"prompt_tokens_details": {"cached_tokens": kept}} if odd.cache else found


def whole(odd: Odd, said: Said, kept: int) -> dict[str, Any]:
    calls = [
        {"id": f"c{index}", "type": "function", "function": {"name": "get_weather", "arguments": arguments(said, city)}}
        for index, city in enumerate(said.cities)
    ]
    message = {"role": "assistant", "content": said.text, **({"tool_calls": calls} if calls else {})}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return {"choices": [choice], **({"usage": usage(odd, kept)} if odd.usage else {})}


def chat(odd: Odd, said: Said, kept: int) -> Iterator[bytes]:
    def delta(value: dict[str, Any], finish: str | None = None) -> bytes:
        return event({"choices": [{"index": 0, "delta": value, "finish_reason": finish}]})

    if odd.reasoning:
        yield delta({odd.reasoning: "Let me think."})
    for piece in pieces(said.text):
        yield delta({"content": piece})
    for index, city in enumerate(said.cities):
        begun = {"index": index, "id": f"c{index}", "type": "function", "function": {"name": "get_weather"}}
        yield delta({"tool_calls": [begun]})
        for piece in pieces(arguments(said, city)):
            yield delta({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield delta({}, "length" if said.cut else "tool_calls" if said.cities else "stop")
    if odd.usage:
        yield event({"choices": [], "usage": usage(odd, kept)})
    yield b"data: [DONE]\n\n"


def messages(odd: Odd, said: Said, kept: int) -> Iterator[bytes]:
    counts = {"input_tokens": 320 - kept, "cache_read_input_tokens": kept, "output_tokens": 1}
    start = {"id": "m", "type": "message", "role": "assistant", "content": [], "model": "odd-model", "usage": counts}
    yield event({"type": "message_start", "message": start}, "message_start")
    blocks: list[tuple[dict[str, Any], str, str, list[str]]] = []
    if odd.reasoning:
        blocks.append(({"type": "thinking", "thinking": "", "signature": ""}, "thinking_delta", "thinking", ["Hm."]))
    if said.text:
        blocks.append(({"type": "text", "text": ""}, "text_delta", "text", pieces(said.text)))
    for index, city in enumerate(said.cities):
        use = {"type": "tool_use", "id": f"t{index}", "name": "get_weather", "input": {}}
        blocks.append((use, "input_json_delta", "partial_json", pieces(arguments(said, city))))
    for index, (block, kind, field, parts) in enumerate(blocks):
        yield event({"type": "content_block_start", "index": index, "content_block": block}, "content_block_start")
        for piece in parts:
            delta = {"type": kind, field: piece}
            yield event({"type": "content_block_delta", "index": index, "delta": delta}, "content_block_delta")
        yield event({"type": "content_block_stop", "index": index}, "content_block_stop")
    reason = {"stop_reason": "tool_use" if said.cities else "end_turn"}
    yield event({"type": "message_delta", "delta": reason, "usage": {"output_tokens": 9}}, "message_delta")
    yield event({"type": "message_stop"}, "message_stop")


def responses(odd: Odd, said: Said, kept: int) -> Iterator[bytes]:
    def told(kind: str, **more: Any) -> bytes:
        return event({"type": kind, **more}, kind)

    yield told("response.created", response={"id": "r", "object": "response", "status": "in_progress", "output": []})
    output: list[dict[str, Any]] = []
    if odd.reasoning:
        thought = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": "Hm."}]}
        yield told("response.output_item.added", output_index=0, item={**thought, "summary": []})
        yield told("response.reasoning_summary_text.delta", output_index=0, item_id="rs", summary_index=0, delta="Hm.")
        yield told("response.output_item.done", output_index=0, item=thought)
        output.append(thought)
    if said.text:
        at = len(output)
        message = {"type": "message", "id": "m", "role": "assistant", "status": "in_progress", "content": []}
        yield told("response.output_item.added", output_index=at, item=message)
        for piece in pieces(said.text):
            yield told("response.output_text.delta", output_index=at, item_id="m", content_index=0, delta=piece)
        content = [{"type": "output_text", "text": said.text, "annotations": []}]
        output.append({**message, "status": "completed", "content": content})
        yield told("response.output_item.done", output_index=at, item=output[-1])
    for number, city in enumerate(said.cities):
        at, id = len(output), f"f{number}"
        call = {"type": "function_call", "id": id, "call_id": f"c{number}", "name": "get_weather", "arguments": ""}
        yield told("response.output_item.added", output_index=at, item=call)
        for piece in pieces(arguments(said, city)):
            yield told("response.function_call_arguments.delta", output_index=at, item_id=id, delta=piece)
        output.append({**call, "arguments": arguments(said, city), "status": "completed"})
        yield told("response.output_item.done", output_index=at, item=output[-1])
    counts = {"input_tokens": 320, "output_tokens": 9, "input_tokens_details": {"cached_tokens": kept}}
    done = {"id": "r", "object": "response", "status": "completed", "output": output, "usage": counts}
    yield told("response.completed", response=done)
