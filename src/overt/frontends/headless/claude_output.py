"""Events in the shapes that readers of Claude Code's json and stream-json output expect."""

from msgspec import json

from overt.app.conversation import Conversation
from overt.app.options import TO_CLAUDE
from overt.core.events import Compacted, Event, Replied, Retried, ToolFinished, TurnEnded, UserSpoke
from overt.core.ids import new_id
from overt.core.messages import Call, Message, Reasoning, Text
from overt.core.spending.usage import Usage
from overt.frontends.headless.narrate import failed

SUBTYPES = {("done", ""): "success", ("limit", ""): "error_max_turns", ("limit", "budget"): "error_max_budget_usd"}
STOPS = {"stop": "end_turn", "calls": "tool_use", "length": "max_tokens", "filter": "refusal", "interrupted": None}


def init(conversation: Conversation) -> dict[str, object]:
    return {
        "type": "system",
        "subtype": "init",
        "session_id": conversation.id,
        "cwd": conversation.workspace,
        "model": conversation.agent.spec.params.model,
        "tools": [_tool_name(name, conversation) for name in conversation.agent.spec.tools],
        "mcp_servers": [
            {"name": name, "status": "pending"} for name in conversation.session_workspace.shared.server_names
        ],
        "permissionMode": TO_CLAUDE[conversation.mode],
        "slash_commands": [],
        "agents": _agent_names(conversation),
        "skills": list(conversation.skills.model_names()) if conversation.skills else [],
        "plugins": [],
        "uuid": new_id(32),
    }


def claude_event(event: Event, conversation: Conversation, parent_call: str | None = None) -> dict[str, object] | None:
    """The line for one event; None for what those readers do not know.

    For an event of a sub-agent, `parent_call` is the id of the call that started it.
    """
    common: dict[str, object] = {"parent_tool_use_id": parent_call, "session_id": conversation.id, "uuid": new_id(32)}
    match event:
        case Replied(message=message) if not message.parts and (event.forced or event.estimated):
            return None  # a failed summary, or a reply that broke off before its first word
        case Compacted(cause=cause, before=before):
            about = {"trigger": "manual" if cause == "asked" else "auto", "pre_tokens": before}
            session = {"session_id": conversation.id, "uuid": new_id(32)}
            return {"type": "system", "subtype": "compact_boundary", "compact_metadata": about, **session}
        case Replied(message=message, usage=usage, finish=finish, model=model):
            body = {
                "id": f"msg_{new_id(16)}",
                "type": "message",
                "role": "assistant",
                "model": model or conversation.agent.spec.params.model,
                "content": _content(message, conversation),
                "stop_reason": STOPS[finish],
                "stop_sequence": None,
                "usage": tokens(usage),
            }
            return {"type": "assistant", "message": body, **common}
        case ToolFinished():
            return {"type": "user", "message": {"role": "user", "content": [_result(event)]}, **common}
        case UserSpoke(message=message) if message.origin.kind != "user":
            body = {"role": "user", "content": _content(message, conversation)}
            return {"type": "user", "message": body, "isSynthetic": True, **common}
        case Retried(attempt=attempt, wait=wait, reason=reason):
            retry = {"attempt": attempt, "retry_delay_ms": round(wait * 1000), "error": reason}
            return {"type": "system", "subtype": "api_retry", "session_id": conversation.id, **retry}
        case _:
            return None


def result(end: TurnEnded, conversation: Conversation, *, api_ms: int) -> dict[str, object]:
    return {
        "type": "result",
        "subtype": SUBTYPES.get((end.reason, end.kind), "error_during_execution"),
        "is_error": end.reason != "done",
        "duration_ms": end.ms,
        "duration_api_ms": api_ms,
        "num_turns": end.steps,
        "result": end.text,
        "session_id": conversation.id,
        "total_cost_usd": conversation.spend.turn.known_cost,
        "usage": tokens(end.usage),
        "modelUsage": {conversation.agent.spec.params.model: tokens(end.usage)},
        "permission_denials": [
            {
                "tool_name": _tool_name(denial.call.name, conversation),
                "tool_use_id": denial.call.id,
                "tool_input": _input(denial.call, conversation),
            }
            for denial in conversation.session.denials
        ],
        "uuid": new_id(32),
    }


def tokens(usage: Usage) -> dict[str, int]:
    """Their `input_tokens` leaves out what was read from or written to the cache."""
    return {
        "input_tokens": usage.input - usage.cached - usage.cache_write,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cached,
        "output_tokens": usage.output,
    }


def _content(message: Message, conversation: Conversation) -> list[dict[str, object]]:
    blocks: list[dict[str, object]] = []
    for part in message.parts:
        match part:
            case Text(text=text):
                blocks.append({"type": "text", "text": text})
            case Reasoning(text=text, signature=signature):
                blocks.append({"type": "thinking", "thinking": text, "signature": signature})
            case Call(id=id, name=name):
                tool, arguments = _tool_name(name, conversation), _input(part, conversation)
                if _forwards(name, conversation) and isinstance(arguments, dict) and "name" in arguments:
                    tool, arguments = arguments["name"], arguments.get("arguments", {})
                blocks.append({"type": "tool_use", "id": id, "name": tool, "input": arguments})
            case _:
                pass
    return blocks


def _result(finished: ToolFinished) -> dict[str, object]:
    """The answer to a call. A command that ended with an exit code other than 0 counts as an error there."""
    result = finished.result
    text = "".join(part.text for part in result.parts if isinstance(part, Text))
    return {"type": "tool_result", "tool_use_id": result.call_id, "content": text, "is_error": failed(finished)}


def _agent_names(conversation: Conversation) -> list[str]:
    """Return the sub-agents that may be started."""
    if conversation.agents is None:
        return []
    rules = conversation.agent.runtime.gate.permissions.rules
    return [profile.name for profile in conversation.agents.library.startable(rules)]


def _forwards(name: str, conversation: Conversation) -> bool:
    tool = conversation.setting.tools.find(name)
    return tool is not None and tool.forwards


def _tool_name(name: str, conversation: Conversation) -> str:
    tool = conversation.setting.tools.find(name)
    return tool.aliases[0] if tool and tool.aliases else name


def _input(call: Call, conversation: Conversation) -> object:
    """The arguments, the path of a file tool under the name that those readers look for."""
    try:
        arguments = json.decode(call.arguments)
    except (ValueError, RecursionError):
        return {"_raw": call.arguments}
    tool = conversation.setting.tools.find(call.name)
    if tool is None or not tool.past or not isinstance(arguments, dict) or "file_path" in arguments:
        return arguments
    return {"file_path" if name == "path" else name: value for name, value in arguments.items()}
