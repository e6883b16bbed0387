"""Keys in a real keyring (a small backend over a file, in a process of its own): found, bounded, never shown."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.fakes.file_ring import ROOT, ring_environment

from overt.app.models.credentials import Keyring, check_name
from overt.core.errors import ConfigError

SECRET = "ring-0a1b2c3d4e5f6a7b"


class Ring:
    def __init__(self, folder: Path) -> None:
        self.file = folder / "ring.json"
        self.environ = {"PATH": os.environ["PATH"], "HOME": str(folder), **ring_environment(self.file)}
        self.folder = folder

    def overt(self, *words: str, stdin: str = "", **more: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "overt", *words],
            cwd=self.folder,
            env=self.environ | more,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert SECRET not in done.stdout + done.stderr
        assert "Traceback" not in done.stdout + done.stderr
        return done.returncode, done.stdout, done.stderr

    def lookup(self, *names: str, **more: str) -> list[str | None]:
        script = (
            "import json, sys; from overt.app.models.credentials import keyring_lookup\n"
            "print(json.dumps([keyring_lookup(name) for name in sys.argv[1:]]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, *names],
            env=self.environ | more,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        assert done.stderr == ""
        found: list[str | None] = json.loads(done.stdout)
        return found


@pytest.fixture
def ring(tmp_path: Path) -> Ring:
    return Ring(tmp_path)


def test_a_key_that_was_set_is_found_listed_and_removed(ring: Ring) -> None:
    assert ring.overt("auth", "set", "DEEPSEEK_API_KEY", stdin=f"{SECRET}\n")[0] == 0
    assert json.loads(ring.file.read_text()) == {"overt/DEEPSEEK_API_KEY": SECRET}
    assert ring.lookup("DEEPSEEK_API_KEY", "OTHER_API_KEY") == [SECRET, None]
    _, out, _ = ring.overt("auth")
    first, *rest = out.splitlines()
    assert first.split() == ["DEEPSEEK_API_KEY", "keyring", "api.deepseek.com"]
    assert len(rest) == 1 and rest[0].startswith("Not found: ") and "OPENAI_API_KEY" in rest[0]
    assert ring.overt("auth", "remove", "DEEPSEEK_API_KEY")[1] == "DEEPSEEK_API_KEY is no longer in the keyring.\n"
    assert ring.overt("auth", "remove", "DEEPSEEK_API_KEY")[1] == "DEEPSEEK_API_KEY was not in the keyring.\n"
    assert ring.lookup("DEEPSEEK_API_KEY") == [None]


def test_the_first_place_counts_and_no_value_is_listed(ring: Ring) -> None:
    ring.file.write_text(json.dumps({f"overt/{name}": SECRET for name in ("A_KEY", "B_KEY", "C_KEY")}))
    config = ring.folder / ".config/overt/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(
        "".join(
            f'[[providers]]\nname = "{name}"\nbase_url = "http://h/v1"\napi_key_env = "{name.upper()}_KEY"\n'
            for name in "abcd"
        )
    )
    project = ring.folder / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".env").write_text(f"A_KEY={SECRET}\nB_KEY={SECRET}\n")

    def listed() -> dict[str, str]:
        _, out, _ = ring.overt("auth", "--json", "-C", str(project), A_KEY=SECRET)
        return {row["name"]: row["where"] for row in json.loads(out) if len(row["name"]) == 5}

    assert listed() == {"A_KEY": "environment", "B_KEY": "keyring", "C_KEY": "keyring", "D_KEY": ""}
    assert ring.overt("trust", str(project))[0] == 0
    assert listed() == {"A_KEY": "environment", "B_KEY": ".env", "C_KEY": "keyring", "D_KEY": ""}


@pytest.mark.parametrize("mood", ["fails", "hangs"])
def test_a_keyring_that_fails_or_hangs_has_no_keys_and_says_nothing(ring: Ring, mood: str) -> None:
    began = time.monotonic()
    assert ring.lookup(*(f"N{number}_API_KEY" for number in range(20)), RING_MOOD=mood) == [None] * 20
    assert time.monotonic() - began < 20, "twenty names share one patience"


def test_a_keyring_without_a_backend_or_a_library_has_no_keys(ring: Ring) -> None:
    assert ring.lookup("A_API_KEY", PYTHON_KEYRING_BACKEND="keyring.backends.fail.Keyring") == [None]
    assert ring.lookup("A_API_KEY", PYTHON_KEYRING_BACKEND="no.such.Backend") == [None]
    (ring.folder / "keyring.py").write_text("raise ImportError('not installed')")
    hidden = {"PYTHONPATH": f"{ring.folder}:{ROOT / 'src'}"}
    assert ring.lookup("A_API_KEY", **hidden) == [None]
    code, _, err = ring.overt("auth", "set", "A_API_KEY", stdin=SECRET, **hidden)
    assert code == 1 and "pip install 'overt[keyring]'" in err


@pytest.mark.parametrize("mood", ["locked", "forgets"])
def test_a_key_that_could_not_be_kept_is_said_without_it(ring: Ring, mood: str) -> None:
    code, _, err = ring.overt("auth", "set", "A_API_KEY", stdin=SECRET, RING_MOOD=mood)
    assert code == 1 and "keyring" in err
    assert not ring.file.exists()


@pytest.mark.parametrize("name", [SECRET, "sk_live", "A KEY", "PATH", "", "KEY=1", "ÄKEY_TOKEN"])
def test_what_is_no_name_for_a_key_is_not_quoted(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_name(name)
    assert "DEEPSEEK_API_KEY" in caught.value.message
    assert not name or name not in caught.value.message


@pytest.mark.parametrize("typed", ["", "\n", "two words\n", "schlüssel\n"])
def test_what_is_no_key_is_not_stored(ring: Ring, typed: str) -> None:
    code, _, err = ring.overt("auth", "set", "A_API_KEY", stdin=typed)
    assert code == 1 and "nothing was stored" in err
    assert not ring.file.exists()


def test_without_patience_nothing_is_asked() -> None:
    assert Keyring(patience=0.0).get("A_API_KEY") is None
