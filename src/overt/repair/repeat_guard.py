"""The same call again and again: refused with advice, and ended when it keeps failing.

Kept per turn. The third equal call among the last six is refused unless something was changed in between;
the fifth equal failure, or the third empty answer, ends the turn.
"""

from collections import Counter, deque

from msgspec import DecodeError, json

WINDOW, REPEATS, FAILURES, EMPTY = 6, 3, 5, 3


class RepeatGuard:
    def __init__(self) -> None:
        self._recent: deque[tuple[str, bool]] = deque(maxlen=WINDOW)
        self._failures: Counter[str] = Counter()
        self._empty = 0

    def advice(self, name: str, arguments: str) -> str:
        """Why this call is refused, or nothing."""
        seen = sum(1 for key, _ in self._recent if key == _key(name, arguments))
        if seen < REPEATS - 1:
            return ""
        return (
            f"Refused: this is the same {name} call for the {_ordinal(seen + 1)} time and its result will not change. "
            "Use the result you have, change the arguments, or take another way."
        )

    def ran(self, name: str, arguments: str, *, mutating: bool, failed: bool) -> None:
        if mutating and not failed:
            self._recent = deque((entry for entry in self._recent if entry[1]), maxlen=WINDOW)
        self._recent.append((_key(name, arguments), mutating))
        if failed:
            self._failures[_key(name, arguments)] += 1

    def empty(self) -> None:
        self._empty += 1

    def over(self) -> str:
        """Why the turn must end, or nothing."""
        if self._empty >= EMPTY:
            return f"the model answered with nothing {EMPTY} times"
        if self._failures and max(self._failures.values()) >= FAILURES:
            return f"the model repeated the same failing call {FAILURES} times"
        return ""


def _key(name: str, arguments: str) -> str:
    """The same arguments are the same, however they are spaced and ordered."""
    try:
        arguments = json.encode(json.decode(arguments), order="sorted").decode()
    except (DecodeError, UnicodeError, RecursionError):
        pass
    return f"{name}\0{arguments}"


def _ordinal(number: int) -> str:
    return {3: "third", 4: "fourth", 5: "fifth"}.get(number, f"{number}th")
