"""`/undo`, `/redo` and `/rewind`: files and the conversation taken back, and brought back."""

import asyncio
from collections.abc import Callable
from typing import Any

from overt.app.conversation import Conversation
from overt.app.late_hands import LateHands
from overt.app.slash import Done
from overt.app.undo import Undoing, Undone, Words, first_line, turn_lines
from overt.core.errors import OvertError
from overt.core.history import Mark
from overt.lib.catalogue import say

PARTS = ("conversation", "files", "both")


async def undo(conversation: Conversation, argument: str) -> Done:
    force = _forced(argument, "/undo")
    work = await _work(conversation)
    return await _done(conversation, lambda: work.undo(force=force, words=Words()))


async def redo(conversation: Conversation, argument: str) -> Done:
    force = _forced(argument, "/redo")
    work = await _work(conversation)
    return await _done(conversation, lambda: work.redo(force=force, words=Words(force="/redo --force", redo="/undo")))


async def rewind(conversation: Conversation, argument: str) -> Done:
    words = argument.split()
    force = "--force" in words
    words = [word for word in words if word != "--force"]
    work = await _work(conversation)
    if not words:
        points = await asyncio.to_thread(work.points)
        return Done(lines=turn_lines(points, first_line) or (say("undo.no_turns"),))
    part = words[1] if len(words) == 2 else "both"
    if len(words) > 2 or part not in PARTS or not (words[0].isascii() and words[0].isdecimal()):
        raise OvertError(say("undo.usage"))
    turn = int(words[0][:9])
    if not 1 <= turn <= conversation.turn:
        raise OvertError(say("undo.no_turn", turn=turn, last=conversation.turn))
    mark = _mark(conversation, turn) if part != "files" else None
    done = Done()
    if part != "conversation":
        again = Words(force=f"/rewind {turn} {part} --force")
        done = await _done(conversation, lambda: work.rewind(turn, force=force, words=again))
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


def _forced(argument: str, name: str) -> bool:
    if argument not in ("", "--force"):
        raise OvertError(say("undo.only_force", name=name, argument=argument))
    return argument == "--force"


async def _work(conversation: Conversation) -> Undoing:
    hands = conversation.agent.hands
    if not isinstance(hands, LateHands):
        raise OvertError(say("undo.unkept"))
    await hands.settled()
    real: Any = hands.real()
    return Undoing(conversation.path, real.workspace, real.keeper)


async def _done(conversation: Conversation, work: Callable[[], Undone]) -> Done:
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


def _record(conversation: Conversation, found: Undone) -> None:
    for fact in found.facts:
        conversation.record(fact)
    if found.told:
        conversation.tell(found.told)
