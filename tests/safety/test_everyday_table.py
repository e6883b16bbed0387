"""The table of everyday commands in the documentation says what really happens."""

from pathlib import Path

import pytest

from overt.core.settings import Mode
from overt.safety.policy import Sight, judge, subject_of

PAGE = Path(__file__).parents[2] / "docs" / "safety.md"
THERE = {"README.md", "src/app.py", "src", "run.sh", "build", "package.json", "requirements.txt"}
MODES: tuple[Mode, ...] = ("review", "auto", "plan", "yolo")
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| `") and line.count(" | ") == 4
]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_documented_verdicts_are_those_of_the_gate(row: list[str]) -> None:
    command = row[0].strip("`").replace("&#124;", "|")
    subject = subject_of("bash", (command,), Sight(root="/w", exists=THERE.__contains__))
    verdicts = [judge(subject, frozenset({"run"}), rules=(), mode=mode, boxed=True).action for mode in MODES]
    assert verdicts == row[1:], subject.reading


def test_the_table_speaks_of_at_least_sixty_commands() -> None:
    assert len({row[0] for row in ROWS}) >= 60
