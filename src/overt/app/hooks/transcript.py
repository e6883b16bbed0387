"""A copy of the history for hooks, in the lines that Claude Code writes."""

import os
from collections.abc import Iterator

from msgspec import DecodeError

from overt.core.codec import decode, encode
from overt.core.ids import new_id
from overt.core.messages import Call, Message, Part, Reasoning, Result, Text
from overt.core.tool import ToolLookup
from overt.sessions.log import make_private


class TranscriptCopy:
    """The file of one session. It is written before a hook runs, grows with the history, and is deleted at the end."""

    def __init__(self, cache_dir: str, session: str, cwd: str, find_tool: ToolLookup) -> None:
        self.path = os.path.join(cache_dir, "transcripts", f"{session}.jsonl")
        self._session, self._cwd = session, cwd
        self._find_tool = find_tool
        self._written: tuple[Message, ...] = ()
        self._last_id: str | None = None
        self._begun = False

    def update(self, messages: tuple[Message, ...]) -> None:
        """Add the messages that are new, or write all of them again if earlier ones have changed."""
        known = len(self._written)
        if self._begun and messages[:known] == self._written:
            fresh, flags = messages[known:], os.O_APPEND
        else:
            fresh, flags = messages, os.O_TRUNC
            self._last_id = None
        if self._begun and not fresh and flags == os.O_APPEND:
            return
        make_private(os.path.dirname(self.path))
        descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | flags, 0o600)
        with open(descriptor, "wb") as file:
            for message in fresh:
                file.writelines(encode(line) + b"\n" for line in self._lines(message))
        self._written, self._begun = messages, True

    def delete(self) -> None:
        if self._begun:
            try:
                os.unlink(self.path)
            except OSError:
                pass  # it lies in the cache, where old files are deleted

    def _lines(self, message: Message) -> Iterator[dict[str, object]]:
        """One line for each part."""
        role = "assistant" if message.role == "assistant" else "user"
        for part in message.parts:
            block = self._block(part)
            if block is None:
                continue
            line: dict[str, object] = {
                "parentUuid": self._last_id,
                "sessionId": self._session,
                "cwd": self._cwd,
                "type": role,
                "message": {"role": role, "content": [block]},
                "uuid": new_id(),
            }
            self._last_id = str(line["uuid"])
            yield line

    def _block(self, part: Part) -> dict[str, object] | None:
        match part:
            case Text(text=text):
                return {"type": "text", "text": text}
            case Reasoning(text=text):
                return {"type": "thinking", "thinking": text}
            case Call(id=id, name=name, arguments=arguments):
                tool = self._find_tool(name)
                shown = tool.aliases[0] if tool and tool.aliases else name
                return {"type": "tool_use", "id": id, "name": shown, "input": _parse(arguments)}
            case Result(call_id=id, error=error) as result:
                return {"type": "tool_result", "tool_use_id": id, "content": result.text(), "is_error": error}
            case _:
                return None


def _parse(arguments: str) -> object:
    try:
        return decode(arguments)
    except (DecodeError, UnicodeEncodeError):
        return {"arguments": arguments}
