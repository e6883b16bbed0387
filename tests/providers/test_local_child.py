"""The child process of the embedded model, whatever happens to it and whenever it is ended; no model is needed."""

import asyncio
import os
import resource
import signal
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import pytest
from tests.providers.local_kit import Imitated, Talk, hollow, imitated, outlives, until
from tests.providers.provider_kit import run

from overt.core.errors import ProviderError
from overt.core.requests import Reply, RetryDelta
from overt.providers.embedded.provider import LocalProvider

__all__ = ["imitated"]


async def answered(provider: LocalProvider) -> Reply:
    async with aclosing(provider.stream(Talk(provider).ask("1 + 1?"))) as deltas:
        replies = [delta async for delta in deltas if isinstance(delta, Reply)]
    return replies[0]


async def refused(task: "asyncio.Task[Reply]") -> ProviderError:
    try:
        await task
    except ProviderError as error:
        return error
    raise AssertionError("it should have failed")


def servers(models: Path) -> list[str]:
    found = []
    for name in os.listdir("/proc"):
        try:
            if name.isdigit() and os.readlink(f"/proc/{name}/cwd") == str(models):
                found.append(name)
        except OSError:
            pass  # it is gone, or not ours
    return found


# ── the end comes while something waits ──────────────────────────────────────────────────────────────────


def test_a_stream_that_waits_for_a_server_hears_that_it_was_closed(imitated: Imitated) -> None:
    imitated.order("wait-load")
    imitated.slot.write_text("good")

    async def main() -> None:
        provider = imitated.provider()
        waiting = asyncio.ensure_future(answered(provider))
        await until(lambda: provider.pid)
        provider.close()
        error = await refused(waiting)
        assert (error.kind, "was closed" in error.message) == ("down", True)

    run(main())
    assert servers(imitated.models) == []
    assert imitated.contexts() == {".context": "good"}


def test_a_stream_that_waits_for_what_is_read_before_starts_no_server_after_the_end(imitated: Imitated) -> None:
    imitated.order("wait-reply")

    async def main() -> None:
        provider = imitated.provider()
        request = Talk(provider).ask("1 + 1?")
        provider.warm(provider.wire.head(request.prefix, request.params))
        waiting = asyncio.ensure_future(answered(provider))
        await until(imitated.asked)
        provider.close()
        error = await refused(waiting)
        assert (provider.pid, "was closed" in error.message) == (0, True)

    run(main())
    assert servers(imitated.models) == []
    assert len(imitated.asked()) == 1


def test_a_stream_in_the_middle_of_a_reply_hears_that_it_was_closed(imitated: Imitated) -> None:
    imitated.order("wait-reply")

    async def main() -> None:
        provider = imitated.provider()
        waiting = asyncio.ensure_future(answered(provider))
        await until(imitated.asked)
        provider.close()
        assert "was closed" in (await refused(waiting)).message

    run(main())


def test_nothing_is_started_after_the_end(imitated: Imitated) -> None:
    async def main() -> None:
        provider = imitated.provider()
        provider.close()
        provider.warm(b"[")
        assert provider.pid == 0
        error = await refused(asyncio.ensure_future(answered(provider)))
        assert "was closed" in error.message

    run(main())


@pytest.mark.parametrize("how", ["ends", "falls", "SIGINT", "SIGTERM", "SIGKILL"])
def test_the_server_ends_with_whoever_started_it(tmp_path: Path, how: str) -> None:
    made = Imitated(tmp_path)
    made.order("wait-load")
    assert not outlives(hollow(made.cache), how, library=str(made.library))


# ── the server dies ──────────────────────────────────────────────────────────────────────────────────────


def test_of_two_streams_whose_server_died_neither_ends_the_one_that_takes_its_place(imitated: Imitated) -> None:
    held = imitated.order("wait-reply")

    async def main() -> None:
        provider = imitated.provider()

        async def stubborn() -> list[str]:
            """What went wrong until there was a reply."""
            wrong: list[str] = []
            while True:
                try:
                    await answered(provider)
                except ProviderError as error:
                    wrong.append(error.kind)
                else:
                    return wrong

        both = [asyncio.ensure_future(stubborn()) for _ in range(2)]
        await until(lambda: len(imitated.asked()) == 2)
        held.unlink()
        os.kill(provider.pid, signal.SIGKILL)
        try:
            wrong = await asyncio.gather(*both)
        finally:
            provider.close()
        assert [len(each) for each in wrong] == [1, 1]

    run(main())


def test_a_server_that_died_is_started_again_and_that_is_told(imitated: Imitated) -> None:
    async def main() -> None:
        provider = imitated.provider()
        try:
            await answered(provider)
            first = provider.pid
            os.kill(first, signal.SIGKILL)
            await until(lambda: provider._child is not None and provider._child.process.poll() is not None)
            async with aclosing(provider.stream(Talk(provider).ask("1 + 1?"))) as deltas:
                told = [delta async for delta in deltas]
            assert provider.pid not in (0, first)
        finally:
            provider.close()
        assert isinstance(told[0], RetryDelta) and "started again" in told[0].reason and told[0].wait == 0.0
        assert isinstance(told[-1], Reply)

    run(main())


def test_a_server_that_is_killed_while_it_loads_costs_no_kept_context(imitated: Imitated) -> None:
    imitated.order("wait-load")
    imitated.slot.write_text("good")

    async def main() -> None:
        provider = imitated.provider()
        waiting = asyncio.ensure_future(answered(provider))
        await until(lambda: provider.pid)
        os.kill(provider.pid, signal.SIGKILL)
        assert "did not start" in (await refused(waiting)).message
        provider.close()

    run(main())
    assert imitated.contexts() == {".context": "good"}


def test_a_kept_context_that_makes_it_crash_is_thrown_away_once(imitated: Imitated) -> None:
    imitated.order("crash")
    imitated.slot.write_text("bad")

    async def main() -> None:
        provider = imitated.provider()
        try:
            error = await refused(asyncio.ensure_future(answered(provider)))
            assert "signal 11" in error.message
            assert imitated.contexts() == {}
            await answered(provider)
        finally:
            provider.close()

    run(main())


def test_a_context_that_another_run_has_saved_since_is_not_thrown_away(imitated: Imitated) -> None:
    held = imitated.order("wait-load")
    imitated.order("crash")
    imitated.slot.write_text("bad")

    async def main() -> None:
        provider = imitated.provider()
        waiting = asyncio.ensure_future(answered(provider))
        await until(lambda: provider.pid)
        other = imitated.models / "other"
        other.write_text("good")
        other.replace(imitated.slot)
        held.unlink()
        assert "signal 11" in (await refused(waiting)).message
        provider.close()

    run(main())
    assert imitated.contexts() == {".context": "good"}


@contextmanager
def no_more_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_a_process_that_cannot_be_started_is_told_with_the_first_request(imitated: Imitated) -> None:
    async def main() -> None:
        provider = imitated.provider()
        request = Talk(provider).ask("1 + 1?")
        with no_more_files():
            provider.warm()
            stream = provider.stream(request)
            try:
                await anext(stream)
            except ProviderError as error:
                assert (error.kind, "could not be started: Too many open files" in error.message) == ("down", True)
            else:
                raise AssertionError("it should have failed")
        assert provider.pid == 0
        await answered(provider)
        provider.close()

    run(main())


# ── what is kept between runs ────────────────────────────────────────────────────────────────────────────


def test_an_end_right_after_the_reply_lets_the_context_be_saved(imitated: Imitated) -> None:
    async def main() -> None:
        provider = imitated.provider()
        await answered(provider)
        provider.close()

    run(main())
    assert imitated.contexts() == {".context": "half whole"}


def test_an_end_does_not_wait_for_a_context_that_takes_long_and_leaves_no_half_of_it(imitated: Imitated) -> None:
    imitated.order("wait-save")
    imitated.slot.write_text("good")

    async def main() -> None:
        provider = imitated.provider()
        await answered(provider)
        await until(lambda: len(imitated.contexts()) == 2)
        provider.close()

    run(main())
    assert imitated.contexts() == {".context": "good"}
    assert servers(imitated.models) == []
