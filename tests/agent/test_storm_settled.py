"""The storm breaker sees what a call means, not how it was written."""

from pathlib import Path
from typing import Any

import pytest
from tests.agent.test_loop import Bench
from tests.fakes.played import call, says

SPELLINGS: tuple[tuple[str, str], ...] = (
    ("read", "path"),
    ("Read", "file_path"),
    ("cat", "filename"),
    ("view", "file"),
)


@pytest.mark.parametrize(
    "given",
    [
        [("read", {"path": "nothing", "n": number}) for number in range(20)],
        [(tool, {argument: "nothing"}) for tool, argument in SPELLINGS * 5],
        [("read", {"path": "nothing", "offset": None, "purpose": "again" * number}) for number in range(20)],
    ],
    ids=["an extra argument", "other names", "words"],
)
def test_what_means_the_same_ends_the_turn_however_it_is_dressed(
    tmp_path: Path, given: list[tuple[str, dict[str, Any]]]
) -> None:
    bench = Bench(tmp_path, [says("", call(name, **arguments)) for name, arguments in given])
    end = bench.play(bench.prompt())
    assert (end.reason, len(bench.player.requests)) == ("storm", 5)
