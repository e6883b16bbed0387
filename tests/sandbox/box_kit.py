"""A stage for boxes: a workspace, a home with secrets, and a program that runs commands there as one user."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).parents[2] / "src"
NOBODY = 65534
USERS = pytest.mark.parametrize("user", ["root", "nobody"])

DRIVER = """
import asyncio, json, os, sys
from overt.core.errors import ToolError
from overt.core.protocols import Profile
from overt.workspace.environment import child_environment
from overt.workspace.jobs import Jobs
from overt.workspace.files import Workspace
from overt.workspace.programs import Programs, ProgramServices, SupervisorSpawner
from overt.sandbox.profile import SandboxPlace, cache_folders

async def main():
    spec = json.loads(sys.argv[1])
    home, workspace = os.environ["HOME"], spec["workspace"]
    place = SandboxPlace(
        workspace=workspace, project=spec["project"] or workspace, home=home, config_dir=f"{home}/.config/overt",
        data_dir=f"{home}/.local/share/overt", cache_dir=f"{home}/.cache/overt", temp=spec["temp"],
        caches=cache_folders(home, os.environ), write=tuple(spec["write"]), read=tuple(spec["read"]),
    )
    spawner = SupervisorSpawner(place=place, mode=spec["mode"], most_processes=spec["most"])
    env = child_environment(os.environ, ()) | {"MARK": spec["mark"], "OUTSIDE": str(os.getpid())}
    state = await spawner.standing(Profile(**spec["profile"]))
    results = [[state.kind, list(state.missing), state.why]]
    for command in spec["commands"]:
        profile = Profile(**spec["profile"])
        services = ProgramServices(spawner=spawner, jobs=Jobs(), workspace=Workspace(root=workspace), env=env)
        programs = Programs(services, profile=profile)
        try:
            ran = await programs.run(command, timeout_ms=spec["timeout"])
            results.append([ran.code, ran.text, ran.remark or (ran.blocked.advise() if ran.blocked else "")])
        except ToolError as error:
            results.append([-1, error.message, ""])
    print(json.dumps(results), flush=True)
    if spec["close"]:
        await spawner.close()

asyncio.run(main())
"""


class Stage:
    """Folders that belong to `user`; `run` gives the sandbox's state, then code, text and denial per command."""

    def __init__(self, folder: Path, user: str) -> None:
        self.folder = folder
        self.user = user
        self.home = folder / "home"
        self.workspace = folder / "work"
        self.temp = folder / "temp"
        self.mark = f"box-test-{os.getpid()}-{folder.name}"
        self._package = SOURCE
        self.python = sys.executable
        for path in (self.home / ".ssh", self.home / ".cache", self.workspace, self.temp):
            path.mkdir(parents=True)
        (self.home / ".ssh" / "id").write_text("PRIVATE KEY")
        (self.home / ".netrc").write_text("PRIVATE LOGIN")
        (self.home / ".bashrc").write_text("# start\n")
        (self.home / ".gitconfig").write_text("[user]\nname = n\nemail = n@example.org\n")
        if user == "nobody":
            self._move()

    def _move(self) -> None:
        """Everything an ordinary user needs, where it can be read: the checkout may lie in root's home."""
        if os.geteuid() != 0:
            pytest.skip("becoming another user takes root")
        self.python = readable_python()
        self._package = self.folder / "package"
        found = find_spec("msgspec")
        assert found is not None and found.submodule_search_locations
        skip = shutil.ignore_patterns("__pycache__")
        shutil.copytree(SOURCE / "overt", self._package / "overt", ignore=skip)
        shutil.copytree(found.submodule_search_locations[0], self._package / "msgspec", ignore=skip)
        self.give()

    def give(self, *paths: Path) -> None:
        """To the user who works here."""
        if self.user == "nobody":
            for top in paths or (self.home, self.workspace, self.temp):
                for folder, _, names in os.walk(top):
                    for name in (".", *names):
                        os.chown(os.path.join(folder, name), NOBODY, NOBODY, follow_symlinks=False)

    def git(self, *words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(self.workspace), "-c", "safe.directory=*", *words],
            capture_output=True, text=True, check=True, env=os.environ | {"HOME": str(self.home)},
        )  # fmt: skip
        return done.stdout

    def repository(self) -> None:
        self.git("init", "-q", "-b", "main")
        self.give(self.workspace)

    def variables(self) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "PYTHONPATH": str(self._package)}

    def start(self, *commands: str, **given: Any) -> subprocess.Popen[str]:
        spec = {
            "workspace": str(given.pop("workspace", self.workspace)), "temp": str(self.temp), "mark": self.mark,
            "mode": given.pop("mode", "auto"), "most": given.pop("most", 4096), "close": given.pop("close", True),
            "timeout": given.pop("timeout", 60_000), "write": given.pop("also", ()), "read": given.pop("shown", ()),
            "commands": commands, "project": str(given.pop("project", "")),
        }  # fmt: skip
        before, driver = given.pop("before", ()), given.pop("driver", DRIVER)
        spec["profile"] = given
        variables = self.variables()
        return subprocess.Popen(
            [*before, self.python, "-c", driver, json.dumps(spec)],
            env=variables | {"SEEDED_TOKEN": "seeded-secret-value", "LANG": "C.UTF-8"},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd="/",
            user=NOBODY if self.user == "nobody" else None, group=NOBODY if self.user == "nobody" else None,
            extra_groups=() if self.user == "nobody" else None,
        )  # fmt: skip

    def run(self, *commands: str, **given: Any) -> list[list[Any]]:
        process = self.start(*commands, **given)
        try:
            out, err = process.communicate(timeout=110)
        finally:
            process.kill()
            process.wait()
        assert err == "", err
        results: list[list[Any]] = json.loads(out)
        return results

    def one(self, command: str, **given: Any) -> list[Any]:
        """Code, text and denial of a single command in a box of bubblewrap."""
        state, ran = self.run(command, **given)
        assert state == ["bubblewrap", [], ""]
        return ran

    def left(self) -> list[str]:
        """Private folders and processes that are still there."""
        return [*map(str, self.temp.iterdir()), *self.processes()]

    def processes(self) -> list[str]:
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                environ = Path(f"/proc/{pid}/environ").read_bytes()
                words = Path(f"/proc/{pid}/cmdline").read_bytes()
            except OSError:
                continue
            if self.mark.encode() in environ or (str(self.temp).encode() in words and b"-c" in words):
                found.append(f"{pid} {words.replace(bytes(1), b' ').decode('utf-8', 'replace')[:200]}")
        return found


def readable_python() -> str:
    """An interpreter of this version that an ordinary user can start."""
    version = "{}.{}".format(*sys.version_info)
    for path in (os.path.realpath(sys.executable), "/usr/bin/python3", f"/usr/bin/python{version}"):
        try:
            done = subprocess.run(
                [path, "-c", "import sys; print('{}.{}'.format(*sys.version_info))"],
                capture_output=True,
                text=True,
                user=NOBODY,
                cwd="/",
            )
        except OSError:
            continue
        if done.stdout.strip() == version:
            return path
    pytest.skip(f"no python {version} here that an ordinary user can start")


@contextmanager
def staged(user: str) -> Iterator[Stage]:
    folder = Path(tempfile.mkdtemp(prefix="box-test-"))
    folder.chmod(0o755)
    try:
        yield Stage(folder, user)
    finally:
        shutil.rmtree(folder)


def end(process: subprocess.Popen[str], number: signal.Signals) -> None:
    process.send_signal(number)
    process.communicate(timeout=60)
