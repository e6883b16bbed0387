"""Tracebacks as text: every sub-exception of a group and every cause, each message redacted."""

import traceback
from collections.abc import Callable, Iterator

MAX_EXCEPTIONS = 40
MAX_FRAMES = 60
MAX_SUMMARY_CHARACTERS = 300


def leaves(error: BaseException) -> list[BaseException]:
    """The exceptions that are not groups: the error itself, or what its groups contain."""
    if not isinstance(error, BaseExceptionGroup):
        return [error]
    return [leaf for each in error.exceptions for leaf in leaves(each)]


def summarize(error: BaseException, clean: Callable[[str], str] = str) -> str:
    """One line: type and redacted message of the first real exception, and how many more there are."""
    first, *more = leaves(error)
    plain = traceback.TracebackException(type(first), first, None)
    plain.__notes__ = []
    text = " ".join(clean("".join(plain.format_exception_only())).split())[:MAX_SUMMARY_CHARACTERS]
    return f"{text} (and {len(more)} more)" if more else text


def describe_error(error: BaseException, clean: Callable[[str], str]) -> list[str]:
    """The lines of all tracebacks, outermost exception first; local variables are never included."""
    lines: list[str] = []
    seen: set[int] = set()
    for relation, each in _walk(error, "", seen):
        if len(seen) > MAX_EXCEPTIONS:
            lines.append("… more exceptions were left out")
            break
        lines += [relation] if relation else []
        lines.append("Traceback (most recent call last):")
        for frame in traceback.format_tb(each.__traceback__, limit=-MAX_FRAMES):
            lines += clean(frame).rstrip("\n").split("\n")
        lines += clean(_message(each)).split("\n")
    return lines


def _walk(error: BaseException, relation: str, seen: set[int]) -> Iterator[tuple[str, BaseException]]:
    if id(error) in seen:
        return
    seen.add(id(error))
    yield relation, error
    if isinstance(error, BaseExceptionGroup):
        count = len(error.exceptions)
        for number, each in enumerate(error.exceptions, 1):
            yield from _walk(each, f"Sub-exception {number} of {count}:", seen)
    if error.__cause__ is not None:
        yield from _walk(error.__cause__, "Caused by:", seen)
    elif error.__context__ is not None and not error.__suppress_context__:
        yield from _walk(error.__context__, "While handling:", seen)


def _message(error: BaseException) -> str:
    """Type, message and notes, also when `str(error)` itself fails."""
    return "".join(traceback.format_exception_only(type(error), error)).rstrip("\n")
