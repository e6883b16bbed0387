"""The jobs inspector: commands in the background, what each prints as it prints it, and an end to one."""

from overt.app.inspect.values import JobListing
from overt.core.capabilities import JobOutput, JobState
from overt.frontends.tui.panels.cells import Column, laid, widths
from overt.frontends.tui.panels.pager import CLOSE, Pager, Screenful, Wish, Wishes, lines_of, shown
from overt.frontends.tui.panels.picker import Look, Picker
from overt.frontends.tui.terminal.formats import duration, size
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Row, Span
from overt.lib.catalogue import say

OFTEN = 0.5
COLUMNS = (
    Column(most=8),
    Column(most=12),
    Column(most=8, right=True),
    Column(most=8, right=True, least=70),
    Column(most=40, least=90),
    Column(rest=True),
)
STYLES = {"running": "good", "exited": "muted", "stopped": "warn"}


class JobsPanel:
    every = OFTEN

    def __init__(self) -> None:
        self._loading = True
        self._said = ""
        self._asking: JobState | None = None
        self._output: Pager | None = None
        self._open = ""
        self._widths = [0] * len(COLUMNS)
        look = Look[JobState](lay=self._lay, find=lambda job: f"{job.id} {job.command}", key=lambda job: job.id)
        self._picker: Picker[JobState] = Picker(look, typed=False)

    def first(self) -> Wishes:
        return [Wish("jobs")]

    def tick(self) -> Wishes:
        return [Wish("jobs"), *([Wish("job", self._open)] if self._open else [])]

    def given(self, wish: Wish, value: object) -> Wishes:
        match value:
            case JobListing(jobs=jobs):
                self._loading = False
                self._widths = widths(map(_texts, jobs), COLUMNS)
                self._picker.set(jobs)
            case JobOutput() if wish.text == self._open:
                self._show(value)
            case JobState():  # the one that was stopped
                return [Wish("jobs")]
            case _:
                pass
        return []

    def _show(self, found: JobOutput) -> None:
        title = f"{found.job.id}  {shown(found.job.command)}"
        note = f"{_state(found.job)} · {duration(found.job.seconds)}"
        lines = lines_of(found.text) if found.text else [(Span(say("tui.jobs.silent"), "muted"),)]
        if self._output is None:
            self._output = Pager(title, lines, note=note, end=True)
            self._output.keys = "tui.jobs.output_keys"
            return
        self._output.note = note
        self._output.body.set(lines)

    def failed(self, wish: Wish, words: str) -> None:
        self._loading, self._said = False, shown(words)
        if wish.kind == "job":
            self._open, self._output = "", None

    def press(self, key: Key) -> Wishes:
        self._said = ""
        if self._asking is not None:
            asked, self._asking = self._asking, None
            return [Wish("stop", asked.id)] if key == Key("text", "y") else []
        if self._output is not None:
            if key == Key("text", "x"):
                self._ask(self._open)
            elif self._output.press(key) == [CLOSE]:
                self._open, self._output = "", None
            return []
        did = self._picker.press(key)
        if did == "close":
            return [CLOSE]
        job = self._picker.current
        if did == "chose" and job:
            self._open = job.id
            return [Wish("job", job.id)]
        if not did and key == Key("text", "x") and job:
            self._ask(job.id)
        return []

    def _ask(self, id: str) -> None:
        running = (job for job in self._picker.items if job.id == id and job.state == "running")
        self._asking = next(running, None)

    def draw(self, columns: int, lines: int) -> Screenful:
        question = self._question()
        if self._output is not None:
            made = self._output.draw(columns, lines)
            return made if question is None else Screenful([*made.rows[:-1], question])
        running = sum(job.state == "running" for job in self._picker.items)
        said = (Span(self._said, "warn"),) if self._said else say("tui.jobs.keys")
        return self._picker.draw(
            columns,
            lines,
            title=say("tui.jobs.title"),
            note=say("tui.jobs.note", running=running) if self._picker.items else "",
            foot=question or said,
            empty=say("tui.panel.loading") if self._loading else say("tui.jobs.none"),
        )

    def _question(self) -> Row | None:
        if self._asking is None:
            return None
        asked = say("tui.jobs.stop", id=self._asking.id, command=shown(self._asking.command)[:60])
        return Span(asked, "warn"), Span(say("tui.panel.yes_no"), "dim")

    def _lay(self, job: JobState, room: int) -> Row:
        styles = ("bold", STYLES[job.state], "", "muted", "accent", "")
        return laid([Span(*pair) for pair in zip(_texts(job), styles, strict=True)], self._widths, COLUMNS, room)


def _state(job: JobState) -> str:
    return say("tui.jobs.exited", code=job.code) if job.state == "exited" else say(f"tui.jobs.{job.state}")


def _texts(job: JobState) -> tuple[str, ...]:
    return job.id, _state(job), duration(job.seconds), size(job.size), shown(job.ready), shown(job.command)
