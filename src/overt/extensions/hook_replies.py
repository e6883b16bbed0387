"""What a hook says by its exit code and its output, as Claude Code defines it."""

from typing import Literal

from msgspec import DecodeError, Struct, json

from overt.extensions.hooks import GATING

HookVerdict = Literal["", "allow", "ask", "deny"]
CONTEXT_EVENTS = frozenset({"SessionStart", "SubagentStart", "UserPromptSubmit"})
"""Plain text that a hook of these events prints is context for the model."""
BLOCKED = 2
"""The exit code that blocks."""
DECISIONS: dict[object, HookVerdict] = {
    **dict.fromkeys((None, "", "defer"), ""),
    **dict.fromkeys(("allow", "approve"), "allow"),
    "ask": "ask",
    **dict.fromkeys(("deny", "block"), "deny"),
}
LONGEST_REASON = 8000
STOPPED = "A hook ended the turn."


class HookReply(Struct, frozen=True, kw_only=True):
    """`verdict` `deny` also stands for the `block` of events that do not gate a call.

    `updated_input` replaces the arguments of the call. `context` is for the model, `message` for the user. If `stop`
    is not empty, the turn ends with these words. `failure` says what went wrong with the hook; a failure of a gating
    hook is a denial.
    """

    verdict: HookVerdict = ""
    reason: str = ""
    updated_input: dict[str, object] | None = None
    context: str = ""
    message: str = ""
    stop: str = ""
    failure: str = ""


def failed(event: str, why: str) -> HookReply:
    """Return the reply of a hook that failed: before a gated action it denies, elsewhere it only warns."""
    if event not in GATING:
        return HookReply(failure=why)
    return HookReply(verdict="deny", reason=f"the hook failed ({why}), so the call is denied", failure=why)


def read_reply(event: str, code: int, stdout: str, stderr: str) -> HookReply:
    """Read what a hook that has ended says. Text that is not JSON passes; JSON that cannot be read is a failure."""
    if code == BLOCKED:
        reason = (stderr.strip() or stdout.strip() or "blocked by a hook")[:LONGEST_REASON]
        return HookReply(verdict="deny", reason=reason)
    if code != 0:
        last = (stderr.strip() or stdout.strip()).rpartition("\n")[2][:200]
        how = f"exit code {code}" if code > 0 else f"killed by signal {-code}"
        return failed(event, f"{how}: {last}" if last else how)
    text = _without_async_line(stdout.strip())
    if not text.startswith("{"):
        return HookReply(context=text) if event in CONTEXT_EVENTS else HookReply()
    try:
        value = json.decode(text)
    except (DecodeError, UnicodeDecodeError):
        return failed(event, "its output begins with { and is not JSON")
    return _read_fields(event, value)


def _without_async_line(text: str) -> str:
    """Return the answer of a hook that first says it will answer later: its next JSON line. It was waited for."""
    first, _, rest = text.partition("\n")
    if not rest or '"async"' not in first:
        return text
    try:
        is_async = json.decode(first).get("async") is True
    except (DecodeError, UnicodeDecodeError, AttributeError):
        return text
    return next((line for line in rest.splitlines() if line.startswith("{")), "") if is_async else text


def _read_fields(event: str, value: dict[str, object]) -> HookReply:
    specific = value.get("hookSpecificOutput")
    more: dict[str, object] = specific if isinstance(specific, dict) else {}
    nested = more.get("decision")
    answer: dict[str, object] = nested if isinstance(nested, dict) else {}  # of PermissionRequest
    named = [more.get("permissionDecision"), answer.get("behavior"), value.get("decision")]
    for each in named:
        if (each is not None and not isinstance(each, str)) or each not in DECISIONS:
            return failed(event, f"its decision {str(each)[:40]!r} is unknown")
    updated = more.get("updatedInput", answer.get("updatedInput"))
    if updated is not None and not isinstance(updated, dict):
        return failed(event, "its updatedInput is not an object")
    reasons = (more.get("permissionDecisionReason"), answer.get("message"), value.get("reason"))
    stop = ""
    if value.get("continue") is False:
        stop = _text(value.get("stopReason")) or STOPPED
    return HookReply(
        verdict=next((DECISIONS[each] for each in named if DECISIONS[each]), ""),
        reason=next(filter(None, map(_text, reasons)), ""),
        updated_input=updated,
        context=_text(more.get("additionalContext")),
        message=_text(value.get("systemMessage")),
        stop=stop,
    )


def _text(value: object) -> str:
    return value.strip()[:LONGEST_REASON] if isinstance(value, str) else ""
