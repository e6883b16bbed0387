"""Chaos from outside: no cut reply is believed, no request is sent too often, nothing is said twice."""

import asyncio
from pathlib import Path

import pytest
from tests.judges.chaos_kit import ANSWERS, MOST, Run, ask_all, faults_of, heard, planned, provider_for
from tests.judges.judge_kit import KINDS, Aimock, aimock, needs_aimock

pytestmark = needs_aimock


def faults_under_chaos(kind: str, count: int, *, seed: int, folder: Path) -> list[str]:
    runs = planned(kind, count, seed=seed)
    with aimock(folder) as server:
        came = asyncio.run(ask_all(server, kind, runs))
        return [fault for run, each in zip(runs, came, strict=True) for fault in faults_of(server, run, each)]


@pytest.mark.parametrize("kind", KINDS)
def test_no_cut_reply_is_believed_and_no_request_is_one_too_many(kind: str, tmp_path: Path) -> None:
    assert faults_under_chaos(kind, 62, seed=4, folder=tmp_path) == []


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(5, 10))
@pytest.mark.parametrize("kind", KINDS)
def test_no_cut_reply_is_believed_in_many_more_runs(kind: str, seed: int, tmp_path: Path) -> None:
    assert faults_under_chaos(kind, 200, seed=seed, folder=tmp_path) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_kept_connection_allows_no_request_more(kind: str, tmp_path: Path) -> None:
    """What was kept may have died while it lay idle, so it is worth a second try: one of the few there are."""
    hangs_up = {"chaos": {"disconnectRate": 1}}
    first = Run(test=f"{kind}-kept", answer=ANSWERS[0], faults=({}, *[hangs_up] * MOST * 2))

    async def main(server: Aimock) -> tuple[bool, bool]:
        provider = provider_for(server, kind, first.test)
        try:
            return (await heard(provider, first)).reply is not None, (await heard(provider, first)).error is not None
        finally:
            provider.close()

    with aimock(tmp_path) as server:
        server.play(first.fixtures())
        assert asyncio.run(main(server)) == (True, True)
        assert len(server.journal(first.test)) == 1 + MOST
