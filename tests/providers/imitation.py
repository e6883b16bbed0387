"""In place of the library that runs weights: a server without a model, put into the child as `xllamacpp`.

Files beside the weights tell it what to do: while `wait-load`, `wait-reply` or `wait-save` lies there it waits, and
`crash` makes it crash over a kept context. What it was asked is in `asked`, a line for each request.
"""

import json
import os
import resource
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

ANSWER = "Two."


class CommonParams(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(model=SimpleNamespace(), cpuparams=SimpleNamespace(), cpuparams_batch=SimpleNamespace())


class Server:
    def __init__(self, wanted: Any) -> None:
        folder = os.path.dirname(wanted.model.path)
        _wait(folder, "load")
        self._http = Http(("127.0.0.1", 0), Handler)
        self._http.folder, self._http.token = folder, wanted.api_keys[0]
        self.listening_address = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()


class Http(ThreadingHTTPServer):
    daemon_threads = True
    folder: str
    token: str


class Handler(BaseHTTPRequestHandler):
    server: Http

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        folder = self.server.folder
        if self.headers["Authorization"] != f"Bearer {self.server.token}":
            self.send_error(401)
        elif self.path.startswith("/slots/"):
            self._slot(folder, json.loads(body)["filename"])
        else:
            with open(os.path.join(folder, "asked"), "ab") as file:
                file.write(body + b"\n")
            self._answer()

    def _slot(self, folder: str, name: str) -> None:
        if self.path.endswith("restore") and os.path.exists(os.path.join(folder, "crash")):
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.kill(os.getpid(), signal.SIGSEGV)
        if self.path.endswith("save"):
            with open(os.path.join(folder, name), "w", encoding="ascii") as file:
                file.write("half ")
                file.flush()
                _wait(folder, "save")
                file.write("whole")
        self.send_response(200)
        self.end_headers()

    def _answer(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        _wait(self.server.folder, "reply")
        usage = {"prompt_tokens": 100, "completion_tokens": 1}
        choices: list[dict[str, Any]] = [
            {"index": 0, "delta": {"role": "assistant", "content": ANSWER}, "finish_reason": None},
            {"index": 0, "delta": {}, "finish_reason": "stop"},
        ]
        for choice in choices:
            self._event(json.dumps({"object": "chat.completion.chunk", "choices": [choice], "usage": usage}))
        self._event("[DONE]")

    def _event(self, data: str) -> None:
        self.wfile.write(f"data: {data}\n\n".encode())

    def log_message(self, format: str, *args: object) -> None:
        pass


def _wait(folder: str, what: str) -> None:
    while os.path.exists(os.path.join(folder, f"wait-{what}")):
        time.sleep(0.01)
