"""What tests of the embedded model share: the real weights, where this machine has them, and a cache that is theirs."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from overt.config.paths import read_environment
from overt.context.assemble import Assembler
from overt.core.codec import encode
from overt.core.messages import Message, said
from overt.core.protocols import Provider
from overt.core.requests import Params, Prefix, Request, ToolSpec
from overt.core.settings import ProviderEntry
from overt.core.text_fragments import HARNESS, USER, Fragment
from overt.providers.embedded.provider import LocalProvider, installed_weights, is_runnable, make
from overt.providers.embedded.weights import WEIGHTS, find_weights, models_folder

SMALL, USUAL = "qwen2.5-coder-0.5b", "qwen2.5-coder-1.5b"
FETCHED = models_folder(read_environment().cache_dir)
"""Of the user who runs the tests: read here, before each test gets a home of its own."""


def missing(name: str) -> str:
    """Why the tests that need these weights are skipped; empty when they are not."""
    weights = find_weights(name)
    if weights is None or not weights.here(FETCHED):
        return f"the weights of {name} are not on this machine: overt models fetch {name}"
    return "" if is_runnable() else "xllamacpp is not installed: pip install 'overt[local]'"


needs_small = pytest.mark.skipif(bool(missing(SMALL)), reason=missing(SMALL) or "there")


def cache(folder: Path) -> str:
    """A cache folder with the weights of this machine, so that what the server keeps stays in the test."""
    models = Path(models_folder(str(folder)))
    models.mkdir(parents=True, exist_ok=True)
    for weights in WEIGHTS:
        if weights.here(FETCHED):
            (models / weights.file).symlink_to(weights.path(FETCHED))
    return str(folder)


def small(folder: Path, **settings: Any) -> LocalProvider:
    entry = installed_weights(cache(folder))
    assert entry is not None
    return make(replace(entry, **settings), None, SMALL)


def hollow(folder: Path, name: str = SMALL) -> str:
    """A cache folder with a file of the right size and nothing in it."""
    weights = find_weights(name)
    assert weights is not None
    models = Path(models_folder(str(folder)))
    models.mkdir(parents=True, exist_ok=True)
    with open(weights.path(str(models)), "wb") as file:
        os.truncate(file.fileno(), weights.size)
    return str(folder)


class Imitated:
    """The embedded model with the real child process, in which a server without a model takes the library's place."""

    def __init__(self, folder: Path) -> None:
        self.library = folder / "library"
        self.cache = folder / "cache"
        self.models = Path(models_folder(str(self.cache)))
        self.models.mkdir(parents=True)
        (self.library / "xllamacpp").mkdir(parents=True)
        (self.library / "xllamacpp" / "__init__.py").symlink_to(Path(__file__).with_name("imitation.py"))

    def provider(self, **settings: Any) -> LocalProvider:
        weights = find_weights(SMALL)
        assert weights is not None
        tiny = replace(weights, size=4)
        Path(tiny.path(str(self.models))).write_bytes(b"GGUF")
        entry = ProviderEntry(name="local", kind="local", base_url=f"file://{self.models}", **settings)
        return LocalProvider(entry, tiny, folder=str(self.models))

    def order(self, what: str) -> Path:
        """A file that tells the server what to do, until it is removed."""
        path = self.models / what
        path.touch()
        return path

    def asked(self) -> list[str]:
        path = self.models / "asked"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def slot(self) -> Path:
        weights = find_weights(SMALL)
        assert weights is not None
        return self.models / f"{SMALL}-{weights.sha256[:8]}.context"

    def contexts(self) -> dict[str, str]:
        """What is kept between runs, by the part of the name that follows the weights."""
        begin = self.slot.name.removesuffix(".context")
        return {path.name.removeprefix(begin): path.read_text() for path in self.models.glob("*.context*")}


@pytest.fixture
def imitated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Imitated:
    made = Imitated(tmp_path / "imitated")
    monkeypatch.syspath_prepend(str(made.library))
    return made


async def until(true: Callable[[], Any], seconds: float = 20.0) -> None:
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.02)


PARENT = """
import asyncio, sys, time
from overt.providers.embedded.provider import installed_weights, make
provider = make(installed_weights(sys.argv[1]), None, sys.argv[2])
provider.warm()
print(provider.pid, flush=True)
if sys.argv[3] == "ends":
    provider.close()
elif sys.argv[3] == "falls":
    raise SystemExit(1)
else:
    time.sleep(60)
"""


def outlives(cache_dir: str, how: str, *, library: str = "", after: float = 0.0) -> bool:
    """Whether a server is still there some time after the process that had started it."""
    argv = [sys.executable, "-c", PARENT, cache_dir, SMALL, how]
    env = {**os.environ, "PYTHONPATH": library}
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        time.sleep(after)
        if how.startswith("SIG"):
            parent.send_signal(getattr(signal, how))
        parent.wait(30)
    deadline = time.monotonic() + 10
    while running(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    return running(pid)


def running(pid: int) -> bool:
    try:
        return b"server_program" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


READ = ToolSpec(
    name="read",
    description="Read a file.",
    schema=Raw(encode({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]})),
)


class Talk:
    """One conversation: what was said so far becomes the next request."""

    def __init__(self, provider: Provider, *, system: str = "You are terse.", tools: tuple[ToolSpec, ...] = ()) -> None:
        self._assembler = Assembler(provider.wire)
        self._prefix = Prefix(system=(Fragment(key="system", text=system, origin=HARNESS),), tools=tools)
        self.messages: tuple[Message, ...] = ()

    def ask(self, text: str, **params: Any) -> Request:
        return self.go_on(said(text, origin=USER), **params)

    def go_on(self, *messages: Message, **params: Any) -> Request:
        self.messages += messages
        usual: dict[str, Any] = {"model": SMALL, "max_tokens": 24, "temperature": 0.0}
        wanted = Params(**(usual | params))
        return self._assembler.assemble(self._prefix, self.messages, wanted).request
