"""Test data that looks like a secret can be read, searched, edited and written when `redact.allow` names it."""

from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import KEY, Place, call, calls, messages, place, results

from overt.lib.redaction.redact import HIDDEN

__all__ = ["place"]

AWS_ID = "AKIAIOSFODNN7EXAMPLE"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MjQyNDI0MiJ9.s3cr3tS1gnatur3s3cr3tS1gnatur3"
NEW_JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MzQzNDM0MyJ9.n3wS1gnatur3n3wS1gnatur3"
STRANGER = "ghp_R4nd0mR4nd0mR4nd0mR4nd0mR4nd0m12"


def configured(place: Place, text: str) -> None:
    folder = place.home / ".config" / "overt"
    folder.mkdir(parents=True)
    (folder / "config.toml").write_text(text)


def fixtures(place: Place) -> Path:
    folder = place.work / "tests" / "fixtures"
    folder.mkdir(parents=True)
    (folder / "token.txt").write_text(f"token = {JWT}\n")
    (folder / "known.txt").write_text(f"key = {KEY}\n")
    (place.work / "aws.py").write_text(f'ID = "{AWS_ID}"\nTOKEN = "{STRANGER}"\n')
    return folder


STEPS = [
    calls(call("read", path="tests/fixtures/token.txt"), call("read", path="aws.py")),
    calls(call("read", path="tests/fixtures/known.txt")),
    calls(call("grep", pattern="eyJ|AKIA|ghp_", path=".")),
    calls(call("edit", path="tests/fixtures/token.txt", old_string=JWT, new_string=NEW_JWT)),
    calls(call("edit", path="aws.py", old_string=f'"{AWS_ID}"', new_string=f'"{AWS_ID[:-7]}EXAMPL2"')),
    calls(call("write", path="tests/fixtures/new.txt", content=f"fresh = {NEW_JWT}x\n")),
    calls(call("bash", command="cat tests/fixtures/new.txt")),
    Turn(text=f"The token is {NEW_JWT} now.", chunk=4),
]


def test_allowed_test_data_is_read_searched_edited_and_written(place: Place) -> None:
    configured(place, '[redact]\nallow = ["tests/fixtures", "AKIAIOSFODNN7*"]\n')
    folder = fixtures(place)
    with ModelServer(STEPS) as server:
        done = place.run("-p", "replace the token", "--yolo", server=server)
        assert done.code == 0, done.err
        token, aws, known, found, *_, shown = results(server)
        assert JWT in token and AWS_ID in aws
        assert f"tests/fixtures/token.txt:1:token = {JWT}" in found and AWS_ID in found
        assert f"fresh = {NEW_JWT}x" in shown
        assert STRANGER not in str(messages(server)) and HIDDEN in aws
        assert KEY not in str(messages(server)) and f"key = {HIDDEN}" in known
        edits = [
            each["function"]["arguments"] for message in messages(server) for each in message.get("tool_calls", ())
        ]
        assert not any(HIDDEN in arguments for arguments in edits), "the record is what the model wrote"
    assert f"The token is {NEW_JWT} now." in done.out
    assert (folder / "token.txt").read_text() == f"token = {NEW_JWT}\n"
    assert (folder / "new.txt").read_text() == f"fresh = {NEW_JWT}x\n"
    assert (place.work / "aws.py").read_text() == f'ID = "AKIAIOSFODNN7EXAMPL2"\nTOKEN = "{STRANGER}"\n'


def test_a_replay_shows_allowed_test_data_as_it_was(place: Place) -> None:
    configured(place, '[redact]\nallow = ["tests/fixtures", "AKIAIOSFODNN7*"]\n')
    fixtures(place)
    with ModelServer([*STEPS[:3], Turn(text="ok")]) as server:
        assert place.run("-p", "look", "--yolo", server=server).code == 0
    again = place.run("replay", place.session().stem.rpartition("-")[2], "--tools")
    assert again.code == 0, again.out + again.err
    assert "differs" not in again.out


def test_a_resumed_session_still_shows_what_it_read(place: Place) -> None:
    configured(place, '[redact]\nallow = ["tests/fixtures"]\n')
    fixtures(place)
    with ModelServer([STEPS[0], Turn(text="ok")]) as server:
        assert place.run("-p", "look", "--yolo", server=server).code == 0
    with ModelServer([Turn(text=f"It was {JWT}, and in aws.py {AWS_ID}.")]) as server:
        again = place.run("-c", "-p", "which token was it?", server=server)
    assert again.out.strip() == f"It was {JWT}, and in aws.py {HIDDEN}."


def test_the_record_of_a_patch_is_what_the_model_wrote(place: Place) -> None:
    configured(place, '[redact]\nallow = ["tests/fixtures"]\n')
    folder = fixtures(place)
    patch = (
        "*** Begin Patch\n*** Update File: tests/fixtures/token.txt\n@@\n"
        f"-token = {JWT}\n+token = {NEW_JWT}\n*** End Patch\n"
    )
    with ModelServer([calls(call("patch", patch=patch)), Turn(text="ok")]) as server:
        assert place.run("-p", "go", "--yolo", server=server).code == 0
        assert HIDDEN not in str(messages(server))
    assert (folder / "token.txt").read_text() == f"token = {NEW_JWT}\n"


def test_without_the_setting_the_same_file_is_redacted(place: Place) -> None:
    fixtures(place)
    with ModelServer([STEPS[0], Turn(text="ok")]) as server:
        assert place.run("-p", "look", "--yolo", server=server).code == 0
        assert JWT not in str(messages(server)) and AWS_ID not in str(messages(server))


@pytest.mark.parametrize("trusted", [False, True])
def test_a_project_may_set_it_only_when_it_is_trusted(place: Place, trusted: bool) -> None:
    fixtures(place)
    (place.work / "overt.toml").write_text('[redact]\nallow = ["tests/fixtures"]\n')
    if trusted:
        assert place.run("trust").code == 0
    with ModelServer([STEPS[0], Turn(text="ok")]) as server:
        done = place.run("-p", "look", "--yolo", server=server)
        assert (JWT in str(messages(server))) is trusted
    assert ("`redact.allow` ignored, because this folder is not trusted" in done.err) is not trusted


def test_an_entry_of_wildcards_alone_is_refused(place: Place) -> None:
    configured(place, '[redact]\nallow = ["**/*"]\n')
    done = place.run("config")
    assert done.code == 1
    assert "matches nearly everything" in done.err
