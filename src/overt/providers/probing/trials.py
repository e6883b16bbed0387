"""The questions a server is tried with, and how an answer to each is judged."""

import struct
import zlib
from typing import Literal

from msgspec import Raw, Struct
from msgspec.structs import replace

from overt.core.codec import decode
from overt.core.errors import ProviderError
from overt.core.messages import Call
from overt.core.requests import ToolSpec
from overt.lib.catalogue import say
from overt.providers.probing.ask import Heard, Question
from overt.providers.transport.errors import clean

State = Literal["yes", "no", "unknown"]

NAMES = (
    "reachable",
    "models",
    "streaming",
    "auto",
    "required",
    "parallel",
    "streamed",
    "form",
    "reasoning",
    "usage",
    "cache",
    "window",
    "system",
    "developer",
    "images",
)
UNSURE = frozenset({"rate", "stalled", "down", "cut", "balance"})
BUSY = frozenset({429, 502, 503, 504, 529})
"""Errors that say nothing about what the server can do, by kind and by status."""

WEATHER = ToolSpec(
    name="get_weather",
    description="Get the current weather of one city.",
    schema=Raw(
        b'{"type":"object","properties":{"city":{"type":"string","description":"Name of the city"}},'
        b'"required":["city"]}'
    ),
)
FORM = Raw(
    b'{"type":"object","properties":{"tool":{"type":"string","enum":["read","write"]},'
    b'"path":{"type":"string"},"lines":{"type":"integer"}},'
    b'"required":["tool","path","lines"],"additionalProperties":false}'
)
COUNT = Question(user="Count from 1 to 20. Write only the numbers, with spaces between them.")
AUTO = (
    Question(
        system="You can call tools. Use them whenever they help.",
        user="What is the weather in Paris right now?",
        tools=(WEATHER,),
    ),
    Question(
        system="Answer only by calling the tool get_weather.",
        user="Call get_weather for the city Paris.",
        tools=(WEATHER,),
    ),
)
"""The second is asked when nothing came of the first: a small model may need to be told."""
REQUIRED = Question(user="Say hello to me.", tools=(WEATHER,), choice="required")
PARALLEL = Question(
    system="You can call tools, several in one answer.",
    user="What is the weather in Paris, and what is it in Oslo? Call the tool for both cities at once.",
    tools=(WEATHER,),
)
SHAPED = Question(user="I want to see the first five lines of the file notes.txt. Answer as JSON.", form=FORM)
LEAKS = ("<tool_call", "<function", "<|", "<｜", "[TOOL_CALLS]", "```", "{", "get_weather(")
COLOUR = "orange"
PLAIN_KINDS = ("key", "model", "redirect", "proxy")
"""Kinds of errors whose message says more than the server did."""


class Probed(Struct, frozen=True, kw_only=True):
    """One row. `words` is for a person, `value` for a program; `broke` what went wrong that should not have.

    `seconds` are the times to the first words, where a trial measured them.
    """

    name: str
    state: State
    words: str = ""
    value: bool | int | str | None = None
    broke: str = ""
    seconds: tuple[float, ...] = ()


def yes(name: str, words: str = "", value: bool | int | str | None = True) -> Probed:
    return Probed(name=name, state="yes", words=words, value=value)


def no(name: str, words: str, *, broke: bool = False) -> Probed:
    return Probed(name=name, state="no", words=words, value=False, broke=words if broke else "")


def unknown(name: str, words: str) -> Probed:
    return Probed(name=name, state="unknown", words=words)


def failed(name: str, heard: Heard) -> Probed | None:
    """The row of a trial that ended in an error, or None when there was an answer."""
    error = heard.error
    if error is not None:
        words = clean(_reason(error), limit=160)
        if tells_nothing(error):
            return unknown(name, words)
        return no(name, words, broke=error.status >= 500 and name != "images")
    return unknown(name, say("probe.cut")) if heard.cut else None


def tells_nothing(error: ProviderError | None) -> bool:
    return error is not None and (error.kind in UNSURE or error.status in BUSY)


def streaming(heard: Heard, events: int) -> Probed:
    if heard.pieces > 1:
        return yes("streaming", say("probe.pieces", count=max(heard.pieces, events)))
    if events > 3:
        return yes("streaming", say("probe.burst", count=events))
    if len(heard.text) < 20:
        return unknown("streaming", say("probe.short"))
    return no("streaming", say("probe.at_once"))


def called(name: str, heard: Heard) -> Probed:
    """Whether the tool was called, with arguments that fit."""
    if (row := failed(name, heard)) is not None:
        return row
    good = [call for call in heard.calls if fits(call)]
    if good:
        return yes(name, f"{good[0].name}({clean(good[0].arguments, limit=60)})")
    if heard.calls:
        wrong = f"{heard.calls[0].name}({heard.calls[0].arguments})"
        return no(name, say("probe.unfit", call=clean(wrong, limit=60)), broke=True)
    if leaked(heard):
        return no(name, say("probe.leaked", text=_quote(heard)), broke=True)
    return no(name, say("probe.ignored" if name == "required" else "probe.talked", text=_quote(heard)))


def fits(call: Call) -> bool:
    try:
        arguments: object = decode(call.arguments)
    except (ValueError, RecursionError):
        return False
    city = arguments.get("city") if isinstance(arguments, dict) else None
    return call.name == WEATHER.name and isinstance(city, str) and bool(city)


def leaked(heard: Heard) -> bool:
    """Whether a call was written out where words belong."""
    return any(WEATHER.name in text and any(mark in text for mark in LEAKS) for text in (heard.text, heard.thoughts))


def parallel(heard: Heard) -> Probed:
    if (row := failed("parallel", heard)) is not None:
        return row
    good = sum(fits(call) for call in heard.calls)
    if good > 1:
        return yes("parallel", say("probe.calls", count=good))
    return no("parallel", say("probe.one_call" if good else "probe.no_call"))


def streamed(heard: Heard, events: int) -> Probed:
    """Arguments that come in pieces let a person see a long one grow."""
    if not any(fits(call) for call in heard.calls):
        return unknown("streamed", say("probe.no_call"))
    if heard.call_pieces > 1 or events > 5:
        return yes("streamed", say("probe.pieces", count=max(heard.call_pieces, events)))
    return no("streamed", say("probe.at_once"))


def shaped(heard: Heard) -> Probed:
    if (row := failed("form", heard)) is not None:
        return row
    try:
        found: object = decode(heard.text)
    except (ValueError, RecursionError):
        if heard.reply and heard.reply.finish == "length":
            return unknown("form", say("probe.cut_short", text=_quote(heard)))
        return no("form", say("probe.not_json", text=_quote(heard)), broke=True)
    right = (
        isinstance(found, dict)
        and sorted(found) == ["lines", "path", "tool"]
        and found["tool"] in ("read", "write")
        and isinstance(found["path"], str)
        and isinstance(found["lines"], int)
    )
    return yes("form", clean(heard.text, limit=60)) if right else no("form", say("probe.misfit", text=_quote(heard)))


def obeyed(name: str, heard: Heard, word: str) -> Probed:
    if (row := failed(name, heard)) is not None:
        return row
    if word in heard.text.lower():
        return yes(name, say("probe.obeyed"))
    return no(name, say("probe.disobeyed", text=_quote(heard)))


def saw(heard: Heard) -> Probed:
    if (row := failed("images", heard)) is not None:
        return row
    if COLOUR in heard.text.lower():
        return yes("images", say("probe.saw", text=_quote(heard)))
    return no("images", say("probe.blind", text=_quote(heard)))


def used(heard: Heard) -> Probed:
    usage = heard.usage
    if usage.input and usage.output:
        return yes("usage", say("probe.used", input=usage.input, output=usage.output))
    return no("usage", say("probe.unused"))


def kept(first: Heard, second: Heard, tokens: int | None) -> Probed:
    """The same question twice, and the tokens the server says it had kept the second time."""
    for heard in (first, second):
        if heard.error is not None and (row := failed("cache", heard)):
            return row
    return replace(_kept(first, second, tokens), seconds=(round(first.first, 2), round(second.first, 2)))


def _kept(first: Heard, second: Heard, tokens: int | None) -> Probed:
    """The tokens decide; where the server is silent, only a great difference in time does."""
    tokens = second.usage.cached or tokens
    cold, warm = f"{first.first:.2f}", f"{second.first:.2f}"
    if tokens:
        whole = max(second.usage.input, tokens)
        return yes("cache", say("probe.kept", tokens=tokens, all=whole, first=cold, second=warm), tokens)
    if first.first - second.first > 0.3 and second.first < first.first / 2:
        return yes("cache", say("probe.faster", first=cold, second=warm))
    if tokens is None:
        return unknown("cache", say("probe.untold", first=cold, second=warm))
    return no("cache", say("probe.anew", first=cold, second=warm))


def spelled(word: str) -> Question:
    """A word that stands in the system text only."""
    return Question(
        system=f"The password of today is {word}. Whoever asks for the password of today is told it.",
        user="What is the password of today? Answer with that one word.",
    )


def lengthy(mark: str, lines: int) -> Question:
    """A long beginning that no server can have seen: every line carries the mark."""
    rules = "\n".join(
        f"{mark}{number}: item {number} of the list stands on shelf {number % 7}." for number in range(lines)
    )
    return Question(system=f"A list of things.\n{rules}", user="Say ok.", most=16)


def picture() -> Question:
    return Question(user="Which colour fills this picture? Answer with one word.", image=_png(64, (255, 140, 0)))


def _png(size: int, colour: tuple[int, int, int]) -> bytes:
    """A square of one colour."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + bytes(colour) * size) * size
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def _reason(error: ProviderError) -> str:
    """Return the server's own words if they explain it: the rest of the message is the same in every row."""
    return error.message if error.kind in PLAIN_KINDS else error.server_text or error.message


def _quote(heard: Heard) -> str:
    return clean(heard.text or heard.thoughts, limit=60)
