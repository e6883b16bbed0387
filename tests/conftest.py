"""What every test shares: long repetitions only when asked for, a home of its own, fixed seeds, and usual signals."""

import os
from pathlib import Path

import pytest
from hypothesis import settings
from tests.process_signals import reset_inherited_signals

LONG = ("soak", "local_tasks")

# `make test` runs the same examples every time. `make soak` explores with --hypothesis-profile=explore.
settings.register_profile("fixed", derandomize=True, database=None, deadline=None, print_blob=True)
settings.register_profile("explore", derandomize=False, deadline=None, print_blob=True)
settings.load_profile("fixed")


def pytest_configure() -> None:
    """Runs in the controller and in every xdist worker, before a test starts a process."""
    reset_inherited_signals()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.option.markexpr:
        return
    long = [item for item in items if any(item.get_closest_marker(name) for name in LONG)]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


@pytest.fixture(autouse=True)
def a_home_of_its_own(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No test reads or writes the real home, and none inherits a key or an endpoint."""
    home = tmp_path_factory.mktemp("home")
    for name in list(os.environ):
        if name.startswith(("OVERT_", "AGENT_", "XDG_")) or name.endswith(("_API_KEY", "_BASE_URL")):
            monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    return home
