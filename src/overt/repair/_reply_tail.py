"""Every call a text holds, with the place of its markup.

Scanned from left to right: code and markup shadow each other, whichever opens first. What counts as a call and
what merely mentions one is written down in `leaked_calls`.
"""

import re
from collections import deque
from typing import NamedTuple

from overt.repair import _tokens as tokens
from overt.repair import _xml_calls as elements
from overt.repair._call_objects import CallText, Trust, from_broken, from_python, from_value, value_at
from overt.repair._loose_json import BrokenJson, CutObject
from overt.repair._scan_limit import ScanLimitError, ScannedTools
from overt.repair._text_before_call import FENCE, comment_end, fence_end, is_quoted, leads_to_call, ticked_end
from overt.repair._xml_calls import MarkupSpan
from overt.repair.foreign_names import tool_name

SCAN = re.compile(
    r"(?P<fence>^[ \t]*(?:`{3,}|~{3,})[^\n`]*$)|(?P<tick>`+)|(?P<comment><!--|/\*)|(?P<mark>"
    r"<(?=[｜|\]]|(?:[\w-]+:)?(?:tool|func|invoke|call|TOOL|longcat|use_|execute_|xml|start_function)|\w+>)|\]<\]minimax\[>\[|\[(?=T|C|F|t)"
    r"|\bfunctools\[|\bto=|\bcall\s+tool=\")",
    re.MULTILINE,
)
INVENTED = re.compile(
    r"<(?:tool_response|tool_result|tool_results|function_results|function_response|tool_output|observation)\b"
    r"|<\|observation\|>|<｜tool▁outputs?▁begin｜>|\[TOOL_RESULTS\]|^Observation:",
    re.MULTILINE,
)
CALL_FENCES = set("tool_call tool_calls tool_code tool function_call tool_use tools function action".split())
JSON_FENCES = {"", "json", "jsonc", "json5", "javascript", "js", "xml", "text", "plaintext", "python", "py"}
REACT = re.compile(
    r"^[ \t]*\**(?:Action|Tool|Function)(?: [Nn]ame)?\**:\**[ \t]*`?([\w.:-]+)`?[ \t]*\n+"
    r"[ \t]*\**(?:(?:Action|Tool)[ _]Input|Arguments|Parameters|Input|Args)\**:\**[ \t]*",
    re.MULTILINE,
)
THOUGHT = re.compile(r"^[ \t]*\**Thought\**:", re.MULTILINE)
SPOKEN = re.compile(r"(?:^|\n)[ \t]*(?:>{3}[ \t]*)?([A-Za-z_][\w.-]*)[ \t]*\n(?=\s*\{)")
NAMED = re.compile(r"(?:[ \t]*\**(?:Action|Tool [Cc]all|Function [Cc]all|Call)\**:\**[ \t]*)?")
LONGEST, MOST, CALLS, TAIL = 200_000, 50, 200, 100
"""Characters of a reply that may end in bare calls; tries that may fail; calls one text may hold; a closing tag."""
TAG = re.compile(r"<([a-z]+|[A-Za-z]+(?:_[a-z]+)+|[a-zA-Z]+[A-Z][A-Za-z]*)>")
LAST_TURN = re.compile(rf"(?:{elements.TURN.pattern})\s*+\Z")
LINE = re.compile(r"^[^\S\n]*+(?=[\[{])", re.MULTILINE)
NOTHING = re.compile(rf"(?:[\s,;]|</?(?:think|thinking|seed:think)>|{elements.TURN.pattern}|{elements.ENDS.pattern})*+")
TOKEN = re.compile(r"<\|/?\w+\|?>|<\w+\|>")
"""Behind a token of a model's own, a line begins as well."""
GLANCE = 50
"""What a look at something that is no markup costs, in characters read."""


class CallSpan(NamedTuple):
    start: int
    end: int
    calls: list[CallText]


def find_calls(text: str, tools: ScannedTools) -> tuple[list[CallSpan], int]:
    """The calls that a text ends with, in order, and where the model's own text ends: at a result it invented."""
    try:
        found = _marked(text, tools)
        invented = INVENTED.search(text, found[0].end) if found else None
        limit = invented.start() if invented else len(text)
        found = [leak for leak in found if leak.end <= limit]
        if not found:
            return _bare(text, tools), len(text)
    except ScanLimitError:
        return [], len(text)
    ends = [*(leak.start for leak in found[1:]), limit]
    is_tail = all(NOTHING.fullmatch(text, leak.end, end) for leak, end in zip(found, ends, strict=True))
    lead = text[: found[0].start]
    # A result that was invented behind a quotation belongs to the quotation.
    is_own = limit == len(text) or not lead.strip() or THOUGHT.match(lead)
    return (found, limit) if is_tail and is_own and leads_to_call(lead, explicit=True) else ([], len(text))


def _marked(text: str, tools: ScannedTools) -> list[CallSpan]:
    """Calls in a model's own markup, outside code and comments."""
    found: list[CallSpan] = []
    at, missed = 0, 0
    while missed < MOST and len(found) < CALLS and (match := SCAN.search(text, at)):
        if match["fence"]:
            opening = FENCE.match(text, match.start())
            at = fence_end(text, opening)[1] if opening else match.end()
            continue
        if match["comment"]:
            at = comment_end(text, match.start())
            continue
        tools.spend(GLANCE)
        if match["tick"]:
            at = ticked_end(text, match.start())
            continue
        marked, start = _mark(text, match.start(), tools)
        before = found[-1].end if found else 0
        if marked is None or start < before:
            missed += start >= 0
            at = match.start() + 1
            continue
        head = TOKEN.split(text[max(before, text.rfind("\n", before, start) + 1, start - 1000) : start])[-1].strip()
        at = max(marked.end, match.start() + 1)
        if not is_quoted(text, start) and (not head or head[-1] in ".!:…。！："):
            found.append(CallSpan(start, marked.end, marked.calls))
    return found


def _mark(text: str, at: int, tools: ScannedTools) -> tuple[MarkupSpan | None, int]:
    """The markup that begins here, and where it really begins: -1 when it does not even look like any."""
    if text.startswith("to=", at):
        return _harmony(text, at, tools)
    if found := tokens.SECTION.match(text, at) or tokens.CALL.match(text, at):
        return tokens.section(text, at, tools), at
    if found := tokens.PAYLOAD.match(text, at):
        return tokens.payload(text, at, tools), at
    if found := tokens.GEMMA.match(text, at):
        return tokens.gemma(text, found, tools), at
    if found := tokens.K3.match(text, at):
        return tokens.k3(text, found, tools), at
    if found := elements.ELEMENT.match(text, at):
        inner = elements.element(text, found.end(), found[1] or found[2], tools)
        return (inner and MarkupSpan(elements.skip_closing_tags(text, inner.end), inner.calls)), at
    if found := elements.CONTAINER.match(text, at):
        return elements.container(text, found.end(), tools), at
    found = TAG.match(text, at)
    named = found and (found[1] in tools or not (found[1].isalpha() and found[1].islower()))
    if named and text[max(0, at - 40) : at].rpartition("\n")[2].strip() == "":
        return elements.tag(text, at, tools), at
    return None, -1


def _harmony(text: str, at: int, tools: ScannedTools) -> tuple[MarkupSpan | None, int]:
    found = tokens.HARMONY.match(text, at)
    if not found:
        return None, -1
    head = tokens.HARMONY_HEAD.search(text, max(0, at - 80), at)
    start = head.start() if head else at
    if "<|" not in text[start : found.end()] and not found[1].startswith("functions."):
        return None, at
    return tokens.harmony(text, found, tools), start


def _bare(text: str, tools: ScannedTools) -> list[CallSpan]:
    """Calls without markup: the whole reply, or its last blocks under words that announce them."""
    found: list[CallSpan] = []
    whole = len(text.rstrip())
    end = _unended(text, whole)
    while 0 < end <= LONGEST and len(found) < MOST and (leak := _last(text, end, tools)):
        found.insert(0, leak)
        end = len(text[: leak.start].rstrip())
    if not found:
        return []
    found[-1] = found[-1]._replace(end=max(found[-1].end, whole))
    lead = text[: found[0].start]
    if REACT.match(text, found[0].start) and (thoughts := list(THOUGHT.finditer(lead))):
        # The thought belongs to the call; what stands before it says whether it is one.
        lead = lead[: thoughts[0 if INVENTED.search(text, found[0].start) else -1].start()]
    opened = max(lead.rfind("<!--"), lead.rfind("/*"))
    is_comment = opened >= 0 and comment_end(lead, opened) >= len(lead)
    # Calls between the words make a plan or a lesson of them; running the last alone would be wrong.
    is_lesson = FENCE.search(lead) or LINE.search(lead)
    return [] if is_comment or is_lesson or not leads_to_call(lead, explicit=False) else found


def _unended(text: str, end: int) -> int:
    """Where the text ends before closing tags and ends of turn that have no beginning."""
    for _ in range(MOST):
        tail = text[max(0, end - TAIL) : end]
        found = elements.LAST_END.search(tail) or LAST_TURN.search(tail)
        if not found:
            break
        end -= len(tail) - len(tail[: found.start()].rstrip())
    return end


def _last(text: str, end: int, tools: ScannedTools) -> CallSpan | None:
    """The last block before `end`, when it is a call and nothing else."""
    tools.spend(end)
    return _fenced(text, end, tools) or _open(text, end, tools)


def _fenced(text: str, end: int, tools: ScannedTools) -> CallSpan | None:
    at = 0
    while opening := FENCE.search(text, at, end):
        inner, close = fence_end(text, opening, end)
        at = close
        if close < end:
            continue
        info = opening["info"].strip().lower().partition(" ")[0]
        alone = not text[: opening.start()].strip()
        trust: Trust = "whole" if alone or info in CALL_FENCES else "block"
        if info not in CALL_FENCES | JSON_FENCES:
            return None
        body = text[opening.end() : inner].strip()
        calls = _body(body, tools, trust=trust, python=alone or info in CALL_FENCES)
        return CallSpan(opening.start(), end, calls) if calls else None
    return None


def _body(body: str, tools: ScannedTools, *, trust: Trust, python: bool) -> list[CallText] | None:
    """What stands alone in a fence."""
    calls: list[CallText] = []
    at = 0
    while at < len(body) and body[at] in "{[":
        try:
            value, at = value_at(body, at, tools)
        except BrokenJson:
            calls = (from_broken(body, tools) or []) if not calls else []
            return calls or (from_python(body, tools, trust) if python else None)
        inner = from_value(value, tools, trust)
        if inner is None:
            return None
        calls += inner
        at = len(body) - len(body[at:].lstrip(" \n\t,;"))
    if calls:
        return calls if at >= len(body) else None
    if body.startswith("<"):
        marked, _ = _mark(body, 0, tools)
        return marked.calls if marked and not body[marked.end :].strip() else None
    if python and (found := SPOKEN.match(body)):
        marked = elements.element(body, elements.skip_blank(body, found.end()), found[1], tools)
        return marked.calls if marked and not body[marked.end :].strip() else None
    return from_python(body, tools, trust) if python else None


def _open(text: str, end: int, tools: ScannedTools) -> CallSpan | None:
    """A call that stands open at the end of the text: JSON, `Action:`, `name` and JSON, or Python."""
    for react in deque(REACT.finditer(text, 0, end), MOST):
        if leak := _react(text, react, end, tools):
            return leak
    for spoken in deque(SPOKEN.finditer(text, 0, end), MOST):
        at = spoken.end()
        ours = tool_name(spoken[1], tools)
        if ours in tools:
            inner = elements.element(text[:end], elements.skip_blank(text, at), spoken[1], tools)
            if inner and inner.calls and not text[inner.end : end].strip():
                return CallSpan(spoken.start(), end, inner.calls)
    return _json(text, end, tools) or _python(text, end, tools)


def _react(text: str, head: re.Match[str], end: int, tools: ScannedTools) -> CallSpan | None:
    if tool_name(head[1], tools) not in tools:
        return None
    tools.spend(end - head.end())
    invented = INVENTED.search(text, head.end(), end)
    stop = invented.start() if invented else end
    body = text[head.end() : stop].strip()
    if body.startswith("```"):
        body = body.partition("\n")[2].rstrip("`").strip()
    if body.startswith("{"):
        inner = elements.element(body, 0, head[1], tools)
        calls = inner.calls if inner and not body[inner.end :].strip() else None
    else:
        # Only a line break tells that a word is whole.
        whole = text[head.end() : stop].endswith("\n") or stop < end
        word: dict[str, str] = {"action": head[1], "action_input": body}
        calls = from_value(word if whole else CutObject(word), tools, "whole") if body and "\n" not in body else None
    return CallSpan(head.start(), end, calls) if calls else None


def _json(text: str, end: int, tools: ScannedTools) -> CallSpan | None:
    body = text[:end]
    for start in _openings(body):
        try:
            value, stop = value_at(body, start, tools)
        except BrokenJson:
            continue
        if stop < end and text[stop:end].strip(" \n\t;,"):
            continue
        alone = not text[:start].strip()
        calls = from_value(value, tools, "whole" if alone else "block")
        return CallSpan(start, end, calls) if calls else None
    return None


def _python(text: str, end: int, tools: ScannedTools) -> CallSpan | None:
    if text[end - 1 : end] not in (")", "]"):
        return None
    start = text.rfind("\n\n", 0, end) + 1
    alone = not text[:start].strip()
    for at in (start, text.rfind("\n", 0, end) + 1):
        label = NAMED.match(text, at, end)
        calls = from_python(
            text[label.end() if label else at : end], tools, "whole" if alone and at == start else "block"
        )
        if calls:
            return CallSpan(at, end, calls)
    return None


def _openings(text: str) -> deque[int]:
    """The brackets that the last lines begin with, first ones first."""
    return deque((found.end() for found in LINE.finditer(text)), MOST)
