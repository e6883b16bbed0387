"""Tracebacks of whole trees of exceptions."""

from overt.lib.logs.tracebacks import describe_error, leaves, summarize


def clean(text: str) -> str:
    return text.replace("hunter2", "[x]")


def raised(error: BaseException, cause: BaseException | None = None) -> BaseException:
    try:
        if cause:
            raise error from cause
        raise error
    except BaseException as caught:
        return caught


def test_summary_names_the_real_exception_of_a_group() -> None:
    group = ExceptionGroup("unhandled errors", [ExceptionGroup("inner", [KeyError("hunter2")])])
    assert summarize(group, clean) == "KeyError: '[x]'"


def test_summary_counts_further_exceptions() -> None:
    group = ExceptionGroup("unhandled errors", [KeyError("a"), ExceptionGroup("inner", [OSError("b"), ValueError()])])
    assert summarize(group) == "KeyError: 'a' (and 2 more)"
    assert [type(leaf) for leaf in leaves(group)] == [KeyError, OSError, ValueError]


def test_summary_is_one_line_without_notes() -> None:
    error = ValueError("two\nlines")
    error.add_note("a note")
    assert summarize(error) == "ValueError: two lines"
    assert "a note" in describe_error(error, clean)


def test_every_sub_exception_and_cause_has_its_traceback() -> None:
    cause = raised(OSError("disk hunter2"))
    first, second = raised(KeyError("hunter2"), cause), raised(ValueError("second"))
    assert isinstance(first, Exception) and isinstance(second, Exception)
    text = "\n".join(describe_error(raised(ExceptionGroup("several", [first, second])), clean))
    assert text.count("Traceback (most recent call last):") == 4
    for part in ("Sub-exception 1 of 2:", "KeyError: '[x]'", "Caused by:", "OSError: disk [x]", "ValueError: second"):
        assert part in text
    assert "hunter2" not in text


def test_a_context_is_included_unless_it_is_suppressed() -> None:
    def fail(*, quiet: bool) -> None:
        try:
            raise KeyError("inner")
        except KeyError:
            if quiet:
                raise ValueError("outer") from None
            raise ValueError("outer")  # noqa: B904

    for quiet in (False, True):
        try:
            fail(quiet=quiet)
        except ValueError as error:
            assert ("While handling:" in describe_error(error, clean)) is not quiet


def test_an_exception_whose_text_fails_is_described_all_the_same() -> None:
    class Rude(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert "Rude" in summarize(Rude())
    assert any("Rude" in line for line in describe_error(Rude(), clean))


def test_a_cycle_of_causes_ends() -> None:
    first, second = ValueError("first"), KeyError("second")
    first.__cause__, second.__cause__ = second, first
    assert len([line for line in describe_error(first, clean) if line.startswith("Traceback")]) == 2
