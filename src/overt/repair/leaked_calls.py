"""Calls that a model wrote into its text or its reasoning, taken out of it and made real.

Only calls that end the reply are run: a call with words behind it stays text.

- Markup of a model family (`<tool_call>`, `<function=…>`, `<invoke …>`, `[TOOL_CALLS]`, special tokens, a tag
  named like a tool) counts at the beginning of a line or behind a whole sentence. Not inside a fence, backticks or a
  comment, not in quotation marks, in a quotation, a list or a diff.
- A call without markup (a JSON object, a fence with one, `read(path="a.py")`, `Action:`) counts only as the
  whole reply, or as its last blocks under words that announce an act.
- Words that show something, or say that it is not to be done, stop every call behind them: see `leads_to_call`.
- A definition of a tool, an example with blanks, and a name no tool answers to are text.
- In reasoning a call counts only when the reply has no call and no words outside it: else it was a thought.
- After a call, a result the model invented ends the text: what follows was made up on top of it.
- When real calls came, leaked ones are taken out of the prose and not run again.

A call that was cut gives arguments that are not closed, which `mend` sees; so does a call that a reply ends with
when the reply itself was cut. One `ScannedTools` bounds the work on a whole reply; what it does not reach stays text.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from overt.core.messages import Call, Part, Reasoning, Text
from overt.core.requests import Finish
from overt.core.settings import Calls
from overt.core.tool import Tool
from overt.repair._scan_limit import ScanLimitError, ScannedTools

HINTS = (
    "<tool", "<func", "<invoke", "<call", "<|", "<｜", "tool_call", ":tool", "[TOOL", "to=", ":invoke", "TOOLCALL",
    "functools[", "[Calling", "[Tool", "[tool", "[Func", "minimax", "Action:", "Action**:", "<use_tool",
    "call tool=", "<start_function", "<xml",
)  # fmt: skip
ENDS = ("}", "]", ")", "```", ">", "~~~")
THINK_ENDS = ("</think>", "</thinking>", "</seed:think>")
SHOWN = 4000


class ExtractedCalls(Struct, frozen=True, kw_only=True):
    """The parts with leaked calls made real; `note` says what was done, `before` what stood there."""

    parts: tuple[Part, ...]
    note: str = ""
    before: str = ""


def extract_leaked_calls(
    parts: tuple[Part, ...], tools: Mapping[str, Tool], *, calls: Calls = "native", finish: Finish = "stop"
) -> ExtractedCalls:
    """`calls` is how this model calls tools; `finish` why its reply ended."""
    native = any(isinstance(part, Call) for part in parts)
    hunt = ScannedTools(tools)
    if calls == "schema" and not native:
        from overt.repair._schema_reply import read_schema_reply  # late: 8 ms

        try:
            if found := read_schema_reply(parts, hunt):
                return ExtractedCalls(parts=found[0], before=found[1])
        except ScanLimitError:
            pass
    taken = _Extraction(hunt, cut=finish in ("length", "interrupted"))
    where = "text"
    out = [Text(text=taken.text(part.text)) if isinstance(part, Text) else part for part in parts]
    if not native and not any(isinstance(part, Text) and part.text.strip() for part in out) and not taken.calls:
        where = "reasoning"
        out = [taken.reasoning(part) if isinstance(part, Reasoning) else part for part in out]
    if not taken.calls:
        return ExtractedCalls(parts=parts)
    kept = tuple(part for part in out if not (isinstance(part, Text) and not part.text.strip()))
    before = "\n".join(taken.before)
    before = before if len(before) <= SHOWN else before[:SHOWN] + "…"
    if native:
        return ExtractedCalls(parts=kept, note="removed markup of calls from the text", before=before)
    names = ", ".join(call.name for call in taken.calls)
    return ExtractedCalls(
        parts=kept + tuple(taken.calls), note=f"found a call written as {where}: {names}", before=before
    )


class _Extraction:
    """The calls that were taken out of texts, and the markup they stood in."""

    def __init__(self, tools: ScannedTools, *, cut: bool) -> None:
        self._tools = tools
        self._cut = cut
        self.calls: list[Call] = []
        self.before: list[str] = []

    def text(self, text: str) -> str:
        """The text without its calls; a call in thinking that was written into it counts if no words follow."""
        at = max((found + len(end) for end in THINK_ENDS if (found := text.rfind(end)) >= 0), default=0)
        if at and not text[at:].strip():
            return self._take(text[:at])
        return text[:at] + self._take(text[at:])

    def reasoning(self, part: Reasoning) -> Reasoning:
        rest = self._take(part.text)
        return part if part.signature or part.opaque else replace(part, text=rest)

    def _take(self, text: str) -> str:
        if not _may_hold(text):
            return text
        from overt.repair._reply_tail import find_calls  # late: 27 ms

        found, limit = find_calls(text, self._tools)
        if not found:
            return text
        self.before.append("\n".join(text[leak.start : leak.end].strip() for leak in found))
        for name, arguments in (call for leak in found for call in leak.calls):
            self.calls.append(Call(id=f"leaked_{len(self.calls) + 1}", name=name, arguments=arguments))
        if self._cut and found[-1].end >= len(text.rstrip()):
            # What looks like the end of the call may be a line of the file it was writing.
            self.calls[-1] = replace(self.calls[-1], arguments=self.calls[-1].arguments.rstrip().removesuffix("}"))
        pieces = (text[: found[0].start].rstrip(), text[found[-1].end : limit].strip())
        return "\n\n".join(piece for piece in pieces if piece)


def _may_hold(text: str) -> bool:
    """A cheap look, so that ordinary replies load nothing."""
    if not text.strip():
        return False
    if any(hint in text for hint in HINTS) or text.rstrip().endswith(ENDS):
        return True
    return "{" in text or ("<" in text and "</" in text)
