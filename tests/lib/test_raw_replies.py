"""Saved replies: no secret in them, and their structure as it was."""

from pathlib import Path

import pytest
from msgspec import json

from overt.core.errors import OvertError
from overt.lib.logs.log import LOG
from overt.lib.logs.raw_replies import MAX_FILES, RawReply, load_reply, redact_stream, save_reply
from overt.lib.redaction.redact import Redactor

SECRET = "hunter2-hunter2-hunter2"
REPLY = RawReply(wire="openai", model="m", content_type="text/event-stream", error="KeyError", data=b"data: {}\n\n")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    monkeypatch.setattr(LOG, "folder", str(folder))
    monkeypatch.setattr(LOG, "_secrets", {SECRET})
    monkeypatch.setattr(LOG, "_redactor", None)
    return folder


def stream(*pieces: str) -> bytes:
    events = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    return b"".join(b"data: " + json.encode(event) + b"\n\n" for event in events)


def contents(data: bytes) -> list[str]:
    found = [json.decode(line[6:]) for line in data.split(b"\n") if line.startswith(b"data: ")]
    return [event["choices"][0]["delta"]["content"] for event in found]


def test_a_reply_without_a_secret_stays_as_it_is() -> None:
    data = stream("hello", " world") + b"data: [DONE]\n\n: comment\n\ndata: {broken\xff\n\n"
    assert redact_stream(data, Redactor([SECRET])) == data


def test_a_secret_within_one_event_is_replaced_there_only() -> None:
    cleaned = redact_stream(stream("before", f"key {SECRET} end", "after"), Redactor([SECRET]))
    assert contents(cleaned) == ["before", "key [redacted secret] end", "after"]


def test_a_secret_spread_over_events_is_masked_and_the_events_stay() -> None:
    pieces = ["the key is hun", "ter2-hun", "ter2-hunt", "er2!"]
    cleaned = redact_stream(stream(*pieces) + b"data: {hun broken\n\n", Redactor([SECRET]))
    assert contents(cleaned[: cleaned.index(b"data: {xxx")]) == ["xxx xxx xx xxx", "xxxx-xxx", "xxxx-xxxx", "xxx!"]


def test_a_secret_that_breaks_off_at_the_end_is_masked() -> None:
    assert "hunter2" not in redact_stream(stream("it is ", "hunter2-", "hunter2-hu"), Redactor([SECRET])).decode()


def test_calls_that_stream_side_by_side_are_told_apart() -> None:
    pieces = [(0, "hunter2-hun"), (1, "other"), (0, "ter2-hunter2")]
    data = b"".join(
        b"data: " + json.encode({"calls": [{"index": index, "arguments": text}]}) + b"\n\n" for index, text in pieces
    )
    text = redact_stream(data, Redactor([SECRET])).decode()
    assert "hunter2" not in text and "other" in text


def test_a_saved_reply_can_be_loaded(state: Path) -> None:
    path = save_reply(RawReply(**{**{f: getattr(REPLY, f) for f in REPLY.__struct_fields__}, "error": SECRET}))
    loaded = load_reply(path)
    assert (loaded.wire, loaded.error, loaded.data) == ("openai", "[redacted secret]", REPLY.data)
    assert Path(path).parent == state / "replies" and Path(path).stat().st_mode & 0o777 == 0o600


def test_only_the_newest_replies_are_kept(state: Path) -> None:
    for _ in range(MAX_FILES + 3):
        save_reply(REPLY)
    assert len(list((state / "replies").iterdir())) == MAX_FILES


def test_nothing_is_saved_when_the_log_is_off(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LOG, "_level", 100)
    assert save_reply(REPLY) == "" and not state.exists()


@pytest.mark.parametrize("content", [b"", b"not json\nrest", b"[1]\n", b'{"wire": "openai"}\n'])
def test_a_file_that_is_no_saved_reply_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(OvertError, match="not a saved reply"):
        load_reply(str(tmp_path / "file"))
