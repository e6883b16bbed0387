"""The jobs inspector: commands in the background, what each prints as it prints it, and an end to one."""

from overt.app.inspect.inspector_values import JobListing
from overt.core.capabilities import JobOutput, JobState
from overt.frontends.tui.panels.cells import Column
from overt.frontends.tui.panels.pager import (
    CLOSE,
    Pager,
    PanelInputs,
    PanelRequest,
    Screenful,
    text_rows,
    yes_or_no,
)
from overt.frontends.tui.panels.picker import Picker
from overt.frontends.tui.terminal.formats import duration, size
from overt.frontends.tui.terminal.keyboard import Key
from overt.frontends.tui.terminal.rows import Span
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.translations import say

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


def make(_inputs: PanelInputs) -> "JobsPanel":
    return JobsPanel()


class JobsPanel:
    every = OFTEN

    def __init__(self) -> None:
        self._output: Pager | None = None
        self._open = ""
        self._picker: Picker[JobState] = Picker("jobs", COLUMNS, _cells, lambda job: f"{job.id} {job.command}")

    def load(self) -> list[PanelRequest]:
        return [PanelRequest("jobs"), *([PanelRequest("job", self._open)] if self._open else [])]

    def receive(self, request: PanelRequest, value: object) -> list[PanelRequest]:
        match value:
            case JobListing(jobs=jobs):
                self._picker.set(jobs)
            case JobOutput() if request.text == self._open:
                self._show(value)
            case JobState():  # the one that was stopped
                return [PanelRequest("jobs")]
            case _:
                pass
        return []

    def _show(self, found: JobOutput) -> None:
        title = f"{found.job.id}  {one_line(found.job.command)}"
        note = f"{_state(found.job)} · {duration(found.job.seconds)}"
        lines = text_rows(found.text) if found.text else [(Span(say("tui.jobs.silent"), "muted"),)]
        if self._output is None:
            self._output = Pager(title, lines, note=note, end=True)
            self._output.keys = "tui.jobs.output_keys"
            return
        self._output.note = note
        self._output.body.set(lines)

    def failed(self, request: PanelRequest, words: str) -> None:
        self._picker.fail(words)
        if request.kind == "job":
            self._open, self._output = "", None

    def press(self, key: Key) -> list[PanelRequest]:
        if (answer := self._picker.answer(key)) is not None:
            return answer
        if self._output is not None:
            if key == Key("text", "x"):
                self._ask(self._open)
            elif self._output.press(key) == [CLOSE]:
                self._open, self._output = "", None
            return []
        did, job = self._picker.press(key), self._picker.current
        if did == "close":
            return [CLOSE]
        if did == "chose" and job:
            self._open = job.id
            return [PanelRequest("job", job.id)]
        if not did and key == Key("text", "x") and job:
            self._ask(job.id)
        return []

    def _ask(self, id: str) -> None:
        for job in self._picker.items:
            if job.id == id and job.state == "running":
                words = say("tui.jobs.stop", id=id, command=one_line(job.command)[:60])
                self._picker.ask(yes_or_no(words), {"y": [PanelRequest("stop", id)]})

    def draw(self, columns: int, lines: int) -> Screenful:
        if self._output is not None:
            made = self._output.draw(columns, lines)
            return Screenful([*made.rows[:-1], self._picker.foot]) if self._picker.foot else made
        running = sum(job.state == "running" for job in self._picker.items)
        return self._picker.draw(
            columns, lines, note=say("tui.jobs.note", running=running) if self._picker.items else ""
        )


def _state(job: JobState) -> str:
    return say("tui.jobs.exited", code=job.code) if job.state == "exited" else say(f"tui.jobs.{job.state}")


def _cells(job: JobState) -> list[Span]:
    return [
        Span(job.id, "bold"),
        Span(_state(job), STYLES[job.state]),
        Span(duration(job.seconds)),
        Span(size(job.size), "muted"),
        Span(one_line(job.ready), "accent"),
        Span(one_line(job.command)),
    ]
