"""What a person finds on disk after a failure: the log at its levels, crash files, saved replies."""

import json

from tests.fakes.model_server import Fault, ModelServer, Turn
from tests.journeys.fault_kit import HIDDEN, assert_no_secret, crashes, faulty, log, state
from tests.journeys.journey_kit import Place, call, calls, results

DONE = Turn(text="all done")
READ = calls(call("read", path="a.txt"))


def test_a_healthy_run_leaves_nothing_in_the_state_folder(place: Place) -> None:
    (place.work / "a.txt").write_text("hi\n")
    with ModelServer([READ, DONE]) as server:
        assert place.run("run", "x", server=server).code == 0
    assert not state(place).exists()


def test_debug_logs_requests_without_bodies_and_events_by_type(place: Place) -> None:
    (place.work / "a.txt").write_text("the content\n")
    for words, more in ((("--debug",), {}), ((), {"OVERT_LOG": "debug"}), ((), {"OVERT_DEBUG": "1"})):
        with ModelServer([READ, DONE]) as server:
            assert place.run("run", *words, "my prompt", server=server, env=more).code == 0
        text = log(place)
        assert "provider: POST /v1/chat/completions fake-model, " in text and "event: ToolFinished" in text
        assert "my prompt" not in text and "the content" not in text and "all done" not in text
        (state(place) / "overt.log").unlink()


def test_debug_is_a_flag_of_every_subcommand(place: Place) -> None:
    for words in (("config",), ("sessions",), ("tools",)):
        assert place.run(*words, "--debug").code == 0


def test_a_provider_error_is_logged(place: Place) -> None:
    with ModelServer([Turn(fault=Fault(status=400, body='{"error": {"message": "no such thing"}}'))]) as server:
        assert place.run("run", "x", server=server).code == 1
    assert " warning " in log(place) and "provider: environment/fake-model: " in log(place)
    assert "no such thing" in log(place)


def test_a_malformed_reply_is_saved_and_can_be_replayed(place: Place) -> None:
    events = ('{"choices":[{"index":0,"delta":{"content":"so far"}}]}', *["{not json"] * 5)
    with ModelServer([Turn(events=events)]) as server:
        ran = place.run("run", "x", server=server)
    (saved,) = (state(place) / "replies").iterdir()
    assert ran.code == 1 and f"overt replay --raw {saved}" in ran.err
    assert crashes(place) == []
    again = place.run("replay", "--raw", str(saved))
    assert again.code == 1
    assert "TextDelta(text='so far')" in again.out
    assert "Error in event 5, which ends at byte " in again.out and "4 events in a row that are not JSON" in again.out
    as_json = json.loads(place.run("replay", "--raw", str(saved), "--json").out)
    assert (as_json["event"], as_json["reply"]["wire"]) == (5, "openai")


def test_replay_refuses_a_file_that_is_no_saved_reply(place: Place) -> None:
    (place.work / "other").write_text("something else\n")
    for words in (("--raw", "other"), ("--raw", "missing")):
        ran = place.run("replay", *words)
        assert ran.code == 1 and ran.err.startswith(f"overt: {words[1]}: ")
    assert place.run("replay", "some-session", "--raw", "other").code == 2


def test_a_crash_is_reported_although_no_file_can_be_written(place: Place) -> None:
    state(place).parent.mkdir(parents=True)
    state(place).write_text("a file in the place of the folder")
    ran = place.run("config", env=faulty(place, "overt.config.load:load"))
    assert ran.code == 1
    assert ran.err == f"overt: Internal error: {HIDDEN}. No crash file was written: Not a directory.\n"


def test_only_the_newest_crash_files_are_kept(place: Place) -> None:
    folder = state(place) / "crashes"
    folder.mkdir(parents=True, mode=0o700)
    for number in range(25):
        (folder / f"crash-20260101T0000{number:02}Z-old.txt").write_text("old")
    place.run("config", env=faulty(place, "overt.config.load:load"))
    names = sorted(path.name for path in folder.iterdir())
    assert len(names) == 20 and names[0].startswith("crash-20260101T000006Z")
    assert not names[-1].startswith("crash-20260101")


def test_a_crash_in_chinese_says_the_same(place: Place) -> None:
    (place.work / "a.txt").write_text("hi\n")
    fault = faulty(place, "overt.agent.loop:run_calls")
    with ModelServer([READ]) as server:
        ran = place.run("run", "x", server=server, env={**fault, "OVERT_LANGUAGE": "zh"})
    assert ran.code == 1 and f"内部错误：{HIDDEN}。崩溃文件：" in ran.err
    assert_no_secret(place)


def test_an_exception_in_a_thread_leaves_a_crash_file_and_code_1(place: Place) -> None:
    """The keyring is asked in a thread."""
    ran = place.run("auth", env=faulty(place, "overt.app.models.credentials:_ask"))
    assert ran.code == 1
    assert any("where: thread keyring" in text for text in crashes(place))
    assert HIDDEN in ran.err
    assert_no_secret(place)


def test_a_fault_in_the_reporter_itself_shows_no_secret(place: Place) -> None:
    ran = place.run("config", env=faulty(place, "overt.config.load:load overt.lib.logs.tracebacks:describe_error"))
    assert (ran.code, ran.err) == (1, "overt: internal error: KeyError; it could not be reported\n")


def test_commands_and_file_tools_cannot_read_the_log(place: Place) -> None:
    state(place).mkdir(parents=True, mode=0o700)
    (state(place) / "overt.log").write_text("an entry of another project\n")
    path = f"{state(place)}/overt.log"
    with ModelServer([calls(call("bash", command=f"cat {path}")), calls(call("read", path=path)), DONE]) as server:
        assert place.run("run", "--yolo", "x", server=server).code == 0
        told = results(server)
    assert len(told) == 2 and not any("another project" in text for text in told)
