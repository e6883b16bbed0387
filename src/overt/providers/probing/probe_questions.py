"""The questions a server is tried with, and how an answer to each is judged."""

from base64 import b64decode
from typing import Literal

from msgspec import Raw, Struct

from overt.core.codec import decode
from overt.core.errors import ProviderError
from overt.core.messages import Call
from overt.core.requests import ToolSpec
from overt.lib.translations import say
from overt.providers.probing.probe_request import ProbeQuestion, ProbeReply
from overt.providers.transport.errors import clean

NAMES = (
    *("reachable", "models", "streaming", "auto", "required", "parallel", "streamed", "form"),
    *("reasoning", "usage", "cache", "window", "system", "developer", "images"),
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
COUNT = ProbeQuestion(user="Count from 1 to 20. Write only the numbers, with spaces between them.")
AUTO = (
    ProbeQuestion(
        system="You can call tools. Use them whenever they help.",
        user="What is the weather in Paris right now?",
        tools=(WEATHER,),
    ),
    ProbeQuestion(
        system="Answer only by calling the tool get_weather.",
        user="Call get_weather for the city Paris.",
        tools=(WEATHER,),
    ),
)
"""The second is asked when nothing came of the first: a small model may need to be told."""
REQUIRED = ProbeQuestion(user="Say hello to me.", tools=(WEATHER,), choice="required")
PARALLEL = ProbeQuestion(
    system="You can call tools, several in one answer.",
    user="What is the weather in Paris, and what is it in Oslo? Call the tool for both cities at once.",
    tools=(WEATHER,),
)
SHAPED = ProbeQuestion(user="I want to see the first five lines of the file notes.txt. Answer as JSON.", form=FORM)
COLOUR = "orange"
PICTURE = ProbeQuestion(
    user="Which colour fills this picture? Answer with one word.",
    image=b64decode(
        "iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAIAAAAlC+aJAAAAd0lEQVR4nO3PQQkAMAzAwPpnnlcRexyDQARc5p75Oi9oQAsa0IIGtKABLWhACxrQ"
        "gga0oAEtaEALGtCCBrSgAS1oQAsa0IIGtKABLWhACxrQgga0oAEtaEALGtCCBrSgAS1oQAsa0IIGtKABLWhACxrQgga04LEFCQexaaEhmfsAAAAA"
        "SUVORK5CYII="
    ),
)
LEAKS = ("<tool_call", "<function", "<|", "<｜", "[TOOL_CALLS]", "```", "{", "get_weather(")
PLAIN_KINDS = ("key", "model", "redirect", "proxy")
"""Kinds of errors whose message says more than the server did."""


class ProbeRow(Struct, frozen=True, kw_only=True):
    """One result. `words` is for a person, `value` for a program; `broke` what went wrong that should not have.

    `seconds` are the times to the first words, where a trial measured them.
    """

    name: str
    state: Literal["yes", "no", "unknown"]
    words: str = ""
    value: bool | int | str | None = None
    broke: str = ""
    seconds: tuple[float, ...] = ()


def yes(name: str, words: str, value: bool | int | str = True) -> ProbeRow:
    return ProbeRow(name=name, state="yes", words=words, value=value)


def no(name: str, words: str, *, broke: bool = False) -> ProbeRow:
    return ProbeRow(name=name, state="no", words=words, value=False, broke=words if broke else "")


def unknown(name: str, words: str) -> ProbeRow:
    return ProbeRow(name=name, state="unknown", words=words)


def failed(name: str, reply: ProbeReply) -> ProbeRow | None:
    """The row of a trial that ended in an error, or None when there was an answer."""
    error = reply.error
    if error is None:
        return unknown(name, say("probe.cut")) if reply.out_of_tokens else None
    # The server's own words, if they explain it: the rest of the message is the same in every row.
    words = clean(error.message if error.kind in PLAIN_KINDS else error.server_text or error.message, limit=160)
    return (
        unknown(name, words)
        if tells_nothing(error)
        else no(name, words, broke=error.status >= 500 and name != "images")
    )


def tells_nothing(error: ProviderError | None) -> bool:
    return error is not None and (error.kind in UNSURE or error.status in BUSY)


def streaming(reply: ProbeReply) -> ProbeRow:
    if reply.pieces > 1:
        return yes("streaming", say("probe.pieces", count=max(reply.pieces, reply.events)))
    if reply.events > 3:
        return yes("streaming", say("probe.burst", count=reply.events))
    if len(reply.text) < 20:
        return unknown("streaming", say("probe.short"))
    return no("streaming", say("probe.at_once"))


def called(name: str, reply: ProbeReply) -> ProbeRow:
    """Whether the tool was called, with arguments that fit."""
    if good := fitting_calls(reply):
        return yes(name, f"{good[0].name}({clean(good[0].arguments, limit=60)})")
    if reply.calls:
        wrong = f"{reply.calls[0].name}({reply.calls[0].arguments})"
        return no(name, say("probe.unfit", call=clean(wrong, limit=60)), broke=True)
    if any(WEATHER.name in text and any(mark in text for mark in LEAKS) for text in (reply.text, reply.thoughts)):
        return no(name, say("probe.leaked", text=_quote(reply)), broke=True)
    return no(name, say("probe.ignored" if name == "required" else "probe.talked", text=_quote(reply)))


def fitting_calls(reply: ProbeReply) -> list[Call]:
    return [call for call in reply.calls if call.name == WEATHER.name and isinstance(_city(call), str) and _city(call)]


def _city(call: Call) -> object:
    arguments = _decoded(call.arguments)
    return arguments.get("city") if isinstance(arguments, dict) else None


def parallel(name: str, reply: ProbeReply) -> ProbeRow:
    calls = len(fitting_calls(reply))
    if calls > 1:
        return yes(name, say("probe.calls", count=calls))
    return no(name, say("probe.one_call" if calls else "probe.no_call"))


def streamed(reply: ProbeReply) -> ProbeRow:
    """Arguments that come in pieces let a person see a long one grow."""
    if reply.call_pieces > 1 or reply.events > 5:
        return yes("streamed", say("probe.pieces", count=max(reply.call_pieces, reply.events)))
    return no("streamed", say("probe.at_once"))


def shaped(name: str, reply: ProbeReply) -> ProbeRow:
    match _decoded(reply.text):
        case {"tool": "read" | "write", "path": str(), "lines": int(), **others} if not others:
            return yes(name, clean(reply.text, limit=60))
        case None if reply.truncated:
            return unknown(name, say("probe.cut_short", text=_quote(reply)))
        case None:
            return no(name, say("probe.not_json", text=_quote(reply)), broke=True)
        case _:
            return no(name, say("probe.misfit", text=_quote(reply)))


def saw(name: str, reply: ProbeReply) -> ProbeRow:
    seen = COLOUR in reply.text.lower()
    return (yes if seen else no)(name, say("probe.saw" if seen else "probe.blind", text=_quote(reply)))


def obeyed(name: str, reply: ProbeReply, password: str) -> ProbeRow:
    if password in reply.text.lower():
        return yes(name, say("probe.obeyed"))
    return no(name, say("probe.disobeyed", text=_quote(reply)))


def used(reply: ProbeReply) -> ProbeRow:
    usage = reply.usage
    if usage.input and usage.output:
        return yes("usage", say("probe.used", input=usage.input, output=usage.output))
    return no("usage", say("probe.unused"))


def cached(first: ProbeReply, second: ProbeReply) -> ProbeRow:
    """Judge two replies to the same question. The tokens decide; without them, only a great difference in time does."""
    tokens = second.usage.cached
    cold, warm = f"{first.first:.2f}", f"{second.first:.2f}"
    if tokens:
        whole = max(second.usage.input, tokens)
        return yes("cache", say("probe.kept", tokens=tokens, all=whole, first=cold, second=warm), tokens)
    if first.first - second.first > 0.3 and second.first < first.first / 2:
        return yes("cache", say("probe.faster", first=cold, second=warm))
    return unknown("cache", say("probe.untold", first=cold, second=warm))


def ask_password(password: str) -> ProbeQuestion:
    """A word that stands in the system text only."""
    return ProbeQuestion(
        system=f"The password of today is {password}. Whoever asks for the password of today is told it.",
        user="What is the password of today? Answer with that one word.",
    )


def long_beginning(mark: str, lines: int) -> ProbeQuestion:
    """A long beginning that no server can have seen: every line carries the mark."""
    rules = "\n".join(
        f"{mark}{number}: item {number} of the list stands on shelf {number % 7}." for number in range(lines)
    )
    return ProbeQuestion(system=f"A list of things.\n{rules}", user="Say ok.", most=16)


def _decoded(text: str) -> object:
    try:
        return decode(text)
    except (ValueError, RecursionError):
        return None


def _quote(reply: ProbeReply) -> str:
    return clean(reply.text or reply.thoughts, limit=60)
