"""The policy of attempts, without a server."""

import pytest

from overt.core.errors import ProviderError
from overt.providers.transport.errors import retry_after
from overt.providers.transport.retry import Patience, RetryHistory, final_error, next_wait

PATIENCE = Patience()


def waits(error: ProviderError, *, attempts: int, chance: float) -> list[float]:
    found: list[float] = []
    while (
        wait := next_wait(
            error,
            RetryHistory(made=len(found) + 1, waited=sum(found)),
            attempts=attempts,
            chance=chance,
            patience=PATIENCE,
        )
    ) is not None:
        found.append(wait)
    return found


def error(*, retryable: bool = True, after: float | None = None) -> ProviderError:
    return ProviderError("no.", retryable=retryable, retry_after=after)


@pytest.mark.parametrize("chance", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("attempts", [1, 4, 20])
def test_attempts_are_counted_and_waits_stay_below_a_minute_together(attempts: int, chance: float) -> None:
    found = waits(error(), attempts=attempts, chance=chance)
    assert len(found) == attempts - 1
    assert sum(found) <= 60.0 + 1e-9


def test_waits_grow_and_vary() -> None:
    assert waits(error(), attempts=4, chance=0.5) == [1.0, 3.0, 9.0]
    assert waits(error(), attempts=4, chance=0.0) == [0.75, 2.25, 6.75]
    assert waits(error(), attempts=4, chance=1.0) == [1.25, 3.75, 11.25]


@pytest.mark.parametrize("chance", [0.0, 1.0])
@pytest.mark.parametrize("asked", [0.5, 2.0, 120.0, 300.0])
def test_the_wait_the_server_names_is_kept_within_a_quarter_more(asked: float, chance: float) -> None:
    found = waits(error(after=asked), attempts=4, chance=chance)
    assert len(found) == 3
    assert all(asked <= wait <= asked * 1.25 for wait in found)


def test_a_wait_of_zero_is_no_invitation_to_hurry() -> None:
    assert waits(error(after=0.0), attempts=2, chance=0.5) == [1.0]


def test_a_wait_above_five_minutes_and_a_final_error_end_it() -> None:
    assert waits(error(after=300.1), attempts=4, chance=0.0) == []
    assert waits(error(retryable=False), attempts=4, chance=0.0) == []
    told = final_error(error(after=5400.0), RetryHistory(), patience=PATIENCE)
    assert told.message == "no. The server asks to wait 90 minutes; try again then."


HEADERS: list[tuple[dict[str, str], float | None]] = [
    ({}, None),
    ({"retry-after": "2"}, 2.0),
    ({"retry-after": " 1.5 "}, 1.5),
    ({"retry-after": "-3"}, 0.0),
    ({"retry-after": "soon"}, None),
    ({"retry-after": "nan"}, None),
    ({"retry-after": "7", "retry-after-ms": "1500"}, 1.5),
    ({"retry-after": "7", "retry-after-ms": "x"}, 7.0),
    ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT", "date": "Wed, 21 Oct 2015 07:28:00 GMT"}, 30.0),
    ({"retry-after": "Wed, 21 Oct 2015 07:28:30 GMT"}, 0.0),
    ({"retry-after": "Wed, 99 Oct 2015 07:28:30 GMT"}, None),
]


@pytest.mark.parametrize(("headers", "seconds"), HEADERS)
def test_the_header_is_read_as_seconds_or_as_a_date(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers) == seconds
