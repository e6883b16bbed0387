"""Seeded chaos: what a run asks for, what becomes of each of its attempts, and what it came to."""

import asyncio
import json
from contextlib import aclosing
from random import Random
from typing import Any, NamedTuple

from tests.judges.judge_kit import Aimock

from overt.context.assemble import Assembler
from overt.core.errors import ProviderError
from overt.core.messages import Message, Reasoning, said
from overt.core.requests import Params, Prefix, ReasoningDelta, Reply, Request, RetryDelta, TextDelta
from overt.core.settings import ModelFacts, ProviderEntry
from overt.core.text_fragments import HARNESS, USER, Fragment
from overt.providers.http_provider import HttpProvider
from overt.providers.transport.attempt import HttpWire
from overt.providers.transport.retry import Patience
from overt.providers.wires import make_wire

MOST = 4
QUICK = Patience(first=0.02, growth=1.5)
TEXT = "Grüße: a reply of some length, cut into pieces, ends with its own last word, which is zebra."
THOUGHT = "First look, then think; the answer must name the animal at the end of the alphabet."
CALLS = (
    {"id": "call_a1", "name": "write", "arguments": json.dumps({"path": "a.txt", "content": "one\ntwo\n" * 6})},
    {"id": "call_b2", "name": "bash", "arguments": json.dumps({"command": "rm -rf build/cache && echo done"})},
)
ANSWERS: tuple[dict[str, Any], ...] = (
    {"content": TEXT},
    {"content": TEXT, "reasoning": THOUGHT},
    {"toolCalls": CALLS[:1]},
    {"toolCalls": CALLS, "reasoning": THOUGHT},
    {"content": TEXT, "toolCalls": CALLS},
)
DICE = {"dropRate": 0.25, "malformedRate": 0.1, "rateLimitRate": 0.1, "disconnectRate": 0.35}
STATUSES = (408, 500, 502, 503, 504, 529)


class Run(NamedTuple):
    """One question: the answer that it has, and for each attempt what happens to it. `dice`: nobody knows."""

    test: str
    answer: dict[str, Any]
    faults: tuple[dict[str, Any], ...]
    dice: bool = False

    def fixtures(self) -> list[dict[str, Any]]:
        return [
            {
                "match": {"userMessage": f"{self.test}.", "sequenceIndex": number},
                "response": self.answer,
                "latency": 1,
                "chunkSize": 9,
                **fault,
            }
            for number, fault in enumerate(self.faults)
        ]


class Came(NamedTuple):
    """What a run came to."""

    text: str
    thought: str
    retries: int
    late_retry: bool
    reply: Reply | None
    error: ProviderError | None


def planned(kind: str, count: int, *, seed: int) -> list[Run]:
    chance = Random(f"{kind} {seed}")
    runs = []
    for number in range(count):
        answer = ANSWERS[number % len(ANSWERS)]
        dice = number % 8 == 7
        faults = ({},) * MOST if dice else tuple(_fault(chance) for _ in range(MOST))
        runs.append(Run(test=f"{kind}-{seed}-{number}", answer=answer, faults=faults, dice=dice))
    return runs


def _fault(chance: Random) -> dict[str, Any]:
    match chance.choices(range(8), weights=(4, 3, 1, 4, 1, 3, 7, 5))[0]:
        case 0:
            return {}
        case 1:
            return {"chaos": {"dropRate": 1}}
        case 2:
            return {"chaos": {"malformedRate": 1}}
        case 3:
            return {"chaos": {"disconnectRate": 1}}
        case 4:
            return {"chaos": {"rateLimitRate": 1}}
        case 5:
            return {"response": {"error": {"message": "busy"}, "status": chance.choice(STATUSES)}}
        case 6:
            return {"truncateAfterChunks": chance.randint(1, 26), "latency": chance.choice((0, 1))}
        case _:
            return {"disconnectAfterMs": chance.randint(1, 45), "latency": 2}


async def ask_all(server: Aimock, kind: str, runs: list[Run]) -> list[Came]:
    """Eight at a time: rate limits are waited for."""
    room = asyncio.Semaphore(8)

    async def one(run: Run) -> Came:
        async with room:
            return await ask(server, kind, run)

    server.play([fixture for run in runs for fixture in run.fixtures()])
    for run in runs:
        if run.dice:
            server.chaos(run.test, DICE)
    return list(await asyncio.gather(*map(one, runs)))


def provider_for(server: Aimock, kind: str, test: str) -> HttpProvider:
    entry = ProviderEntry(name="judge", kind=kind, base_url=server.relay.url, headers={"X-Test-Id": test})
    wire = make_wire(kind, ModelFacts(name="gpt-5"))
    return HttpProvider(entry, wire, key="sk-judge", patience=QUICK)


async def ask(server: Aimock, kind: str, run: Run) -> Came:
    provider = provider_for(server, kind, run.test)
    try:
        return await heard(provider, run)
    finally:
        provider.close()


async def heard(provider: HttpProvider, run: Run) -> Came:
    text = thought = ""
    retries, late_retry = 0, False
    reply: Reply | None = None
    problem: ProviderError | None = None
    try:
        async with aclosing(provider.stream(question(provider.wire, f"{run.test}. What is it?"))) as deltas:
            async for delta in deltas:
                match delta:
                    case TextDelta(text=piece):
                        text += piece
                    case ReasoningDelta(text=piece):
                        thought += piece
                    case RetryDelta():
                        retries += 1
                        late_retry = late_retry or bool(text or thought)
                    case Reply():
                        reply = delta
                    case _:
                        pass
    except ProviderError as error:
        problem = error
    return Came(text, thought, retries, late_retry, reply, problem)


def question(wire: HttpWire, text: str) -> Request:
    prefix = Prefix(system=(Fragment(key="system", text="You are a test.", origin=HARNESS),), tools=())
    return Assembler(wire).assemble(prefix, (said(text, origin=USER),), Params(model="gpt-5")).request


def faults_of(server: Aimock, run: Run, came: Came) -> list[str]:
    """What is wrong with how a run went; the journal and the relay are the witnesses."""
    exchanges, journal = server.relay.of(run.test), server.journal(run.test)
    text, thought = run.answer.get("content", ""), run.answer.get("reasoning", "")
    last = exchanges[-1]
    found = {
        "the journal tells of other requests": len(journal) != len(exchanges),
        "requests are not told as retries": came.retries != len(exchanges) - 1,
        "too many requests": len(exchanges) > MOST,
        "a request after the first event": any(each.heard for each in exchanges[:-1]),
        "retried after something was shown": came.late_retry,
        "text that is not a beginning of the text": not text.startswith(came.text),
        "thought that is not a beginning of the thought": not thought.startswith(came.thought),
        "neither a reply nor an error": (came.reply is None) == (came.error is None),
    }
    if came.reply is not None:
        found["accepted, but not whole"] = whole(came.reply) != expected(run.answer)
        found["accepted, but shown otherwise"] = (came.text, came.thought) != (text, thought)
    elif came.error is not None:
        found["an error without words"] = not came.error.kind or len(came.error.message) < 30
        gave_up = len(exchanges) == MOST or last.heard or b"malformed json" in last.answer
        found["gave up too early"] = not gave_up
        found["refused a whole answer"] = not journal[-1]["response"].get("interrupted") and last.heard
    return [f"{run.test} {name}: {run.faults} {came}" for name, wrong in found.items() if wrong]


def whole(reply: Reply) -> tuple[Any, ...]:
    thought = "".join(part.text for part in reply.parts if isinstance(part, Reasoning))
    message = Message(role="assistant", parts=reply.parts, origin=USER)
    calls = tuple((call.id, call.name, json.loads(call.arguments)) for call in message.calls())
    return thought, message.text(), calls, reply.finish


def expected(answer: dict[str, Any]) -> tuple[Any, ...]:
    calls = tuple((call["id"], call["name"], json.loads(call["arguments"])) for call in answer.get("toolCalls", ()))
    return answer.get("reasoning", ""), answer.get("content", ""), calls, "calls" if calls else "stop"
