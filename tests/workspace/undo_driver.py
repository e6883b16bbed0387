"""A program that plays a person who edits files while commands run, and then undoes the turn. See `undo_kit.py`.

It runs as the user of the test, with the real sandbox, snapshots, session file and undo; only the model is missing.
Its word is JSON: `{"workspace", "temp", "mode", "rounds": [{"files", "person", "command", "yes"}]}`. For each round
it prints `{"before", "after", "lines", "complete", "tracked"}`: the files just before and after undo.
"""

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from typing import Any

from overt.app.undo.session_undo import SessionUndo, UndoRequest, UndoResult
from overt.core.errors import OvertError
from overt.core.events import Event, ToolStarted, TreeTaken
from overt.core.messages import Call
from overt.core.protocols import Profile
from overt.sandbox.profile import SandboxPlace, cache_folders
from overt.sessions.log import SessionLog
from overt.workspace.environment import child_environment
from overt.workspace.files import Workspace
from overt.workspace.jobs import Jobs
from overt.workspace.programs import Programs, ProgramServices, SupervisorSpawner
from overt.workspace.undo import first_snapshot
from overt.workspace.undo import snapshot_keeper as keeping
from overt.workspace.undo.recorder import UndoRecorder
from overt.workspace.undo.snapshot_keeper import make_keeper

LONGEST_S = 60.0
"""How long a person or a snapshot may take, so that a busy machine does not decide what a test sees."""
first_snapshot.FIRST_SNAPSHOT_LIMIT_S = keeping.FIRST_PATIENCE = keeping.PATIENCE = LONGEST_S


def read_files(root: str) -> dict[str, str]:
    """Text by path."""
    files: dict[str, str] = {}
    for top, _, names in os.walk(root):
        for name in names:
            path = os.path.join(top, name)
            if os.path.islink(path):
                files[os.path.relpath(path, root)] = f"-> {os.readlink(path)}"
            else:
                with open(path, encoding="utf-8") as file:
                    files[os.path.relpath(path, root)] = file.read()
    return files


def play_person(root: str, steps: list[list[Any]], ended: str) -> None:
    """Each step: how long to wait, what to do, with which file, the text. `ended` exists once the command has ended."""
    for wait, kind, name, text in steps:
        time.sleep(wait)
        path = os.path.join(root, name)
        try:
            play_step(kind, path, text, ended)
        except FileNotFoundError:
            pass  # the command has removed or moved it


def play_step(kind: str, path: str, text: str, ended: str) -> None:
    if kind == "append":
        with open(path, "a", encoding="utf-8") as file:
            file.write(text)
    elif kind == "save":  # as editors do that rename over the file
        with open(path, encoding="utf-8") as file:
            old = file.read()
        with open(f"{path}.swp", "w", encoding="utf-8") as file:
            file.write(old + text)
        os.rename(f"{path}.swp", path)
    elif kind == "shell":
        subprocess.run(["sh", "-c", text], cwd=path, env=os.environ | {"ENDED": ended}, check=True, timeout=LONGEST_S)
    elif kind == "until":  # the file holds the text
        deadline = time.monotonic() + LONGEST_S
        while not holds(path, text):
            assert time.monotonic() < deadline, f"{path} never held {text!r}"
            time.sleep(0.02)
    elif kind == "create":
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)


def holds(path: str, text: str) -> bool:
    try:
        with open(path, encoding="utf-8") as file:
            return text in file.read()
    except FileNotFoundError:
        return False


class Session:
    """One session in a workspace, with a turn for each round."""

    def __init__(self, spec: dict[str, Any]) -> None:
        home, self.root = os.environ["HOME"], spec["workspace"]
        place = SandboxPlace(
            workspace=self.root,
            project=self.root,
            home=home,
            config_dir=f"{home}/.config/overt",
            data_dir=f"{home}/.local/share/overt",
            cache_dir=f"{home}/.cache/overt",
            temp=spec["temp"],
            caches=cache_folders(home, os.environ),
        )
        self.profile = Profile(outside=spec["mode"] == "outside")
        mode = "auto" if spec["mode"] == "outside" else spec["mode"]
        self.spawner = SupervisorSpawner(place=place, mode=mode)
        self.log = SessionLog.create(place.data_dir, workspace=self.root, project=self.root, overt="0")
        self.path = self.log.path
        self.temp = spec["temp"]
        self.turn = 0
        self.tracked = False
        self.keeper = make_keeper(place, own=(), path=os.environ["PATH"])
        self.workspace = Workspace(root=self.root, home=home)

    def append(self, event: Event) -> None:
        if isinstance(event, TreeTaken) and event.after:
            self.tracked = event.tracked
        self.log.append(event, turn=self.turn, step=1)

    async def play(self, round: dict[str, Any]) -> dict[str, Any]:
        self.turn += 1
        for name in read_files(self.root):
            os.unlink(os.path.join(self.root, name))
        for name, text in round["files"].items():
            os.makedirs(os.path.dirname(os.path.join(self.root, name)), exist_ok=True)
            with open(os.path.join(self.root, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.keeper.mark_changed()
        id, command = f"c{self.turn}", round["command"]
        self.append(ToolStarted(call=Call(id=id, name="bash", arguments=json.dumps({"command": command}))))
        env = child_environment(os.environ, ())
        services = ProgramServices(spawner=self.spawner, jobs=Jobs(), workspace=self.workspace, env=env)
        recorder, ended = UndoRecorder(self.append), os.path.join(self.temp, f"ended{self.turn}")
        programs = Programs(services, profile=self.profile, keeping=lambda: self.keeper.around(id, recorder))
        person = threading.Thread(target=play_person, args=(self.root, round["person"], ended))
        person.start()
        ran = await programs.run(command, timeout_ms=60_000)
        open(ended, "w").close()
        assert ran.code == 0, ran.text
        await recorder.close(LONGEST_S)
        await asyncio.to_thread(person.join)
        before = read_files(self.root)
        work = SessionUndo(self.path, self.workspace, self.keeper)
        try:
            done = await asyncio.to_thread(work.undo, UndoRequest(yes=round.get("yes", False)))
        except OvertError as error:  # nothing to undo
            done = UndoResult(lines=(error.message,))
        for fact in done.facts:
            self.append(fact)
        after = read_files(self.root)
        found = {"before": before, "after": after, "lines": done.lines}
        return {**found, "complete": done.complete, "tracked": self.tracked}


async def main() -> None:
    spec = json.loads(sys.stdin.read())
    session = Session(spec)
    state = await session.spawner.standing(session.profile)
    print(json.dumps(state.kind), flush=True)
    for round in spec["rounds"]:
        print(json.dumps(await session.play(round)), flush=True)
    await session.spawner.close()
    await session.keeper.close()
    session.log.close()


if __name__ == "__main__":
    asyncio.run(main())
