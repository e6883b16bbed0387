"""What of a streaming text may be shown now: markup of a call is held back until it is known to be one.

Ordinary prose passes at once. Held back are, to the end of the reply, a marker with something
behind it that can be a call, and a JSON object at the beginning of a line, in a fence or not, whose first key and
value are those of a call to a tool whose name we know; undecided pieces are a few characters. Code in fences and
backticks passes, so does a Python-style call: nothing tells it from prose in time.

Where the reply is one JSON object by agreement, only the words of a final object are shown, as they come.
"""

import re
from collections.abc import Callable, Mapping

from msgspec import DecodeError

from overt.core.codec import decode
from overt.core.settings import Calls
from overt.core.tool import Tool
from overt.repair._scan_limit import ScannedTools

CERTAIN = (
    "<|channel|>commentary to=", "<|channel|>analysis to=", "<|start|>assistant", "<|open|>", "<]minimax[>[",
    "<start_function_call>", "<|tool_call>", "<｜DSML｜", "<| DSML |",
)  # fmt: skip
"""These are nobody's prose."""
OPENINGS = (
    "<tool_call", "<function_call", "<function=", "<function name=", "<invoke", "<tools>", "<tool_use>", "<TOOLCALL>",
    "<longcat_tool_call", "<minimax:tool_call", "<seed:tool_call", "<steptml:invoke", "<antml" ":",
    "<|tool_call", "<|python_",
    "<|action_start|>", "<|START_ACTION|>", "<|tools_prefix|>", "<｜tool", "<|tool▁", "[TOOL_CALLS]", "[TOOL_REQUEST]",
)  # fmt: skip
"""These may be talked about, so what follows their end decides."""
MARKS = CERTAIN + OPENINGS
LONGEST = max(map(len, MARKS))
MARK = re.compile(
    f"(?={'|'.join(sorted({re.escape(mark[:2]) for mark in MARKS}))})(?:{'|'.join(re.escape(mark) for mark in MARKS)})"
)
MAY_BEGIN = re.compile(r"[<\[]")
BLANK = re.compile(r"(?:[ \t]*\n)++")
INDENT = re.compile(r"[ \t]*+")
BEHIND = re.compile(r"[^>\]]*[>\]]\s*(?P<call>[{\[<`])?(?P<name>[\w.:-]*)(?P<next>[\s\S]{0,9})")
"""What stands behind a marker: a call that has begun, or a name and what follows it."""
OBJECT = re.compile(
    r"""[\[\s]*\{[\[{\s]*(?:["'](?P<key>\w{0,40})(?:["']\s*(?P<colon>:)?\s*(?:(?P<inner>\{)"""
    r"""|["'](?P<value>[\w.:-]{0,40})(?P<end>["'])?)?)?)?"""
)
"""The first key of an object and its value, as far as they have come."""
NAME_KEYS = ("name", "tool", "tool_name", "function_name", "action", "function", "recipient_name", "type", "id")
LIST_KEYS = ("tool_calls", "function_call", "tool_uses", "function_calls")
CALL_FENCES = ("tool_call", "tool_code", "tool_calls", "function_call", "tool_use")
UNDECIDED = 80
WINDOW = 400
"""Characters behind a beginning that decide what it is."""
HEAD = 2000
FINAL = re.compile(r'"tool"[\s:]*"([^"]*)"(?:.*?"text"[\s:]*")?', re.DOTALL)
WORDS = re.compile(
    r'(?:[^"\\]|\\u[dD][89abAB]\w\w(?:\\u\w{4}|(?=[^\\]))|\\u(?![dD][89abAB])\w{4}|\\[^u]|\\u(?=.{10}))*+', re.DOTALL
)
"""Whole characters of a JSON string: neither an escape nor a pair of half characters is cut."""


class MarkupFilter:
    """Fed the pieces of one reply's text; `rest` comes last. The `tools` are those that the reply may call."""

    def __init__(self, calls: Calls, tools: Mapping[str, Tool]) -> None:
        self._known = {"function", "tool_use", "tool_call", *ScannedTools(tools).names}
        self._final = _FinalWords() if calls == "schema" else None
        self._held = ""
        self._kept: list[str] = []
        self._holding = False
        self._line_start = True
        self._in_fence = False
        self._last = ""

    def feed(self, text: str) -> str:
        """What may be shown now."""
        if self._final is not None:
            shown = self._final.feed(text)
            if not self._final.plain:
                return shown
            self._final, text = None, shown
        if self._holding:
            self._kept.append(text)
            return ""
        if not self._held and not self._line_start and not ("<" in text or "\n" in text or "`" in text or "[" in text):
            self._last = text[-1:] or self._last
            return text
        text = self._held + text
        at, stop = 0, False
        while at < len(text) and not stop:
            at, stop = self._next(text, at)
        shown, self._held = text[:at], text[at:]
        self._last = shown[-1:] or self._last
        return shown

    def rest(self, kept: bool) -> str:
        """What was held back, when it turned out to be text (`kept`); nothing when calls were made of it."""
        if self._final is not None:
            return self._final.rest(kept)
        held = self._held + "".join(self._kept)
        self._held, self._kept, self._holding = "", [], False
        return held if kept else ""

    def _next(self, text: str, at: int) -> tuple[int, bool]:
        """How far the text passes, and whether it stops there."""
        if self._line_start:
            if blank := BLANK.match(text, at):
                return blank.end(), False
            begins = self._opening(text, at)
            if begins is not False:
                self._holding = bool(begins)
                return at, True
        line = text.find("\n", at)
        end = line + 1 if line >= 0 else len(text)
        if not self._in_fence:
            starts = [found.start() for found in MARK.finditer(text, at, end)]
            if end == len(text):
                starts += [found.start() for found in MAY_BEGIN.finditer(text, max(at, end - LONGEST))]
            for start in starts:
                begins = self._marker(text, start)
                if begins is not False:
                    self._line_start, self._holding = False, bool(begins)
                    return start, True
        self._line_start = line >= 0
        return end, False

    def _marker(self, text: str, start: int) -> bool | None:
        """Does a call begin with the marker here? None: not known yet."""
        before = text[start - 1] if start else self._last
        return (
            False
            if before and before in "`\"'“‘"
            else _in_time(self._begins, text[start : start + WINDOW], min(len(text) - start, WINDOW))
        )

    def _opening(self, text: str, at: int) -> bool | None:
        """Does a call begin with this line? None: not known yet."""
        found = INDENT.match(text, at)
        run = text[found.end() if found else at :][:WINDOW]
        if not run:
            return None if len(text) - at < UNDECIDED else False
        if self._in_fence:
            self._in_fence = not (run.startswith("```") and not run.strip("`").partition("\n")[0].strip())
            return None if "```".startswith(run) and run != "```" else False
        if run[0] == "`":
            begins = self._fenced(run)
            self._in_fence = begins is False and run.startswith("```")
            return begins
        return _in_time(self._object, run, len(run)) if run[0] in "{[" else False

    def _fenced(self, run: str) -> bool | None:
        """Does a call begin with the fence that opens here?"""
        if not run.startswith("```"):
            return None if "```".startswith(run) else False
        first, line, rest = run[3:].partition("\n")
        info, body = first.strip().lower(), rest.lstrip()
        if not line:
            return None if len(run) < UNDECIDED and " " not in run.strip() else False
        if info in CALL_FENCES:
            return True
        if info in ("xml", "") and (body.startswith("<") or not body):
            return _in_time(self._begins, body, len(run)) if body else _in_time(self._object, body, len(run))
        return _in_time(self._object, body, len(run)) if info in ("json", "") else False

    def _begins(self, text: str) -> bool | None:
        """Does a call begin with the marker that begins here? None: not known yet."""
        if text.startswith(CERTAIN):
            return True
        if not text.startswith(OPENINGS):
            return None if len(text) < LONGEST and any(mark.startswith(text) for mark in MARKS) else False
        found = BEHIND.match(text)
        if not found or found.end() == len(text) == found.start("next"):
            return None if len(text) < UNDECIDED else False
        if found["call"]:
            return True
        if "</arg_key".startswith(found["next"]):
            return True if len(found["next"]) == 9 else None
        words = found["name"].replace(":", ".").split(".")
        return found["next"][0] in "\n({<[" and not self._known.isdisjoint(words)

    def _object(self, text: str) -> bool | None:
        """Does a JSON value begin like a call? None: not known yet."""
        found = OBJECT.match(text)
        key, value = (found["key"] or "", found["value"] or "") if found else ("", "")
        is_open = found is None and not text.strip("[{ \n\t")
        if found and found.end() == len(text) and not found["inner"] and not found["end"]:
            is_open = not found["colon"] or key in (*NAME_KEYS, *LIST_KEYS, *self._known)
        if found is None or is_open:
            return None if is_open and len(text) < UNDECIDED else False
        if key in LIST_KEYS or (key == "id" and value.startswith("call")):
            return True
        if found["inner"]:
            return key in self._known or key in ("function", "tool", "action")
        return key in (*NAME_KEYS, *self._known) and bool(found["end"]) and value.rpartition(".")[2] in self._known


def _in_time(begins: Callable[[str], bool | None], text: str, size: int) -> bool | None:
    """What is still not known of a full window is no call."""
    verdict = begins(text)
    return False if verdict is None and size == WINDOW else verdict


class _FinalWords:
    """The words of `{"tool": "final", "text": …}` as they stream; a text that is no object is `plain`."""

    def __init__(self) -> None:
        self.plain = False
        self._came: list[str] = []
        self._state = "open"
        self._waiting = ""

    def feed(self, text: str) -> str:
        if self._state == "words":
            return self._string(text)
        self._came.append(text)
        if self._state != "open":
            return ""
        head = "".join(self._came)
        self.plain = head.lstrip()[:1] not in ("{", "`", "")
        if self.plain:
            return head
        found = FINAL.search(head)
        if found and found[1] == "final" and not found[0].endswith('"final"'):
            self._state = "words"
            return self._string(head[found.end() :])
        if (found and found[1] != "final") or len(head) >= HEAD:
            self._state = "call"
        return ""

    def rest(self, kept: bool) -> str:
        if self._state in ("words", "done"):
            return ""
        raw = "".join(self._came)
        try:
            value = decode(raw)
        except (DecodeError, UnicodeError, RecursionError):
            value = None
        text = value.get("text") if isinstance(value, dict) and value.get("tool") == "final" else None
        if isinstance(text, str):
            return text
        return raw if kept else ""

    def _string(self, text: str) -> str:
        """What of the string has come, unescaped; a broken-off escape waits."""
        raw = self._waiting + text
        found = WORDS.match(raw)
        end = found.end() if found else 0
        self._waiting = raw[end:]
        if self._waiting.startswith('"'):
            self._state = "done"
        if "\\" not in raw[:end]:
            return raw[:end]
        from overt.repair._loose_json import unescape  # late: 2 ms

        words: str = unescape(raw[:end])
        return words
