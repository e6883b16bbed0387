"""Calls that a model wrote into its text or its reasoning, taken out of it and made real.

What counts, decided by place and completeness:

- Markup of a model family (`<tool_call>`, `<function=…>`, `<invoke …>`, `[TOOL_CALLS]`, special tokens, a tag
  named like a tool) counts at the beginning of a line, when a call is all it holds; in the middle of one only
  behind words that announce it, as the rest of the reply. Not inside a fence, backticks or a comment, in quotation
  marks, in a quotation, a list or a diff, not in the middle of a sentence, and not after words that give it as an
  example.
- What does more than read counts only when nothing but calls follows to the end of the reply, and the words before
  it are one short paragraph or announce it, and present nothing: a file that is quoted may hold calls as well.
- A call without markup (a JSON object, a fence with one, `read(path="a.py")`, `Action:`) counts only as the
  whole reply, or as its last blocks under words that announce an act and explain nothing; never when other calls
  stand between the words before it.
- A definition of a tool, an example with blanks, and a name no tool answers to are text.
- In reasoning a call counts only when the reply has no call and no words outside it: else it was a thought.
- After a call, a result the model invented ends the text: what follows was made up on top of it.
- When real calls came, leaked ones are taken out of the prose and not run again.

A call that was cut gives arguments that are not closed, which `mend` sees; so does a call that a reply ends with
when the reply itself was cut. One `Hunt` bounds the work on a whole reply; what it does not reach stays text.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from overt.core.messages import Call, Part, Reasoning, Text
from overt.core.requests import Finish
from overt.core.settings import Calls
from overt.core.tool import Tool
from overt.repair._hunt import Hunt, Spent

HINTS = (
    "<tool", "<func", "<invoke", "<call", "<|", "<｜", "tool_call", ":tool", "[TOOL", "to=", ":invoke", "TOOLCALL",
    "functools[", "[Calling", "[Tool", "[tool", "[Func", "minimax", "Action:", "Action**:", "<use_tool",
    "call tool=", "<start_function", "<xml",
)  # fmt: skip
ENDS = ("}", "]", ")", "```", ">", "~~~")
THINK_ENDS = ("</think>", "</thinking>", "</seed:think>")
SHOWN = 4000


class Scavenged(Struct, frozen=True, kw_only=True):
    """The parts with leaked calls made real; `note` says what was done, `before` what stood there."""

    parts: tuple[Part, ...]
    note: str = ""
    before: str = ""


def scavenge(
    parts: tuple[Part, ...], tools: Mapping[str, Tool], *, calls: Calls = "native", finish: Finish = "stop"
) -> Scavenged:
    """`calls` is how this model calls tools; `finish` why its reply ended."""
    native = any(isinstance(part, Call) for part in parts)
    hunt = Hunt(tools)
    if calls == "schema" and not native and (found := _formed(parts, hunt, finish)) is not None:
        whole, note, before = found
        return Scavenged(parts=whole, note=note, before=before)
    ids = {part.id for part in parts if isinstance(part, Call)}
    taken = _Taken(hunt, ids, cut=finish in ("length", "interrupted"))
    out = [taken.text(part) if isinstance(part, Text) else part for part in parts]
    spoken = native or taken.calls or any(isinstance(part, Text) and part.text.strip() for part in out)
    if not spoken:
        out = [taken.reasoning(part) if isinstance(part, Reasoning) else part for part in out]
    if not taken.before:
        return Scavenged(parts=parts)
    kept = tuple(part for part in out if not (isinstance(part, Text) and not part.text.strip()))
    before = "\n".join(taken.before)
    before = before if len(before) <= SHOWN else before[:SHOWN] + "…"
    if native:
        return Scavenged(parts=kept, note="removed markup of calls from the text", before=before)
    names = ", ".join(call.name for call in taken.calls)
    return Scavenged(
        parts=kept + tuple(taken.calls), note=f"found a call written as {taken.where}: {names}", before=before
    )


def _formed(parts: tuple[Part, ...], hunt: Hunt, finish: Finish) -> tuple[tuple[Part, ...], str, str] | None:
    try:
        from overt.repair._form import formed  # late: 8 ms

        found: tuple[tuple[Part, ...], str, str] | None = formed(parts, hunt, finish)
    except Spent:
        return None
    return found


class _Taken:
    def __init__(self, tools: Hunt, ids: set[str], *, cut: bool) -> None:
        self._tools = tools
        self._ids = ids
        self._cut = cut
        self.calls: list[Call] = []
        self.before: list[str] = []
        self.where = "text"

    def text(self, part: Text) -> Text:
        head, tail = _thought(part.text)
        rest = self._take(tail)
        if head and not rest.strip() and not self.before:
            return Text(text=self._take(head))
        return Text(text=head + rest) if self.before else part

    def reasoning(self, part: Reasoning) -> Reasoning:
        rest = self._take(part.text)
        if rest != part.text:
            self.where = "reasoning"
        signed = part.signature or part.opaque
        return part if signed else replace(part, text=rest)

    def _take(self, text: str) -> str:
        if not _may_hold(text):
            return text
        from overt.repair._leaks import leaks  # late: 34 ms

        found, limit = leaks(text, self._tools)
        if not found:
            return text
        pieces: list[str] = []
        at = 0
        for leak in found:
            pieces.append(text[at : leak.start].strip("\n") if at else text[: leak.start].rstrip())
            self.before.append(text[leak.start : leak.end].strip())
            self.calls += [self._call(name, arguments) for name, arguments in leak.calls]
            at = leak.end
        if self._cut and at >= len(text.rstrip()):
            # What looks like the end of the call may be a line of the file it was writing.
            self.calls[-1] = replace(self.calls[-1], arguments=self.calls[-1].arguments.rstrip().removesuffix("}"))
        pieces.append(text[at:limit].strip())
        return "\n\n".join(piece for piece in pieces if piece.strip())

    def _call(self, name: str, arguments: str) -> Call:
        number = len(self.calls) + 1
        while f"leaked_{number}" in self._ids:
            number += 1
        self._ids.add(f"leaked_{number}")
        return Call(id=f"leaked_{number}", name=name, arguments=arguments)


def _thought(text: str) -> tuple[str, str]:
    """Thinking that was written into the text, and the text behind it."""
    at = max((found + len(end) for end in THINK_ENDS if (found := text.rfind(end)) >= 0), default=0)
    return text[:at], text[at:]


def _may_hold(text: str) -> bool:
    """A cheap look, so that ordinary replies load nothing."""
    if not text.strip():
        return False
    if any(hint in text for hint in HINTS) or text.rstrip().endswith(ENDS):
        return True
    return "{" in text or ("<" in text and "</" in text)
