"""A real chat on paper: keys in, the screen and the requests out.

The conversation, its thread and the model server are those of the program and of its journeys; only the terminal is
made of paper, and the clock stands still until it is put forward.
"""

import os
import select
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer, Recorded, Turn
from tests.frontends.tui.screen_kit import on_paper

from overt.app.chat.trust_question import set_trust
from overt.app.options import Options
from overt.frontends.tui.chat.chat import Chat
from overt.frontends.tui.terminal.keyboard import Key, KeyDecoder
from overt.frontends.tui.terminal.loop import Item, ThreadCrash
from overt.frontends.wakeup_queue import Wake

PATIENCE = 20.0
TIMED = ("chat", "command_runner")
"""Modules of the chat that look at a clock."""


class Script:
    """Replies in the order of requests. A reply that is `held` is not begun before it is `let` go."""

    def __init__(self, *turns: Turn, held: Sequence[int] = (), after: Turn | None = None) -> None:
        self._turns = turns
        self._after = after
        self._doors = {number: threading.Event() for number in held}

    def choose(self, _request: Recorded, number: int) -> Turn:
        if number in self._doors:
            assert self._doors[number].wait(PATIENCE)
        return self._turns[number] if number < len(self._turns) else self._after or self._turns[-1]

    def let(self, *numbers: int) -> None:
        for number in numbers or tuple(self._doors):
            self._doors[number].set()


class Desk:
    """What a person sits at. For the chat no time passes but what `wait` gives it."""

    def __init__(self, server: ModelServer, options: Options, first: str) -> None:
        self.server = server
        self.terminal, self.paper = on_paper()
        self.wake = Wake[Item]()
        self._now = time.monotonic()
        self.chat = Chat(self.terminal, self.wake, options, first)
        self._decoder = KeyDecoder()

    def now(self) -> float:
        return self._now

    def wait(self, seconds: float) -> None:
        self._now += seconds
        self._turn()

    # ── keys ─────────────────────────────────────────────────────────────────────────────────────────────

    def type(self, text: str) -> None:
        """Letter by letter, as a person does."""
        for letter in text:
            self.press(Key("text", letter))

    def press(self, *keys: Key | str) -> None:
        """Each painted before the next comes, as in the loop."""
        for key in keys:
            self.chat.key(Key(key) if isinstance(key, str) else key)
            if not self.chat.over:
                self.chat.paint()

    def send(self, text: str, key: str = "enter") -> None:
        """Typed, and away with it; a menu that would take the key is closed before."""
        self.type(text)
        if self.chat.completion.draw(80, 5):
            self.press("esc")
        self.press(key)

    # ── what comes ───────────────────────────────────────────────────────────────────────────────────────

    def _turn(self) -> None:
        self.wake.drain()
        while self.wake.items and not self.chat.over:
            self.take_item()
        due = self.chat.due(self.now())
        if due is not None and self.now() >= due:
            self.chat.tick(self.now())
        if not self.chat.over:
            self.chat.paint()

    def take_item(self) -> None:
        item = self.wake.items.popleft()
        assert not isinstance(item, ThreadCrash), item.error
        self.chat.item(item)

    def until(self, true: Callable[[], Any] | str) -> Any:
        """Whatever comes is taken in until it is so; with a text, until it is on the screen."""
        deadline = time.monotonic() + PATIENCE
        while True:
            self._turn()
            if found := true in self.screen if isinstance(true, str) else true():
                return found
            assert time.monotonic() < deadline, f"it did not come to pass\n{self.screen}"
            select.select([self.wake.awake], [], [], 0.02)

    def rest(self) -> None:
        """Until nothing runs and nothing waits."""
        queue = self.chat.prompt_queue
        self.until(lambda: queue._open and not queue.running and not self.chat.command_runner.busy)
        self.until(lambda: not queue._waiting)

    def question(self, text: str = "Allow bash?") -> None:
        """Until it is asked, and has been on the screen for as long as it takes to read it."""
        self.until(lambda: self.chat.modal_panel._approvals.current)
        self.wait(1)
        self.until(text)
        self.wait(1)

    def still(self) -> None:
        """Until everything that was asked of the session so far is answered."""
        answered = threading.Event()
        self.chat.background.read(lambda _conversation: None, lambda _none: answered.set())
        self.until(answered.is_set)

    # ── what is seen ─────────────────────────────────────────────────────────────────────────────────────

    @property
    def screen(self) -> str:
        return "\n".join(self.paper.display())

    @property
    def all(self) -> str:
        return "\n".join(self.paper.everything())

    @property
    def draft(self) -> str:
        return self.chat.composer.text

    @property
    def status(self) -> str:
        return self.paper.display()[-1].strip()

    def asked(self, number: int = -1) -> list[Any]:
        """What the model was told by the person, in one request."""
        told = self.server.posts[number].json()["messages"]
        return [message["content"] for message in told if message["role"] == "user"]


def colours(desk: Desk) -> list[str]:
    """Of the letters in the composer and in the status line."""
    last = len(desk.paper.display()) - 1
    return [desk.paper.cell(line, column).fg for line in (last - 1, last) for column in range(desk.terminal.columns)]


class Desks:
    """Opens chats in a folder nobody has to be asked about, unless `trusted` is None."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder = folder
        self._monkeypatch = monkeypatch
        for name in ("TMUX", "COLORFGBG", "NO_COLOR", "XTERM_VERSION", "TERM_PROGRAM", "LANGUAGE"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("TERM", "xterm-256color")
        monkeypatch.setenv("LANG", "C.UTF-8")

    @contextmanager
    def __call__(
        self,
        script: Script | Turn,
        *,
        first: str = "",
        trusted: bool | None = True,
        config: str | None = None,
        **options: Any,
    ) -> Iterator[Desk]:
        played = script if isinstance(script, Script) else Script(script)
        with ModelServer(choose=played.choose, models=("fake-model", "other-model")) as server:
            self._configure(server.url, config)
            if trusted is not None:
                set_trust(str(self.folder), trusting=trusted)
            desk = Desk(server, Options(directory=str(self.folder), interactive=True, **options), first)
            for module in TIMED:
                self._monkeypatch.setattr(f"overt.frontends.tui.chat.{module}.monotonic", desk.now)
            try:
                desk.chat.startup.begin()
                yield desk
            finally:
                played.let()
                desk.terminal.leave()
                desk.chat.background.close(desk.chat.ending)
                desk.wake.close()

    def _configure(self, url: str, config: str | None) -> None:
        """The model is named by the environment, or else by the person's own configuration, with URL for the server."""
        if config is None:
            for name, value in (("BASE_URL", url), ("MODEL", "fake-model"), ("API_KEY", "none")):
                self._monkeypatch.setenv(f"OVERT_{name}", value)
            return
        place = Path(os.environ["HOME"]) / ".config" / "overt" / "config.toml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(config.replace("URL", url))

    @contextmanager
    def open(self, script: Script | Turn, **given: Any) -> Iterator[Desk]:
        """One that is ready for the first prompt."""
        with self(script, **given) as desk:
            desk.until(lambda: desk.chat.prompt_queue._open and desk.chat.gauges)
            yield desk


@pytest.fixture
def desks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desks:
    folder = tmp_path / "work"
    folder.mkdir()
    return Desks(folder, monkeypatch)
