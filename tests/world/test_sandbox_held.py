"""A place-holder counts as nothing only while it is empty, however often it was looked at before."""

import os
import time
from pathlib import Path

from overt.lib.held import FOLDER_MODE
from overt.world.sandbox.guards import TOP, YOUNG, guards


def test_a_place_holder_that_somebody_fills_is_protected_from_then_on(tmp_path: Path) -> None:
    root = str(tmp_path)
    held = tmp_path / TOP[0]
    held.mkdir()
    held.chmod(FOLDER_MODE)
    absent = [guards([root]).absent]
    time.sleep(3 * YOUNG / 1e9)  # now its time proves something
    absent += [guards([root]).absent, guards([root]).absent]

    held.chmod(0o755)
    (held / "hooks.json").touch()
    held.chmod(FOLDER_MODE)
    os.utime(held, ns=(0, 0))
    filled = guards([root])

    assert absent == [tuple(f"{root}/{name}" for name in TOP)] * 3
    assert (filled.protected, filled.absent) == ((str(held),), tuple(f"{root}/{name}" for name in TOP[1:]))


def test_a_place_holder_that_is_exchanged_for_a_full_one_is_protected(tmp_path: Path) -> None:
    root = str(tmp_path)
    held, other = tmp_path / TOP[0], tmp_path / "other"
    held.mkdir()
    held.chmod(FOLDER_MODE)
    other.mkdir()
    (other / "hooks.json").touch()
    other.chmod(FOLDER_MODE)
    time.sleep(3 * YOUNG / 1e9)
    before = [guards([root]).protected for _ in range(2)]

    held.rmdir()
    other.rename(held)

    assert (before, guards([root]).protected) == ([(), ()], (str(held),))
