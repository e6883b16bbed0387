"""Profiles of models: kept privately and whole, believed only when they are, and never stronger than a person."""

import os
import stat
from pathlib import Path

import pytest
from msgspec.structs import replace

from overt.config.profiles import Cache, ModelProfile, load_profile, save_profile, with_profile
from overt.core.errors import ConfigError
from overt.core.settings import ModelFacts, Quirks

URL = "http://127.0.0.1:8080/v1"
PROFILE = ModelProfile(
    base_url=URL,
    model="org/some-model:7b",
    kind="openai",
    probed="2026-01-02",
    calls="schema",
    streaming=True,
    auto=False,
    required=False,
    streamed_calls=None,
    form=True,
    reasoning="reasoning_content",
    usage=True,
    cache=Cache(works=True, tokens=360, seconds=(4.2, 0.2)),
    window=4096,
    system=True,
    developer=False,
    images=False,
    breaks=("auto: leaked as text",),
)


def test_a_profile_comes_back_as_it_was_kept(tmp_path: Path) -> None:
    path = save_profile(str(tmp_path), PROFILE)
    assert load_profile(str(tmp_path), URL, "org/some-model:7b") == PROFILE
    assert load_profile(str(tmp_path), URL + "/", "org/some-model:7b") == PROFILE
    assert Path(path).parent == tmp_path / "profiles" and Path(path).name.startswith("org-some-model-7b-")
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert stat.S_IMODE(os.stat(tmp_path / "profiles").st_mode) == 0o700


def test_a_later_one_takes_its_place_and_nothing_lies_beside_it(tmp_path: Path) -> None:
    path = save_profile(str(tmp_path), PROFILE)
    later = replace(PROFILE, calls="native", probed="2026-02-03")
    assert save_profile(str(tmp_path), later) == path
    assert load_profile(str(tmp_path), URL, PROFILE.model) == later
    assert os.listdir(tmp_path / "profiles") == [Path(path).name]


def test_another_server_or_another_model_has_none(tmp_path: Path) -> None:
    save_profile(str(tmp_path), PROFILE)
    assert load_profile(str(tmp_path), "http://127.0.0.1:8081/v1", PROFILE.model) is None
    assert load_profile(str(tmp_path), URL, "org-some-model-7b") is None
    assert load_profile(str(tmp_path / "nowhere"), URL, PROFILE.model) is None


def test_a_key_in_the_query_of_an_address_is_not_kept(tmp_path: Path) -> None:
    secret = "sk-in-the-query-123456"
    path = save_profile(str(tmp_path), replace(PROFILE, base_url=f"{URL}/?key={secret}"))
    assert secret not in Path(path).read_text()
    assert load_profile(str(tmp_path), f"{URL}?key=another", PROFILE.model) == PROFILE


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"null",
        b"[]",
        b'"native"',
        b"{}",
        b"[" * 100_000,
        b'{"base_url":"http://127.0.0.1:8080/v1","model":"org/some-model:7b","kind":"openai","probed":"x","calls":"magic"}',
        b'{"base_url":"http://elsewhere/v1","model":"org/some-model:7b","kind":"openai","probed":"x","calls":"native"}',
        b'{"base_url":"http://127.0.0.1:8080/v1","model":"m","kind":"openai","probed":"x","calls":"native"}',
    ],
)
def test_garbage_is_no_profile(tmp_path: Path, content: bytes) -> None:
    path = save_profile(str(tmp_path), PROFILE)
    Path(path).write_bytes(content)
    assert load_profile(str(tmp_path), URL, PROFILE.model) is None


def test_what_a_newer_version_added_does_not_disturb(tmp_path: Path) -> None:
    path = Path(save_profile(str(tmp_path), PROFILE))
    path.write_text(path.read_text().replace('{"base_url"', '{"audio":true,"base_url"', 1))
    assert load_profile(str(tmp_path), URL, PROFILE.model) == PROFILE


def test_a_file_that_others_could_have_written_a_link_or_a_pipe_is_no_profile(tmp_path: Path) -> None:
    path = Path(save_profile(str(tmp_path), PROFILE))
    path.chmod(0o666)
    assert load_profile(str(tmp_path), URL, PROFILE.model) is None
    path.chmod(0o600)
    path.rename(tmp_path / "moved")
    path.symlink_to(tmp_path / "moved")
    assert load_profile(str(tmp_path), URL, PROFILE.model) is None
    path.unlink()
    os.mkfifo(path, 0o600)
    assert load_profile(str(tmp_path), URL, PROFILE.model) is None
    path.unlink()
    path.mkdir()
    assert load_profile(str(tmp_path), URL, PROFILE.model) is None


def test_a_folder_that_cannot_be_made_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "profiles").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be written: .*; make the folder writable"):
        save_profile(str(tmp_path), PROFILE)


def test_a_name_of_half_characters_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="half a character"):
        save_profile(str(tmp_path), replace(PROFILE, model="m\udcff"))
    assert load_profile(str(tmp_path), URL, "m\udcff") is None


def test_a_profile_fills_in_what_nobody_said() -> None:
    assert with_profile(ModelFacts(name="m", quirks=Quirks()), PROFILE) == ModelFacts(
        name="m", window=4096, calls="schema", images=False, reasons=True, quirks=Quirks()
    )


def test_what_was_said_stands() -> None:
    said = ModelFacts(name="m", window=32000, calls="native", images=True, reasons=False, quirks=Quirks())
    assert with_profile(said, PROFILE) == said
    assert with_profile(said, None) == said


def test_a_server_that_obeys_only_the_developer_is_spoken_to_as_one() -> None:
    profile = replace(PROFILE, system=False, developer=True)
    assert with_profile(ModelFacts(name="m", quirks=Quirks()), profile).quirks == Quirks(system="developer")
    assert with_profile(ModelFacts(name="m", quirks=Quirks(system="user")), profile).quirks == Quirks(system="user")


def test_what_could_not_be_found_out_changes_nothing() -> None:
    bare = ModelProfile(base_url=URL, model="m", kind="openai", probed="2026-01-02", calls="text")
    assert with_profile(ModelFacts(name="m"), bare) == ModelFacts(name="m", calls="text")
