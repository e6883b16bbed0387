"""Compare what a task asked for with what was really done, by the words of the task and the calls of the turn."""

import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

from msgspec import Struct

from overt.context.compaction_facts import arguments_of, calls_with_results
from overt.core.messages import Message
from overt.core.tool import Tool
from overt.safety.command import read_command

CHANGE = (
    r"\b(add|adapt|append|bump|change|convert|correct|create|delete|drop|edit|extend|fix|generate|implement|increase|"
    r"insert|lower|make|modify|move|put|raise|refactor|remove|rename|repair|replace|rewrite|set|sort|switch|"
    r"translate|update|write|should|must|needs? to)\b"
    r"|添加|增加|加上|修改|修复|改成|改为|创建|新建|删除|替换|重命名|写一个|更新|移动"
)
QUESTION = r"^\s*(what|which|who|whose|when|where|why|how|list|show|explain|describe|tell)\b"
POLITE = r"^\s*(please\s+)?(can|could|would|will) you\s+"
RUN = r"\b(run|execute)\b|运行|执行"
TEST = r"\btests?\b|\btest_|_test\b|测试"
ADMITTED = r"\b(fail(s|ed|ure)?|cannot|can't|could ?n[o']t|couldn't|unable|not possible)\b|失败|无法|不能"


class TurnFacts(Struct, frozen=True, kw_only=True):
    """What happened in a turn. `changed` are the files written or edited; `maybe_changed` is also set if a command ran
    that does more than look.

    `ran`: a command ran; `checked`: one ran after the last change; `denied`: a call was denied; `failed`: another call
    failed.
    """

    changed: tuple[str, ...] = ()
    maybe_changed: bool = False
    ran: bool = False
    checked: bool = False
    denied: bool = False
    failed: bool = False


def asks_for_change(task: str) -> bool:
    """True if the task wants files changed. A question does not, even if it speaks of changes."""
    text = task.strip()
    wish = re.sub(POLITE, "", text, flags=re.I)
    if re.search(QUESTION, wish, re.I) or (wish == text and text.endswith(("?", "？"))):
        return False
    return bool(re.search(CHANGE, wish, re.I))


def asks_to_run(task: str) -> bool:
    return bool(re.search(RUN, task, re.I)) and not task.strip().endswith(("?", "？"))


def speaks_of_tests(task: str) -> bool:
    return bool(re.search(TEST, task, re.I))


def read_turn(turn: Sequence[Message], tools: Mapping[str, Tool]) -> TurnFacts:
    changed: dict[str, None] = {}
    maybe = ran = checked = denied = failed = False
    for call, result in calls_with_results(turn):
        if result.error:
            denied = denied or result.cause == "denied"
            failed = failed or result.cause != "denied"
            continue
        if call.name not in tools:
            maybe = ran = True  # a tool of a server, which may have done anything
            continue
        effects = tools[call.name].effects
        if "write" in effects:
            if not result.unchanged:
                changed[str(arguments_of(call).get("path", ""))] = None
                checked = False
        elif "run" in effects:
            ran = checked = True
            command = str(arguments_of(call).get("command", ""))
            maybe = maybe or read_command(command, lambda _: True).hazard != "harmless"
    touched = maybe or bool(changed)
    return TurnFacts(
        changed=tuple(changed), maybe_changed=touched, ran=ran, checked=checked, denied=denied, failed=failed
    )


class FailedCall(Struct, frozen=True, kw_only=True):
    """`hopeless`: it was refused because it had been tried before."""

    name: str
    arguments: dict[str, object]
    hopeless: bool


def failed_in_a_row(turn: Sequence[Message]) -> list[FailedCall]:
    """Return the calls that failed since the last one that worked, newest first; none if the user spoke since."""
    if not turn or turn[-1].role != "tool":
        return []
    failed = takewhile(lambda pair: pair[1].error and pair[1].cause != "denied", reversed(calls_with_results(turn)))
    return [
        FailedCall(name=call.name, arguments=arguments_of(call), hopeless=result.cause == "repeated")
        for call, result in failed
    ]


def admits_failure(answer: str) -> bool:
    return bool(re.search(ADMITTED, answer, re.I))


def last_run_failed(turn: Sequence[Message]) -> str:
    """Return how the last command failed, or an empty string if it did not or something was done after it."""
    calls = calls_with_results(turn)
    return calls[-1][1].ended if calls else ""
