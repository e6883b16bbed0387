"""What a task asked for and what was really done about it, told from the words and the record."""

import re
from collections.abc import Sequence

from msgspec import Struct

from overt.core.codec import decode
from overt.core.messages import Call, Message, Result
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


class Done(Struct, frozen=True, kw_only=True):
    """`changed` are the files written or edited; `maybe_changed`: these, or a command that does more than look.

    `ran`: a command; `checked`: one after the last change; `denied`: something was not allowed;
    `failed`: something else went wrong.
    """

    changed: tuple[str, ...] = ()
    maybe_changed: bool = False
    ran: bool = False
    checked: bool = False
    denied: bool = False
    failed: bool = False


def asks_for_change(task: str) -> bool:
    """A question is none, even when it speaks of changes."""
    asked = task.strip()
    wish = re.sub(POLITE, "", asked, flags=re.I)
    if re.search(QUESTION, wish, re.I) or (wish == asked and asked.endswith(("?", "？"))):
        return False
    return bool(re.search(CHANGE, wish, re.I))


def asks_to_run(task: str) -> bool:
    return bool(re.search(RUN, task, re.I)) and not task.strip().endswith(("?", "？"))


def speaks_of_tests(task: str) -> bool:
    return bool(re.search(TEST, task, re.I))


def what_happened(turn: Sequence[Message]) -> Done:
    changed: dict[str, None] = {}
    maybe = ran = checked = denied = failed = False
    for name, arguments, result in _answered(turn):
        if result.error:
            denied = denied or result.cause == "denied"
            failed = failed or result.cause != "denied"
            continue
        if name in ("write", "edit"):
            if not result.unchanged:
                changed[str(arguments.get("path", ""))] = None
                checked = False
        elif name == "bash":
            ran = checked = True
            maybe = maybe or read_command(str(arguments.get("command", "")), lambda _: True).hazard != "harmless"
    touched = maybe or bool(changed)
    return Done(changed=tuple(changed), maybe_changed=touched, ran=ran, checked=checked, denied=denied, failed=failed)


class Failed(Struct, frozen=True, kw_only=True):
    """`hopeless`: it was refused because it had been tried before."""

    name: str
    arguments: dict[str, object]
    hopeless: bool


def failed_in_a_row(turn: Sequence[Message]) -> list[Failed]:
    """The calls that failed since the last one that worked, newest first; none once somebody spoke."""
    if not turn or turn[-1].role != "tool":
        return []
    found: list[Failed] = []
    for name, arguments, result in reversed(_answered(turn)):
        if not result.error or result.cause == "denied":
            break
        found.append(Failed(name=name, arguments=arguments, hopeless=result.cause == "repeated"))
    return found


def admits_failure(answer: str) -> bool:
    return bool(re.search(ADMITTED, answer, re.I))


def last_run_failed(turn: Sequence[Message]) -> str:
    """Return how the last command failed, or an empty string if it did not or something was done after it."""
    answered = _answered(turn)
    return answered[-1][2].ended if answered and answered[-1][0] == "bash" else ""


def _answered(turn: Sequence[Message]) -> list[tuple[str, dict[str, object], Result]]:
    """Each call with its result, in order. An id is looked up in the reply before it: it may come again later."""
    calls: dict[str, Call] = {}
    found = []
    for message in turn:
        if message.role == "assistant":
            calls = {call.id: call for call in message.calls()}
        for part in message.parts:
            if isinstance(part, Result) and part.call_id in calls:
                call = calls[part.call_id]
                found.append((call.name, _arguments(call.arguments), part))
    return found


def _arguments(text: str) -> dict[str, object]:
    try:
        found = decode(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
