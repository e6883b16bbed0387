"""A recorded turn, cut into the steps that one run of the agent loop is compared with."""

from collections.abc import Sequence

from msgspec import Struct

from overt.core.errors import ToolError
from overt.core.events import (
    Compacted,
    Event,
    PermissionDecided,
    PrefixReset,
    PrefixSet,
    Repaired,
    Replied,
    RequestSent,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    UserSpoke,
)
from overt.core.messages import Message
from overt.core.requests import ToolSpec
from overt.core.spending.usage import Usage
from overt.core.text_fragments import STEERED, own_origin
from overt.core.tool import JsonArguments, Outcome, Tool
from overt.sessions.entries import Entry
from overt.tools.registry import BUILT_IN


class RecordedStep(Struct, kw_only=True):
    """One request and what followed it. `at` is the index of its entry, `before` what changed the history ahead of it.

    `reply` is None if nothing came back, or only a part of it. If `scavenged` is set, calls were found in its text.
    """

    at: int
    entry: Entry[Event]
    sent: RequestSent
    before: tuple[Event, ...] = ()
    reply: Replied | None = None
    scavenged: bool = False
    started: dict[str, ToolStarted] = {}
    verdicts: dict[str, PermissionDecided] = {}
    outcomes: dict[str, ToolFinished] = {}

    def steering(self) -> tuple[str, ...]:
        """Return what the user typed while the step before was running."""
        return tuple(message.text() for message in self._joined() if message.origin == STEERED)

    def updates(self) -> tuple[Message, ...]:
        """Return the other messages that joined before this step, such as rules of folders."""
        return tuple(message for message in self._joined() if message.origin != STEERED)

    def _joined(self) -> list[Message]:
        return [event.message for event in self.before if isinstance(event, UserSpoke) and event.steered]

    def objection(self) -> str:
        """Return the objection to the answer before this step, or an empty string if it was accepted."""
        first = next((event.message for event in self.before if isinstance(event, UserSpoke)), None)
        return first.shown() if first and first.origin == own_origin("objection") else ""


class RecordedSteps(Struct, kw_only=True):
    """The steps that one run of the loop can be led through. `stop` is the first entry that does not belong to it."""

    steps: list[RecordedStep] = []
    stop: int = 0
    end: TurnEnded | None = None


def read_steps(entries: Sequence[Entry[Event]], start: int) -> RecordedSteps:
    """Read from the request at `start` to the end of its turn, or to where the loop was entered anew: after a request
    that failed, or with another model."""
    recorded = RecordedSteps(stop=start)
    steps, before, is_summary = recorded.steps, list[Event](), False
    for at, entry in enumerate(entries[start:], start):
        event = entry.data
        if recorded.end or entry.turn != entries[start].turn or isinstance(event, PrefixSet):
            break
        match event:
            case RequestSent(purpose="summary"):
                is_summary = True
            case RequestSent():
                if steps and steps[-1].reply is None:
                    break
                steps.append(RecordedStep(at=at, entry=entry, sent=event, before=tuple(before)))
                before, is_summary = [], False
            case Replied() if not is_summary and steps[-1].reply is None and not _broke_off(event):
                steps[-1].reply = event
            case Repaired(before=text) if text:
                steps[-1].scavenged = True
            case ToolStarted(call=call):
                steps[-1].started.setdefault(call.id, event)
            case PermissionDecided(call_id=call_id):
                steps[-1].verdicts[call_id] = event
            case ToolFinished(result=result):
                steps[-1].outcomes.setdefault(result.call_id, event)
            case UserSpoke() | Compacted() | PrefixReset(keep=int()):
                before.append(event)
            case TurnEnded():
                recorded.end = event
            case _:
                pass
        recorded.stop = at + 1
    _add_late_outcomes(recorded, entries)
    return recorded


def _broke_off(reply: Replied) -> bool:
    """True if the reply is what was kept of a stream that broke off: the model never ended it."""
    return reply.finish == "interrupted" and (reply.estimated or reply.usage == Usage())


def _add_late_outcomes(recorded: RecordedSteps, entries: Sequence[Entry[Event]]) -> None:
    """After a crash, open calls are answered when the session goes on: in the next turn."""
    last = recorded.steps[-1]
    for entry in entries[recorded.stop :] if last.reply else ():
        match entry.data:
            case ToolFinished(result=result) as outcome:
                last.outcomes.setdefault(result.call_id, outcome)
            case UserSpoke() | Replied() | RequestSent():
                break
            case _:
                pass


def flattens_arguments(opening: PrefixSet) -> bool:
    """True if the model knows the arguments of tools by dotted names."""
    return bool(opening.about and opening.about.quirks and opening.about.quirks.flatten)


def tools_of(opening: PrefixSet) -> dict[str, Tool]:
    """Return the tools the model was told of. Those of MCP servers and of other packages cannot be run again."""
    known = BUILT_IN.by_name
    if opening.about is not None and opening.about.compact:
        from overt.app.small_model.scaffold import small_model_tools  # late: 26 ms

        known = small_model_tools()
    if opening.calls == "native":
        return {spec.name: known.get(spec.name) or recorded_tool(spec) for spec in opening.prefix.tools}
    names = [name for name in known if name in opening.tool_names] or list(known)
    return {name: known[name] for name in names}


def recorded_tool(spec: ToolSpec) -> Tool:
    """Return a tool of which only the schema is known."""
    return Tool(name=spec.name, args=JsonArguments, needs={}, run=_refuse_to_run, spec=spec)


async def _refuse_to_run(_: JsonArguments) -> Outcome:
    raise ToolError("this tool is not part of Overt, so it cannot be run again")
