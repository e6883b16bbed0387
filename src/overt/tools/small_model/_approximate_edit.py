"""What a careless edit may have meant: one place in the text, and how the new lines stand there."""

import re
from collections.abc import Iterator

from overt.tools._nearest_text import NUMBERED
from overt.tools._replace import Wording, replace_text

MARKS = "'\"‘’“”`"
TOKEN = rf"[{MARKS}]|\w+|[^\w\s]"
MOST_TOKENS = 2000
WORDING = Wording(
    old="old",
    new="new",
    make_unique='To change all of them add "all": true; for one of them, give more of its lines.',
)


def possible_edits(text: str, old: str, new: str, *, every: bool = False) -> Iterator[tuple[str, str]]:
    """The new text and what had to be put right, likeliest first; a ToolError when nothing fits, or too much does."""
    numbered = _unnumbered(old, new)
    if numbered is not None:
        old, new = numbered
    note = "line numbers left out of the edit" if numbered else ""
    if not old.strip() and new.strip():
        yield _at_the_end(text, new), note
        return
    at = text.find(old) if old and old != new else -1
    if at >= 0 and text.count(old) == 1:
        yield from _exact(text, at, old=old, new=new, note=note)
        return
    span = _only_place(text, old) if at < 0 and old != new else None
    if span is None and at < 0 and (bare := _unquoted(text, old, new)):
        yield bare, "edit matched apart from quotes"
        return
    if span is None:
        yield replace_text(text, old, new, every=every, wording=WORDING)[0], note
        return
    if not new.strip():
        span = _whole_lines(text, *span) or span
    place = text[span[0] : span[1]]
    fresh = _requoted(place, old.strip(), new.strip())
    why = "white space" if fresh == new.strip() and _bare(place) == _bare(old) else "quotes"
    for lines in _indentations(text, span[0], old=old, new=fresh):
        yield text[: span[0]] + lines + text[span[1] :], f"edit matched apart from {why}"


def _exact(text: str, at: int, *, old: str, new: str, note: str) -> Iterator[tuple[str, str]]:
    end = at + len(old)
    held = None if new.strip() else _whole_lines(text, at, end)
    if held and held != (at, end):
        yield text[: held[0]] + text[held[1] :], note or "took out the line that the edit emptied"
        return
    if old.endswith("\n") and new and not new.endswith("\n") and end < len(text):
        new += "\n"
        note = note or "kept the end of the line"
    yield text[:at] + new + text[end:], note
    for lines in _indentations(text, at, old=old, new=new):
        yield text[:at] + lines + text[end:], "indentation of the new lines put right"
    if new.startswith(old) and new[len(old) :].strip():
        yield _before(text, at, new[len(old) :]), "new lines put before the piece, not into it"


def _whole_lines(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The lines that hold this piece, when they hold nothing else."""
    first = text.rfind("\n", 0, start) + 1
    last = end if end and text[end - 1] == "\n" else text.find("\n", end) + 1 or len(text)
    return (first, last) if not text[first:start].strip() and not text[end:last].strip() else None


def _at_the_end(text: str, new: str) -> str:
    head = text.rstrip()
    lines = new.strip("\n")
    if not head:
        return lines + "\n"
    gap = "\n\n\n" if lines.startswith(("def ", "class ", "async def ", "@")) else text[len(head) :] or "\n"
    return f"{head}{gap}{lines}\n"


def _before(text: str, at: int, lines: str) -> str:
    """The lines before the one at this place and what belongs to it: comments and decorators."""
    start = text.rfind("\n", 0, at) + 1
    while start:
        above = text.rfind("\n", 0, start - 1) + 1
        if not text[above:start].lstrip().startswith(("@", "#")):
            break
        start = above
    gap = "\n\n\n" if text[start : start + 1].strip() else "\n\n"
    return text[:start] + lines.strip("\n") + gap + text[start:]


def _unnumbered(old: str, new: str) -> tuple[str, str] | None:
    filled = [line for line in old.split("\n") if line.strip()]
    if not filled or not all(re.match(NUMBERED, line) for line in filled):
        return None
    return re.sub(NUMBERED, "", old, flags=re.M), re.sub(NUMBERED, "", new, flags=re.M)


def _only_place(text: str, old: str) -> tuple[int, int] | None:
    """Where the words and marks of `old` stand in this order, spacing and kinds of quotes aside, if once only."""
    tokens = re.findall(TOKEN, old)
    if not 0 < len(tokens) <= MOST_TOKENS:
        return None
    parts: list[str] = []
    before = ""
    for token in tokens:
        if parts:
            parts.append(r"\s+" if _word(before) and _word(token) else r"\s*")
        parts.append(f"[{MARKS}]" if token in MARKS else re.escape(token))
        before = token
    edges = r"(?<!\w)" if _word(tokens[0]) else "", r"(?!\w)" if _word(tokens[-1]) else ""
    places = list(re.finditer(edges[0] + "".join(parts) + edges[1], text))
    return places[0].span() if len(places) == 1 else None


def _unquoted(text: str, old: str, new: str) -> str:
    """The text with the words that differ replaced, where `old` stands once but for quotes that it left out."""
    words, fresh = ([match for match in re.finditer(TOKEN, each) if match[0] not in MARKS] for each in (old, new))
    if not 1 < len(words) <= MOST_TOKENS or not fresh:
        return ""
    between = rf"[\s{MARKS}]*"
    pattern = between.join(f"({re.escape(word[0])})" for word in words)
    edges = r"(?<!\w)" if _word(words[0][0]) else "", r"(?!\w)" if _word(words[-1][0]) else ""
    places = list(re.finditer(edges[0] + pattern + edges[1], text))
    if len(places) != 1 or len(set("".join(old.split())) & set(MARKS)) > 1:
        return ""
    same = [left[0] == right[0] for left, right in zip(words, fresh, strict=False)]
    head = same.index(False) if False in same else len(same)
    most = min(len(words), len(fresh)) - head
    tail = 0
    while tail < most and words[-1 - tail][0] == fresh[-1 - tail][0]:
        tail += 1
    if head and tail and head + tail == len(words) < len(fresh):
        start = places[0].start(head + 1)
        added = _requoted(places[0][0], old, new[fresh[head].start() : fresh[-tail].start()].rstrip())
        opened = text[start - 1] in MARKS and _word(words[head][0])
        return "" if opened else text[:start] + added + text[start:]
    if head + tail >= len(words) or head + tail >= len(fresh):
        return ""  # something is added or taken away, and where the quotes belong is anybody's guess
    start, end = places[0].start(head + 1), places[0].end(len(words) - tail)
    return text[:start] + new[fresh[head].start() : fresh[-1 - tail].end()] + text[end:]


def _word(token: str) -> bool:
    return token[0].isalnum() or token[0] == "_"


def _bare(text: str) -> str:
    return "".join(text.split())


def _requoted(place: str, old: str, new: str) -> str:
    """New text in the file's own kind of quotes, where the file has one kind and the model used the other."""
    for ours, theirs in (('"', "'"), ("'", '"')):
        if ours in place and theirs not in place and theirs in old and ours not in old and ours not in new:
            return new.replace(theirs, ours)
    return new


def _indentations(text: str, at: int, *, old: str, new: str) -> Iterator[str]:
    """The new lines as they would stand at this place: moved to its indentation, or as they came."""
    start = text.rfind("\n", 0, at) + 1
    here = text[start:at]
    first, *rest = new.split("\n")
    if here.strip() == "" and rest:
        yield "\n".join([first, *(_moved(line, _indent(old), here) for line in rest)])
        # The first line lost its indentation and the others kept theirs, from wherever they were thought to stand.
        least = min((_indent(line) for line in rest if line.strip()), key=len, default="")
        yield "\n".join([first, *(_moved(line, least, here) for line in rest)])
    yield new


def _moved(line: str, base: str, here: str) -> str:
    return here + line.removeprefix(base) if line.strip() else line


def _indent(text: str) -> str:
    line = next((line for line in text.split("\n") if line.strip()), "")
    return line[: len(line) - len(line.lstrip())]
