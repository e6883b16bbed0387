"""What changed between two texts, as a unified diff and two counts."""

from typing import Literal

from overt.core.views import FileDiff

CONTEXT = 3
MAX_WORK = 20_000_000
MAX_LINES = 4000
NO_NEWLINE = "\\ No newline at end of file\n"
RENAMED = "rename from "
NEAR_LINES = 3
"""Changed ranges with at most this many unchanged lines between them count as one."""

Opcode = tuple[str, int, int, int, int]


def file_diff(path: str, old: str | None, new: str | None) -> FileDiff:
    """Return the difference for people; None stands for a file that does not exist."""
    before, after = _lines(old or ""), _lines(new or "")
    change: Literal["created", "updated", "deleted", "unchanged"] = "updated"
    if old is None:
        change = "created"
    elif new is None:
        change = "deleted"
    elif old == new:
        return FileDiff(path=path, diff="", change="unchanged")
    opcodes = compare(before, after)
    removed = sum(end - start for tag, start, end, _, _ in opcodes if tag != "equal")
    added = sum(end - start for tag, _, _, start, end in opcodes if tag != "equal")
    lines = _unified(before, after, opcodes)
    hidden = max(0, len(lines) - MAX_LINES)
    if hidden:
        lines[MAX_LINES:] = [f"\\ {hidden} more lines not shown\n"]
    return FileDiff(path=path, diff="".join(lines), change=change, added=added, removed=removed, hidden=hidden)


def renamed_from(file: FileDiff) -> str:
    """Return the path a file had before it was renamed, or an empty string."""
    return file.diff.partition("\n")[0].removeprefix(RENAMED) if file.diff.startswith(RENAMED) else ""


def changed_ranges(diff: str) -> list[tuple[int, int]]:
    """Return first and last line of every changed place, as the new file numbers them.

    Where lines were only removed, the last line is smaller than the first: the one that now stands there. A diff that
    was shortened has no ranges.
    """
    ranges: list[tuple[int, int]] = []
    number = 0
    for line in diff.split("\n"):
        sign = line[:1]
        if sign == "@":
            number = _first_line(line)
        elif sign == "\\" and not NO_NEWLINE.startswith(line):
            return []
        elif sign in ("+", "-"):
            last = number if sign == "+" else number - 1
            if ranges and number - ranges[-1][1] - 1 <= NEAR_LINES:
                ranges[-1] = ranges[-1][0], max(last, ranges[-1][1])
            else:
                ranges.append((number, last))
            number += sign == "+"
        elif sign == " ":
            number += 1
    return ranges


def _first_line(header: str) -> int:
    """Return the number of the first line of a hunk in the new file; an empty side names the line before it."""
    start, _, count = header.split(" ")[2][1:].partition(",")
    return int(start) + (count == "0")


def compare(before: list[str], after: list[str]) -> list[Opcode]:
    """Return opcodes as difflib does, but fast when most of both sides is the same."""
    head, shortest = 0, min(len(before), len(after))
    while head < shortest and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < shortest - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    left, right = before[head : len(before) - tail], after[head : len(after) - tail]
    found: list[Opcode] = [("equal", 0, head, 0, head)] if head else []
    found += _middle(left, right, head)
    if tail:
        found.append(("equal", len(before) - tail, len(before), len(after) - tail, len(after)))
    return found


def _middle(left: list[str], right: list[str], shift: int) -> list[Opcode]:
    if not left and not right:
        return []
    end = shift + len(left), shift + len(right)
    if not left:
        return [("insert", shift, shift, shift, end[1])]
    if not right:
        return [("delete", shift, end[0], shift, shift)]
    if len(left) * len(right) > MAX_WORK:
        return [("replace", shift, end[0], shift, end[1])]
    import difflib  # late: 0.9 ms

    matcher = difflib.SequenceMatcher(None, left, right, autojunk=len(left) + len(right) > 2000)
    return [(tag, a + shift, b + shift, c + shift, d + shift) for tag, a, b, c, d in matcher.get_opcodes()]


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    last = lines.pop()
    ended = [line + "\n" for line in lines]
    return [*ended, last] if last else ended


def _unified(before: list[str], after: list[str], opcodes: list[Opcode]) -> list[str]:
    out: list[str] = []
    for group in _groups(opcodes):
        first, last = group[0], group[-1]
        out.append(f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@\n")
        for tag, a, b, c, d in group:
            if tag == "equal":
                out += [_shown(" ", line) for line in before[a:b]]
                continue
            out += [_shown("-", line) for line in before[a:b]]
            out += [_shown("+", line) for line in after[c:d]]
    return out


def _groups(opcodes: list[Opcode]) -> list[list[Opcode]]:
    """Return hunks: runs of changes that share their context lines."""
    groups: list[list[Opcode]] = [[]]
    last = len(opcodes) - 1
    for index, (tag, a, b, c, d) in enumerate(opcodes):
        if tag != "equal":
            groups[-1].append((tag, a, b, c, d))
            continue
        if index == 0:
            keep = min(CONTEXT, b - a)
            groups[-1].append((tag, b - keep, b, d - keep, d))
        elif index == last:
            keep = min(CONTEXT, b - a)
            groups[-1].append((tag, a, a + keep, c, c + keep))
        elif b - a > 2 * CONTEXT:
            groups[-1].append((tag, a, a + CONTEXT, c, c + CONTEXT))
            groups.append([(tag, b - CONTEXT, b, d - CONTEXT, d)])
        else:
            groups[-1].append((tag, a, b, c, d))
    return [group for group in groups if any(code[0] != "equal" for code in group)]


def _range(start: int, end: int) -> str:
    length = end - start
    if length == 1:
        return str(start + 1)
    return f"{start + 1 if length else start},{length}"


def _shown(sign: str, line: str) -> str:
    return sign + line if line.endswith("\n") else f"{sign}{line}\n{NO_NEWLINE}"
