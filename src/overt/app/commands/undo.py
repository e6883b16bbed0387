"""`/undo`, `/redo` and `/rewind`: files and the conversation taken back, and brought back."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from overt.app.command import Command, Done, Offer, offer_words
from overt.app.completion.facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.core.errors import OvertError
from overt.core.history import Mark
from overt.lib.catalogue import say

if TYPE_CHECKING:
    from overt.app.undo.git import GitUndo
    from overt.app.undo.turns import Undoing, Undone

PARTS = ("conversation", "files", "both")
FLAGS = ("--yes", "--force")


async def undo(conversation: Conversation, argument: str) -> Done:
    from overt.app.undo.git import run_undo, split_git_flag  # late: 21 ms
    from overt.app.undo.turns import UndoOptions  # late: 20 ms

    with_git, argument = split_git_flag(argument)
    flags = _flags(argument, UNDO)
    work = await _work(conversation)
    work.require_enabled()
    git, options = _git(conversation), UndoOptions(yes="--yes" in flags, force="--force" in flags)

    def run() -> "Undone":
        return run_undo(git, work.points(), 0, lambda: work.undo(options), with_git=with_git, undo="/undo --git")

    return await _done(conversation, run)


async def redo(conversation: Conversation, argument: str) -> Done:
    from overt.app.undo.turns import UndoOptions  # late: 20 ms

    force = "--force" in _flags(argument, REDO, ("--force",))
    work = await _work(conversation)
    work.require_enabled()
    options = UndoOptions(force=force, force_command="/redo --force", redo_command="/undo")
    return await _done(conversation, lambda: work.redo(options))


async def rewind(conversation: Conversation, argument: str) -> Done:
    from overt.app.undo.git import run_undo, split_git_flag  # late: 21 ms
    from overt.app.undo.turns import UndoOptions, turn_lines  # late: 20 ms

    with_git, argument = split_git_flag(argument)
    words = argument.split()
    yes, force = "--yes" in words, "--force" in words
    words = [word for word in words if word not in FLAGS]
    work = await _work(conversation)
    if not words:
        points = await asyncio.to_thread(work.points)
        return Done(lines=turn_lines(points) or (say("undo.no_turns"),))
    part = words[1] if len(words) == 2 else "both"
    if len(words) > 2 or part not in PARTS or not (words[0].isascii() and words[0].isdecimal()):
        raise OvertError(say("undo.usage"))
    turn = int(words[0][:9])
    if not 1 <= turn <= conversation.turn:
        raise OvertError(say("undo.no_turn", turn=turn, last=conversation.turn))
    mark = _mark(conversation, turn) if part != "files" else None
    done = Done()
    if part != "conversation":
        work.require_enabled()
        git, options, undo = _git(conversation), UndoOptions(yes=yes, force=force), f"/rewind {turn} files --git"

        def run() -> "Undone":
            return run_undo(git, work.points(), turn, lambda: work.rewind(turn, options), with_git=with_git, undo=undo)

        done = await _done(conversation, run)
    if mark is not None:
        conversation.rewind(mark)
        done = Done(lines=(*done.lines, say("undo.rewound", turn=turn)))
    return done


def _mark(conversation: Conversation, turn: int) -> Mark:
    """Where a turn began; one that nothing was said in begins where the next one does."""
    for mark in conversation.marks:
        if mark.turn >= turn and mark.text:
            return mark
    raise OvertError(say("undo.no_conversation", turn=turn))


def _flags(argument: str, command: Command, allowed: tuple[str, ...] = FLAGS) -> set[str]:
    flags = set(argument.split())
    if unknown := sorted(flags - set(allowed)):
        raise OvertError(say("undo.only_force", argument=unknown[0], usage=f"/{command.name} {command.usage}"))
    return flags


async def _work(conversation: Conversation) -> "Undoing":
    from overt.app.undo.turns import Undoing  # late: 20 ms

    shared = conversation.session_workspace.shared
    await shared.wait_for_records()
    return Undoing(conversation.path, conversation.session_workspace.workspace, shared.keeper)


def _git(conversation: Conversation) -> "GitUndo":
    from overt.app.undo.git import GitUndo  # late: 21 ms

    shared = conversation.session_workspace.shared
    return GitUndo(conversation.workspace, shared.keeper.store, shared.git)


async def _done(conversation: Conversation, work: "Callable[[], Undone]") -> Done:
    task = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        found = await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})  # files are being changed: it ends, and is put on record
        if not task.exception():
            _record(conversation, task.result())
        raise
    _record(conversation, found)
    return Done(lines=found.lines)


def _record(conversation: Conversation, found: "Undone") -> None:
    for fact in found.facts:
        conversation.record(fact)
    if found.told:
        conversation.tell(found.told)


async def rewind_offers(facts: CompletionFacts, argument: str) -> Sequence[Offer]:
    turn, blank, _ = argument.partition(" ")
    if not blank:
        return facts.turns(more=True)
    return [Offer(f"{turn} {part}", say(f"tui.complete.{part}"), part) for part in ("both", "conversation", "files")]


async def list_turns(conversation: Conversation, _text: str, _number: int) -> object:
    from overt.app.undo.turn_changes import turns  # late: 36 ms

    return await turns(conversation)


async def show_undone(conversation: Conversation, _text: str, turn: int) -> object:
    from overt.app.undo.turn_changes import undone  # late: 36 ms

    return await undone(conversation, turn)


UNDO = Command(
    name="undo", run=undo, usage="[--yes] [--force] [--git]", order=190, complete=offer_words(*FLAGS, "--git")
)
REDO = Command(name="redo", run=redo, usage="[--force]", order=200, complete=offer_words("--force"))
REWIND = Command(
    name="rewind",
    run=rewind,
    usage="[TURN [conversation | files | both] [--yes] [--force] [--git]]",
    order=210,
    panel="rewind",
    complete=rewind_offers,
    queries={"turns": list_turns, "undone": show_undone},
)
