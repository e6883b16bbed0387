"""A small task for a small model: a folder, a prompt, and a check of what came of it."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msgspec import Struct


class Task(Struct, frozen=True, kw_only=True):
    """`right` is given the folder as the task left it and the answer, and says whether both are as they should be."""

    name: str
    prompt: str
    right: Callable[[Path, str], bool]
    files: dict[str, str] = {}

    def lay_out(self, folder: Path) -> None:
        for name, content in self.files.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(content)

    def others_kept(self, folder: Path, *changed: str) -> bool:
        """Every file but these is as it was laid out."""
        return all((folder / name).read_text() == text for name, text in self.files.items() if name not in changed)


def value_of(folder: Path, expression: str) -> Any:
    """What a Python expression prints when it is evaluated in the folder; the error when it fails."""
    done = subprocess.run(
        [sys.executable, "-B", "-c", f"print({expression})"], cwd=folder, capture_output=True, text=True, timeout=30
    )
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip()


def output_of(folder: Path, *arguments: str) -> str:
    """What a Python program in the folder prints."""
    done = subprocess.run([sys.executable, "-B", *arguments], cwd=folder, capture_output=True, text=True, timeout=30)
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip()
