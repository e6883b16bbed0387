"""The closing lines of a headless run: what it changed, how to undo it, and what was denied."""

from collections.abc import Sequence

from msgspec import Struct

from overt.app.session import Denial
from overt.core.events import Event, ToolFinished, TreeTaken
from overt.core.views import Diffs
from overt.lib.translations import say


class RunSummary(Struct, kw_only=True):
    """`files` were changed by tools, `command_files` counts those that commands changed. `cost` is empty for a run that
    cost nothing, `session` for one that was not recorded, and `undoable` says whether its changes can be taken back."""

    files: set[str] = set()
    command_files: int = 0
    added: int = 0
    removed: int = 0
    steps: int = 0
    tokens: int = 0
    cost: str = ""
    session: str = ""
    undoable: bool = False

    def count(self, event: Event) -> None:
        """Count the changes of a run as they happen."""
        match event:
            case ToolFinished(view=Diffs(files=files)):
                for file in files:
                    if file.change != "unchanged":
                        self.files.add(file.path)
                    self.added += file.added
                    self.removed += file.removed
            case TreeTaken(changed=changed):
                self.command_files += changed
            case _:
                pass

    @property
    def eventful(self) -> bool:
        """True if the run changed files, so that the closing line is printed even if stderr is not a terminal."""
        return bool(self.files or self.command_files)


def closing_line(run: RunSummary) -> str:
    """Return the line. Parts that have nothing to say are left out."""
    from overt.app.chat.notices import short_count  # late: 0.5 ms

    parts = []
    if run.files:
        parts.append(say("closing.changed", files=_count("file", len(run.files)), added=run.added, removed=run.removed))
    if run.command_files:
        parts.append(say("closing.by_commands", files=_count("file", run.command_files)))
    parts.append(_count("step", run.steps))
    parts.append(say("closing.tokens", tokens=short_count(run.tokens)))
    if run.cost:
        parts.append(run.cost)
    if run.session:
        parts.append(say("closing.session", id=run.session))
    if run.undoable and run.eventful:
        parts.append(say("closing.undo"))
    return " · ".join(parts)


def denied_line(denials: Sequence[Denial], calls: int) -> str:
    """Return how many calls were denied and what allows them, or an empty string."""
    if not denials:
        return ""
    ways = dict.fromkeys(way for denial in denials for way in denial.decided.allowed_by)
    rules = dict.fromkeys(denial.decided.rule for denial in denials if denial.decided.by == "rule")
    parts = [say("denied.count", denied=len(denials), calls=calls)]
    if rules:
        parts.append(say("denied.rules", rules=", ".join(rules)))
    if ways:
        parts.append(say("denied.ways", ways=" ".join(ways)))
    if not ways and not rules:
        parts.append(say("denied.chat"))
    return " ".join(parts)


def _count(what: str, number: int) -> str:
    return say(f"count.{what}" if number == 1 else f"count.{what}s", count=number)
