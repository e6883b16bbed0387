"""Snapshots may take as long as they like here: a busy machine does not decide what a test sees."""

import pytest

from overt.workspace.undo import first_snapshot
from overt.workspace.undo import snapshot_keeper as keeping

LONGEST_S = 100.0


@pytest.fixture(autouse=True)
def snapshots_may_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_snapshot, "FIRST_SNAPSHOT_LIMIT_S", LONGEST_S)
    monkeypatch.setattr(keeping, "FIRST_PATIENCE", LONGEST_S)
    monkeypatch.setattr(keeping, "PATIENCE", LONGEST_S)
