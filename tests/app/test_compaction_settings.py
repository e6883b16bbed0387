"""`compaction.auto` and `compaction.prune`, read from a file and at work in the loop."""

from pathlib import Path

import pytest
from tests.agent.test_making_room import FREE, Small
from tests.app.test_window import found
from tests.config.test_config_load import loaded

from overt.agent.agent import compacts_automatically
from overt.app.models.context_window import budget_of
from overt.core.events import Compacted
from overt.core.settings import Price

CHEAP_TO_PRUNE = Price(input=1.0, cached=1.0)
"""Cached tokens cost as much as new ones, so pruning always pays."""


def test_automatic_compaction_is_off_when_auto_is_false(tmp_path: Path) -> None:
    budget = budget_of(found(window=1000), loaded(tmp_path, "[compaction]\nauto = false\nthreshold = 0.5"))
    assert not compacts_automatically(budget)
    assert budget.due_above == 0


def test_both_settings_are_on_by_default(tmp_path: Path) -> None:
    budget = budget_of(found(window=1000), loaded(tmp_path, "[compaction]\nthreshold = 0.5"))
    assert compacts_automatically(budget) and budget.prune
    assert budget.due_above == 500


@pytest.mark.parametrize("prune", [True, False])
def test_old_results_are_pruned_only_when_prune_is_true(tmp_path: Path, prune: bool) -> None:
    bench = Small(tmp_path, window=12_000, files=30, price=CHEAP_TO_PRUNE)
    bench.budget.prune = prune
    assert bench.go("go").reason == "done"
    compactions = bench.of(Compacted)
    assert compactions
    assert any(event.pruned for event in compactions) is prune
    if not prune:
        assert bench.summaries()


def test_without_pruning_a_single_result_that_does_not_fit_is_reported(tmp_path: Path) -> None:
    bench = Small(tmp_path, window=4_000, reserve=3_500, files=1, size=400, price=FREE)
    bench.budget.prune = False
    end = bench.go("go")
    assert (end.reason, end.kind) == ("error", "overflow")
    assert "the result of a tool" in end.text
    assert not any(event.pruned for event in bench.of(Compacted))
