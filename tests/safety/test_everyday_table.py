"""The table of everyday commands in the documentation says what really happens."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.workspace.keeping_kit import GIT, shadow

from overt.core.protocols import SandboxState
from overt.core.settings import Mode
from overt.safety.policy import PathFacts, World, judge, subject_of
from overt.safety.reversibility import Reach, changes_of, judge_reach
from overt.safety.rules import Subject
from overt.tools.registry import BUILT_IN
from overt.workspace.undo.undo_coverage import UndoCover

TOOLS = BUILT_IN.by_name

PAGE = Path(__file__).parents[2] / "docs" / "safety.md"
FILES = ("README.md", "src/app.py", "run.sh", "package.json", "requirements.txt", "tool.py", "fix.patch", "release.tgz")
IGNORED = ("node_modules/x/index.js", "node_modules/.bin/eslint", "build/app.o", ".env")
MODES: tuple[Mode, ...] = ("review", "auto", "plan", "yolo")
BOX = SandboxState(kind="bubblewrap")
ROWS = [
    [cell.strip() for cell in line.strip("| ").split(" | ")]
    for line in PAGE.read_text().splitlines()
    if line.startswith("| `") and line.count(" | ") == 6
]


@pytest.fixture(scope="module")
def cover(tmp_path_factory: pytest.TempPathFactory) -> UndoCover:
    """A small repository, of which a snapshot was taken."""
    folder = tmp_path_factory.mktemp("table")
    root = folder / "work"
    for name in (*FILES, *IGNORED):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (root / ".gitignore").write_text("node_modules/\nbuild/\n.env\n")
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    for message in ("one", "two"):
        identity = ("-c", "user.name=n", "-c", "user.email=n@x")
        subprocess.run(["git", *identity, "commit", "-q", "--allow-empty", "-m", message], cwd=root, check=True)
    store = shadow(folder / "shadow", root)
    home = folder / "home"
    return UndoCover(root=str(root), home=str(home), snapshot=store.take(), shadow=store, git=GIT)


def read(command: str, cover: UndoCover) -> tuple[Subject, Reach | None]:
    sight = PathFacts(root=cover.root, exists=lambda path: os.path.lexists(os.path.join(cover.root, path)))
    subject = subject_of(TOOLS["bash"], (command,), sight)
    if subject.reading.hazard != "dangerous":
        return subject, None
    surveys = {place: cover.survey(change) for place, change in changes_of(subject.reading).items()}
    return subject, judge_reach(subject.reading, sandbox=BOX, surveys=surveys)


def describe(command: str, cover: UndoCover) -> list[str]:
    """The cells of a row: how far the command reaches, the verdict of each mode, and what becomes of it alone."""
    subject, reach = read(command, cover)
    world = World(boxed=True, reach=reach)
    verdicts = [judge(subject, frozenset({"run"}), rules=(), mode=mode, world=world) for mode in MODES]
    kind: str = subject.reading.hazard
    actions: list[str] = [verdict.action for verdict in verdicts]
    if reach:
        kind = "final" if reach.finals else "recoverable"
    if subject.reading.network and kind != "final":
        kind, actions = "network", ["ask" if action == "allow" else action for action in actions]
    return [kind, *actions, "refused" if actions[1] == "ask" else "runs"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_documented_verdicts_are_those_of_the_gate(row: list[str], cover: UndoCover) -> None:
    command = row[0].strip("`").replace("&#124;", "|")
    assert describe(command, cover) == row[1:]


def test_the_table_speaks_of_at_least_sixty_commands() -> None:
    assert len({row[0] for row in ROWS}) >= 60
