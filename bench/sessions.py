"""What it takes to open a long session, against only parsing its lines, and to search it."""

import gc
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from msgspec import json

from bench.runs import Site
from bench.table import Row, Series, compared
from overt.core.events import Event, Replied, RequestSent, ToolFinished, ToolStarted, TurnEnded, UserSpoke
from overt.core.messages import Call, Message, Reasoning, Result, Text, said
from overt.core.requests import Params
from overt.core.spending.usage import Usage
from overt.core.text_fragments import MODEL, USER
from overt.core.views import Excerpt
from overt.sessions.index import summary
from overt.sessions.load import load
from overt.sessions.log import SessionLog
from overt.sessions.search import search

MEGABYTES = 100
LIMIT = 1.5
ROUNDS = 5


def sessions(site: Site) -> Iterator[Row]:
    path = record(site.fresh("sessions"), MEGABYTES)
    load(path), parsed(path)
    ours: list[float] = []
    yardstick: list[float] = []
    for _ in range(ROUNDS):
        began = perf_counter()
        whole = load(path)
        ours.append(perf_counter() - began)
        del whole
        gc.collect()
        began = perf_counter()
        lines = parsed(path)
        yardstick.append(perf_counter() - began)
        del lines
        gc.collect()
    yield compared(f"load a session of {MEGABYTES} MB (msgspec, line by line)", ours, yardstick, at_most=LIMIT)
    yield Row(name=f"search {MEGABYTES} MB for a word that is not there", ours=Series(timed(path, "nowhere")).ms())
    yield Row(name=f"search {MEGABYTES} MB for two Chinese characters", ours=Series(timed(path, "名前")).ms())
    listed = []
    for _ in range(ROUNDS):
        began = perf_counter()
        summary(path)
        listed.append(perf_counter() - began)
    yield Row(name=f"a line of the list for a session of {MEGABYTES} MB", ours=Series(listed).ms())


def parsed(path: str) -> list[object]:
    """The lines as values, kept as a loaded session is, without looking for garbage meanwhile, as there."""
    decode = json.Decoder().decode
    gc.disable()
    try:
        with open(path, "rb") as file:
            return [decode(line) for line in file]
    finally:
        gc.enable()


def timed(path: str, word: str) -> list[float]:
    found = []
    for _ in range(ROUNDS):
        began = perf_counter()
        assert not list(search(path, [word]))
        found.append(perf_counter() - began)
    return found


def record(folder: Path, megabytes: int) -> str:
    """Steps as they are: a request, a reply with a call, and a result of some kilobytes."""
    log = SessionLog.create(str(folder), workspace="/", project="/", overt="0")
    body = 'def work(value):\n    return "value" + str(value)  # näher\n'
    written = turn = number = 0
    while written < megabytes * 1_000_000:
        turn += 1
        events: list[Event] = [UserSpoke(message=said("Fix the parser, please.", origin=USER))]
        for step in range(20):
            number += 1
            call = Call(id=f"call_{number}", name="read", arguments='{"path":"src/a.py"}')
            size = 600 * (1 + (number * 7) % 13)
            events += step_of(call, body * (size // len(body)), step)
            written += size + 1500
        events.append(TurnEnded(reason="done", text="Done.", steps=20, ms=3))
        for event in events:
            log.append(event, turn=turn, step=1)
    log.close()
    return log.path


def step_of(call: Call, text: str, step: int) -> list[Event]:
    parts = (Reasoning(text="thinking " * 20), Text(text="I will read this file now."), call)
    message = Message(role="assistant", parts=parts, origin=MODEL)
    return [
        RequestSent(
            digest="ab" * 32,
            length=10,
            stable="cd" * 32,
            stable_length=8,
            params=Params(model="tiny"),
            messages=step,
            encoder=1,
        ),
        Replied(message=message, finish="calls", usage=Usage(input=9, output=2), model="tiny"),
        ToolStarted(call=call, effects=("read",), headline="read a.py"),
        ToolFinished(
            result=Result(call_id=call.id, parts=(Text(text=text),)),
            view=Excerpt(path="a.py", first=1, last=9),
            seen={"src/a.py": "aa" * 32},
        ),
    ]
