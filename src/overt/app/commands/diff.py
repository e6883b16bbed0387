"""`/diff`: what this session changed; where that is nothing, what git says is not committed."""

from collections.abc import Iterator

from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome
from overt.core.errors import OvertError
from overt.core.protocols import Profile
from overt.core.views import FileDiff
from overt.lib.translations import say

GIT = "git --no-optional-locks --no-pager"
UNCOMMITTED = (
    f"{GIT} diff --no-ext-diff --no-textconv --stat=100 HEAD -- . && "
    f"{GIT} status --short --untracked-files=normal -- . | grep '^??' || true"
)
PATIENCE = 10_000
"""Milliseconds."""


async def diff(conversation: Conversation, _argument: str) -> CommandOutcome:
    from overt.app.undo.session_changes import session_changes  # late: 13 ms

    files, unknown, agents = await session_changes(conversation)
    if files or unknown:
        lines = (line for file in files for line in _lines(file, agents.get(file.path, "")))
        return CommandOutcome(lines=(*lines, *_summary(files), *unknown))
    return CommandOutcome(lines=(say("diff.nothing"), *await _uncommitted(conversation)))


def _lines(file: FileDiff, agents: str) -> Iterator[str]:
    head = say(f"diff.{file.change}", path=file.path, added=file.added, removed=file.removed)
    yield f"{head} ({agents})" if agents else head
    if not file.diff:
        yield f"  {say('diff.no_text')}"
    yield from (f"  {line}" for line in file.diff.splitlines())


def _summary(files: tuple[FileDiff, ...]) -> tuple[str, ...]:
    if not files:
        return ()
    added, removed = sum(file.added for file in files), sum(file.removed for file in files)
    return (say("diff.summary", files=len(files), added=added, removed=removed),)


async def _uncommitted(conversation: Conversation) -> tuple[str, ...]:
    """From git, run in the sandbox and unable to write; nothing where there is no git or no repository."""
    programs = conversation.session_workspace.programs("", Profile(reading=True))
    try:
        ran = await programs.run(UNCOMMITTED, timeout_ms=PATIENCE)
    except OvertError:
        return ()
    text = ran.text.rstrip()
    return (say("diff.uncommitted"), *text.splitlines()) if ran.code == 0 and text else ()


async def list_changes(conversation: Conversation, _text: str, _number: int) -> object:
    from overt.app.undo.session_changes import session_changes  # late: 13 ms

    return await session_changes(conversation)


COMMAND = Command(name="diff", run=diff, order=180, anytime=True, panel="diff", queries={"diff": list_changes})
