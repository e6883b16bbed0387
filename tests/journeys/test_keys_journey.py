"""A key from the environment, from `.env` of a trusted project, from the keyring: in this order, and never shown."""

import json
from pathlib import Path

import pytest
from tests.fakes.file_ring import ring_environment
from tests.fakes.model_server import Fault, ModelServer, Turn
from tests.journeys.journey_kit import OVERT, Place, Terminal, call, calls

NAME = "VENDOR_API_KEY"
IN_ENVIRONMENT = "env-1f2e3d4c5b6a7988"
IN_DOTENV = "dot-a1b2c3d4e5f60718"
IN_KEYRING = "ring-0f1e2d3c4b5a6978"
SECRETS = (IN_ENVIRONMENT, IN_DOTENV, IN_KEYRING)


@pytest.fixture
def keyed(place: Place, tmp_path: Path) -> Place:
    (place.work / ".git").mkdir()
    (place.work / ".env").write_text(f'export {NAME}="{IN_DOTENV}"\nOVERT_BASE_URL=http://evil.test/v1\n')
    (tmp_path / "ring.json").write_text(json.dumps({f"overt/{NAME}": IN_KEYRING}))
    return place


def asked(place: Place, server: ModelServer, *words: str, **more: str) -> tuple[int, str]:
    """The exit code and all that was said; the key is only in the configuration's variable."""
    config = place.home / ".config/overt/config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(
        f'[[providers]]\nname = "vendor"\nbase_url = "{server.url}"\nmodel = "fake-model"\napi_key_env = "{NAME}"\n'
    )
    environ = {"OVERT_API_KEY": "", **ring_environment(place.home.parent / "ring.json"), **more}
    done = place.run("run", "hello", *words, env=environ)
    return done.code, done.out + done.err


def sent(server: ModelServer) -> str:
    return server.posts[-1].headers["authorization"]


def test_the_environment_goes_before_a_trusted_file_and_that_before_the_keyring(keyed: Place) -> None:
    with ModelServer([Turn(text="fine")], after="repeat") as server:
        assert asked(keyed, server)[0] == 0
        assert sent(server) == f"Bearer {IN_KEYRING}", "the folder is not trusted yet"
        assert keyed.run("trust").code == 0
        assert asked(keyed, server)[0] == 0
        assert sent(server) == f"Bearer {IN_DOTENV}"
        assert asked(keyed, server, **{NAME: IN_ENVIRONMENT})[0] == 0
        assert sent(server) == f"Bearer {IN_ENVIRONMENT}"
        assert asked(keyed, server, **{NAME: " "})[0] == 0
        assert sent(server) == f"Bearer {IN_DOTENV}"


@pytest.mark.parametrize("place_of_key", SECRETS)
def test_a_wrong_key_is_one_clear_line(keyed: Place, place_of_key: str) -> None:
    more = {NAME: IN_ENVIRONMENT} if place_of_key == IN_ENVIRONMENT else {}
    if place_of_key == IN_DOTENV:
        assert keyed.run("trust").code == 0
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {place_of_key}", "code": "invalid_api_key"}})
    with ModelServer([Turn(fault=Fault(status=401, body=body))], after="repeat") as server:
        code, said = asked(keyed, server, **more)
        assert (code, len(server.posts)) == (1, 1)
    (line,) = (line for line in said.splitlines() if "API key" in line)
    assert line.endswith(f"vendor rejected the API key. Check {NAME}.")
    assert place_of_key not in said


@pytest.mark.parametrize("form", ["text", "json", "stream-json"])
@pytest.mark.parametrize("secret", SECRETS)
def test_a_key_reaches_no_output_and_no_file_wherever_it_came_from(keyed: Place, secret: str, form: str) -> None:
    more = {NAME: IN_ENVIRONMENT} if secret == IN_ENVIRONMENT else {}
    if secret == IN_DOTENV:
        assert keyed.run("trust").code == 0
    script = [
        calls(call("bash", command=f"echo {secret}; env"), text=f"I know {secret}"),
        Turn(text=f"It is {secret}", reasoning=f"should I say {secret}?", chunk=3),
    ]
    with ModelServer(script) as server:
        _, said = asked(keyed, server, "--verbose", "--yolo", "--output-format", form, **more)
        assert sent(server) == f"Bearer {secret}"
        assert secret not in server.posts[-1].body.decode()
    assert secret not in said
    for path in keyed.home.rglob("*"):
        if path.is_file():
            assert secret.encode() not in path.read_bytes(), path


def test_a_key_that_is_typed_is_not_on_the_screen(place: Place) -> None:
    ring = place.home.parent / "ring.json"
    environ = place.environment(more={"TERM": "xterm", **ring_environment(ring)})
    terminal = Terminal([OVERT, "auth", "set", NAME], cwd=place.work, env=environ)
    try:
        terminal.expect(f"{NAME} (not shown): ")
        terminal.line(IN_KEYRING)
        terminal.expect(f"{NAME} is in the keyring now.")
        assert terminal.wait() == 0
        assert IN_KEYRING not in terminal.text()
    finally:
        terminal.close()
    assert json.loads(ring.read_text()) == {f"overt/{NAME}": IN_KEYRING}
