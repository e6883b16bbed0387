"""What the classifier makes of the labelled commands. `python -m tests.safety.figures` prints the figures."""

import json
from pathlib import Path

from msgspec import Struct

from overt.safety.command import read_command
from overt.safety.danger import CommandReading

DATA = Path(__file__).parents[1] / "data"
LABELLED = ("shell_danger.jsonl", "shell_more.jsonl")
ASKS_IN_REVIEW = {"script-file", "source"}
"""Running a file of the workspace is ordinary: it asks in review mode, and the sandbox stands around it."""


def labelled_rows(name: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def is_inline(reading: CommandReading) -> bool:
    """Code that the command itself holds asks in review mode: the sandbox contains it."""
    return reading.hazard == "ordinary" and any(cause.kind == "code" for cause in reading.causes)


class Figures(Struct, kw_only=True):
    """Of one labelled set: `missed` are dangerous commands that run unasked, `silent` those that even count as
    harmless; `asked` are harmless commands that ask in review mode, `alarmed` those that count as dangerous."""

    dangerous: int
    harmless: int
    missed: list[str]
    silent: list[str]
    asked: list[str]
    alarmed: list[str]


def measure(name: str) -> Figures:
    rows = [row for row in labelled_rows(name) if row["class"] != "opaque"]
    readings = {row["cmd"]: read_command(row["cmd"]) for row in rows}
    dangerous = {row["cmd"]: row["class"] in ASKS_IN_REVIEW for row in rows if row["danger"]}
    harmless = [row["cmd"] for row in rows if not row["danger"]]
    not_dangerous = [command for command in dangerous if readings[command].hazard != "dangerous"]
    return Figures(
        dangerous=len(dangerous),
        harmless=len(harmless),
        missed=[
            command
            for command in not_dangerous
            if not is_inline(readings[command]) and not (dangerous[command] and readings[command].hazard == "ordinary")
        ],
        silent=[command for command in not_dangerous if readings[command].hazard == "harmless"],
        asked=[
            command
            for command in harmless
            if readings[command].hazard != "harmless" and not is_inline(readings[command])
        ],
        alarmed=[command for command in harmless if readings[command].hazard == "dangerous"],
    )


def not_ordinary() -> dict[str, str]:
    """The commands of `shell_ordinary.txt` that are read as anything else, and as what."""

    def there(path: str) -> bool:
        return "new" not in path and path not in ("main", "x", "abc")

    hazards = {
        command: read_command(command, there).hazard
        for command in (DATA / "shell_ordinary.txt").read_text().splitlines()
    }
    return {command: hazard for command, hazard in hazards.items() if hazard != "ordinary"}


def main() -> None:
    for name in LABELLED:
        figures = measure(name)
        print(f"{name}: {figures.dangerous} dangerous, {figures.harmless} harmless")
        for what, commands, of in (
            ("dangerous commands missed", figures.missed, figures.dangerous),
            ("dangerous commands called harmless", figures.silent, figures.dangerous),
            ("harmless commands asked about", figures.asked, figures.harmless),
            ("harmless commands called dangerous", figures.alarmed, figures.harmless),
        ):
            print(f"  {what}: {len(commands)} ({len(commands) / of:.2%})", *commands, sep="\n    ")
    print("shell_ordinary.txt: read otherwise:", not_ordinary())


if __name__ == "__main__":
    main()
