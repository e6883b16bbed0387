"""Faults injected into the installed program: a module that Python loads first breaks one function of it.

The exception's message holds the API key and a password, as real ones do when they quote a request.
"""

import re
from pathlib import Path

from tests.journeys.journey_kit import KEY, Place, Terminal

PASSWORD = "correct-horse-41-battery"
MODULE = '''
import importlib.abc
import importlib.util
import os
import sys


class Breaker(importlib.abc.MetaPathFinder):
    """Replaces one function as soon as its module has been loaded."""

    def find_spec(self, name, path, target=None):
        if name not in FAULTS:
            return None
        function = FAULTS.pop(name)
        spec = importlib.util.find_spec(name)
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            break_function(module, function)

        spec.loader.exec_module = exec_module
        return spec


def break_function(module, function):
    *way, last = function.split(".")
    holder = module
    for step in way:
        holder = getattr(holder, step)
    usual = getattr(holder, last)
    left = [TIMES]

    def broken(*args, **kwargs):
        if not left[0]:
            return usual(*args, **kwargs)
        left[0] -= 1
        raise KeyError(f"injected: {os.environ['OVERT_API_KEY']} and {os.environ['DB_PASSWORD']}")

    setattr(holder, last, broken)


FAULTS = dict(fault.split(":") for fault in os.environ["FAULT"].split())
TIMES = int(os.environ.get("FAULT_TIMES", "-1"))
sys.meta_path.insert(0, Breaker())
'''
HIDDEN = "KeyError: 'injected: [redacted secret] and [redacted secret]'"


def faulty(place: Place, fault: str, *, times: int = -1) -> dict[str, str]:
    """Variables that break `module:function` (or several), the first `times` calls of it or all."""
    folder = place.home / "faults"
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(MODULE)
    return {"PYTHONPATH": str(folder), "FAULT": fault, "FAULT_TIMES": str(times), "DB_PASSWORD": PASSWORD}


def state(place: Place) -> Path:
    return place.home / ".local/state/overt"


def crashes(place: Place) -> list[str]:
    """The crash files; each is for its owner alone."""
    folder = state(place) / "crashes"
    if not folder.exists():
        return []
    paths = sorted(folder.iterdir())
    assert [oct(path.stat().st_mode & 0o777) for path in (folder, *paths)] == ["0o700", *["0o600"] * len(paths)]
    return [path.read_text() for path in paths]


def log(place: Place) -> str:
    path = state(place) / "overt.log"
    return path.read_text() if path.exists() else ""


def assert_no_secret(place: Place) -> None:
    """Neither secret is in any file below the home folder."""
    for path in place.home.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert PASSWORD.encode() not in content, path
            assert KEY.encode() not in content, path


def assert_crash(place: Place, function: str, *, shown: str) -> str:
    """One crash file with the traceback down to the broken function, and its path in what was shown."""
    (text,) = crashes(place)
    (path,) = (state(place) / "crashes").iterdir()
    assert HIDDEN in text
    assert re.search(rf"in {function}\n", text), text
    for part in ("overt: 0.", "python: 3.", "platform: ", "libraries: msgspec ", "Settings that differ", "events"):
        assert part in text
    flat = "".join(shown.split())
    assert f"Internalerror:{''.join(HIDDEN.split())}.Crashfile:{path}" in flat
    assert_no_secret(place)
    return text


def crash_shown(screen: str) -> bool:
    """True once the whole path of a crash file is on the screen: a terminal may get a line in two pieces."""
    return re.search(r"Crashfile:/\S+\.txt", "".join(screen.split())) is not None


def prompt_until(chat: Terminal, text: str, wanted: str) -> str:
    chat.expect("› ")
    chat.line(text)
    return chat.expect(wanted)
