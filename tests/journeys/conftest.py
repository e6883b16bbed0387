"""A place for every journey; whatever happened in it, no process stays and no file holds the key."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.journeys.journey_kit import Place, assert_intact, gone


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    yield made
    assert gone(made.alive) == []
    assert made.leaks() == []
    for session in made.sessions():
        assert_intact(session)
