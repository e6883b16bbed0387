"""The environment of children: what is let through, what never is."""

import pytest

from overt.workspace.environment import ADDED, child_environment

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


def test_of_twenty_seeded_secrets_none_reaches_a_child() -> None:
    values = [f"seeded-{number}-{'x' * 12}" for number in range(20)]
    named = "OPENAI_API_KEY AGENT_API_KEY GITHUB_TOKEN DB_PASSWORD AWS_SECRET_ACCESS_KEY NODE_AUTH_TOKEN LC_PASSPHRASE"
    environ = dict(zip(named.split(), values, strict=False))
    environ |= {"PYTHONSTARTUP": values[0], "NODE_OPTIONS": f"--title={values[1]}", "CFLAGS": f"-DTOKEN={values[2]}"}
    environ |= {"HTTPS_PROXY": f"http://me:{values[7]}@proxy:3128", "npm_config_registry": f"https://{values[8]}@host/"}
    environ |= {"npm_config__auth": values[9], "npm_config_//host/:_authToken": values[10], "CARGO_TOKEN": values[11]}
    environ |= {"LD_LIBRARY_PATH": values[12], "GOFLAGS": f"-x={values[13]}", "MY_APP": values[14], "CI": values[15]}
    environ |= {"UV_INDEX_PASSWORD": values[16], "SSH_AUTH_SOCK": values[17], "DOCKER_HOST": values[18]}
    environ |= {"DBUS_SESSION_BUS_ADDRESS": values[19], "XDG_RUNTIME_DIR": "/run/user/1", "PATH": "/usr/bin"}

    found = child_environment(environ, ("MY_*",), secrets=values[12:16])

    assert [value for value in values if any(value in held for held in found.values())] == []
    assert (found["PATH"], found["HTTPS_PROXY"]) == ("/usr/bin", "http://proxy:3128")
    assert found["npm_config_registry"] == "https://host/"


def test_a_login_in_an_address_is_passed_when_a_person_names_the_variable() -> None:
    environ = {"HTTPS_PROXY": "http://me:pass@proxy:3128"}

    assert child_environment(environ, ("HTTPS_PROXY",)) == environ | ADDED


LOGINS = {
    "http://me:p/a@ss@proxy:3128": "http://proxy:3128",
    "me:pa55word@proxy:3128": "proxy:3128",
    "socks5h://me:pa,55|word@[::1]:1080": "socks5h://[::1]:1080",
    "http://proxy:3128/": "http://proxy:3128/",
    "me@host:pa55": "",
}


@pytest.mark.parametrize("value", LOGINS)
def test_a_proxy_loses_its_login_whatever_signs_it_holds(value: str) -> None:
    for name in ("HTTPS_PROXY", "all_proxy"):
        assert child_environment({name: value}, ()) == {name: LOGINS[value]} | ADDED


def test_each_of_several_addresses_loses_its_login() -> None:
    given = "https://me:p/a@ss@one.example/go,me:pa55@two.example|https://proxy.golang.org,direct"

    found = child_environment({"GOPROXY": given, "npm_config_//x/:registry": "see https://a:b/c@host/ now"}, ())

    wanted = "https://one.example/go,two.example|https://proxy.golang.org,direct"
    assert found == {"GOPROXY": wanted, "npm_config_//x/:registry": "see https://host/ now"} | ADDED


def test_more_names_of_secrets_are_known() -> None:
    names = ["npm_config_otp", "NODE_PASS", "npm_config_pwd", "LC_PGPASSWORD", "PYTHON_DBTOKEN", "NODE_SMTP_PASSWD"]

    assert child_environment(dict.fromkeys(names, "v"), ("MY_*",)) == ADDED


def test_the_place_where_a_person_stands_is_no_secret() -> None:
    environ = {"PWD": "/home/me/code", "OLDPWD": "/home/me", "X_PWD": "/home/me", "PATH": "/home/me/code/bin"}

    found = child_environment(environ, ("PWD", "OLDPWD"))

    assert found == {name: environ[name] for name in ("PWD", "OLDPWD", "PATH")} | ADDED


OPTIONS = {
    "-Dtoken=abc -Xmx1g": False,
    "-Djavax.net.ssl.trustStorePassword=changeit": False,
    "-Drepo.apiKey=abc": False,
    "-Xmx1g -Djavax.net.ssl.keyStore=/etc/keys -Dtokenizer=fast": True,
}


@pytest.mark.parametrize("value", OPTIONS)
def test_options_that_set_a_secret_are_dropped(value: str) -> None:
    assert child_environment({"MAVEN_OPTS": value}, ()) == ({"MAVEN_OPTS": value} if OPTIONS[value] else {}) | ADDED
    assert child_environment({"MAVEN_OPTS": value}, ("MAVEN_OPTS",)) == {"MAVEN_OPTS": value} | ADDED


def test_short_values_are_not_taken_for_secrets() -> None:
    assert child_environment({"MY_TOKEN": "1", "CI": "1"}, ()) == {"CI": "1"} | ADDED
