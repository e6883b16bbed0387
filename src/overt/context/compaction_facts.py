"""What a compaction takes from the history itself, so that nothing of it depends on what a model writes.

Each section is a text part of the summary message under a heading of its own. The next compaction goes on with the
facts of that message, so what the person said at the start outlives any number of compactions.
"""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from overt.core.codec import decode
from overt.core.messages import Call, Message, Result, SummaryFacts, Text
from overt.core.tool import ToolLookup
from overt.core.views import Todo

PINNED = "Pinned by the user, word for word"
SAID = "What the user said, oldest first"
FILES = "Files touched"
RAN = "Commands run, oldest first"
TODOS = "Todo list"
WRITTEN = "Summary"

PATHS = ("path", "file_path", "filepath", "filename", "file")
PATCHED = re.compile(
    r"^(?:\*\*\* (?:Add|Update|Delete) File: |\*\*\* Move to: |\+\+\+ (?:b/)?)(?!/dev/null)(.+)$", re.M
)
REMOVED = (
    "[overt] This result was taken out to make room: it had {characters} characters. If it is needed, read the file or "
    "run the command again. The user finds it with `overt context --turn N --full`."
)
RULE = re.compile(
    r"\b(?:always|never|must|mustn't|don't|do not|shall|should|only|without|avoid|ensure|make sure|require[sd]?|"
    r"forbidden|prefer|keep|no)\b|必须|不要|不能|不得|不许|禁止|总是|始终|请勿|切勿|务必|一定|只能|只许|应该|应当|避免|别|保持",
    re.I,
)
"""Words by which a line is taken for a rule: kept whole where the rest of a long prompt is cut."""
RULES = 4
"""Of what a cut prompt keeps, so much more may be rules from its rest."""
COMMAND = 160
TYPED = "!"
"""Where a command came from that the person typed; what it printed is the next message."""


class SectionLimits(Struct, frozen=True, kw_only=True):
    """How much room the sections may take: bytes of all quotes, characters of one, lines of files and of commands."""

    quotes: int
    quote: int
    files: int
    commands: int


def section_limits(window: int) -> SectionLimits:
    """About a fifth of the window in all. Bytes, because a character of the east takes as much as a word."""
    window = window or 128_000
    return SectionLimits(
        quotes=max(1_000, window * 3 // 5),
        quote=min(4_000, max(240, window // 25)),
        files=min(200, max(12, window // 400)),
        commands=min(60, max(8, window // 1_000)),
    )


def collect_facts(
    gone: Sequence[Message], *, stays: Sequence[Message], written: str, find_tool: ToolLookup
) -> SummaryFacts:
    """Return all that a summary of what left can tell; `stays` are prompts that are kept as messages of their own.

    Without `written` it goes on with what a model wrote for the summary before.
    """
    earlier = _earlier_facts(gone)
    return SummaryFacts(
        quotes=_said(earlier.quotes, gone, stays),
        left_out=earlier.left_out,
        files=_files(earlier.files, gone, find_tool),
        commands=_commands(earlier.commands, gone, find_tool),
        written=written or earlier.written,
    )


def _earlier_facts(gone: Sequence[Message]) -> SummaryFacts:
    """Return what the summaries among the messages tell, as one."""
    every = [message.facts for message in gone if message.facts]
    return SummaryFacts(
        quotes=tuple(quote for facts in every for quote in facts.quotes),
        left_out=sum(facts.left_out for facts in every),
        files={path: done for facts in every for path, done in facts.files.items()},
        commands={command: state for facts in every for command, state in facts.commands.items()},
        written=next((facts.written for facts in reversed(every) if facts.written), ""),
    )


def sections(
    facts: SummaryFacts, *, pins: Sequence[str], todos: Sequence[Todo], scale: SectionLimits
) -> tuple[tuple[Text, ...], SummaryFacts]:
    """Return the sections of a summary, and the facts that they have room for."""
    quotes = _fitting(_shortened(facts.quotes, scale), scale.quotes)
    facts = replace(facts, quotes=quotes, left_out=facts.left_out + len(facts.quotes) - len(quotes))
    body = {
        PINNED: "\n\n".join(map(_quote, pins)),
        SAID: _quotes(facts),
        FILES: _listed({path: ", ".join(done) for path, done in facts.files.items()}, scale.files),
        RAN: _listed(facts.commands, scale.commands),
        TODOS: "\n".join(f"- {item.line()}" for item in todos),
        WRITTEN: facts.written,
    }
    shown = replace(
        facts,
        files=dict(list(facts.files.items())[-scale.files :]),
        commands=dict(list(facts.commands.items())[-scale.commands :]),
    )
    return tuple(Text(text=f"\n# {heading}\n{text}\n") for heading, text in body.items() if text), shown


# ── what was said ────────────────────────────────────────────────────────────────────────────────────────


def _said(earlier: Iterable[str], gone: Sequence[Message], stays: Sequence[Message]) -> tuple[str, ...]:
    """What the person said, each once."""
    prompts = {message.text() for message in stays if message.origin.kind == "user"}
    fresh = [
        text
        for message in gone
        for text in (message.text(), *(part.reason.strip() for part in message.parts if isinstance(part, Result)))
        if message.role == "tool"
        or (message.role == "user" and message.origin.kind == "user" and message.origin.where != TYPED)
    ]
    return tuple(text for text in dict.fromkeys((*earlier, *fresh)) if text.strip() and text not in prompts)


def _quotes(facts: SummaryFacts) -> str:
    blocks = [_quote(text) for text in facts.quotes]
    missing = [f"> [overt: {facts.left_out} messages are left out here]"] if facts.left_out else []
    return "\n\n".join([*missing, *blocks])


def _shortened(texts: Sequence[str], scale: SectionLimits) -> Sequence[str]:
    """Word for word where that fits, else the long ones cut."""
    if _size(texts) <= scale.quotes and all(len(text) <= scale.quote for text in texts):
        return texts
    most = min(scale.quote, max(80, scale.quotes // len(texts)))
    return [_cut(text, most) for text in texts]


def _fitting(texts: Sequence[str], room: int) -> tuple[str, ...]:
    """Leave out what states no rule, the oldest first, until the rest fits."""
    newest = range(len(texts) - 1, -1, -1)
    chosen: set[int] = set()
    for at in sorted(newest, key=lambda at: RULE.search(texts[at]) is None):
        size = _size([texts[at]])
        if size <= room:
            chosen.add(at)
            room -= size
    return tuple(text for at, text in enumerate(texts) if at in chosen)


def _size(texts: Iterable[str]) -> int:
    return sum(len(text.encode("utf-8", "replace")) for text in texts)


def _cut(text: str, most: int) -> str:
    """The beginning, a mark, and later lines that state a rule, as far as they are not endless."""
    if len(text) <= most:
        return text
    at = max(text.rfind("\n", 0, most), text.rfind(" ", 0, most))
    at = at if at > most // 2 else most
    broken = text[text.rfind("\n", 0, at) + 1 :].split("\n")[0] if text[at] != "\n" else ""
    later = [broken, *text[at:].split("\n")[1:]]
    rules, room = list[str](), RULES * most
    for line in later:
        if RULE.search(line) and len(line) <= room:
            rules.append(line)
            room -= len(line)
    left = len(text) - at
    return "\n".join([f"{text[:at]} […]", f"[overt: {left} characters cut here; rules among them follow]", *rules])


def _quote(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.strip().split("\n"))


# ── what was done ────────────────────────────────────────────────────────────────────────────────────────


def _files(
    earlier: dict[str, tuple[str, ...]], gone: Sequence[Message], find_tool: ToolLookup
) -> dict[str, tuple[str, ...]]:
    """Path → what was done with it, in the order in which each was touched last."""
    files = dict(earlier)
    for message in gone:
        if message.origin.kind == "file" and message.role == "user" and message.origin.where:
            _note(files, message.origin.where, "shown with a prompt")
    for call, result in calls_with_results(gone):
        tool = find_tool(call.name)
        if tool and tool.past and not result.error:
            for path in paths_of(call):
                _note(files, path, tool.past)
    return files


def _note(files: dict[str, tuple[str, ...]], path: str, verb: str) -> None:
    done = files.pop(path, ())
    files[path] = done if verb in done else (*done, verb)


def _commands(earlier: dict[str, str], gone: Sequence[Message], find_tool: ToolLookup) -> dict[str, str]:
    """Command → how it ended the last time."""
    commands = dict(earlier)
    for at, message in enumerate(gone):
        if message.origin.kind == "user" and message.origin.where == TYPED:
            ended = gone[at + 1].origin.detail if at + 1 < len(gone) else ""
            ran = [(_one_line(message.text()[1:]), f"{ended or 'ok'}, typed by the user")]
        else:
            ran = [
                (_one_line(str(arguments_of(call).get("command", ""))), _state(result))
                for call, result in calls_with_results(gone[max(0, at - 1) : at + 1])
                if (tool := find_tool(call.name)) and "run" in tool.effects
            ]
        for command, state in ran:
            commands.pop(command, None)
            commands[command] = state
    return {command: state for command, state in commands.items() if command}


def _state(result: Result) -> str:
    """Return how a command ended. A result that was removed does not tell; one of ours says that it never ran."""
    if result.cause == "removed":
        return "failed, result removed" if result.error else "result removed"
    if result.cause == "interrupted" and result.harness:
        return "interrupted"
    if result.error:
        return "not run" if result.harness else "failed"
    return result.ended or "ok"


def _one_line(command: str) -> str:
    first, *more = command.strip().split("\n")
    return f"`{first[:COMMAND]}{' …' if more or len(first) > COMMAND else ''}`" if first else ""


def _listed(items: dict[str, str], most: int) -> str:
    lines = [f"- {name}: {what}" for name, what in items.items()]
    more = len(lines) - most
    return "\n".join(([f"- … and {more} before these"] if more > 0 else []) + lines[-most:])


def calls_with_results(messages: Iterable[Message]) -> list[tuple[Call, Result]]:
    """Every call with its result, in order."""
    waiting: dict[str, Call] = {}
    pairs: list[tuple[Call, Result]] = []
    for message in messages:
        for part in message.parts:
            if isinstance(part, Call):
                waiting[part.id] = part
            elif isinstance(part, Result) and part.call_id in waiting:
                pairs.append((waiting.pop(part.call_id), part))
    return pairs


def paths_of(call: Call) -> list[str]:
    arguments = arguments_of(call)
    if patch := arguments.get("patch"):
        return [path.strip().split("\t")[0] for path in PATCHED.findall(str(patch))]
    return [path for name in PATHS if isinstance(path := arguments.get(name), str)][:1]


def arguments_of(call: Call) -> dict[str, object]:
    try:
        arguments = decode(call.arguments or "{}")
    except (ValueError, RecursionError):
        return {}
    return arguments if isinstance(arguments, dict) else {}
