"""What may stand behind each slash command: one table, from which the menu of the composer is filled.

An offer is the whole argument, so that `revoke bash(git push:*)` and `3 files` need no grammar of their own. What is
not in the table takes nothing or any text.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from time import monotonic
from typing import NamedTuple

from overt.app.command_table import THEMES, USAGE
from overt.app.conversation import Conversation
from overt.app.slash_effort import DEFAULT, USUAL
from overt.config.always import load_always
from overt.core.errors import OvertError
from overt.core.settings import Mode
from overt.lib.catalogue import say
from overt.sessions.index import Summary, paths, summary

MODES: tuple[Mode, ...] = ("review", "auto", "plan", "yolo")
SHELVES = ("global/", "project/")
"""How the names of private notes begin; other rows of `/memory` are files that it does not remove."""
MOST_SESSIONS = 100
LONGEST = 60
MODELS_FRESH = 300.0
SESSIONS_FRESH = 5.0
MODELS_WITHIN = 15.0
"""Seconds."""


class Offer(NamedTuple):
    """`label` is what is shown where the whole is too long; `also` are words by which it is found as well.

    `more`: something else must or may follow, and is offered next.
    """

    text: str
    detail: str = ""
    label: str = ""
    also: str = ""
    more: bool = False


class Around:
    """What offers are made from. Lives in the engine's thread; what takes long is fetched beside and kept."""

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self._models: tuple[float, tuple[Offer, ...]] | None = None
        self._sessions: tuple[float, tuple[Summary, ...]] = (0.0, ())
        self._fetching: asyncio.Task[None] | None = None

    def models(self) -> tuple[Offer, ...]:
        """As far as they are known; `fetched` waits for the rest."""
        if self._models is None or monotonic() - self._models[0] > MODELS_FRESH:
            self._fetching = self._fetching or asyncio.create_task(self._fetch())
        current = self.conversation.agent.spec.params.model
        return self._models[1] if self._models else (Offer(current, say("tui.complete.current")),)

    @property
    def fetching(self) -> bool:
        return self._fetching is not None and self._models is None

    async def fetched(self) -> None:
        if self._fetching:
            await asyncio.wait([self._fetching])

    async def _fetch(self) -> None:
        try:
            async with asyncio.timeout(MODELS_WITHIN):
                from overt.app._models_known import known_models  # late: 32 ms

                found = await known_models(self.conversation)
            self._models = (monotonic(), tuple(Offer(name, detail) for name, detail in found))
        except (OvertError, OSError):  # a TimeoutError is one
            self._models = self._models or (monotonic(), self.models())
        finally:
            self._fetching = None

    async def sessions(self) -> tuple[Summary, ...]:
        when, known = self._sessions
        if not when or monotonic() - when > SESSIONS_FRESH:
            setting = self.conversation.setting
            known = await asyncio.to_thread(_newest, setting.environment.data_dir, setting.roots.project)
            self._sessions = (monotonic(), known)
        return known

    async def close(self) -> None:
        if self._fetching:
            self._fetching.cancel()
            await asyncio.wait([self._fetching])


Offers = Callable[[Around, str], Awaitable[Sequence[Offer]]]


class Arguments(NamedTuple):
    """`wanted`: without an argument the command says little, so that Enter on its name asks for one first."""

    offers: Offers
    wanted: bool = False


def _newest(data_dir: str, project: str) -> tuple[Summary, ...]:
    found: list[Summary] = []
    for path in paths(data_dir, project)[:MOST_SESSIONS]:
        try:
            found.append(summary(path))
        except (OSError, OvertError):
            continue
    return tuple(found)


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text[:4000].splitlines() if line.strip()), "")
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"


def _words(*texts: str) -> Offers:
    async def offers(_around: Around, _given: str) -> Sequence[Offer]:
        return [Offer(text) for text in texts]

    return offers


async def _mode(around: Around, _given: str) -> Sequence[Offer]:
    """The one in use first, so that an Enter too many changes nothing."""
    current = around.conversation.mode
    ordered = (current, *(mode for mode in MODES if mode != current))
    return [Offer(mode, say("tui.complete.current") if mode == current else "") for mode in ordered]


async def _model(around: Around, _given: str) -> Sequence[Offer]:
    return around.models()


async def _effort(around: Around, _given: str) -> Sequence[Offer]:
    efforts = around.conversation.agent.spec.efforts
    return [] if efforts is None else [Offer(level) for level in (*(efforts or USUAL), DEFAULT)]


async def _session(around: Around, _given: str) -> Sequence[Offer]:
    own = around.conversation.id
    return [Offer(each.id, each.title, also=each.title) for each in await around.sessions() if each.id != own]


def _turns(around: Around, *, more: bool) -> list[Offer]:
    """The last first: it is the one that people regret."""
    marks = [mark for mark in around.conversation.marks if mark.text]
    return [Offer(str(mark.turn), text := _first_line(mark.text), also=text, more=more) for mark in reversed(marks)]


async def _fork(around: Around, _given: str) -> Sequence[Offer]:
    return _turns(around, more=False)


async def _rewind(around: Around, given: str) -> Sequence[Offer]:
    turn, blank, _ = given.partition(" ")
    if not blank:
        return _turns(around, more=True)
    return [Offer(f"{turn} {part}", say(f"tui.complete.{part}"), part) for part in ("both", "conversation", "files")]


async def _export(around: Around, _given: str) -> Sequence[Offer]:
    names = [f"overt-{around.conversation.id}.{ending}" for ending in ("md", "html", "json")]
    folder = around.conversation.workspace
    return [Offer(name) for name in names if not os.path.lexists(os.path.join(folder, name))]


async def _pin(around: Around, given: str) -> Sequence[Offer]:
    pins = around.conversation.history.pins
    if given.startswith("--off "):
        return [Offer(f"--off {number}", _first_line(pin), str(number)) for number, pin in enumerate(pins, 1)]
    last = [Offer("last", say("tui.complete.pin_last"))] if around.conversation.marks else []
    return [*last, *([Offer("--off", say("tui.complete.pin_off"), more=True)] if pins else [])]


async def _memory(around: Around, given: str) -> Sequence[Offer]:
    verb, blank, _ = given.partition(" ")
    if verb in ("remove", "rm") and blank:
        from overt.app.notes import Notebook  # late: 10 ms

        rows = await asyncio.to_thread(lambda: Notebook(around.conversation.setting).rows())
        return [Offer(f"{verb} {row.name}", row.first, row.name) for row in rows if row.name.startswith(SHELVES)]
    if verb == "add" and blank:
        return [Offer("add --global", say("tui.complete.memory_global"), "--global", more=True)]
    if blank:
        return []
    return [
        Offer("list"),
        Offer("add", say("tui.complete.memory_add"), more=True),
        Offer("remove", say("tui.complete.memory_remove"), more=True),
    ]


async def _permissions(around: Around, given: str) -> Sequence[Offer]:
    setting = around.conversation.setting
    rules = await asyncio.to_thread(lambda: load_always(setting.environment, setting.roots.project).rules)
    if given.startswith("revoke "):
        return [Offer(f"revoke {rule.text()}", rule.action, rule.text()) for rule in rules]
    return [Offer("revoke", say("tui.complete.revoke"), more=True)] if rules else []


async def _config(around: Around, _given: str) -> Sequence[Offer]:
    from overt.app.queries import configuration  # late: 2 ms

    rows, _ = configuration(around.conversation.setting)
    return [Offer("all"), *(Offer(row.key, f"{row.value}") for row in rows)]


async def _jobs(around: Around, given: str) -> Sequence[Offer]:
    known = around.conversation.session_workspace.list_jobs()
    if given.startswith("stop "):
        return [Offer(f"stop {job.id}", job.command, job.id) for job in known if job.state == "running"]
    stop = [Offer("stop", say("tui.complete.stop"), more=True)] if any(job.state == "running" for job in known) else []
    return [*(Offer(job.id, job.command, also=job.command) for job in known), *stop]


FORCE = _words("--force")

ARGUMENTS: dict[str, Arguments] = {
    "budget": Arguments(_words("off")),
    "config": Arguments(_config),
    "context": Arguments(_words("all")),
    "effort": Arguments(_effort),
    "export": Arguments(_export),
    "fork": Arguments(_fork),
    "jobs": Arguments(_jobs),
    "memory": Arguments(_memory),
    "mode": Arguments(_mode, wanted=True),
    "model": Arguments(_model),
    "permissions": Arguments(_permissions),
    "pin": Arguments(_pin),
    "models": Arguments(_model),
    "redo": Arguments(FORCE),
    "resume": Arguments(_session),
    "rewind": Arguments(_rewind),
    "stats": Arguments(_words("all")),
    "theme": Arguments(_words(*THEMES), wanted=True),
    "undo": Arguments(_words("--yes", "--force", "--git")),
}
NEEDED = frozenset(name for name, usage in USAGE.items() if usage and not usage.startswith("["))
"""Commands that are nothing without an argument."""
