"""`python -m bench.pictures`: screens of one recorded session as SVG, made with the installed program in a terminal.

The program runs in a pseudo-terminal, is driven by keys and talks to the model server of the tests. A session of
sixty turns is recorded once; every picture is then taken from a fresh copy of it.
"""

import argparse
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from tests.fakes.model_server import ModelServer, Recorded, Turn

from bench._scenes import AGENTS, ANSWER, DANGER, DELEGATE, EDIT
from bench._shop import Exchange, make_project, others, session
from bench._svg import GROUND, Background, Feed, Screen, svg

OVERT = str(Path(sys.executable).with_name("overt"))
PLACE = Path(__file__).resolve().parent.parent / "docs" / "pictures"
SIZES = ((80, 24), (160, 50))
BACKGROUNDS: tuple[Background, ...] = ("dark", "light")
HOME = "/home/ada"
"""What the pictures show in the place of a temporary folder, which has as many characters."""
PATIENCE, QUIET = 30.0, 0.35
DOWN = "\x1b[B"
TITLE = "Give the task below a title"
MODEL, ANSWERS_AS = "atlas-mini", "fake-model"
"""The model that is asked for, and what the test server calls itself: equally long."""
CONFIG = """\
default_model = "lab/{model}"
offline = false

[[providers]]
name = "lab"
base_url = "{url}"
models = [
    {{ name = "{model}", window = 131072, calls = "native", price = {{ input = 0.4, output = 1.6, cached = 0.04 }} }},
]
"""


class Stage(NamedTuple):
    """A home with a project in it, and how a program is started there."""

    home: Path
    server: ModelServer

    @property
    def work(self) -> Path:
        return self.home / "shop"

    def environment(self, **more: str) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "LAB_API_KEY": "none",
            **more,
        }

    def run(self, *words: str) -> None:
        done = subprocess.run(
            [OVERT, *words],
            cwd=self.work,
            env=self.environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(f"overt {' '.join(words)}: {done.stderr.decode()}")


class Playing:
    """The server plays what stands here, in order, whatever is asked; a title is asked for beside it."""

    def __init__(self) -> None:
        self.turns: list[Turn] = []
        self.agents: dict[str, list[Turn]] = {}

    def add(self, exchange: Exchange) -> str:
        self.turns = list(exchange.turns)
        self.agents = {task: list(turns) for task, turns in AGENTS.items()}
        return exchange.prompt

    def choose(self, request: Recorded, _number: int) -> Turn:
        if TITLE.encode() in request.body:
            return Turn(text="Prices and orders")
        first = next((message["content"] for message in request.json()["messages"] if message["role"] == "user"), "")
        if first in self.agents:
            return self.agents[first].pop(0)
        return self.turns.pop(0) if self.turns else Turn(text="That is all.")


class Player:
    """The program in a terminal of one size and background, as a person would have it."""

    def __init__(self, stage: Stage, words: Sequence[str], size: tuple[int, int], background: Background) -> None:
        self._master, slave = pty.openpty()
        columns, lines = size
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
        more = {"OVERT_DATA": str(stage.home / "new")} if "--new" in words else {}
        self._process = subprocess.Popen(
            [OVERT, *(word for word in words if word != "--new")],
            cwd=stage.work,
            env=stage.environment(**more),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(slave)
        self.background = background
        self.screen = Screen(columns, lines, self.type)
        self._feed = Feed(self.screen)
        self._hide = ((str(stage.home), HOME), (ANSWERS_AS, MODEL))

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def until(self, wanted: str) -> None:
        """Until the screen shows it and has come to rest."""
        self._read(lambda: any(wanted in line for line in self.screen.display), wanted)
        self.rest()

    def see(self, wanted: str) -> None:
        """Until the screen shows it. What moves on it does not come to rest."""
        self._read(lambda: any(wanted in line for line in self.screen.display), wanted)

    def rest(self) -> None:
        while self._more(QUIET):
            continue

    def _read(self, true: Callable[[], bool], wanted: str) -> None:
        until = time.monotonic() + PATIENCE
        while not true():
            if not self._more(until - time.monotonic()):
                shown = "\n".join(self.screen.display)
                raise SystemExit(f"{wanted!r} did not come; the screen:\n{shown}")

    def _more(self, seconds: float) -> bool:
        if seconds <= 0 or not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:
            return False
        if b"\x1b]11;?" in data:
            red, green, blue = (GROUND[self.background][0][at : at + 2] * 2 for at in (1, 3, 5))
            self.type(f"\x1b]11;rgb:{red}/{green}/{blue}\x1b\\")
        self._feed.feed(data)
        return bool(data)

    def picture(self, name: str) -> None:
        PLACE.mkdir(parents=True, exist_ok=True)
        size = f"{self.screen.columns}x{self.screen.lines}"
        path = PLACE / f"{name}-{size}-{self.background}.svg"
        path.write_text(svg(self.screen, self.background, title=name, hide=self._hide))
        print(path.name, flush=True)

    def close(self) -> None:
        if self._process.poll() is None:
            os.kill(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        os.close(self._master)


@contextmanager
def playing(stage: Stage, *words: str, size: tuple[int, int], background: Background) -> Iterator[Player]:
    player = Player(stage, words, size, background)
    try:
        yield player
    finally:
        player.close()


def configure(stage: Stage) -> None:
    config = stage.home / ".config/overt/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(CONFIG.format(url=stage.server.url, model=MODEL))


def record(stage: Stage, script: Playing) -> None:
    """Sixty turns and a few short sessions beside them, made by the program itself."""
    make_project(stage.work)
    configure(stage)
    for words in (("init", "-q", "-b", "prices"), ("add", "-A"), ("commit", "-qm", "a small shop")):
        author = ("-c", "user.name=Ada", "-c", "user.email=ada@shop.test")
        subprocess.run(["git", *author, *words], cwd=stage.work, env=stage.environment(), check=True)
    stage.run("trust")
    for name, exchange in others():
        stage.run("-p", script.add(exchange), "--yolo", "--name", name)
    exchanges = session()
    for number, exchange in enumerate(exchanges):
        which = ("--name", "prices and orders") if number == 0 else ("-c",)
        stage.run("-p", script.add(exchange), "--yolo", *which)
        print(f"\rrecorded {number + 1} of {len(exchanges)} turns", end="", flush=True)
    print(flush=True)


def take(stage: Stage, script: Playing, size: tuple[int, int], background: Background) -> None:
    with playing(stage, "--new", size=size, background=background) as player:
        player.until("yes, trust it")
        player.picture("first-run")
    with playing(stage, "-c", "--permission-mode", "review", size=size, background=background) as player:
        player.until("review")
        _ask(player, script, ANSWER)
        player.until("does not exist yet")
        player.picture("answer")
        _ask(player, script, EDIT)
        player.until("CENT")
        player.picture("edit-approval")
        player.type("y")
        player.until("is exact now")
        _ask(player, script, DANGER)
        player.until("git push --force")
        player.picture("dangerous-command")
        player.type("\x1b")
        player.until("leave both")
        for name, command, wanted in (("context", "/context", "AGENTS.md"), ("sessions", "/resume", "release notes")):
            player.type(f"{command}\r")
            player.until(wanted)
            player.picture(name)
            player.type("q" if name == "context" else "\x1b")
            player.rest()
        player.type("/rewind\r")
        player.until("Clean up what")
        player.type(DOWN)
        player.until("+     total = float(")
        player.picture("rewind")
    take_agents(stage, script, size, background)


def take_agents(stage: Stage, script: Playing, size: tuple[int, int], background: Background) -> None:
    """Three agents at work: below the conversation, as a tree, and one of them opened."""
    with playing(stage, "--yolo", size=size, background=background) as player:
        player.until("yolo")
        _ask(player, script, DELEGATE)
        player.see("bash python")
        player.see("3 agents")
        player.picture("agents-at-work")
        player.type(DOWN)
        player.see("3 of 3 running")
        player.picture("agents")
        player.type("\r")
        player.see("half up as")
        player.picture("agent-opened")


def _ask(player: Player, script: Playing, exchange: Exchange) -> None:
    player.type(script.add(exchange))
    player.rest()
    player.type("\r")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.pictures", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one size and one background only")
    parser.add_argument("--recorded", type=Path, help="keep the session in this folder, or take it from there")
    given = parser.parse_args()
    kept: Path = given.recorded or Path(mkdtemp(prefix="overt-pictures-"))
    # As long as HOME. What is recorded belongs to its place, so the same one is taken again.
    again = kept / "place"
    home = Path("/tmp") / (again.read_text() if again.exists() else os.urandom(2).hex())
    script = Playing()
    try:
        with ModelServer(choose=script.choose, models=(MODEL,)) as server:
            stage = Stage(home, server)
            if not again.exists():
                home.mkdir()
                record(stage, script)
                shutil.copytree(home, kept / "home", symlinks=True)
                again.write_text(home.name)
            for size in SIZES[:1] if given.quick else SIZES:
                for background in BACKGROUNDS[:1] if given.quick else BACKGROUNDS:
                    shutil.rmtree(home, ignore_errors=True)
                    shutil.copytree(kept / "home", home, symlinks=True)
                    configure(stage)
                    take(stage, script, size, background)
    finally:
        shutil.rmtree(home, ignore_errors=True)
        if not given.recorded:
            shutil.rmtree(kept, ignore_errors=True)


if __name__ == "__main__":
    main()
