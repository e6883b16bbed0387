"""`/undo`, `/redo` and `/rewind`: files and the conversation taken back, and brought back."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from overt.app.completion.completion_facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome, Offer, offer_words
from overt.core.errors import OvertError
from overt.core.history import Mark
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.undo.session_undo import SessionUndo, UndoRequest, UndoResult

PARTS = ("conversation", "files", "both")
FLAGS = ("--yes", "--force", "--git")


async def undo(conversation: Conversation, argument: str) -> CommandOutcome:
    from overt.app.undo.session_undo import UndoRequest  # late: 11 ms

    yes, force, git = _flags(argument, UNDO, FLAGS)
    return await _run(conversation, UndoRequest(yes=yes, force=force, git=git))


async def redo(conversation: Conversation, argument: str) -> CommandOutcome:
    from overt.app.undo.session_undo import UndoRequest  # late: 11 ms

    (force,) = _flags(argument, REDO, ("--force",))
    return await _run(conversation, UndoRequest(redo=True, force=force))


async def rewind(conversation: Conversation, argument: str) -> CommandOutcome:
    from overt.app.undo.session_undo import UndoRequest, turn_lines  # late: 11 ms

    yes, force, git = (flag in argument.split() for flag in FLAGS)
    words = [word for word in argument.split() if word not in FLAGS]
    if not words:
        points = await asyncio.to_thread((await _open(conversation)).points)
        return CommandOutcome(lines=turn_lines(points) or (say("undo.no_turns"),))
    part = words[1] if len(words) == 2 else "both"
    if len(words) > 2 or part not in PARTS or not (words[0].isascii() and words[0].isdecimal()):
        raise OvertError(say("undo.usage"))
    turn = int(words[0][:9])
    if not 1 <= turn <= conversation.session.turn:
        raise OvertError(say("undo.no_turn", turn=turn, last=conversation.session.turn))
    mark = _mark(conversation, turn) if part != "files" else None
    done = CommandOutcome()
    if part != "conversation":
        done = await _run(conversation, UndoRequest(turn=turn, yes=yes, force=force, git=git))
    if mark is not None:
        conversation.rewind(mark)
        done = CommandOutcome(lines=(*done.lines, say("undo.rewound", turn=turn)))
    return done


def _mark(conversation: Conversation, turn: int) -> Mark:
    """Where a turn began; one that nothing was said in begins where the next one does."""
    for mark in conversation.session.marks:
        if mark.turn >= turn and mark.text:
            return mark
    raise OvertError(say("undo.no_conversation", turn=turn))


def _flags(argument: str, command: Command, allowed: tuple[str, ...]) -> list[bool]:
    """For each of the `allowed` flags, whether it was given."""
    words = argument.split()
    if unknown := sorted(set(words) - set(allowed)):
        raise OvertError(say("undo.only_force", argument=unknown[0], usage=f"/{command.name} {command.usage}"))
    return [flag in words for flag in allowed]


async def _open(conversation: Conversation) -> "SessionUndo":
    from overt.app.undo.session_undo import SessionUndo  # late: 11 ms

    shared = conversation.session_workspace.shared
    await shared.wait_for_records()
    return SessionUndo(conversation.path, conversation.session_workspace.workspace, shared.keeper)


async def _run(conversation: Conversation, request: "UndoRequest") -> CommandOutcome:
    from overt.app.undo.git_undo import GitUndo, run_undo  # late: 12 ms

    work, shared = await _open(conversation), conversation.session_workspace.shared
    git = GitUndo(conversation.workspace, shared.keeper.store, shared.git)
    task = asyncio.ensure_future(asyncio.to_thread(run_undo, work, request, git))
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task})  # files are being changed: it ends, and is put on record
        raise
    finally:
        if task.done() and not task.exception():
            _record(conversation, task.result())
    return CommandOutcome(lines=task.result().lines)


def _record(conversation: Conversation, done: "UndoResult") -> None:
    for fact in done.facts:
        conversation.record(fact)
    if done.notice:
        conversation.tell(done.notice)


async def rewind_offers(facts: CompletionFacts, argument: str) -> Sequence[Offer]:
    turn, blank, _ = argument.partition(" ")
    if not blank:
        return facts.turns(more=True)
    return [Offer(f"{turn} {part}", say(f"tui.complete.{part}"), part) for part in ("both", "conversation", "files")]


async def list_turns(conversation: Conversation, _text: str, _number: int) -> object:
    from overt.app.undo import session_changes  # late: 13 ms

    return await session_changes.list_turns(conversation)


async def show_undone(conversation: Conversation, _text: str, turn: int) -> object:
    from overt.app.undo.session_changes import preview_rewind  # late: 13 ms

    return await preview_rewind(conversation, turn)


UNDO = Command(name="undo", run=undo, usage="[--yes] [--force] [--git]", order=190, complete=offer_words(*FLAGS))
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
