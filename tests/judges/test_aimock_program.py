"""The installed program under chaos: what it prints, what it writes and what it keeps."""

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from tests.journeys.journey_kit import assert_intact, gone
from tests.judges.judge_kit import KINDS, Aimock, Exchange, aimock, needs_aimock
from tests.judges.program_kit import Program

pytestmark = needs_aimock

MADE = "made\nby the whole call\n" * 4
SAID = "The file is made, and this sentence ends the answer."
CALL = {"id": "call_w1", "name": "write", "arguments": json.dumps({"path": "made.txt", "content": MADE})}
BEFORE: tuple[dict[str, Any], ...] = (
    {"chaos": {"dropRate": 1}},
    {"chaos": {"disconnectRate": 1}},
    {"chaos": {"rateLimitRate": 1}},
)


class Asked(NamedTuple):
    """`fault` befalls the first request of the step, with the call or with the answer."""

    test: str
    step: int
    fault: dict[str, Any]

    def fixtures(self) -> list[dict[str, Any]]:
        found = []
        for step, response in enumerate(({"toolCalls": [CALL]}, {"content": SAID})):
            for number in range(2):
                match = {"userMessage": f"{self.test}.", "hasToolResult": bool(step), "sequenceIndex": number}
                fault = self.fault if (step, number) == (self.step, 0) else {}
                found.append({"match": match, "response": response, "latency": 1, "chunkSize": 8, **fault})
        return found


def asked(kind: str, count: int, *, seed: int) -> list[Asked]:
    chance = Random(f"{kind} {seed}")
    found = []
    for number in range(count):
        cuts: tuple[dict[str, Any], ...] = (
            {"truncateAfterChunks": chance.randint(3, 12)},
            {"truncateAfterChunks": chance.randint(3, 7)},
            {"chaos": {"malformedRate": 1}},
        )
        fault = BEFORE[number // 2 % 3] if number % 2 else cuts[number // 2 % 3]
        found.append(Asked(test=f"{kind}-{seed}-{number}", step=chance.randint(0, 1), fault=fault))
    return found


def faults_of(server: Aimock, kind: str, task: Asked, folder: Path) -> list[str]:
    program = Program(folder, server, kind=kind, test=task.test)
    ran = program.run(f"Make the file of {task.test}.")
    steps = _steps(server.relay.of(task.test))
    made = program.place.work / "made.txt"
    ended = len(steps) == 2 and ran.code == 0
    found = {
        "requests that the journal does not know": len(server.journal(task.test)) != sum(map(len, steps)),
        "a request after the first event": any(each.heard for step in steps for each in step[:-1]),
        "more than one attempt after one fault": max(map(len, steps)) > 2,
        "a file other than the whole one": made.exists() and made.read_text() != MADE,
        "a file although its call was cut": made.exists() and len(steps) == 1,
        "no file although its call was whole": not made.exists() and len(steps) == 2,
        "something else was printed": ran.out != f"{SAID}\n" if ended else not SAID.startswith(ran.out.rstrip("\n")),
        "it failed without words": ran.code != 0 and len(ran.err) < 30,
        "it failed although it could try again": ran.code != 0 and task.fault in BEFORE,
        "the key is in a file": bool(program.place.leaks()),
        "something of it still runs": bool(gone(program.place.alive)),
    }
    assert_intact(program.place.session())
    return [f"{task} {name}: {ran} {steps}" for name, wrong in found.items() if wrong]


def _steps(exchanges: list[Exchange]) -> list[list[Exchange]]:
    """Requests with the same body are attempts at the same step."""
    steps: list[list[Exchange]] = []
    for exchange in exchanges:
        if steps and steps[-1][0].body == exchange.body:
            steps[-1].append(exchange)
        else:
            steps.append([exchange])
    return steps


@pytest.mark.parametrize("kind", KINDS)
def test_a_cut_call_is_never_run_and_a_cut_answer_never_ends_well(kind: str, tmp_path: Path) -> None:
    tasks = asked(kind, 6, seed=4)
    with aimock(tmp_path) as server, ThreadPoolExecutor(3) as threads:
        server.play([fixture for task in tasks for fixture in task.fixtures()])
        folders = [tmp_path / f"run{number}" for number in range(len(tasks))]
        found = list(threads.map(lambda task, folder: faults_of(server, kind, task, folder), tasks, folders))
    assert [fault for faults in found for fault in faults] == []
