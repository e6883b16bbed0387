"""Code in colour: a lexer of pygments, loaded when the first code is drawn, and its tokens as styles of the theme.

A stream of code is lexed once, in batches of whole lines: the state of the lexer is carried from one to the next. A
token that reaches the end of a batch may go on behind it, so the next batch begins where that token began (unless it
is long). Lexers that do not work by states begin anew, a few lines back. What is too long is drawn without colour.

Whoever writes the code also chooses the lexer, and among hundreds there are some that take hours over a line of
backslashes, or leave out what they do not know. So the time of each batch is bounded, and colours are used only when
the tokens say what the code says.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Protocol, TypeAlias

from overt.frontends.tui.terminal.rows import BLANK, Row, Span
from overt.frontends.tui.terminal.verbatim_text import expand_tabs, harmless
from overt.lib.text import visible

if TYPE_CHECKING:
    import re

MAX_CODE = 200_000
MAX_LINE = 2000
MAX_BACK = 4000
MAX_STUCK = 100
"""How many times in a row a lexer may move without reading anything."""
FIRST, PATIENCE, PER_CHARACTER = 1.0, 0.1, 5e-6
"""Seconds of the processor that a batch may take: the first, in which a lexer makes its tables and those of others it
calls, any other, and so much more for each character."""

# The first that fits, from the kind of a token upwards.
STYLES = {
    "Comment.Preproc": "tok.meta",
    "Comment.PreprocFile": "tok.string",
    "Comment": "tok.comment",
    "Keyword.Type": "tok.type",
    "Keyword.Constant": "tok.builtin",
    "Keyword": "tok.keyword",
    "Operator.Word": "tok.keyword",
    "Operator": "tok.operator",
    "Literal.String.Escape": "tok.operator",
    "Literal.String": "tok.string",
    "Literal.Number": "tok.number",
    "Name.Builtin": "tok.builtin",
    "Name.Class": "tok.type",
    "Name.Exception": "tok.type",
    "Name.Decorator": "tok.meta",
    "Name.Function": "tok.name",
    "Name.Tag": "tok.keyword",
    "Name.Attribute": "tok.name",
    "Name.Entity": "tok.operator",
    "Generic.Heading": "tok.keyword",
    "Generic.Subheading": "tok.keyword",
    "Generic.Prompt": "tok.comment",
    "Generic.Inserted": "add",
    "Generic.Deleted": "remove",
    "Generic.Strong": "bold",
    "Generic.Emph": "italic",
}

# Ends of names that several lexers claim, and words that models write behind a fence; pygments knows the others.
KNOWN = {
    "bash": "bash", "c": "c", "cfg": "ini", "cjs": "javascript", "conf": "ini", "cpp": "cpp", "cs": "csharp",
    "css": "css", "env": "bash", "go": "go", "golang": "go", "h": "c", "hpp": "cpp", "htm": "html",
    "html": "html", "ini": "ini", "java": "java", "js": "javascript", "json": "json", "jsonc": "javascript",
    "json5": "javascript", "jsonl": "json", "jsx": "jsx", "kt": "kotlin", "lock": "", "log": "", "lua": "lua",
    "m": "objective-c", "md": "markdown", "mjs": "javascript", "mts": "typescript", "php": "php", "pl": "perl",
    "plain": "", "py": "python", "pyi": "python", "r": "r", "rb": "ruby", "rs": "rust", "sh": "bash",
    "shell": "bash", "sql": "sql", "svg": "xml", "swift": "swift", "text": "", "toml": "toml", "ts": "typescript",
    "tsx": "tsx", "txt": "", "vue": "html", "xml": "xml", "yaml": "yaml", "yml": "yaml", "zsh": "bash",
}  # fmt: skip

Kind: TypeAlias = "tuple[str, ...] | None"
"""The kind of a token: its name, from the general to the special; None for what a lexer does not know."""
Token = tuple[int, Kind, str]
Action: TypeAlias = "Kind | Callable[[Lexer, re.Match[str]], Iterator[Token]]"
Move = int | str | tuple[int | str, ...]
Rule: TypeAlias = "tuple[Callable[[str, int], re.Match[str] | None], Action, Move | None]"
"""A row of a lexer's tables: what to match, what it is, and the state that follows."""


class Lexer(Protocol):
    """The part of a lexer of pygments that is used here; `_tokens` are the tables of one that works by states."""

    _tokens: dict[str, Sequence[Rule]]

    def get_tokens_unprocessed(self, text: str) -> Iterator[Token]: ...


_styles: dict[Kind, str] = {None: ""}
_lexers: dict[str, Lexer | None] = {}
_slow: set[type] = set()
_ready: set[type] = set()
"""Lexers that took too long once, and those that did well once."""


class TooSlow(BaseException):
    """Raised in the middle of a match, where nothing else can stop it; pygments must not take it for an error."""


def lines(code: str, hint: str) -> list[Row]:
    """A row for each line, as wide as the line is; `hint` is the word behind a fence or the name of a file."""
    if len(code) > MAX_CODE or any(len(line) > MAX_LINE for line in code.split("\n")):
        return [_bare(line) for line in code.split("\n")]
    return Highlighter(hint).feed(code + "\n")


class Highlighter:
    """The same for code that comes bit by bit: each call brings whole lines and is answered with their rows."""

    def __init__(self, hint: str) -> None:
        self._lexer = _lexer(hint)
        self._states = ["root"]
        self._back = ""
        self._read = 0

    def feed(self, text: str) -> list[Row]:
        code = text.removesuffix("\n")
        self._read += len(text)
        if self._lexer and (self._read > MAX_CODE or max(map(len, code.split("\n"))) > MAX_LINE):
            self._lexer = None
        skip = len(self._back)
        whole = self._back + text
        tokens = self._lexed(whole)
        if tokens is None or "".join(value for _, _, value in tokens) != whole:
            self._lexer = None
            return [_bare(line) for line in code.split("\n")]
        return _rows(iter(tokens), skip, len(whole))

    def _lexed(self, text: str) -> list[Token] | None:
        lexer = self._lexer
        if lexer is None or type(lexer) in _slow:
            return None
        if threading.current_thread() is not threading.main_thread():
            return self._tokens(lexer, text)  # there nobody waits for a key, and no signal comes
        kind = type(lexer)
        before = signal.signal(signal.SIGVTALRM, _stop)
        try:
            try:
                limit = (PATIENCE if kind in _ready else FIRST) + PER_CHARACTER * len(text)
                signal.setitimer(signal.ITIMER_VIRTUAL, limit)
                tokens = self._tokens(lexer, text)
                _ready.add(kind)
            finally:
                signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        except TooSlow:
            _slow.add(kind)
            return None
        finally:
            signal.signal(signal.SIGVTALRM, before)
        return tokens

    def _tokens(self, lexer: Lexer, text: str) -> list[Token]:
        return list(self._by_state(lexer, text) if _has_states(lexer) else self._anew(lexer, text))

    def peek(self, text: str) -> list[Row]:
        """The rows that `feed` would give, and nothing is changed by it."""
        before = self._lexer, list(self._states), self._back, self._read
        rows = self.feed(text)
        self._lexer, self._states, self._back, self._read = before
        return rows

    def _anew(self, lexer: Lexer, text: str) -> Iterator[Token]:
        self._back = text[text.rfind("\n", 0, max(len(text) - MAX_BACK // 2, 0)) + 1 :]
        return lexer.get_tokens_unprocessed(text)

    def _by_state(self, lexer: Lexer, text: str) -> Iterator[Token]:
        """What pygments does with its tables of states, but the states outlive the text."""
        rules, states = lexer._tokens, self._states
        at, stuck, end = 0, 0, len(text)
        again, before = end, list(states)
        while at < end:
            if text.startswith("/*", at) and text.find("*/", at + 2) < 0 and (kind := _comment(rules[states[-1]])):
                if end - at <= MAX_BACK:
                    again, before = at, list(states)
                yield at, kind, text[at:]
                break
            for rule in rules[states[-1]]:
                found = rule[0](text, at)
                if found:
                    break
            stuck = stuck + 1 if found and found.end() == at else 0
            if not found or stuck > MAX_STUCK:
                if text[at] == "\n":
                    states[:] = ["root"]
                yield at, None, text[at]
                at, stuck = at + 1, 0
                continue
            _, action, move = rule
            if found.end() == end and end - at <= MAX_BACK and not found[0].isspace() and found[0]:
                again, before = at, list(states)
            if callable(action):
                yield from action(lexer, found)
            elif action is not None:
                yield at, action, found[0]
            at = found.end()
            if move is not None:
                _move(states, move)
        self._back = text[again:]
        if again < end:
            self._states = before


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise TooSlow


def _comment(rules: Sequence[Rule]) -> Kind:
    """The kind of a comment in such marks; most languages know one only when it is closed, and here it may go on."""
    for match, action, _ in rules:
        found = match("/* */", 0)
        if found:
            return action if found.end() == 5 and isinstance(action, tuple) and action[:1] == ("Comment",) else None
    return None


def _move(states: list[str], move: Move) -> None:
    """One step in the tables: a number drops so many states, a name enters one; the last is never left."""
    for each in move if isinstance(move, tuple) else (move,):
        if isinstance(each, int):
            del states[max(len(states) + each, 1) :]
        elif each == "#pop":
            del states[max(len(states) - 1, 1) :]
        else:
            states.append(states[-1] if each == "#push" else each)


def _rows(tokens: Iterator[Token], skip: int, end: int) -> list[Row]:
    rows: list[Row] = []
    made: list[Span] = []
    for at, kind, value in tokens:
        if at < skip:
            value = value[skip - at :]
        if not value:
            continue
        style = _styles.get(kind)
        if style is None:
            style = _style(kind)
        first, *others = value.split("\n")
        if first:
            _add(made, first, style)
        for line in others:
            rows.append(_finished(made))
            made = []
            if line:
                _add(made, line, style)
    if made:
        rows.append(_finished(made))
    return rows


def _add(made: list[Span], text: str, style: str) -> None:
    if made and made[-1].style == style:
        made[-1] = Span(made[-1].text + text, style)
    else:
        made.append(Span(text, style))


def _finished(made: list[Span]) -> Row:
    """Tabs count from the start of the line, so they are opened when the line is whole."""
    if all(span.text.isascii() and span.text.isprintable() for span in made):
        return tuple(made)
    shown = [Span(visible(span.text), span.style) for span in made]
    if not any("\t" in span.text for span in shown):
        return tuple(shown)
    whole, kept = "", []
    for span in shown:
        before = len(expand_tabs(whole))
        whole += span.text
        kept.append(Span(expand_tabs(whole)[before:], span.style))
    return tuple(kept)


def _bare(line: str) -> Row:
    return (Span(harmless(line)),) if line else BLANK


def _style(kind: Kind) -> str:
    at = kind
    while at:
        name = ".".join(at)
        if name in STYLES:
            _styles[kind] = STYLES[name]
            return STYLES[name]
        at = at[:-1]
    _styles[kind] = ""
    return ""


def _has_states(lexer: Lexer) -> bool:
    own = type(lexer).get_tokens_unprocessed
    from pygments.lexer import RegexLexer  # late: 4 ms

    return bool(own is RegexLexer.get_tokens_unprocessed)


def _lexer(hint: str) -> Lexer | None:
    """The lexer, or None where there is none; kept, for making one costs more than using it."""
    word = hint.strip().split(" ")[0].split("{")[0].split(",")[0].rsplit("/", 1)[-1].lower()[:80]
    if word not in _lexers:
        if len(_lexers) > 200:
            _lexers.clear()
        _lexers[word] = _made(word)
    return _lexers[word]


def _made(word: str) -> Lexer | None:
    end = word.rsplit(".", 1)[-1]
    name = KNOWN.get(word, KNOWN.get(end))
    if not word or name == "":
        return None
    found = ""
    from pygments.lexers._mapping import LEXERS  # late: 4 ms

    for each, (_, _, aliases, patterns, _) in LEXERS.items():
        if (name or word) in aliases:
            found = each
            break
        if not found and (f"*.{end}" in patterns or word in (pattern.lower() for pattern in patterns)):
            found = each
    if not found:
        return None
    from pygments import lexers  # late: 0.1 ms

    lexer: Lexer = getattr(lexers, found)(stripnl=False, ensurenl=False)
    return lexer
