"""How far a dangerous command reaches: what it would change can be brought back, or the change is final."""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct

from overt.core.protocols import CommandChange, Loss, SandboxState, Survey
from overt.core.settings import DangerousPolicy
from overt.safety.danger import Cause, CommandReading, Kind

SCOPES: dict[Kind, Literal["paths", "below", "unignored", "tracked", "everything"]] = {
    "files": "paths",
    "unpack": "below",
    "untracked": "unignored",
    "worktree": "tracked",
    "code": "everything",
}
"""What of the workspace has to be looked at."""
CONTAINED: frozenset[Kind] = frozenset({"process", "environment", "rebuild"})
"""What ends with the sandbox, or is made again by the tool that made it."""
BEYOND: dict[Kind, str] = {
    "history": "undo does not cover this",
    "published": "nothing here can take it back",
    "listed": "`permissions.dangerous` names it",
    "system": "it reaches beyond the workspace",
}
BEYOND_A_COPY: frozenset[Kind] = frozenset({"published", "listed"})
"""Kinds of effects that an isolated copy does not contain."""
MOST_NAMED = 3


class FinalCause(Struct, frozen=True, kw_only=True):
    """A part of a command that cannot be taken back, and why not."""

    cause: Cause
    reason: str

    def text(self) -> str:
        return f"{self.cause.words} ({self.cause.why}): {self.reason}"


class Reach(Struct, frozen=True, kw_only=True):
    """Without `finals` a command is recoverable: `undone` if undo brings something back, `rebuilt` are paths that can
    be made again."""

    finals: tuple[FinalCause, ...] = ()
    undone: bool = False
    rebuilt: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """What to say of a recoverable command, or an empty string."""
        parts = ["/undo brings this back"] if self.undone else []
        if self.rebuilt:
            parts.append(f"{_listed(self.rebuilt)} can be rebuilt")
        return "; ".join(parts)


def changes_of(reading: CommandReading) -> dict[int, CommandChange]:
    """What has to be looked at to judge the reach of a command, by the place of the cause among its dangers."""
    changes: dict[int, CommandChange] = {}
    for place, cause in enumerate(reading.dangers):
        if scope := SCOPES.get(cause.kind):
            scope = "everything" if cause.unknown else scope
            if scope == "unignored" and (reading.redirects or len(reading.notable) > 1):
                scope = "below"  # another part of the line may change what is ignored
            changes[place] = CommandChange(scope=scope, paths=cause.touches, follows=cause.verb == "change")
    return changes


def judge_reach(
    reading: CommandReading,
    *,
    sandbox: SandboxState,
    surveys: Mapping[int, Survey],
    policy: DangerousPolicy = "reach",
    network: bool = False,
) -> Reach:
    """`surveys` answer `changes_of`; in an isolated copy nothing is lost, so none are needed. With the `network` open,
    code that cannot be read may publish anything."""
    finals: list[FinalCause] = []
    undone = False
    rebuilt: dict[str, None] = {}
    for place, cause in enumerate(reading.dangers):
        survey = surveys.get(place)
        reason = ""
        if policy == "always":
            reason = "`permissions.dangerous_policy` asks about every dangerous command"
        elif cause.kind in (BEYOND_A_COPY if sandbox.isolated else BEYOND):
            reason = BEYOND[cause.kind]
        elif not sandbox.walled:
            reason = "the sandbox lacks walls" if sandbox.boxed else "there is no sandbox"
        elif cause.kind == "code" and network:
            reason = "what it does cannot be read, and the network is open"
        elif cause.kind not in CONTAINED and not sandbox.isolated:
            reason = _lost(survey.losses) if survey else "what it would change is not known"
        if reason:
            finals.append(FinalCause(cause=cause, reason=reason))
        elif survey:
            undone |= survey.undone
            rebuilt |= dict.fromkeys(survey.rebuilt)
    return Reach(finals=tuple(finals), undone=undone, rebuilt=tuple(rebuilt))


def _lost(losses: Iterable[Loss]) -> str:
    named = [f"{loss.path} ({loss.why})" for loss in losses]
    return f"undo would not bring back {_listed(named)}" if named else ""


def _listed(names: Iterable[str]) -> str:
    each = list(names)
    more = f" and {len(each) - MOST_NAMED} more" if len(each) > MOST_NAMED else ""
    return ", ".join(each[:MOST_NAMED]) + more
