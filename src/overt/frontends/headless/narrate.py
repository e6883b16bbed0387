"""What the tools do, line by line, for `--verbose`: results of parallel calls say which call they belong to."""

from collections.abc import Iterator

from overt.app.session import MAIN
from overt.core.events import Event, Repaired, ToolFinished, ToolStarted
from overt.core.messages import Text
from overt.core.views import Output

MAX_TEXT = 200


class Narrator:
    """Remembers the calls that run. A result directly below its call stands alone; any other names its call again."""

    def __init__(self) -> None:
        self._labels: dict[str, str] = {}
        self._notes: dict[str, list[str]] = {}
        self._last = ""

    def narrate(self, event: Event) -> Iterator[str]:
        """Yield the lines for an event; none for what is not about a call."""
        match event:
            case Repaired(call_id=id, note=note) if id not in self._labels:
                self._notes.setdefault(id, []).append(note)  # the call itself is announced after its repairs
            case Repaired(call_id=id, note=note):
                yield from self._below(id, f"  repaired: {note}")
            case ToolStarted(call=call, headline=headline):
                agent = "" if event.agent == MAIN else f"{event.agent.removeprefix(f'{MAIN}/')}: "
                self._labels[call.id] = f"{agent}{call.name} {headline}".rstrip()
                self._last = call.id
                yield f"→ {self._labels[call.id]}"
                yield from (f"  repaired: {note}" for note in self._notes.pop(call.id, ()))
            case ToolFinished(result=result):
                yield from self._below(result.call_id, f"  {'✗' if failed(event) else '✓'} {_shorten(event)}")
                self._labels.pop(result.call_id, None)
                self._last = ""
            case _:
                pass

    def _below(self, id: str, line: str) -> Iterator[str]:
        if id != self._last and id in self._labels:
            yield f"← {self._labels[id]}"
            self._last = id
        yield line


def failed(event: ToolFinished) -> bool:
    """True for a call that failed or was refused, and for a command that ended with an error."""
    return event.result.error or (isinstance(event.view, Output) and bool(event.view.code))


def _shorten(event: ToolFinished) -> str:
    text = next((part.text for part in event.result.parts if isinstance(part, Text)), "")
    return (text if len(text) <= MAX_TEXT else text[:MAX_TEXT].rstrip() + " …").replace("\n", "\n    ")
