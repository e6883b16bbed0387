"""Play a person beside a command, then undo: the driver started as root or as an ordinary user."""

import json
import random
import subprocess
from pathlib import Path
from typing import Any

from tests.sandbox.box_kit import NOBODY, Stage

DRIVER = (Path(__file__).parent / "undo_driver.py").read_text()

COMMAND = """import json, os, sys, time
for wait, kind, name, text in json.loads(sys.argv[1]):
    time.sleep(wait)
    try:
        if kind == "append": open(name, "a").write(text)
        elif kind == "write": open(name, "w").write(text)
        elif kind == "hold":
            with open(name, "a") as file:
                file.write(text); file.flush(); time.sleep(0.02)
        elif kind == "replace":
            open(name + ".tmp", "w").write(text); os.replace(name + ".tmp", name)
        elif kind == "remove": os.remove(name)
        elif kind == "move": os.rename(name, text)
        elif kind == "chmod": os.chmod(name, 0o600)
        elif kind == "until":
            while text not in open(name).read(): time.sleep(0.02)
    except OSError: pass
"""
"""What the command does: each step as for the person."""


def play(stage: Stage, mode: str, rounds: list[dict[str, Any]]) -> tuple[str, list[dict[str, Any]]]:
    """Run rounds in one session; the kind of the sandbox, and what each round came to."""
    stage.give()
    spec = {"workspace": str(stage.workspace), "temp": str(stage.temp), "mode": mode, "rounds": rounds}
    other = stage.user == "nobody"
    done = subprocess.run(
        [stage.python, "-c", DRIVER],
        input=json.dumps(spec),
        env=stage.variables(),
        capture_output=True,
        text=True,
        cwd="/",
        timeout=600,
        user=NOBODY if other else None,
        group=NOBODY if other else None,
        extra_groups=() if other else None,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    kind, *results = [json.loads(line) for line in done.stdout.splitlines()]
    return kind, results


def command(steps: list[list[Any]]) -> str:
    """A command line that takes these steps; the script comes by a here-document, so it is no file of the workspace."""
    return f"python3 -B - '{json.dumps(steps)}' <<'END'\n{COMMAND}END"


def random_round(seed: int) -> dict[str, Any]:
    """A person and a command who change the same few files at the same time."""
    dice = random.Random(seed)
    names = ["a.txt", "b.txt", "sub/c.txt", "sub/d.txt"]
    new = ["new1.txt", "sub/new2.txt"]

    def steps(mark: str, kinds: list[str]) -> list[list[Any]]:
        found: list[list[Any]] = []
        for number in range(dice.randint(1, 5)):
            kind = dice.choice(kinds)
            name = dice.choice(new if kind == "create" else [*names, *new])
            text = dice.choice(["sub2", "a2.txt", *names]) if kind == "move" else f"[{mark}{seed}.{number}]"
            if kind == "move" and text == "sub2":
                name = "sub"
            found.append([dice.choice([0, 0.002, 0.01, 0.04]), kind, name, text])
        return found

    commands = ["append", "write", "hold", "replace", "remove", "move", "chmod"]
    person = steps("person", ["append", "save", "create"])
    person[0][0] = dice.choice([0, 0.02, 0.05, 0.1, 0.2])  # before the command, at its start, in the middle, at its end
    return {
        "files": {name: f"old {name}\n" for name in names},
        "person": person,
        "command": command(steps("command", commands)),
    }


def lost_marks(result: dict[str, Any]) -> list[str]:
    """What the person wrote, was there before undo, and is gone after it."""
    before, after = "".join(result["before"].values()), "".join(result["after"].values())
    marks = {f"[person{rest.partition(']')[0]}]" for rest in before.split("[person")[1:]}
    return sorted(mark for mark in marks if mark not in after)
