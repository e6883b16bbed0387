"""A task of twelve steps from the command line to the right files, on a small project and in a large crowd."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer
from tests.journeys.journey_kit import (
    Place,
    assert_each_extends_the_one_before,
    assert_paired,
    messages,
    results,
)
from tests.journeys.project_kit import AFTER, BEFORE, around_the_crowd, make_crowd, make_project, mistakes, task


def files(folder: Path, below: str = "") -> dict[str, bytes]:
    names = [path for path in (folder / below).rglob("*") if path.is_file() and not path.is_symlink()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in names}


def lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_x(place: Place) -> None:
    make_project(place.work)
    make_crowd(place.work, 10000)
    with ModelServer([*mistakes(), *around_the_crowd(), *task()]) as server:
        done = place.run("run", "mend it", server=server)
    for r in results(server): print('=====\n'+r[:1200])
    print(done)
    assert files(place.work, "calc") == {}
