"""The environment of children: what is let through, what never is."""

import pytest

from overt.world.environment import ADDED, child_environment

KEPT = [
    "PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_CACHE_HOME", "PYTHONPATH", "VIRTUAL_ENV",
    "NODE_OPTIONS", "npm_config_cache", "GOPATH", "CARGO_HOME", "JAVA_HOME", "CI", "NO_COLOR", "https_proxy",
]  # fmt: skip
DROPPED = [
    "OPENAI_API_KEY", "AGENT_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "DB_PASSWORD", "XDG_RUNTIME_DIR",
    "SSH_AUTH_SOCK", "DISPLAY", "LD_PRELOAD", "BASH_ENV", "NODE_AUTH_TOKEN", "npm_config__authToken",
    "npm_config__auth", "npm_config_password", "PYTHON_KEYRING_SECRET", "LC_SECRET", "nodeSecretKey", "NODE_TOKENS",
]  # fmt: skip


@pytest.mark.parametrize("name", KEPT)
def test_what_programs_need_is_let_through(name: str) -> None:
    assert child_environment({name: "value"}, ()) == {name: "value"} | ADDED


@pytest.mark.parametrize("name", DROPPED)
def test_what_is_not_listed_or_sounds_secret_is_dropped(name: str) -> None:
    assert child_environment({name: "value"}, ()) == ADDED


def test_names_that_only_contain_a_secret_word_are_not_secret() -> None:
    names = ["PYTHONKEYBOARD", "NODE_MONKEY", "LC_TOKENIZER"]

    assert child_environment(dict.fromkeys(names, "v"), ()) == dict.fromkeys(names, "v") | ADDED


def test_a_person_can_pass_more_but_no_secret() -> None:
    environ = {"DISPLAY": ":0", "SSH_AUTH_SOCK": "/s", "MY_APP_MODE": "x", "MY_APP_TOKEN": "y", "GITHUB_TOKEN": "z"}

    found = child_environment(environ, ("DISPLAY", "SSH_AUTH_SOCK", "MY_APP_*", "GITHUB_TOKEN"))

    assert found == {"DISPLAY": ":0", "SSH_AUTH_SOCK": "/s", "MY_APP_MODE": "x"} | ADDED


def test_what_would_page_or_ask_is_told_not_to_unless_a_person_passes_it() -> None:
    environ = {"PAGER": "less", "TERM": "xterm", "GIT_PAGER": "delta"}

    assert child_environment(environ, ("PAGER",)) == ADDED | {"PAGER": "less"}
