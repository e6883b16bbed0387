"""Completion in the composer: commands, their arguments, and files of the workspace.

Lives in the thread of the engine. A question is dropped as soon as the next one comes, so that nobody who types
waits for an answer to what they have typed before.
"""

import asyncio
import os
import re
from collections.abc import Callable
from time import time
from typing import TypeVar

from overt.app.command_registry import CommandRegistry
from overt.app.completion.choices import ENDS, Choice, Completion, CompletionRequest, request_at
from overt.app.completion.completion_facts import CompletionFacts
from overt.app.completion.frecency import FileUses
from overt.app.completion.ignore_files import IgnoreRules
from overt.app.completion.offered_files import FolderSearch, PathMatch, PathQuery
from overt.app.completion.ranking import best_matches
from overt.app.conversation import Conversation
from overt.app.slash_command import Offer
from overt.core.errors import OvertError
from overt.core.protocols import Journal
from overt.lib.logs.background import log_failure
from overt.lib.text import first_line, visible
from overt.lib.translations import say

T = TypeVar("T")
Answer = Callable[[int, Completion], None]

SEARCH_WITHIN = 2.0
"""Seconds."""
MOST_OFFERS = 200
MOST_AGENTS = 20
SHELL_SIGNS = r"[^\w@%+=:,./-]"


class Completer:
    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._facts = CompletionFacts(conversation)
        setting = conversation.setting
        folders = (*setting.config.allow_write, *setting.config.allow_read)
        self._uses = FileUses(setting.environment.data_dir, conversation.workspace)
        self._folders = FolderSearch(
            (conversation.workspace, *map(os.path.realpath, folders)),
            ignored=IgnoreRules(setting.roots.project),
            uses=self._uses,
        )
        self._asking: asyncio.Task[None] | None = None
        self._disk_task: asyncio.Task[object] | None = None
        self._counting: set[asyncio.Task[None]] = set()
        self._writing = asyncio.Lock()

    def ask(self, serial: int, text: str, cursor: int, tab: bool, answer: Answer) -> None:
        """Call `answer` in this thread: once, and again if a better completion follows."""
        if self._asking:
            self._asking.cancel()
        self._asking = asyncio.create_task(self._answer(serial, text, cursor, tab, answer))
        self._asking.add_done_callback(log_failure("completion"))

    async def _answer(self, serial: int, text: str, cursor: int, tab: bool, answer: Answer) -> None:
        completion = await self.complete(text, cursor, tab=tab)
        answer(serial, completion)
        if completion.partial:
            await self._facts.fetched()
            answer(serial, await self.complete(text, cursor, tab=tab))

    async def complete(self, text: str, cursor: int, *, tab: bool = False) -> Completion:
        question = request_at(text, cursor, tab=tab)
        if question is None:
            return Completion("command", cursor, cursor)
        try:
            match question.kind:
                case "command":
                    return complete_commands(question, self._conversation.commands)
                case "argument":
                    return await self._arguments(question)
                case _:
                    return await self._paths(question)
        except (OvertError, OSError):
            return Completion(question.kind, question.start, question.end)

    def sent(self, text: str) -> None:
        """Count what a prompt points at: what is used is offered first."""
        if "@" in text:
            task = asyncio.create_task(self._count(text))
            self._counting.add(task)
            task.add_done_callback(self._counting.discard)
            task.add_done_callback(log_failure("completion"))

    async def close(self) -> None:
        if self._asking:
            self._asking.cancel()
        await self._facts.close()
        waiting = [task for task in (self._asking, self._disk_task, *self._counting) if task]
        if waiting:
            await asyncio.wait(waiting, timeout=SEARCH_WITHIN)

    # ── arguments ────────────────────────────────────────────────────────────────────────────────────────

    async def _arguments(self, question: CompletionRequest) -> Completion:
        command = self._conversation.commands.get(question.name)
        if command is None or command.complete is None:
            return Completion("argument", question.start, question.end)
        offers = await command.complete(self._facts, question.word)
        matches = best_matches((each for each in offers if _is_plain(each.text)), question.word, _texts)
        return Completion(
            "argument",
            question.start,
            question.end,
            choices=tuple(
                Choice(offer.text, offer.label or offer.text, offer.detail, again=offer.more)
                for offer in matches[:MOST_OFFERS]
            ),
            # Who has typed nothing yet may want the command as it is: an Enter must not choose for them.
            selected=0 if question.word or command.asks_for_argument else -1,
            more=max(len(matches) - MOST_OFFERS, 0),
            partial=self._facts.fetching,
        )

    # ── files ────────────────────────────────────────────────────────────────────────────────────────────

    async def _paths(self, question: CompletionRequest) -> Completion:
        folders = self._folders
        folder, slash, name = question.word.rpartition("/")
        wanted = PathQuery(folder + slash, name, time())
        matches, more = await self._alone(lambda: folders.find(wanted))
        if not matches and name and question.kind == "file" and not slash:
            matches = await self._below(name)
        if not matches and name:
            matches, more = await self._alone(lambda: folders.find(wanted._replace(loose=True)))
        if [each.path for each in matches] == [question.word] and not matches[0].folder:
            matches = []  # it is typed already
        point = self._reference if question.kind == "file" else _shell_name
        choices = tuple(point(each, wanted.folder, quoted=question.quoted) for each in matches)
        known = self._conversation.session_workspace.shared.known_servers
        if known and question.kind == "file" and not question.quoted:
            from overt.app.mcp.resources import offer_resources  # late: 6 ms

            choices += tuple(offer_resources(known, question.word))
        if question.kind == "file" and not question.quoted and not slash:
            choices += self._agents(question.word)
        return Completion(question.kind, question.start, question.end, choices=choices, more=more)

    def _agents(self, word: str) -> tuple[Choice, ...]:
        """Offer agents after the files. Built-in agents are offered only if their name begins with the word."""
        conversation, word = self._conversation, word.removeprefix("agent-")
        if conversation.agents is None or "task" not in conversation.agent.spec.tools:
            return ()
        profiles = conversation.agents.library.startable(conversation.agent.runtime.gate.permissions.rules)
        offered = [each for each in profiles if each.origin != "built-in" or (word and each.name.startswith(word))]
        matches = best_matches(offered, word, lambda profile: (profile.name,))[:MOST_AGENTS]
        return tuple(Choice(f"@{each.name}", each.name, first_line(each.description)) for each in matches)

    async def _alone(self, work: Callable[[], T]) -> T:
        """One look at the disk at a time: where it is slow, those who gave up waiting must not pile up."""
        while self._disk_task and not self._disk_task.done():
            await asyncio.wait([self._disk_task])
        looking = asyncio.ensure_future(asyncio.to_thread(work))
        self._disk_task = looking
        return await asyncio.shield(looking)

    async def _below(self, name: str) -> list[PathMatch]:
        """Files and folders of that name further down, of those that the file tools would find."""
        folders, files = self._folders, self._conversation.session_workspace.files("complete", Journal())
        try:
            async with asyncio.timeout(SEARCH_WITHIN):
                names = await files.names()
                return await self._alone(lambda: folders.below(names, name, time()))
        except (OvertError, TimeoutError):
            return []

    def _reference(self, match: PathMatch, folder: str, *, quoted: bool) -> Choice:
        """As `@` references are written: in quotes where the name needs them."""
        path = f"{match.path}/" if match.folder else match.path
        label = path.removeprefix(folder)
        if not self._conversation.agent.runtime.gate.may_read(match.path.removeprefix("./")):
            detail = say("tui.complete.denied")
        else:
            detail = f"→ {match.link}" if match.link else ""
        if quoted or any(char in ENDS or char == "@" or char.isspace() for char in path):
            return Choice(f'@"{path}"', label, detail, folder=match.folder, again=match.folder, back=int(match.folder))
        return Choice(f"@{path}", label, detail, folder=match.folder, again=match.folder)

    async def _count(self, text: str) -> None:
        from overt.app.completion.count_mentions import mentioned_paths  # late: 1.0 ms

        workspace = self._conversation.workspace
        async with self._writing:
            await asyncio.to_thread(lambda: self._uses.add(mentioned_paths(text, workspace), time()))


def complete_commands(question: CompletionRequest, registry: CommandRegistry) -> Completion:
    """Offer names before aliases, and aliases only once something is typed. The one that matches is inserted."""
    names = [(command.name, command.describe(), command) for command in registry.listed()]
    if question.word:
        for command in registry.listed():
            about = say("tui.complete.alias", name=f"/{command.name}")
            names += [(alias, about, command) for alias in command.aliases]
    choices = tuple(
        Choice(f"/{name}", f"/{name}", about, again=command.needs_argument or command.asks_for_argument)
        for name, about, command in best_matches(names, question.word, lambda row: (row[0],))
    )
    return Completion("command", question.start, question.end, choices=choices)


def _is_plain(text: str) -> bool:
    return "\n" not in text and "\t" not in text and visible(text) == text


def _texts(offer: Offer) -> tuple[str, ...]:
    return (offer.text, offer.also) if offer.also else (offer.text,)


def _shell_name(match: PathMatch, folder: str, *, quoted: bool) -> Choice:
    path = f"{match.path}/" if match.folder else match.path
    insert = re.sub(SHELL_SIGNS, lambda sign: f"\\{sign[0]}", path)
    return Choice(insert, path.removeprefix(folder), folder=match.folder, again=match.folder)
