"""The scenarios that Codex publishes for its patch format, on real files. They are read where they are, not copied."""

from pathlib import Path

import pytest
from tests.workspace.files_kit import done, files

from overt.core.errors import ToolError
from overt.tools.patch import Args, patch

PLACES = (folder / "shared/data/apply-patch" for folder in Path(__file__).parents)
SCENARIOS = next((place for place in PLACES if place.is_dir()), Path("absent"))
NAMES = sorted(path.parent.name for path in SCENARIOS.glob("*/patch.txt"))
REPLACED = {
    "010_move_overwrites_existing_destination": "renamed/dir/name.txt",
    "011_add_overwrites_existing_file": "duplicate.txt",
}
"""Differs by design: a file is replaced only if it was read. These are the files to read first."""
PARTIAL = "015_failure_after_partial_success_leaves_changes"
"""Differs by design: a patch of which one part does not fit changes nothing."""

needs_scenarios = pytest.mark.skipif(not NAMES, reason="the scenarios of apply-patch are not on this machine")


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def play(name: str, root: Path, *, read: str = "") -> dict[str, bytes]:
    """Apply the patch of a scenario to a copy of its input and return all files."""
    for path, data in content(SCENARIOS / name / "input").items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)
    hands = files(root)
    if read:
        done(hands.lines(read, offset=1, limit=100))
    try:
        done(patch.run(Args(patch=(SCENARIOS / name / "patch.txt").read_text()), hands))
    except ToolError as error:
        assert error.message
    return content(root)


@needs_scenarios
@pytest.mark.parametrize("name", sorted({*NAMES} - {*REPLACED, PARTIAL}))
def test_a_scenario_ends_as_in_codex(name: str, tmp_path: Path) -> None:
    assert play(name, tmp_path) == content(SCENARIOS / name / "expected")


@needs_scenarios
def test_all_but_three_scenarios_end_as_in_codex() -> None:
    assert len(NAMES) == 25
    assert len({*NAMES} - {*REPLACED, PARTIAL}) == 22


@needs_scenarios
@pytest.mark.parametrize("name", REPLACED)
def test_a_file_that_was_not_read_is_left_alone_and_one_that_was_read_is_replaced(name: str, tmp_path: Path) -> None:
    for folder in ("unread", "read"):
        (tmp_path / folder).mkdir()
    assert play(name, tmp_path / "unread") == content(SCENARIOS / name / "input")
    assert play(name, tmp_path / "read", read=REPLACED[name]) == content(SCENARIOS / name / "expected")


@needs_scenarios
def test_a_patch_that_fits_only_in_part_changes_nothing(tmp_path: Path) -> None:
    assert play(PARTIAL, tmp_path) == {}
