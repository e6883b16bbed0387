"""The search for code that reads our own texts back finds what it is for, and nothing else."""

import pytest
from tests.own_texts import find_text_reads

LABEL = {"overt.core.text_fragments": {"LABEL": ["[overt] "]}}


@pytest.mark.parametrize(
    "source",
    [
        'REWOUND = "rewind to before turn "\ncause.startswith(REWOUND)',
        'text.partition("denied this call: ")',
        'say("turn.waiting", seconds="").partition("")',
        'DENIED = ("The user denied", "Denied (")\ntext.startswith(DENIED)',
        'text.removeprefix("[overt] ")',
        "from overt.core.text_fragments import LABEL\ntext.removeprefix(LABEL)",
        'UNWANTED = "sandbox.mode is none"\nstate.why == UNWANTED',
        'error.message.partition("`offline` is set, and ")',
        'why in ("", say("undo.not_ready"))',
        'PATTERN = re.compile(r"\\[(exit code \\d+)\\]")',
        'text.startswith(f"{name} is now: ")',
        'NUDGE = "Go on with " "the task"\ntext == NUDGE',
        'STATES = frozenset({"was not found", "is empty"})\nstate in STATES',
        'match text:\n    case "not found, nor anything like it":\n        pass',
        '"" == why != say("undo.failed")',
        'text.replace("old_string was", "old was")',
        'text.count("messages are left out")',
        'def f(text: str) -> bool:\n    words = say("undo.first")\n    return words in text',
        'def f(rule: str) -> bool:\n    words = say("a") if rule else say("b")\n    return "(" in words',
        'error.message.startswith("offline")',
        '"offline" in problem.error.message',
    ],
)
def test_a_text_of_ours_that_is_read_back_is_found(source: str) -> None:
    assert len(find_text_reads(source, LABEL)) == 1


@pytest.mark.parametrize(
    "source",
    [
        'line.startswith("diff --git ")',
        'mode == "plan"',
        'path.rpartition("/")',
        'text = f"[overt] {words}"',
        'say("turn.waiting", seconds=3)',
        're.search(r"permission denied|read-only file system", output)',
        "count == 3",
        'error.message.partition("\\n")',
        '"Connection" in str(error)',
        'def f() -> str:\n    words = say("a")\n    return words\ndef g(words: str) -> bool:\n    return "(" in words',
    ],
)
def test_values_and_formats_of_others_are_not(source: str) -> None:
    assert find_text_reads(source, LABEL) == []
