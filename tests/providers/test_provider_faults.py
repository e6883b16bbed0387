"""Servers that fail: who is asked again, who is not, and what a person sees."""

import asyncio
import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate

import pytest
from tests.fakes.model_server import FakeCall, Fault, ModelServer, Turn
from tests.providers.provider_kit import QUICK, ask, failure, provider, reply, run

from overt.core.messages import Text
from overt.core.requests import Delta, Reply, RetryDelta, TextDelta, WaitDelta
from overt.core.settings import Timeouts
from overt.providers.transport.retry import Patience

OK = Turn(text="ok")


def deltas_of(url: str, **settings: object) -> list[Delta]:
    async def main() -> list[Delta]:
        source = provider(url, **settings)  # type: ignore[arg-type]
        deltas, error = await ask(source)
        source.close()
        assert error is None, error
        return deltas

    return run(main())


def texts(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


# ── fault 3: the rate is limited ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("form", ["seconds", "date", "date without a clock"])
def test_the_wait_a_server_asks_for_is_kept_twice(form: str) -> None:
    now = time.time()
    headers = {
        "seconds": {"Retry-After": "0.4"},
        "date": {"Retry-After": formatdate(1000 + 1, usegmt=True), "Date": formatdate(1000, usegmt=True)},
        "date without a clock": {"Retry-After": formatdate(now + 2, usegmt=True)},
    }[form]
    least, most = {"seconds": (0.4, 0.5), "date": (1.0, 1.25), "date without a clock": (0.0, 2.5)}[form]
    limited = Turn(fault=Fault(status=429, headers=headers, body='{"error":{"message":"slow down"}}'))
    with ModelServer([limited, limited, OK]) as server:
        deltas = deltas_of(server.url)
        waits = [later.at - earlier.at for earlier, later in zip(server.posts, server.posts[1:], strict=False)]
    retries = [delta for delta in deltas if isinstance(delta, RetryDelta)]
    assert [(retry.attempt, "slow down" in retry.reason) for retry in retries] == [(2, True), (3, True)]
    assert all(least <= retry.wait <= most for retry in retries)
    assert all(wait >= least for wait in waits)
    assert (len(waits), texts(deltas)) == (2, "ok")


def test_a_wait_beyond_five_minutes_is_reported_and_not_kept() -> None:
    with ModelServer([Turn(fault=Fault(status=429, headers={"Retry-After": "1200"}))]) as server:
        _, error = failure(server.url)
        assert (len(server.posts), error.kind, error.retry_after) == (1, "rate", 1200.0)
    assert "20 minutes" in error.message


# ── fault 4: the server fails ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 529])
def test_a_failing_server_is_asked_four_times(status: int) -> None:
    with ModelServer([Turn(fault=Fault(status=status, body="upstream\nis down"))], after="repeat") as server:
        deltas, error = failure(server.url)
        assert len(server.posts) == 4
    assert [(each.attempt, each.attempts) for each in deltas if isinstance(each, RetryDelta)] == [
        (2, 4),
        (3, 4),
        (4, 4),
    ]
    assert (error.status, error.retryable) == (status, True)
    assert "upstream is down" in error.message and "Tried 4 times" in error.message


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 413, 422, 301, 307])
def test_a_refusal_is_asked_once(status: int) -> None:
    with ModelServer([Turn(fault=Fault(status=status))], after="repeat") as server:
        deltas, error = failure(server.url)
        assert (len(server.posts), deltas, error.retryable) == (1, [], False)


def test_a_server_that_recovers_is_answered() -> None:
    with ModelServer([Turn(fault=Fault(status=503)), Turn(fault=Fault(close_before_headers=True)), OK]) as server:
        deltas = deltas_of(server.url)
        assert [type(delta) for delta in deltas] == [RetryDelta, RetryDelta, TextDelta, Reply]


def test_nobody_listening_is_tried_four_times_and_names_the_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    deltas, error = failure(f"http://127.0.0.1:{port}/v1")
    assert (len(deltas), error.kind) == (3, "down")
    assert f"http://127.0.0.1:{port}" in error.message and "Is the server running?" in error.message


# ── fault 5: the stream is cut ───────────────────────────────────────────────────────────────────────────


def cut_at(count: int) -> Turn:
    return Turn(text="one two three four", chunk=4, fault=Fault(cut_after=count))


def check_cuts(repetitions: int) -> None:
    whole = 1 + 5 + 1  # role, text, finish; from the finish on the reply is complete
    for number in range(repetitions):
        count = number % whole
        with ModelServer([cut_at(count)], after="repeat") as server:
            deltas, error = failure(server.url)
            assert len(server.posts) == (4 if count == 0 else 1)
        assert error.kind == "cut"
        assert not any(isinstance(delta, Reply) for delta in deltas)
        assert texts(deltas) == "one two three four"[: max(0, count - 1) * 4]


def test_no_cut_stream_is_taken_for_an_answer_and_its_text_is_shown_once() -> None:
    check_cuts(7)


@pytest.mark.soak
def test_no_cut_stream_is_taken_for_an_answer_in_200_runs() -> None:
    check_cuts(200)


def test_a_cut_after_the_finish_is_a_whole_reply() -> None:
    turn = Turn(text="ok", fault=Fault(cut_after=3))
    with ModelServer([turn]) as server:
        assert texts(deltas_of(server.url)) == "ok"


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_call_of_a_cut_stream_never_leaves(count: int) -> None:
    turn = Turn(
        calls=(FakeCall(name="bash", arguments='{"command":"rm -rf x"}'),), fault=Fault(cut_after=min(count, 3))
    )
    with ModelServer([turn], after="repeat") as server:
        deltas, error = failure(server.url)
        assert (error.kind, len(server.posts)) == ("cut", 1)
    assert not any(isinstance(delta, Reply) for delta in deltas)


def test_a_stream_that_ends_properly_without_a_finish_is_a_cut() -> None:
    with ModelServer([Turn(text="half", fault=Fault(no_finish=True, no_done=True))]) as server:
        deltas, error = failure(server.url)
        assert (error.kind, texts(deltas)) == ("cut", "half")


def test_a_finished_reply_does_not_wait_for_a_server_that_never_closes() -> None:
    turn = Turn(text="ok", fault=Fault(no_done=True, stay_open=True))
    with ModelServer([turn]) as server:
        assert texts(deltas_of(server.url)) == "ok"


# ── fault 6 and 7: silence ───────────────────────────────────────────────────────────────────────────────


def test_silence_before_the_headers_is_noticed_then_tried_again() -> None:
    silent = Turn(fault=Fault(stall_before_headers=60))
    with ModelServer([silent, OK]) as server:
        deltas = deltas_of(server.url, timeouts=Timeouts(headers=0.3, notice=0.1))
    assert [type(delta) for delta in deltas] == [WaitDelta, RetryDelta, TextDelta, Reply]
    assert deltas[0] == WaitDelta(seconds=0.1)


def test_a_server_that_never_answers_ends_in_a_clear_error() -> None:
    with ModelServer([Turn(fault=Fault(stall_before_headers=60))], after="repeat") as server:
        _, error = failure(server.url, timeouts=Timeouts(headers=0.1), attempts=2)
        assert (len(server.posts), error.kind) == (2, "stalled")
    assert "no response headers within 0.1 s" in error.message


def test_a_half_open_connection_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=8) as listener:  # accepts in the kernel, never reads
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        _, error = failure(url, timeouts=Timeouts(headers=0.2), attempts=1)
    assert error.kind == "stalled"


def test_a_local_server_gets_more_time_unless_someone_set_a_limit() -> None:
    slow = Turn(text="ok", fault=Fault(stall_before_headers=0.3))
    with ModelServer([slow], after="repeat") as server:
        patient = Patience(first=0.01, loopback=30.0)
        assert texts(deltas_of(server.url, patience=patient)) == "ok"
        assert len(server.posts) == 1


def test_silence_between_events_is_noticed_and_ends_the_only_request() -> None:
    turn = Turn(text="one two", chunk=4, fault=Fault(stall_after=2))
    with ModelServer([turn], after="repeat") as server:
        deltas, error = failure(server.url, timeouts=Timeouts(between=0.4, notice=0.15))
        assert (len(server.posts), error.kind) == (1, "stalled")
    assert [type(delta) for delta in deltas] == [TextDelta, WaitDelta]
    assert texts(deltas) == "one "


def test_silence_before_the_first_event_may_be_tried_again() -> None:
    with ModelServer([Turn(text="x", fault=Fault(stall_after=0)), OK]) as server:
        deltas = deltas_of(server.url, timeouts=Timeouts(between=0.2))
        assert [type(delta) for delta in deltas] == [RetryDelta, TextDelta, Reply]


def test_comments_are_a_sign_of_life() -> None:
    turn = Turn(text="ok", fault=Fault(comments=6, comment_pause=0.1))
    with ModelServer([turn]) as server:
        deltas = deltas_of(server.url, timeouts=Timeouts(between=0.3), patience=Patience(comments=30.0))
        assert (texts(deltas), len(server.posts)) == ("ok", 1)


def test_comments_alone_do_not_keep_a_reply_alive_for_ever() -> None:
    turn = Turn(text="ok", fault=Fault(comments=1000, comment_pause=0.05))
    with ModelServer([turn], after="repeat") as server:
        _, error = failure(server.url, timeouts=Timeouts(between=0.3), attempts=1)
        assert error.kind == "stalled"


def test_the_limit_for_everything_ends_a_reply_that_never_pauses() -> None:
    turn = Turn(text="x" * 10_000, chunk=1, delay=0.02)
    with ModelServer([turn]) as server:
        deltas, error = failure(server.url, timeouts=Timeouts(total=2.0))
        assert error.kind == "stalled" and "timeouts.total" in error.message
    assert texts(deltas).startswith("xxx")


# ── fault 8 and 9: what is not what it should be ─────────────────────────────────────────────────────────


def test_invalid_utf8_becomes_a_replacement_character_and_the_turn_goes_on() -> None:
    with ModelServer([Turn(text="end", fault=Fault(invalid_utf8=True))]) as server:
        assert texts(deltas_of(server.url)) == "<��>end"


def test_three_malformed_events_are_skipped_and_counted() -> None:
    with ModelServer([Turn(text="ok", fault=Fault(malformed=3))]) as server:
        last = deltas_of(server.url)[-1]
    assert isinstance(last, Reply)
    assert (last.parts, last.skipped) == ((Text(text="ok"),), 3)


def test_four_malformed_events_in_a_row_are_an_error() -> None:
    with ModelServer([Turn(text="ok", fault=Fault(malformed=4))], after="repeat") as server:
        _, error = failure(server.url)
        assert (len(server.posts), error.kind) == (1, "malformed")


@pytest.mark.parametrize(
    "fault",
    [
        Fault(html=True),
        Fault(status=200, body="<html>hi</html>", headers={"Content-Type": "text/event-stream"}),
        Fault(status=200, body='{"hello":"world"}'),
        Fault(status=200, body="pong", headers={"Content-Type": "text/plain"}),
        Fault(status=404, body="<html>nope</html>", headers={"Content-Type": "text/html"}),
    ],
)
def test_what_is_not_an_api_is_said_so_after_one_request(fault: Fault) -> None:
    with ModelServer([Turn(fault=fault)], after="repeat") as server:
        _, error = failure(server.url.removesuffix("/v1"))
        assert (len(server.posts), error.kind) == (1, "not_api")
    assert "is not an API endpoint" in error.message and "/v1" in error.message


def test_a_wrong_content_type_over_a_right_stream_is_forgiven() -> None:
    with ModelServer([Turn(text="ok", fault=Fault(content_type="text/plain"))]) as server:
        assert texts(deltas_of(server.url)) == "ok"


@pytest.mark.parametrize("start", ["", "\n", "\ufeff", ": hello\n\n", " \r\n"])
def test_what_kind_of_body_it_is_does_not_depend_on_how_the_bytes_were_cut(start: str) -> None:
    body = start + 'data: {"choices": [{"delta": {"content": "ok"}, "finish_reason": "stop"}]}\n\ndata: [DONE]\n\n'
    for size in (1, 3, 1000):
        with raw_server(body.encode(), size=size) as url:
            assert texts(deltas_of(url)) == "ok"


@contextmanager
def raw_server(body: bytes, *, size: int) -> Iterator[str]:
    """Answers one request without saying what the body is, so many bytes at a time."""

    def serve() -> None:
        peer, _ = listener.accept()
        with peer:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer.recv(65536)
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
            for at in range(0, len(body), size):
                peer.sendall(body[at : at + size])
                time.sleep(0.001)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        thread.join()


def test_duplicate_ids_from_a_server_become_unique() -> None:
    calls = (FakeCall(name="a"), FakeCall(name="b"))
    with ModelServer([Turn(calls=calls, fault=Fault(duplicate_ids=True))]) as server:
        last = deltas_of(server.url)[-1]
    assert isinstance(last, Reply)
    assert [(part.id, part.name) for part in last.parts] == [("call_same", "a"), ("call_1", "b")]  # type: ignore[union-attr]


def test_a_server_that_speaks_something_else_is_not_an_api() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def greet() -> None:
            connection, _ = listener.accept()
            connection.sendall(b"220 mail.example ESMTP\r\n")
            connection.recv(65536)
            connection.close()

        thread = threading.Thread(target=greet, daemon=True)
        thread.start()
        _, error = failure(f"http://127.0.0.1:{listener.getsockname()[1]}/v1")
        thread.join(5)
    assert error.kind == "not_api"


# ── fault 11: too much ───────────────────────────────────────────────────────────────────────────────────


def resident() -> int:
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_an_event_of_50_mb_is_refused_at_the_cap_without_filling_memory() -> None:
    before = resident()
    with ModelServer([Turn(text="ok", fault=Fault(huge=50 * 1024 * 1024))], after="repeat") as server:
        _, error = failure(server.url)
        assert (error.kind, len(server.posts)) == ("too_large", 1)
    assert resident() - before < 150 * 1024 * 1024


def test_an_endless_answer_is_refused_at_the_cap() -> None:
    before = resident()
    with ModelServer([Turn(text="ok", fault=Fault(endless=True))], after="repeat") as server:
        deltas, error = failure(server.url)
        assert (error.kind, len(server.posts)) == ("too_large", 1)
    assert 7 * 1024 * 1024 < len(texts(deltas)) <= 8 * 1024 * 1024 + 8000
    assert resident() - before < 150 * 1024 * 1024


def test_a_provider_works_after_each_fault() -> None:
    faults = [Fault(html=True), Fault(status=400), Fault(cut_after=2), Fault(malformed=5), Fault(status=503)]
    turns = [turn for fault in faults for turn in (Turn(text="bad", fault=fault), OK)]

    async def main(url: str) -> None:
        source = provider(url, attempts=1)
        for _ in faults:
            _, error = await ask(source)
            assert error is not None
            assert (await reply(source)).parts == (Text(text="ok"),)
        source.close()

    with ModelServer(turns) as server:
        run(main(server.url))


def test_the_loop_is_not_kept_busy_by_a_server_that_never_pauses() -> None:
    ticks: list[int] = []

    async def main(url: str) -> None:
        async def tick() -> None:
            while True:
                ticks.append(1)
                await asyncio.sleep(0)

        ticking = asyncio.create_task(tick())
        source = provider(url, patience=QUICK)
        await reply(source)
        source.close()
        ticking.cancel()

    with ModelServer([Turn(text="x" * 400_000, chunk=10)]) as server:
        run(main(server.url))
    assert len(ticks) > 20
