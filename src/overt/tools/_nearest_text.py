"""Where in a file the text that a model meant most likely stands, and what is different there."""

from collections.abc import Sequence

from overt.lib.text import cut_line

NUMBERED = r"^ *\d+\t"
QUOTES = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " ", "–": "-", "—": "-"})
SHOWN = 8
MAX_CLOSE = 5000


def normalized(line: str) -> str:
    """Return a line without the differences that models stumble over: spacing, curly quotes, dashes."""
    return " ".join(line.translate(QUOTES).split())


def nearest_place(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    """Return the index in `lines` where most of `wanted` matches, spacing aside, or None if nothing is alike."""
    places: dict[str, list[int]] = {}
    for index, line in enumerate(lines):
        places.setdefault(normalized(line), []).append(index)
    votes: dict[int, int] = {}
    for offset, line in enumerate(wanted):
        key = normalized(line)
        for index in places.get(key, ())[:200] if key else ():
            votes[index - offset] = votes.get(index - offset, 0) + 1
    if votes:
        return max(max(votes, key=lambda start: (votes[start], -abs(start))), 0)
    longest = max(wanted, key=len, default="").strip()
    if len(longest) < 4:
        return None
    import difflib  # late: 0.8 ms

    close = difflib.get_close_matches(longest, [line.strip() for line in lines[:MAX_CLOSE]], n=1, cutoff=0.6)
    if not close:
        return None
    at = next(index for index, line in enumerate(lines) if line.strip() == close[0])
    return max(at - next(i for i, line in enumerate(wanted) if line.strip() == longest), 0)


def describe_difference(lines: Sequence[str], wanted: Sequence[str], start: int) -> str:
    """Describe the first line that differs at a place, and quote the lines that are there."""
    said = ""
    for offset, want in enumerate(wanted):
        have = lines[start + offset] if start + offset < len(lines) else None
        if have == want:
            continue
        if have is None:
            said = f"The file ends at line {len(lines)}."
        else:
            detail = _detail(have, want)
            said = f"Line {start + offset + 1} {detail}: it has {_quoted(have)}, expected {_quoted(want)}."
        break
    return f"{said}\n{excerpt(lines, start, min(len(wanted), SHOWN))}".strip()


def excerpt(lines: Sequence[str], start: int, count: int) -> str:
    return "\n".join(
        f"{number + 1:>6}\t{cut_line(line, 200)}" for number, line in enumerate(lines[start : start + count], start)
    )


def _detail(have: str, want: str) -> str:
    if have.strip() == want.strip():
        indents = have[: len(have) - len(have.lstrip())], want[: len(want) - len(want.lstrip())]
        if indents[0] == indents[1]:
            return "differs in spaces at its end"
        if "\t" in indents[0] + indents[1] and "\t" not in (indents[0] if "\t" in indents[1] else indents[1]):
            return "is indented with tabs in one and spaces in the other"
        return "differs in its indentation"
    if have.translate(QUOTES) == want.translate(QUOTES):
        return "differs in quotes or dashes"
    return "differs in spaces" if normalized(have) == normalized(want) else "differs"


def _quoted(line: str) -> str:
    return repr(cut_line(line, 160))
