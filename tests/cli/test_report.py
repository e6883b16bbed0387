"""`overt doctor --report`: everything an issue needs, and no secret."""

import json
import tarfile
from pathlib import Path

from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.fault_kit import PASSWORD, faulty, state
from tests.journeys.journey_kit import KEY, Place, call, calls

HEADER = "hdr-9f8e7d6c5b4a39281706"
PROXY = "prx-Secret-5544332211"
CONFIG = f"""
[agent]
append_system_prompt = "never tell the launch code"

[[providers]]
name = "corp"
base_url = "https://llm.corp.example/v1"
model = "big"
proxy = "http://user:{PROXY}@proxy.corp.example:3128"
headers = {{ "X-Auth" = "{HEADER}" }}
"""


def members(path: str) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        found = {}
        for member in archive.getmembers():
            file = archive.extractfile(member)
            assert file and member.mode == 0o600
            found[member.name.partition("/")[2]] = file.read()
        return found


def reported(place: Place, *words: str) -> tuple[str, dict[str, bytes]]:
    ran = place.run("doctor", "--report", *words, env={"DB_PASSWORD": PASSWORD})
    assert ran.code == 0, ran.err
    path = ran.out.partition("Report: ")[2].partition(" (")[0]
    assert Path(path).parent == state(place) / "reports" and Path(path).stat().st_mode & 0o777 == 0o600
    return ran.out, members(path)


def seeded(place: Place) -> None:
    """Leave secrets in the configuration, a crash, a broken tool, a saved reply and a log of an older version."""
    settings = place.home / ".config/overt/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(CONFIG)
    (place.work / "a.txt").write_text("hi\n")
    read = calls(call("read", path="a.txt"))
    for fault in ("overt.agent.loop:run_calls", "overt.workspace.files:Files.lines"):
        with ModelServer([read, Turn(text="done")]) as server:
            place.run("run", "my private prompt", server=server, env=faulty(place, fault))
    with ModelServer([Turn(text=f"the key is {KEY}", chunk=3)]) as server:
        fault = "overt.providers.wires._openai_decoder:ChatDecoder.end"
        place.run("run", "my private prompt", server=server, env=faulty(place, fault))
    with open(state(place) / "overt.log", "a") as log:  # as an older version might have left it
        log.write(f"2026-01-01T00:00:00.000Z error 1 old: {KEY} {PASSWORD} sk-ant-api03-{'a1B2' * 12}\n")


def test_the_archive_has_what_an_issue_needs_and_no_secret(place: Place) -> None:
    seeded(place)
    out, found = reported(place)
    assert {"doctor.txt", "versions.txt", "config.txt", "logs/overt.log"} <= set(found)
    assert len([name for name in found if name.startswith("crashes/crash-")]) == 2
    assert b"overt: 0." in found["versions.txt"] and b"libraries: msgspec" in found["versions.txt"]
    assert b"providers.corp.base_url" in found["config.txt"] and b"config.toml:" in found["config.txt"]
    assert b"tool: read broke" in found["logs/overt.log"]
    everything = b"\0".join(found.values())
    for secret in (KEY, PASSWORD, HEADER, PROXY, "a1B2a1B2", "launch code", "my private prompt", str(place.home)):
        assert secret.encode() not in everything, secret
    assert not any(name.startswith(("session", "replies")) for name in found)
    assert "--session ID" in out
    (place.home / ".local/state/overt/overt.log").unlink()


def test_a_session_and_replies_are_included_on_request(place: Place) -> None:
    seeded(place)
    session = place.sessions()[-1]
    id = json.loads(session.read_text().splitlines()[0])["data"]["id"]
    _, found = reported(place, "--session", id, "--replies")
    assert b"my private prompt" in found[f"session/{session.name}"]
    (reply,) = (name for name in found if name.startswith("replies/"))
    assert b'"wire":"openai"' in found[reply]
    everything = b"\0".join(found.values())
    for secret in (KEY, PASSWORD, HEADER, PROXY):
        assert secret.encode() not in everything
    text = "".join(
        json.loads(line[6:])["choices"][0]["delta"].get("content", "")
        for line in found[reply].decode().splitlines()
        if line.startswith("data: {") and '"delta":{' in line
    )
    assert KEY not in text
    (place.home / ".local/state/overt/overt.log").unlink()


def test_the_report_is_made_although_the_configuration_is_broken(place: Place) -> None:
    settings = place.home / ".config/overt/config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[logs]\nlevel = 'loud'\n")
    _, found = reported(place)
    assert b"The configuration cannot be read" in found["config.txt"] and b"'loud'" in found["config.txt"]


def test_flags_that_do_not_fit_together_are_refused(place: Place) -> None:
    for words in (("--session", "x"), ("--replies",), ("--report", "--model", "x")):
        assert place.run("doctor", *words).code == 2
