"""How events, questions and the end of a turn are worded. The frontends only lay the words out.

A style is one of the terminal chat's (`dim`, `bold`, `warn`, `error` or none); the plain chat has fewer colours.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from overt.core.agents.agent_events import AgentEnded, AgentStarted
from overt.core.events import (
    BudgetSet,
    Compacted,
    Event,
    Noticed,
    PermissionAsked,
    PermissionDecided,
    PrefixReset,
    Repaired,
    Retried,
    TurnEnded,
    UserSpoke,
)
from overt.core.views import Diffs, Plain, View
from overt.lib.text import cut_line, exact, visible
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.chat.trust_question import TrustQuestion
    from overt.core.questions import FormAsked

ALONG = ("file", "environment")
"""The kinds of origin of such messages."""


def attachment_words(spoke: UserSpoke) -> str:
    """Return a line such as `calc.py:1-20`, or for a fact its first line. Rules of a folder are named as such."""
    origin = spoke.message.origin
    if origin.kind == "environment":
        return visible(spoke.message.shown().partition("\n")[0])
    place = visible(origin.where).replace("\n", " ")
    if origin.detail == "rules":
        return say("turn.rules", place=place)
    first, _, last = origin.lines.partition("-")
    return f"{place}:{first if first == last else origin.lines}" if origin.lines else place


# ── events ───────────────────────────────────────────────────────────────────────────────────────────────


class Notice(NamedTuple):
    """A line or two for an event that changes nothing on the screen but that a person should know of."""

    text: str
    level: Literal["info", "warning", "error"] = "info"


def describe_event(event: Event) -> Notice | None:
    match event:
        case Noticed(text=text, level=level):
            return Notice(text, level)
        case Repaired(note=note):
            return Notice(say("turn.repaired", note=note))
        case PermissionDecided(verdict="allow", remembered=rule) if rule:
            return Notice(say("ask.remembered", rule=rule))
        case Compacted():
            from overt.app.chat.notices import describe_compaction  # late: 1.3 ms

            return Notice(describe_compaction(event))
        case BudgetSet():
            from overt.app.chat.notices import describe_budget  # late: 1.3 ms

            return Notice(describe_budget(event))
        case AgentStarted():
            from overt.app.chat.notices import describe_agent_start  # late: 1.3 ms

            return Notice(describe_agent_start(event))
        case AgentEnded(reason=reason):
            from overt.app.chat.notices import describe_agent_end  # late: 1.3 ms

            return Notice(describe_agent_end(event), "info" if reason == "done" else "warning")
        case PrefixReset(cause=cause):
            return Notice(say("turn.reset", cause=cause))
        case Retried(attempt=attempt, attempts=attempts, wait=wait, reason=reason):
            return Notice(
                say("turn.retrying", attempt=attempt, attempts=attempts, seconds=round(wait, 1), reason=reason)
            )
        case _:
            return None


def describe_end(end: TurnEnded) -> Notice | None:
    """Say why a turn ended, unless it was done."""
    match end.reason:
        case "error" | "storm":
            return Notice(end.text, "error")
        case "limit":
            return Notice(end.text if end.kind else say("turn.limit", steps=end.steps), "warning")
        case "interrupted" | "terminated":
            return Notice(say("turn.interrupted"), "warning")
        case _:
            return None


# ── questions ────────────────────────────────────────────────────────────────────────────────────────────


class QuestionLine(NamedTuple):
    text: str
    style: str = ""
    indent: int = 0


EDITS = "edit"
"""The rule for every tool that writes files."""


def headline_words(asked: PermissionAsked, clean: Callable[[str], str]) -> str:
    """`Edit calc.py?` if the changes of files are known, else the tool and what it would run.

    A command that is shown whole below is left out. `clean` makes words of others harmless.
    """
    return who_asks(asked, _headline_words(asked, clean), clean)


def who_asks(asked: "PermissionAsked | FormAsked", words: str, clean: Callable[[str], str]) -> str:
    """Put the path of the sub-agent that asks before a question."""
    return words if asked.agent == "main" else say("ask.by_agent", who=clean(asked.agent), question=words)


def _headline_words(asked: PermissionAsked, clean: Callable[[str], str]) -> str:
    if words := change_words(asked, clean):
        return words
    shown_below = isinstance(asked.view, Plain) and asked.view.text.replace("\n", ", ") == asked.headline.replace(
        "\n", ", "
    )
    what = "" if shown_below else clean(asked.headline)
    return say("ask.headline", tool=clean(asked.call.name), what=what).rstrip()


def change_words(asked: PermissionAsked, clean: Callable[[str], str]) -> str:
    if not isinstance(asked.view, Diffs):
        return ""
    changes = {file.change for file in asked.view.files}
    change = changes.pop() if len(changes) == 1 else "updated"
    key = f"ask.{change}" if change in ("created", "deleted") else "ask.updated"
    return say(key, what=clean(asked.headline))


def always_words(asked: PermissionAsked) -> str:
    """What *always* stores, to the letter, and whether the network is part of it."""
    if asked.always == EDITS:
        return say("ask.always_edits")
    rule = exact(asked.always).replace("\n", "\\x0a").replace("\t", "\\x09")
    return say("ask.always_network" if asked.network else "ask.always", rule=rule)


def takes_session(asked: PermissionAsked) -> bool:
    return asked.network and not asked.dangerous


def permission_lines(asked: PermissionAsked) -> Iterator[QuestionLine]:
    """What a person should know before the answer, besides what would run: each begins with words of ours."""
    text = _foreign_text(asked.view)
    if text != exact(text):
        yield QuestionLine(say("ask.codes"), "warn")
    if missing := sum(file.hidden for file in asked.view.files) if isinstance(asked.view, Diffs) else 0:
        yield QuestionLine(say("tui.ask.missing", lines=missing), "error")
    for item in asked.affects:
        yield QuestionLine(say("ask.affects", what=item), "error")
    if asked.described:
        yield QuestionLine(say("ask.described", text=asked.described), "dim")
    if asked.network:
        yield QuestionLine(say("ask.network"), "dim")
    if asked.network_reason:
        yield QuestionLine(say("ask.network_reason", text=asked.network_reason), "dim")
    if asked.why:
        yield QuestionLine(say("ask.why", why=asked.why), "dim")
    if asked.dangerous:
        yield QuestionLine(say("ask.dangerous"), "error")


def _foreign_text(view: View) -> str:
    """What of a view was made by others and must be shown to the letter."""
    match view:
        case Plain(text=text):
            return text
        case Diffs(files=files):
            return "".join(file.path + file.diff for file in files)
        case _:
            return ""


LONGEST_NAME = 400
"""Characters of a name: a folder may be called anything."""


def trust_lines(question: "TrustQuestion") -> Iterator[QuestionLine]:
    """What a person should know before they trust a folder; every word of it is shown, none is obeyed."""
    yield QuestionLine(say("trust.question", project=_line(question.project)), "bold")
    if question.broad:
        yield QuestionLine(say(f"trust.{question.broad}"), "warn")
    if question.warning:
        yield QuestionLine(_line(question.warning), "warn")
    if question.changed:
        files = _line(cut_line(", ".join(question.changed), LONGEST_NAME))
        yield QuestionLine(say("trust.changed", files=files), "warn")
    if question.before == "unrecorded":
        yield QuestionLine(say("trust.no_record"))
    yield QuestionLine(say("trust.holds" if question.described_files else "trust.empty"))
    for file in question.described_files:
        mark = " *" if file.name in question.changed else ""
        yield QuestionLine(_line(cut_line(file.name, LONGEST_NAME)) + mark, "accent", 2)
        for line in file.effects:
            yield QuestionLine(_line(line), "dim", 4)
    if question.more:
        yield QuestionLine(say("trust.more", count=question.more), "", 2)
    if question.problem:
        yield QuestionLine(say("trust.problem", problem=_line(question.problem)), "error")


def _line(text: str) -> str:
    """Words of a folder as one line: a name with a line break in it must not add a line of its own to the question."""
    return visible(text).replace("\n", "\\n")
