"""What the plain chat prints for each event."""

from overt.core.events import (
    Event,
    PermissionAsked,
    PermissionDecided,
    ReasoningStreamed,
    Repaired,
    Replied,
    TextStreamed,
    ToolFinished,
    ToolStarted,
    TurnEnded,
    UserSpoke,
)
from overt.core.spending.usage import Usage
from overt.core.views import Diffs
from overt.frontends.describe_events import ALONG, attachment_words, describe_end, describe_event
from overt.frontends.plain.draw import Ink, draw, hanging
from overt.lib.text import visible
from overt.lib.translations import say


class Screen:
    """Remembers whether a line is open, whether reasoning was announced, and the call whose change was shown in full
    by its approval, so that it is not shown again."""

    def __init__(self, ink: Ink) -> None:
        self._ink = ink
        self._line_is_open = False
        self._thinking = False
        self._approved = ""

    def feed(self, event: Event) -> str:
        """Return what to print. A block of its own ends the line that was left open."""
        if isinstance(event, TextStreamed):
            text = visible(event.text)
            self._line_is_open = bool(text) and not text.endswith("\n")
            return text
        block = self._block(event)
        if block is None:
            return ""
        opening, self._line_is_open = "\n" if self._line_is_open else "", False
        return opening + (f"{block}\n" if block else "")

    def _block(self, event: Event) -> str | None:
        ink = self._ink
        match event:
            case ReasoningStreamed():
                announced, self._thinking = self._thinking, True
                return None if announced else ink("dim", say("turn.thinking"))
            case Replied():
                self._thinking = False
                return ""
            case ToolStarted(call=call, headline=headline):
                return f"{ink('tool', '●')} {ink('bold', visible(call.name))} {hanging(headline)}"
            case PermissionAsked(call=call):
                self._approved = call.id
                return None
            case ToolFinished(result=result, view=Diffs(files=files)) if result.call_id == self._approved:
                names = ", ".join(f"{visible(file.path)} (+{file.added} -{file.removed})" for file in files)
                return ink("good", f"  ✓ {names}")
            case ToolFinished(view=view):
                drawn = draw(view, ink)
                return "\n".join(f"  {line}" for line in drawn.split("\n") if drawn)
            case UserSpoke(message=message) if message.origin.kind in ALONG:
                return ink("dim", f"  + {attachment_words(event)}")
            case UserSpoke(message=message, steered=True):
                return ink("dim", "> " + hanging(message.text()))
            case UserSpoke(message=message) if message.origin.kind == "harness":
                return ink("dim", hanging(message.text()))
            case TurnEnded():
                return self._ending(event)
            case _:
                notice = describe_event(event)
                indent = "  " if isinstance(event, Repaired | PermissionDecided) else ""
                return ink("dim", indent + hanging(notice.text)) if notice else None

    def _ending(self, end: TurnEnded) -> str:
        used, notice = end.usage, describe_end(end)
        seconds = round(end.ms / 1000, 1)
        spent = say("turn.used", input=used.input, cached=used.cached, output=used.output, seconds=seconds)
        if end.reason in ("interrupted", "terminated"):
            spent = ""
        elif notice is None and not end.steps and used == Usage():
            spent = ""  # a command the person typed
        words = notice.text if notice else ""
        if notice and notice.level == "error":
            words = self._ink("error", say("prefix.error", text=hanging(notice.text)))
        return "\n".join(filter(None, (words, self._ink("dim", spent))))
