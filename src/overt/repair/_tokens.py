"""Calls written with the special tokens of a model family, which a server should have taken out and did not."""

import re

from overt.repair._call_objects import CallText, from_python, make_call
from overt.repair._loose_json import CutObject
from overt.repair._scan_limit import ScannedTools
from overt.repair._xml_calls import ELEMENT, MarkupSpan, arguments, before_end, element, skip_blank, values
from overt.repair.foreign_names import tool_name

BAR = r"[｜|]"
GAP = r"[▁_ ]"
SECTION = re.compile(rf"<{BAR}tool{GAP}calls?(?:{GAP}section)?{GAP}begin{BAR}>")
CALL = re.compile(rf"<{BAR}tool{GAP}call{GAP}begin{BAR}>")
SPLIT = re.compile(rf"<{BAR}tool{GAP}(?:sep|call{GAP}argument{GAP}begin){BAR}>")
CALL_END = re.compile(rf"<{BAR}tool{GAP}call{GAP}end{BAR}>")
SECTION_END = re.compile(rf"<{BAR}tool{GAP}calls?(?:{GAP}section)?{GAP}end{BAR}>|<{BAR}end{GAP}of{GAP}sentence{BAR}>")
PAYLOAD = re.compile(
    r"<\|python_tag\|>|<\|python_start\|>|<\|tool_call_start\|>|<\|tool_call\|>|<\|tool_calls\|>"
    r"|<\|action_start\|>(?:\s*<\|plugin\|>)?|<\|START_ACTION\|>|<\|tools_prefix\|>|\[TOOL_CALLS\]|\[TOOL_REQUEST\]"
    r"|\bfunctools(?=\[)|\[(?:Calling tool|Tool [Uu]se|Tool [Cc]all|tool_call|Function [Cc]all)s?\s*:\s*"
)
PAYLOAD_END = re.compile(r"(?<!\s)\s*+(?:<\|/?[A-Za-z_]+\|>|\[/TOOL_CALLS\]|\[END_TOOL_REQUEST\])")
MISTRAL = re.compile(r"\s*+([A-Za-z_][\w.-]*+)\s*+(?:\[CALL_ID\]\s*+[\w-]*+\s*+)?(?:\[ARGS\])?\s*+(?=\{)")
HARMONY = re.compile(
    r"\bto=([\w.:-]++)\s*+(?:<\|channel\|>\s*+\w*+\s*+|(?:commentary|analysis)\s++)?(?:<\|constrain\|>\s*+)?(?:json|code)?\s*+(?:<\|message\|>\s*+)?(?=\{)"
)
HARMONY_HEAD = re.compile(r"(?:<\|start\|>\s*)?(?:assistant\s*)?(?:<\|channel\|>\s*)?(?:analysis|commentary)?\s*$")
HARMONY_END = re.compile(r"\s*<\|(?:call|end|return)\|>")
K3 = re.compile(
    r'(?:<\|open\|>\s*tools\s*(?:<\|sep\|>)?\s*)?(?:<\|open\|>)?\s*call\s+tool="([^"<>\n]{1,100}+)"[^<]{0,200}+<\|sep\|>'
)
K3_ARGUMENT = re.compile(r'\s*<\|open\|>\s*argument\s+key="([^"<>\n]{1,100}+)"[^<]{0,200}+<\|sep\|>')
K3_ARGUMENT_END = re.compile(r"<\|close\|>\s*argument\s*<\|sep\|>")
K3_END = re.compile(r"\s*<\|close\|>\s*call\s*<\|sep\|>")
K3_TAIL = re.compile(r"(?:\s*<\|close\|>\s*(?:tools|message|call)\s*<\|sep\|>)*")
GEMMA = re.compile(r"(?:<\|tool_call>|<start_function_call>)\s*call:([\w.:-]+)\s*(?=[{(])")
GEMMA_END = re.compile(r"(?<!\s)\s*+(?:<tool_call\|>|<end_function_call>)")
MOST = 200
"""Calls that may stand one behind another."""
FENCE = re.compile(r"\s*```[\w-]*\s*")


def section(text: str, at: int, tools: ScannedTools) -> MarkupSpan | None:
    """DeepSeek, Kimi K2 and Step: a section of calls, each with its name, a separator and its arguments."""
    calls: list[CallText] = []
    while len(calls) < MOST:
        at, came = skip_blank(text, at), at
        tools.spend(at - came + 1)
        if found := CALL.match(text, at):
            inner = _sectioned(text, found.end(), tools)
            if inner is None:
                break
            at = inner.end
            calls += inner.calls
        elif found := SECTION.match(text, at) or CALL_END.match(text, at) or SECTION_END.match(text, at):
            tools.spend(found.end() - at)
            at = found.end()
        else:
            break
    return MarkupSpan(at, calls) if calls else None


def _sectioned(text: str, at: int, tools: ScannedTools) -> MarkupSpan | None:
    split = SPLIT.search(text, at, at + 300)
    if not split:
        return None
    name = text[at : split.start()].strip()
    at = split.end()
    if name in ("function", ""):
        if found := ELEMENT.match(text, skip_blank(text, at)):
            return element(text, found.end(), found[1] or found[2], tools)
        head = re.compile(r"\s*([\w.:/-]+)\s*").match(text, at)
        if not head:
            return None
        name, at = head[1], head.end()
    if found := FENCE.match(text, at):
        at = found.end()
    inner = arguments(text, skip_blank(text, at), name, tools, CALL_END)
    if inner and (found := FENCE.match(text, inner.end)):
        return MarkupSpan(found.end(), inner.calls)
    return inner


def payload(text: str, at: int, tools: ScannedTools) -> MarkupSpan | None:
    """A token, then JSON, `name{…}` or Python calls."""
    calls: list[CallText] = []
    while len(calls) < MOST:
        at = skip_blank(text, at)
        if found := PAYLOAD.match(text, at):
            tools.spend(found.end() - at)
            at = found.end()
            continue
        inner = values(text, at, tools, PAYLOAD_END) or _mistral(text, at, tools)
        if inner is None and not calls:
            inner = _python(text, at, tools)
        if inner is None:
            break
        calls += inner.calls
        at = inner.end
        while found := PAYLOAD_END.match(text, at):
            if PAYLOAD.match(text, skip_blank(text, at)):
                break
            at = found.end()
        while text[at : at + 1] in (";", ","):
            at += 1
    return MarkupSpan(at, calls) if calls else None


def _mistral(text: str, at: int, tools: ScannedTools) -> MarkupSpan | None:
    found = MISTRAL.match(text, at)
    return arguments(text, found.end(), found[1], tools, PAYLOAD_END) if found else None


def _python(text: str, at: int, tools: ScannedTools) -> MarkupSpan | None:
    stop = before_end(text, at, tools, PAYLOAD_END)
    line = text.find("\n\n", at, stop)
    for end in (stop, line, text.find("\n", at, stop)):
        source = text[at:end].rstrip() if end >= 0 else ""
        bracketed = source.endswith(")]") and not source.startswith("[")
        found = from_python(source[:-1] if bracketed else source, tools, "marked")
        if found:
            return MarkupSpan(end, found)
    return None


def harmony(text: str, found: re.Match[str], tools: ScannedTools) -> MarkupSpan | None:
    inner = arguments(text, found.end(), found[1], tools, HARMONY_END)
    if inner is None:
        return None
    end = HARMONY_END.match(text, inner.end)
    return MarkupSpan(end.end() if end else inner.end, inner.calls)


def k3(text: str, found: re.Match[str] | None, tools: ScannedTools) -> MarkupSpan | None:
    """Kimi K3: calls and arguments opened and closed by tokens."""
    calls: list[CallText] = []
    end = 0
    while found and len(calls) < MOST:
        given: dict[str, object] = {}
        at, whole = found.end(), True
        while whole and (argument := K3_ARGUMENT.match(text, at)):
            stop = K3_ARGUMENT_END.search(text, argument.end())
            tools.spend((stop.end() if stop else len(text)) - at)
            whole = stop is not None
            given[argument[1]] = text[argument.end() : stop.start() if stop else len(text)]
            at = stop.end() if stop else len(text)
        done = K3_END.match(text, at)
        call = make_call(found[1], given if whole and done else CutObject(given), tools)
        if call is None or not (done or at >= len(text) or not whole):
            break
        calls.append(call)
        end = done.end() if done else at
        found = K3.match(text, skip_blank(text, end))
    tail = K3_TAIL.match(text, end)
    return MarkupSpan(tail.end() if tail else end, calls) if calls else None


def gemma(text: str, found: re.Match[str], tools: ScannedTools) -> MarkupSpan | None:
    """Gemma: `call:name{key:<|"|>text<|"|>}`, its string marks put back as quotes."""
    name = found[1] if tool_name(found[1], tools) in tools else found[1].rpartition(":")[2]
    if tool_name(name, tools) not in tools:
        return None
    end = GEMMA_END.search(text, found.end())
    tools.spend((end.end() if end else len(text)) - found.end())
    body = text[found.end() : end.start() if end else len(text)]
    mark = '<|"|>' if '<|"|>' in body else "<escape>"
    pieces = body.split(mark)
    joined = "".join(_quoted(piece) if number % 2 else piece for number, piece in enumerate(pieces))
    if len(pieces) % 2 == 0:
        joined = joined[:-1]
    if joined.startswith("("):
        if calls := from_python(name + joined, tools, "marked"):
            return MarkupSpan(end.end() if end else len(text), calls)
        whole = joined.rstrip().endswith(")")
        joined = "{" + (joined.rstrip()[1:-1] + "}" if whole else joined[1:])
    inner = arguments(joined, 0, name, tools, GEMMA_END)
    return MarkupSpan(end.end() if end else len(text), inner.calls) if inner else None


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
