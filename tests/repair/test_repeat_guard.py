"""The same call again and again."""

from overt.repair.repeat_guard import RepeatGuard


def test_the_third_equal_call_is_refused_with_advice() -> None:
    storm = RepeatGuard()
    for _ in range(2):
        assert storm.advice("read", "{}") == ""
        storm.ran("read", "{}", mutating=False, failed=False)
    assert "third time" in storm.advice("read", "{}")
    assert storm.advice("read", '{"path":"b"}') == ""


def test_a_change_in_between_makes_reading_again_sensible() -> None:
    storm = RepeatGuard()
    for _ in range(2):
        storm.ran("read", "{}", mutating=False, failed=False)
    storm.ran("edit", "{}", mutating=True, failed=False)
    assert storm.advice("read", "{}") == ""


def test_the_fifth_equal_failure_ends_the_turn() -> None:
    storm = RepeatGuard()
    for _ in range(4):
        storm.ran("bash", "{}", mutating=True, failed=True)
        assert storm.over() == ""
    storm.ran("bash", "{}", mutating=True, failed=True)
    assert "failing call 5 times" in storm.over()


def test_the_third_empty_answer_ends_the_turn() -> None:
    storm = RepeatGuard()
    storm.empty()
    storm.empty()
    assert storm.over() == ""
    storm.empty()
    assert "nothing 3 times" in storm.over()


def test_the_same_arguments_written_otherwise_are_the_same_call() -> None:
    storm = RepeatGuard()
    storm.ran("grep", '{"pattern":"x","path":"a"}', mutating=False, failed=False)
    storm.ran("grep", '{ "path": "a", "pattern": "x" }', mutating=False, failed=False)
    assert "third time" in storm.advice("grep", '{"path":"a","pattern":"x"}')
    assert storm.advice("grep", '{"path":"a","pattern":"x') == ""
