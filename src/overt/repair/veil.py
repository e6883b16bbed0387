"""What of a streaming text may be shown now: markup of a call is held back until it is known to be one.

Ordinary prose passes at once. Held back are, to the end of the reply, a marker with something
behind it that can be a call, and a JSON object at the beginning of a line, in a fence or not, whose first key and
value are those of a call to a tool whose name we know; undecided pieces are a few characters. Code in fences and
backticks passes, so does a Python-style call: nothing tells it from prose in time.

Where the reply is one JSON object by agreement, only the words of a final object are shown, as they come.
"""

import re

from msgspec import DecodeError

from overt.core.codec import decode
from overt.core.foreign import OURS, TOOLS
from overt.core.settings import Calls

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
PREFIXES = frozenset(mark[:size] for mark in MARKS for size in range(1, len(mark)))
MAY_BEGIN = re.compile(r"[<\[]")
BLANK = re.compile(r"(?:[ \t]*\n)++")
INDENT = re.compile(r"[ \t]*+")
STOPS = re.compile(r'["\\]')
NAME_KEYS = ("name", "tool", "tool_name", "function_name", "action", "function", "recipient_name", "type", "id")
LIST_KEYS = ("tool_calls", "function_call", "tool_uses", "function_calls")
KNOWN = frozenset(OURS) | frozenset(TOOLS) | {"function", "tool_use", "tool_call"}
CALL_FENCES = ("tool_call", "tool_code", "tool_calls", "function_call", "tool_use")
JSON_FENCES = ("json", "")
TAG_FENCES = ("xml", "")
UNDECIDED = 80
WINDOW = 400
"""Characters behind a beginning that decide what it is."""
HEAD = 2000
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/"}


class Veil:
    """Fed the pieces of one reply's text; `rest` comes last."""

    def __init__(self, calls: Calls) -> None:
        self._final = _Final() if calls == "schema" else None
        self._held = ""
        self._kept: list[str] = []
        self._holding = False
        self._line_start = True
        self._fence = ""
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
            if text:
                self._last = text[-1]
            return text
        return self._examine(self._held + text)

    def rest(self, kept: bool) -> str:
        """What was held back, when it turned out to be text (`kept`); nothing when calls were made of it."""
        if self._final is not None:
            return self._final.rest(kept)
        held = self._held + "".join(self._kept)
        self._held, self._kept, self._holding = "", [], False
        return held if kept else ""

    def _examine(self, text: str) -> str:
        """Pass what is prose; keep what may begin a call."""
        at = 0
        while at < len(text):
            at, stop = self._next(text, at)
            if stop:
                break
        shown, self._held = text[:at], text[at:]
        if shown:
            self._last = shown[-1]
        return shown

    def _next(self, text: str, at: int) -> tuple[int, bool]:
        """How far the text passes, and whether it stops there."""
        if self._line_start and (blank := BLANK.match(text, at)):
            return blank.end(), False
        if self._line_start:
            verdict = self._opening(text, at)
            if verdict is None:
                return at, True
            if verdict == "hold":
                self._holding = True
                return at, True
        line = text.find("\n", at)
        end = line + 1 if line >= 0 else len(text)
        if not self._fence:
            found, hold = self._mark(text, at, end)
            if found >= 0:
                self._line_start = False
                self._holding = hold
                return found, True
        self._line_start = line >= 0
        return end, False

    def _mark(self, text: str, at: int, end: int) -> tuple[int, bool]:
        """Where a marker begins in this line, and whether it is certain; -1 when there is none."""
        for found in MARK.finditer(text, at, end):
            hold = self._begun(text, found.start())
            if hold is not False:
                return found.start(), bool(hold)
        if end == len(text):
            for begun in MAY_BEGIN.finditer(text, max(at, end - LONGEST)):
                if text[begun.start() :] in PREFIXES and self._begun(text, begun.start()) is not False:
                    return begun.start(), False
        return -1, False

    def _begun(self, text: str, place: int) -> bool | None:
        before = text[place - 1] if place else self._last
        if before and before in "`\"'“‘":
            return False
        run = text[place : place + WINDOW]
        verdict = _begins(run)
        return False if verdict is None and len(run) == WINDOW else verdict

    def _opening(self, text: str, at: int) -> str | None:
        """What the line that begins here opens: `hold` a call, `pass` anything else, None not known yet."""
        found = INDENT.match(text, at)
        start = found.end() if found else at
        if start >= len(text):
            return None if len(text) - at < UNDECIDED else "pass"
        run = text[start : start + WINDOW]
        if run[0] == "`" or (self._fence and run[0] != "\n"):
            return self._fenced(run)
        if run[0] in "{[":
            return _object(run) or ("pass" if len(run) == WINDOW else None)
        return "pass"

    def _fenced(self, run: str) -> str | None:
        if not run.startswith("```"):
            return None if "```".startswith(run) else "pass"
        line = run.find("\n")
        if self._fence:
            self._fence = "" if not run.strip("`").split("\n", 1)[0].strip() else self._fence
            return "pass"
        if line < 0 and len(run) < UNDECIDED and " " not in run.strip():
            return None
        if line < 0:
            self._fence = "```"
            return "pass"
        info = run[3:line].strip().lower()
        if info in CALL_FENCES:
            return "hold"
        body = run[line + 1 :].lstrip()
        verdict = _object(body) if info in JSON_FENCES else "pass"
        if info in TAG_FENCES and (body.startswith("<") or not body):
            begins = _begins(body) if body else None
            verdict = None if begins is None else "hold" if begins else "pass"
        if verdict is None and len(run) == WINDOW:
            verdict = "pass"
        if verdict == "pass":
            self._fence = "```"
        return verdict


def _begins(text: str) -> bool | None:
    """Does a call begin here? None: not known yet."""
    if text.startswith(CERTAIN):
        return True
    if not text.startswith(OPENINGS):
        return None if len(text) < LONGEST and any(mark.startswith(text) for mark in MARKS) else False
    end = text.find("]" if text[0] == "[" else ">")
    behind = text[end + 1 :].lstrip() if end >= 0 else ""
    if not behind:
        return None if len(text) < UNDECIDED else False
    if behind[0] in "{[<`":
        return True
    size = next((n for n, char in enumerate(behind) if not (char.isalnum() or char in "_.:-")), len(behind))
    if size == len(behind):
        return None if size < 40 else False
    words = behind[:size].replace(":", ".").split(".")
    if "</arg_key".startswith(mark := behind[size : size + 9]):
        return True if len(mark) == 9 else None
    return behind[size] in "\n({<[" and any(word in KNOWN for word in words)


def _object(text: str) -> str | None:
    """`hold` when a JSON value begins like a call, `pass` when it does not, None when it is not known yet."""
    body = text.lstrip("[{ \n\t")
    if not body:
        return None if len(text) < UNDECIDED else "pass"
    if "{" not in text[: len(text) - len(body)] or body[0] not in "\"'":
        return "pass"
    key, closed, behind = body[1:].partition(body[0])
    if not closed:
        return None if len(key) < 40 else "pass"
    if key in LIST_KEYS:
        return "hold"
    if key not in NAME_KEYS and key not in KNOWN:
        return "pass"
    value = behind.lstrip(" \n\t:")
    if key == "id" and value.startswith('"call'):
        return "hold"
    if not value:
        return None if len(behind) < UNDECIDED else "pass"
    if value[0] == "{":
        return "hold" if key in KNOWN or key in ("function", "tool", "action") else "pass"
    if value[0] not in "\"'":
        return "pass"
    name, closed, _ = value[1:].partition(value[0])
    if not closed:
        return None if len(name) < 40 else "pass"
    return "hold" if name.rpartition(".")[2] in KNOWN else "pass"


class _Final:
    """The words of `{"tool": "final", "text": …}` as they stream; a text that is no object is `plain`."""

    def __init__(self) -> None:
        self.plain = False
        self._came: list[str] = []
        self._head = ""
        self._state = "open"
        self._waiting = ""

    def feed(self, text: str) -> str:
        if self._state == "words" and not self._waiting and '"' not in text and "\\" not in text:
            return text
        if self._state == "words":
            return self._string(self._waiting + text)
        self._came.append(text)
        if self._state != "open":
            return ""
        self._head += text
        first = self._head.lstrip()[:1]
        if first and first not in "{`":
            self.plain = True
            return self._head
        return self._look()

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

    def _look(self) -> str:
        """The tool is named first: once it is, either words follow or nothing is to be shown."""
        _, key, behind = self._head.partition('"tool"')
        name, closed, after = behind.lstrip(" \t\n:")[1:].partition('"')
        if not key or not closed:
            self._state = "open" if len(self._head) < HEAD else "call"
            return ""
        if name != "final":
            self._state = "call"
            return ""
        value = after.partition('"text"')[2].lstrip(" \t\n:")
        if not value:
            self._state = "open" if len(self._head) < HEAD else "call"
            return ""
        self._state = "words"
        return self._string(value[1:])

    def _string(self, raw: str) -> str:
        """What of the string has come, unescaped; a broken-off escape waits."""
        out: list[str] = []
        at = 0
        while at < len(raw):
            found = STOPS.search(raw, at)
            stop = found.start() if found else len(raw)
            out.append(raw[at:stop])
            at = stop
            if at < len(raw) and raw[at] == '"':
                self._state = "done"
                at = len(raw)
            elif at < len(raw):
                piece, behind = _escape(raw, at)
                if behind == at:
                    break
                out.append(piece)
                at = behind
        self._waiting = raw[at:]
        return "".join(out)


def _escape(raw: str, at: int) -> tuple[str, int]:
    """The character an escape stands for and the place behind it; nothing while it is incomplete."""
    char = raw[at + 1 : at + 2]
    if not char:
        return "", at
    if char != "u":
        return ESCAPES.get(char, char), at + 2
    digits = raw[at + 2 : at + 6]
    if len(digits) < 4:
        return "", at
    try:
        code = int(digits, 16)
    except ValueError:
        return "�", at + 6
    if not 0xD800 <= code < 0xDC00:
        return (chr(code) if not 0xDC00 <= code < 0xE000 else "�"), at + 6
    follow = raw[at + 6 : at + 12]
    if len(follow) < 6 and "\\u".startswith(follow[:2]):
        return "", at
    try:
        low = int(follow[2:], 16) if follow.startswith("\\u") else 0
    except ValueError:
        low = 0
    if not 0xDC00 <= low < 0xE000:
        return "�", at + 6
    return chr(0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)), at + 12
