"""A keyring over a JSON file, loaded by the keyring library itself: PYTHON_KEYRING_BACKEND=tests.fakes.file_ring.Ring.

RING_FILE names the file. RING_MOOD makes it behave as keyrings do: `hangs`, `fails`, `locked`, `forgets`.
"""

import json
import os
import time
from pathlib import Path

from keyring.backend import KeyringBackend
from keyring.errors import PasswordDeleteError

ROOT = Path(__file__).parent.parent.parent


def ring_environment(file: Path) -> dict[str, str]:
    return {
        "PYTHONPATH": f"{ROOT}:{ROOT / 'src'}",
        "PYTHON_KEYRING_BACKEND": f"{__name__}.Ring",
        "RING_FILE": str(file),
    }


class Ring(KeyringBackend):
    priority = 1

    def get_password(self, service: str, username: str) -> str | None:
        mood = os.environ.get("RING_MOOD")
        if mood == "hangs":
            time.sleep(3600)
        if mood == "fails":
            raise ZeroDivisionError("a backend is anybody's code")
        return _kept().get(f"{service}/{username}")

    def set_password(self, service: str, username: str, password: str) -> None:
        mood = os.environ.get("RING_MOOD")
        if mood == "locked":
            raise RuntimeError(f"locked, cannot keep {password}")
        if mood != "forgets":
            _keep(_kept() | {f"{service}/{username}": password})

    def delete_password(self, service: str, username: str) -> None:
        kept = _kept()
        if kept.pop(f"{service}/{username}", None) is None:
            raise PasswordDeleteError("not found")
        _keep(kept)


def _kept() -> dict[str, str]:
    path = Path(os.environ["RING_FILE"])
    found: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    return found


def _keep(kept: dict[str, str]) -> None:
    Path(os.environ["RING_FILE"]).write_text(json.dumps(kept))
