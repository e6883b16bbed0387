"""The embedded model where it cannot run: every reason is said in words, and nothing is left behind."""

import asyncio
import os
import sys
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.providers.local_kit import SMALL, USUAL, Talk, hollow
from tests.providers.provider_kit import run

from overt.core.errors import ConfigError, ProviderError
from overt.core.settings import ProviderEntry
from overt.providers.embedded.provider import LocalProvider, installed_weights, make
from overt.providers.embedded.weights import WEIGHTS, context_for, find_weights, free_memory, threads


def entry_for(cache_dir: str) -> ProviderEntry:
    return ProviderEntry(name="local", kind="local", base_url=f"file://{cache_dir}/models")


async def failure(provider: LocalProvider) -> ProviderError:
    try:
        async for _ in provider.stream(Talk(provider).ask("hello")):
            pass
    except ProviderError as error:
        return error
    finally:
        provider.close()
    raise AssertionError("it should have failed")


def test_without_weights_there_is_no_embedded_model(tmp_path: Path) -> None:
    assert installed_weights(str(tmp_path)) is None


def test_weights_that_are_cut_off_do_not_count(tmp_path: Path) -> None:
    weights = find_weights(SMALL)
    assert weights is not None
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / weights.file).write_bytes(b"GGUF")
    assert installed_weights(str(tmp_path)) is None


def test_weights_become_an_entry_that_says_what_the_model_can(tmp_path: Path) -> None:
    entry = installed_weights(hollow(tmp_path))
    assert entry is not None
    assert (entry.name, entry.kind, entry.models) == ("local", "local", (SMALL,))
    about = entry.facts(SMALL)
    assert (about.calls, about.compact, about.price, about.images) == ("schema", True, None, False)
    assert about.window in (4096, 8192)


def test_missing_weights_name_the_command_that_gets_them(tmp_path: Path) -> None:
    error = run(failure(make(entry_for(str(tmp_path)), None, SMALL)))
    assert (error.kind, f"overt models fetch {SMALL}" in error.message) == ("model", True)


def test_without_a_model_named_it_is_the_usual_one(tmp_path: Path) -> None:
    error = run(failure(make(entry_for(str(tmp_path)), None)))
    assert f"overt models fetch {USUAL}" in error.message


def test_a_model_that_is_not_embedded_is_named_beside_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        make(entry_for(str(tmp_path)), None, "gpt-9")
    assert "gpt-9" in raised.value.message and USUAL in raised.value.message


def test_an_entry_without_a_folder_says_what_is_expected() -> None:
    with pytest.raises(ConfigError, match="file:///FOLDER"):
        make(ProviderEntry(name="mine", kind="local"), None, SMALL)


def test_weights_that_are_no_model_are_told_apart_from_a_server_that_is_slow(tmp_path: Path) -> None:
    folder = hollow(tmp_path)
    provider = make(entry_for(folder), None, SMALL)
    error = run(failure(provider), within=60)
    assert error.kind == "down"
    assert "did not start" in error.message and f"overt models fetch {SMALL}" in error.message
    assert provider.pid == 0


def test_too_little_memory_is_said_before_anything_is_started(tmp_path: Path) -> None:
    weights = find_weights(USUAL)
    assert weights is not None
    huge = replace(weights, size=1 << 40)
    models = tmp_path / "models"
    models.mkdir()
    with open(models / huge.file, "wb") as file:
        os.truncate(file.fileno(), huge.size)
    error = run(failure(LocalProvider(entry_for(str(tmp_path)), huge, folder=str(models))))
    assert "Not enough memory" in error.message and "1100.2 GB" in error.message


def test_closing_before_anything_was_asked_is_fine(tmp_path: Path) -> None:
    provider = make(entry_for(hollow(tmp_path)), None, SMALL)
    provider.warm()
    pid = provider.pid
    provider.close()
    provider.close()
    assert pid and not Path(f"/proc/{pid}").exists()


def test_warming_in_vain_keeps_quiet(tmp_path: Path) -> None:
    provider = make(entry_for(str(tmp_path)), None, SMALL)
    provider.warm()
    assert provider.pid == 0
    assert asyncio.run(provider.models()) == ()


@pytest.mark.skipif(sys.platform != "linux", reason="read from /proc")
def test_memory_and_cores_are_read_from_the_system() -> None:
    free = free_memory()
    assert free is not None and free > 0
    assert 1 <= threads() <= len(os.sched_getaffinity(0))
    assert all(context_for(weights) in (0, 4096, 8192) for weights in WEIGHTS)
