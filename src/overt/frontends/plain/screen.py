"""What the plain chat has on its screen, as a fold over events: `out` is what to print next."""

from msgspec import Struct
from msgspec.structs import replace

from overt.core.events import (
    BudgetSet,
    CallStreamed,
    Compacted,
    Event,
    Noticed,
    PermissionAsked,
    PermissionDecided,
    PrefixReset,
    ReasoningStreamed,
    Repaired,
    Replied,
    Retried,
    TextStreamed,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    UserSpoke,
)
from overt.core.spending.usage import Usage
from overt.core.views import Diffs
from overt.frontends.attached import ALONG, attached
from overt.frontends.plain.draw import Ink, draw, hanging
from overt.lib.catalogue import say
from overt.lib.text import visible


class Screen(Struct, frozen=True, kw_only=True):
    """`column` tells whether the cursor stands at the start of a line; `thinking` whether reasoning was announced.

    `asked` is the call whose change was shown in full by its approval, so it is not shown again.
    """

    ink: Ink
    out: str = ""
    column: int = 0
    thinking: bool = False
    asked: str = ""
    usage: Usage = Usage()


def reduce(screen: Screen, event: Event) -> Screen:
    ink = screen.ink
    match event:
        case TextStreamed(text=text):
            return _raw(screen, visible(text))
        case ReasoningStreamed():
            if screen.thinking:
                return replace(screen, out="")
            return replace(_line(screen, ink.dim(say("turn.thinking"))), thinking=True)
        case Replied(usage=usage):
            return replace(_line(screen, ""), thinking=False, usage=screen.usage + usage)
        case ToolStarted(call=call, headline=headline):
            return _line(screen, f"{ink.cyan('●')} {ink.bold(visible(call.name))} {hanging(headline)}")
        case PermissionAsked(call=call):
            return replace(screen, out="", asked=call.id)
        case ToolFinished(result=result, view=Diffs(files=files)) if result.call_id == screen.asked:
            names = ", ".join(f"{visible(file.path)} (+{file.added} -{file.removed})" for file in files)
            return _line(screen, ink.green(f"  ✓ {names}"))
        case ToolFinished(view=view):
            drawn = draw(view, ink)
            return _line(screen, "\n".join(f"  {line}" for line in drawn.split("\n") if drawn))
        case PermissionDecided(verdict="allow", remembered=rule) if rule:
            return _line(screen, ink.dim("  " + say("ask.remembered", rule=visible(rule))))
        case Repaired(note=note):
            return _line(screen, ink.dim("  " + say("turn.repaired", note=visible(note))))
        case UserSpoke(message=message) if message.origin.kind in ALONG:
            return _line(screen, ink.dim(f"  + {attached(event)}"))
        case UserSpoke(message=message, steered=True):
            return _line(screen, ink.dim("> " + hanging(message.text())))
        case UserSpoke(message=message) if message.origin.kind == "harness":
            return _line(screen, ink.dim(hanging(message.text())))
        case Retried(attempt=attempt, attempts=attempts, wait=wait, reason=reason):
            seconds = round(wait, 1)
            again = say("turn.retrying", attempt=attempt, attempts=attempts, seconds=seconds, reason=hanging(reason))
            return _line(screen, ink.dim(again))
        case Noticed(text=text):
            return _line(screen, ink.dim(hanging(text)))
        case BudgetSet():
            from overt.app.chat.budget_notice import describe_budget  # late: 1.0 ms

            return _line(screen, ink.dim(describe_budget(event)))
        case Compacted(usage=usage):
            from overt.app.chat import compaction_notice as compacted  # late: 0.5 ms

            return replace(_line(screen, ink.dim(compacted.told(event))), usage=screen.usage + usage)
        case PrefixReset(cause=cause):
            return _line(screen, ink.dim(say("turn.reset", cause=hanging(cause))))
        case TurnEnded():
            return _line(screen, _ending(event, ink))
        case CallStreamed():
            return replace(screen, out="")
        case _:
            return replace(screen, out="")


def _ending(end: TurnEnded, ink: Ink) -> str:
    used = ink.dim(
        say(
            "turn.used",
            input=end.usage.input,
            cached=end.usage.cached,
            output=end.usage.output,
            seconds=round(end.ms / 1000, 1),
        )
    )
    match end.reason:
        case "error" | "storm":
            return f"{ink.red(say('prefix.error', text=hanging(end.text)))}\n{used}"
        case "limit":
            told = end.text if end.kind == "budget" else say("turn.limit", steps=end.steps)
            return f"{told}\n{used}"
        case "interrupted" | "terminated":
            return say("turn.interrupted")
        case "done" | "denied" if not end.steps and end.usage == Usage():
            return ""  # a command the person typed: nothing was spent
        case _:
            return used


def _line(screen: Screen, text: str) -> Screen:
    """A block of its own: a line that was left open is ended first."""
    opening = "\n" if screen.column else ""
    return replace(screen, out=opening + (text + "\n" if text else ""), column=0)


def _raw(screen: Screen, text: str) -> Screen:
    return replace(screen, out=text, column=0 if text.endswith("\n") else screen.column + len(text))
