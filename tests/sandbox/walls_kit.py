"""What the tests of walls share: a folder and a Python that root and an ordinary user can both use."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
import pytest

import overt

NOBODY = 65534
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(overt.__file__)))
PACKAGES = os.path.dirname(os.path.dirname(msgspec.__file__))

Who = Literal["root", "ordinary"]
EVERYBODY: tuple[Who, ...] = ("root", "ordinary")

RESTRICTED = f"""
import json, os, sys
sys.path.insert(0, {PACKAGE!r})
from overt.sandbox.mechanisms.landlock import restrict
told = json.loads(sys.argv[1])
lacking = restrict(told["write"], told["hidden"], told["network"])
os.environ["LACKING"] = json.dumps(lacking)
os.execvp(sys.argv[2], sys.argv[2:])
"""
"""Walls itself in and becomes the given command."""


class Ran(NamedTuple):
    code: int
    out: str
    err: str


class Person:
    """Somebody who runs programs in a folder of their own."""

    def __init__(self, who: Who, folder: Path) -> None:
        self.folder = folder
        self.python = sys.executable if who == "root" else reachable_python()
        self.switched = who == "ordinary" and os.geteuid() == 0
        self.work = self.made("work")
        self.temp = self.made("temp")
        self.home = self.made("home")
        self.outside = self.made("outside")

    def made(self, name: str) -> Path:
        path = self.folder / name
        path.mkdir(parents=True)
        self.give(path)
        return path

    def written(self, path: Path, text: str) -> Path:
        for parent in reversed([each for each in path.parents if not each.exists()]):
            parent.mkdir()
            self.give(parent)
        path.write_text(text)
        self.give(path)
        return path

    def give(self, path: Path) -> None:
        if self.switched:
            os.chown(path, NOBODY, NOBODY)

    def run(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> Ran:
        done = subprocess.run(
            argv,
            cwd=cwd or self.work,
            env=self.environment() | dict(env or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            **self.identity(),
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def identity(self) -> dict[str, Any]:
        return {"user": NOBODY, "group": NOBODY, "extra_groups": []} if self.switched else {}

    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "TMPDIR": str(self.temp),
            "PYTHONPATH": f"{PACKAGE}:{PACKAGES}",
            "LC_ALL": "C.UTF-8",
        }

    def walled(
        self, *argv: str, hidden: Sequence[object] = (), write: Sequence[object] = (), network: bool = False
    ) -> Ran:
        """Run a command behind Landlock and the filter."""
        told = {
            "write": [str(path) for path in (write or (self.work, self.temp))],
            "hidden": [str(path) for path in hidden],
            "network": network,
        }
        return self.run([self.python, "-I", "-S", "-c", RESTRICTED, json.dumps(told), *argv])

    def shell(self, script: str, **walls: Any) -> Ran:
        return self.walled("bash", "-c", script, **walls)

    def code(self, script: str, **walls: Any) -> Ran:
        return self.walled(self.python, "-I", "-S", "-c", script, **walls)


@contextmanager
def person(who: Who) -> Iterator[Person]:
    if who == "root" and os.geteuid() != 0:
        pytest.skip("needs root")
    folder = Path(tempfile.mkdtemp(prefix="overt-walls-"))
    folder.chmod(0o755)
    try:
        yield Person(who, folder)
    finally:
        shutil.rmtree(folder)


@cache
def reachable_python() -> str:
    """A Python of this version that an ordinary user may start; ours may lie in root's home."""
    if os.geteuid() != 0:
        return sys.executable
    say = "import sys; print(*sys.version_info[:2])"
    wanted = f"{sys.version_info[0]} {sys.version_info[1]}\n"
    names = [sys.executable, os.path.realpath(sys.executable), "/usr/local/bin/python3", "/usr/bin/python3"]
    for name in names:
        try:
            done = subprocess.run(
                [name, "-I", "-c", say], capture_output=True, text=True, user=NOBODY, group=NOBODY, extra_groups=[]
            )
        except OSError:
            continue
        if (done.returncode, done.stdout) == (0, wanted):
            return name
    pytest.skip("no Python of this version that an ordinary user may start")
