"""Make the fixture again: let the previous version work, then pack its home and workspaces.

    .venv/bin/python -m tests.data.previous_version.make

`sessions.py` has the sessions. Beside the archive, `expected.json` keeps what that version itself printed about its
files, what it sent when it went on with each session, what it took back, and the digests of the bodies that its model
server received.
"""

import base64
import json
import os
import socket
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.data.previous_version.sessions import SESSIONS, Maker
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place
from tests.journeys.previous_kit import (
    ARCHIVE,
    COMMIT,
    EXPECTED,
    OBSERVATIONS,
    PORT,
    ROOT,
    UNDOS,
    extract_source,
    pack,
    read_tree,
    reserve_folder,
    resume,
    session_ids,
    undo,
    unpack,
)

USER_CONFIG = f"""\
default_model = "fake/fake-model"
small_model = "fake/small-model"

[undo]
max_age = "36500 days"

[[providers]]
name = "fake"
base_url = "http://127.0.0.1:{PORT}/v1"
api_key_env = "SHOP_KEY"
models = [
  {{ name = "fake-model", window = 100000, images = true, price = {{ input = 3.0, output = 15.0, cached = 0.3 }} }},
  {{ name = "other-model", window = 100000 }},
  {{ name = "narrow-model", window = 20000 }},
  {{ name = "tried-model" }},
  {{ name = "small-model", price = {{ input = 0.1, output = 0.4 }} }},
]

[[providers]]
name = "messages"
kind = "anthropic"
base_url = "http://127.0.0.1:{PORT}/v1"
models = ["messages-model"]

[[providers]]
name = "responses"
kind = "responses"
base_url = "http://127.0.0.1:{PORT}/v1"
models = ["responses-model"]
"""
PROJECT_CONFIG = """\
[permissions]
allow = ["bash(make *)"]
deny = ["read(secrets/**)"]

[limits]
max_parallel = 3
"""
FILES = {
    ".env": "SHOP_KEY=key-from-the-env-file\n",
    ".gitignore": ".env\n",
    "AGENTS.md": "Use tabs in the shop.\n",
    "overt.toml": PROJECT_CONFIG,
    "calc.py": "def total(xs):\n    return 0\n",
    "chat/old.txt": "old\n",
    "long.txt": "a line of words that are not worth much\n" * 300,
    "notes.md": "# Notes\n\none\ntwo\n",
    "secrets/key.txt": "hidden\n",
    "shop/AGENTS.md": "Prices are in cents.\n",
    "shop/cart.py": "items = []\n",
    "shop/doomed.txt": "to be removed by a command\n",
    "shop/run.sh": "echo running\n",
}
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def lay_out(folder: Path) -> None:
    """The user configuration, the project with its repository, and a second project."""
    config = folder / "home" / ".config" / "overt"
    config.mkdir(parents=True, mode=0o700)
    (config / "config.toml").write_text(USER_CONFIG)
    (config / "AGENTS.md").write_text("Answer in short sentences.\n")
    for name, content in FILES.items():
        path = folder / "work" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    (folder / "work" / "pixel.png").write_bytes(PIXEL)
    (folder / "other").mkdir()
    (folder / "other" / "overt.toml").write_text(PROJECT_CONFIG)
    env = {"PATH": os.environ["PATH"], "HOME": str(folder / "home"), "GIT_CONFIG_NOSYSTEM": "1"}
    person = ("-c", "user.name=A", "-c", "user.email=a@example.com")
    for words in (
        ("init", "-q", "-b", "main", "--template="),
        ("config", "user.name", "A Person"),
        ("config", "user.email", "person@example.com"),
        ("add", "-A"),
        ("commit", "-q", "-m", "begin"),
    ):
        subprocess.run(["git", *person, *words], cwd=folder / "work", env=env, check=True, timeout=30)


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="overt-version-") as source,
        reserve_folder() as folder,
    ):
        version = extract_source(COMMIT, Path(source))
        place = Place(folder)
        lay_out(folder)
        maker = Maker(place, version)
        before = read_tree(place.work)
        assert maker.run("trust").code == 0
        maker.run("memory", "add", "the shop opens at nine")
        maker.run("memory", "add", "--global", "prefer plain words")
        for record in SESSIONS:
            print(record.__name__, flush=True)
            record(maker)
        with ModelServer([Turn(text="I have no tools.")], after="repeat", port=PORT):
            assert maker.run("doctor", "--model", "fake/tried-model").code == 0
        for path in (folder / "home" / ".local" / "state" / "overt").glob("*.log"):
            path.unlink()
        check_paths(folder)
        pack(folder)
        place = unpack(folder)
        expected = {
            "commit": {"hash": COMMIT},
            "bodies": maker.bodies,
            "before": before,
            "after": read_tree(place.work),
            **{name: observe(place, version) for name, observe in OBSERVATIONS.items()},
            "resumed": {id: resume(unpack(folder), id, version) for id in session_ids(place)},
            "undone": {" ".join(words): undo(unpack(folder), words, version) for words in UNDOS},
        }
    EXPECTED.write_text(format_values(expected))
    for path in (ARCHIVE, EXPECTED):
        print(f"{path.name}: {path.stat().st_size} bytes")


def check_paths(folder: Path) -> None:
    """Refuse to pack a file that names this machine or this checkout."""
    names = [str(ROOT), str(Path.home()), socket.gethostname()]
    for path in folder.rglob("*"):
        data = path.read_bytes() if path.is_file() else b""
        assert not [name for name in names if name.encode() in data], path


def format_values(values: dict[str, dict[str, Any]]) -> str:
    """JSON with one line for each value of the second level."""
    tables = []
    for name, table in values.items():
        rows = [f"  {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in table.items()]
        tables.append(f" {json.dumps(name)}: {{\n" + ",\n".join(rows) + "\n }")
    return "{\n" + ",\n".join(tables) + "\n}\n"


if __name__ == "__main__":
    main()
