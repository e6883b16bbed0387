"""Fill in facts that earlier versions wrote only as sentences, when an entry is loaded.

This is the one place that reads a text of our own. The texts below are what those versions wrote, so they never
change; a new fact gets a field of its event instead. Fields are only added, never changed: the reader of a session
sees what was written. An entry that has its facts is returned as it is.
"""

import re
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from overt.core.events import Compacted, Event, Noticed, PrefixReset, PrefixSet, Replied, ToolFinished, UserSpoke
from overt.core.messages import Message, Result, SummaryFacts, Text
from overt.core.views import Diffs, Failure, FileDiff, Output

LABEL = "[overt] "
OCCASIONS = {
    "[overt] The last reply was empty. Go on with the task": "nudge",
    "[overt] This turn has reached its step limit: ": "limit",
    "[overt] The step limit is reached and no more calls are possible. ": "limit",
    "[overt] Not believed: ": "objection",
}
RULES = "[overt] Rules for "
CHANGED_FACT = "[overt] {name} is now: "
DENIED_BECAUSE = "[overt] The user denied this call: "
REPEATED = "[overt] Refused: this is the same "
SHORTENED = " more lines not shown\n"
DESCRIBED_TOOL = r"- (\w+) "
KEPT_IN = r"(?:all of it is|its first and last 32 MB are) in /.+, for read and grep"
REWOUND = "rewind to before turn "
QUOTES, FILES, COMMANDS, WRITTEN = (
    f"\n# {heading}\n"
    for heading in ("What the user said, oldest first", "Files touched", "Commands run, oldest first", "Summary")
)
"""How sections of a summary begin."""
LEFT_OUT = r"> \[overt: (\d+) messages are left out here\]"
LISTED = r"- (.*): (.*)"
ENDED = r"\[(exit code -?\d+|timed out[^\]\n]*)\]"
WAITING = (
    r"No answer for \d+ s, still waiting \(Ctrl-C stops\)\."
    r"|\d+ 秒没有响应，仍在等待（Ctrl-C 可停止）。"
)


def upgrade(event: Event) -> Event:
    """Return the event with the facts that its texts hold, or the same object if there are none."""
    change = UPGRADES.get(type(event))
    return change(event) if change else event


def _prefix(event: PrefixSet) -> PrefixSet:
    if event.calls == "native" or event.tool_names:
        return event
    guide = "\n".join(fragment.text for fragment in event.prefix.system)
    return replace(event, tool_names=tuple(dict.fromkeys(re.findall(DESCRIBED_TOOL, guide))))


def _spoke(event: UserSpoke) -> UserSpoke:
    message, origin = event.message, event.message.origin
    if origin.kind == "user" or origin.label or origin.detail or not (text := message.text()).startswith(LABEL):
        return event
    match origin.kind:
        case "harness":
            occasion = next((name for start, name in OCCASIONS.items() if text.startswith(start)), "")
            origin = replace(origin, label=len(LABEL), detail=occasion)
        case "environment":
            start = CHANGED_FACT.format(name=origin.where)
            value = text.removeprefix(start) if text.startswith(start) else ""
            origin = replace(origin, label=len(LABEL), detail=value)
        case "file" if text.startswith(RULES):
            origin = replace(origin, detail="rules")
        case _:
            return event
    return replace(event, message=replace(message, origin=origin))


def _replied(event: Replied) -> Replied:
    """What a typed command printed: its first line is the command."""
    origin = event.message.origin
    if origin.kind != "tool" or origin.label:
        return event
    text = event.message.text()
    origin = replace(origin, label=text.find("\n") + 1, detail=_ended(text))
    return replace(event, message=replace(event.message, origin=origin))


def _finished(event: ToolFinished) -> ToolFinished:
    result, view = event.result, event.view
    if result.error:
        return event if result.cause or (isinstance(view, Failure) and view.label) else _failed(event)
    match view:
        case Output():
            return _printed(event, view)
        case Diffs(files=files) if not result.unchanged and all(file.change == "unchanged" for file in files):
            return replace(event, result=replace(result, unchanged=True))
        case Diffs(files=files) if any(file.diff.endswith(SHORTENED) and not file.hidden for file in files):
            return replace(event, view=Diffs(files=tuple(map(_with_hidden_lines, files))))
        case _:
            return event


def _printed(event: ToolFinished, view: Output) -> ToolFinished:
    result, text = event.result, event.result.text()
    if view.code != 0 and not result.ended and (ended := _ended(text)):
        event = replace(event, result=replace(result, ended=ended))
    if not view.hint and (hint := re.search(KEPT_IN, text)):
        event = replace(event, view=replace(view, hint=hint[0]))
    return event


def _with_hidden_lines(file: FileDiff) -> FileDiff:
    count = file.diff.removesuffix(SHORTENED).rpartition("\n\\ ")[2]
    return replace(file, hidden=int(count)) if file.diff.endswith(SHORTENED) and count.isdecimal() else file


def _failed(event: ToolFinished) -> ToolFinished:
    view, result = event.view, _with_cause(event.result, event.code)
    if isinstance(view, Failure) and result.harness and view.text.startswith(LABEL):
        view = replace(view, label=len(LABEL))
    return event if result is event.result and view is event.view else replace(event, result=result, view=view)


def _with_cause(result: Result, code: str) -> Result:
    match code:
        case "interrupted":
            return replace(result, cause="interrupted")
        case "denied" if result.harness and (text := result.text()).startswith(DENIED_BECAUSE):
            return replace(result, cause="denied", reason=text.removeprefix(DENIED_BECAUSE).strip())
        case "denied":
            return replace(result, cause="denied")
        case "invalid" if result.harness and result.text().startswith(REPEATED):
            return replace(result, cause="repeated")
        case _:
            return result


def _reset(event: PrefixReset) -> PrefixReset:
    number = event.cause.removeprefix(REWOUND)
    rewound = not event.turn and number != event.cause and number.isdecimal()
    return replace(event, turn=int(number)) if rewound else event


def _compacted(event: Compacted) -> Compacted:
    messages = tuple(map(_with_facts, event.summary))
    return event if messages == event.summary else replace(event, summary=messages)


def _with_facts(message: Message) -> Message:
    if message.origin.kind != "summary" or message.facts:
        return message
    texts = [part.text for part in message.parts if isinstance(part, Text)]
    quotes, files, commands, written = (
        next((text.removeprefix(start).rstrip("\n") for text in texts if text.startswith(start)), "")
        for start in (QUOTES, FILES, COMMANDS, WRITTEN)
    )
    blocks = [block for block in quotes.split("\n\n") if block]
    left_out = re.fullmatch(LEFT_OUT, blocks[0]) if blocks else None
    facts = SummaryFacts(
        quotes=tuple(re.sub("^> ?", "", block, flags=re.MULTILINE) for block in blocks[1 if left_out else 0 :]),
        left_out=int(left_out[1]) if left_out else 0,
        files={path: tuple(done.split(", ")) for path, done in re.findall(LISTED, files)},
        commands=dict(re.findall(LISTED, commands)),
        written=written,
    )
    return replace(message, facts=facts) if facts != SummaryFacts() else message


def _noticed(event: Noticed) -> Noticed:
    return replace(event, kind="waiting") if not event.kind and re.fullmatch(WAITING, event.text) else event


def _ended(text: str) -> str:
    states: list[str] = re.findall(ENDED, text)
    return states[-1] if states else ""


UPGRADES: dict[type[Event], Callable[[Any], Event]] = {
    PrefixSet: _prefix,
    UserSpoke: _spoke,
    Replied: _replied,
    ToolFinished: _finished,
    Compacted: _compacted,
    PrefixReset: _reset,
    Noticed: _noticed,
}
