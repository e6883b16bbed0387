"""The `*** Begin Patch` form: files by name, places by the lines around them.

Models pad and indent the markers, leave out a space in them, and wrap the text in fences or a heredoc. `marked_lines`
puts the markers straight first, so that the functions that read the sections see one spelling only.
"""

import re
from collections.abc import Sequence

from overt.tools._hunks import FilePatch, Hunk, checked_path, invalid

BEGIN = "*** Begin Patch"
END = "*** End Patch"
ADD = "*** Add File: "
UPDATE = "*** Update File: "
DELETE = "*** Delete File: "
MOVE = "*** Move to: "
END_OF_FILE = "*** End of File"
HEADERS = (ADD, UPDATE, DELETE)
BARE = (BEGIN, END, END_OF_FILE)
SPELLINGS = {marker.strip("*: ").lower(): marker for marker in (*HEADERS, MOVE, *BARE)}
MARKER = (
    r"(?i)^([ \t]*)\*{3}[ \t]*"
    r"(?:((?:Add|Update|Delete) File|Move to)[ \t]*:[ \t]*(.*)|(Begin Patch|End Patch|End of File)[ *]*)$"
)
NUMBERS = r"^@@ -(\d{1,9})(?:,\d+)? \+\d+(?:,\d+)? @@"


def read_marker(line: str) -> tuple[str, str, str]:
    """Return a marker's indentation, its usual spelling and what follows it; the spelling is empty for other lines."""
    match = re.match(MARKER, line.rstrip())
    if not match:
        return "", "", ""
    return match[1], SPELLINGS[(match[2] or match[4]).lower()], (match[3] or "").rstrip()


def find_envelope(lines: Sequence[str]) -> int | None:
    """Return the index of the first line of the text that belongs to a file, or None if the form is another one.

    `*** Begin Patch` may be missing. Where file names in the style of diff stand before it, it is part of a hunk.
    """
    for at, line in enumerate(lines):
        if line.startswith("diff --git ") or re.match("--- .*\n\\+\\+\\+ ", "\n".join(lines[at : at + 2])):
            return None
        indent, marker, _ = read_marker(line)
        if marker == BEGIN:
            return at + 1
        if marker in HEADERS and not indent:
            return at
    return None


def marked_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines of the sections, every marker at the beginning of its line and in its usual spelling.

    A line of a hunk may read like a marker behind its leading space. An indented marker therefore counts only when
    the first one is indented alike, or when nothing of a patch follows it.
    """
    first = next((line for line in lines if line.strip()), "")
    indent = read_marker(first)[0]
    if indent and all(line.startswith(indent) for line in _until_end(lines) if line.strip()):
        lines, indent = [line.removeprefix(indent) for line in lines], ""
    marked: list[str] = []
    for at, line in enumerate(lines):
        padding, marker, rest = read_marker(line)
        if not marker or (padding not in ("", indent) and not _is_last(marker, lines[at + 1 :])):
            marked.append(line)
        elif marker == END and not any(read_marker(later)[:2] == ("", BEGIN) for later in lines[at + 1 :]):
            break
        elif marker not in (BEGIN, END):
            marked.append(marker + rest)
    return marked


def _until_end(lines: Sequence[str]) -> Sequence[str]:
    end = next((at for at, line in enumerate(lines) if read_marker(line)[1] == END), len(lines))
    return lines[:end]


def _is_last(marker: str, following: Sequence[str]) -> bool:
    """True for an end marker that no line of a hunk follows."""
    if marker == END_OF_FILE:
        following = [line for line in following if line.strip()][:1]
        return not following or bool(read_marker(following[0])[1])
    return marker == END and not any(line.startswith(("+", "-", "@@", "*** ")) for line in following)


def read_envelope(raw_lines: Sequence[str]) -> list[FilePatch]:
    """Return every file of a patch, from its lines after `*** Begin Patch`."""
    lines = marked_lines(raw_lines)
    file_patches: list[FilePatch] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(ADD):
            patch, at = _add(lines, at)
        elif line.startswith(UPDATE):
            patch, at = _update(lines, at)
        elif line.startswith(DELETE):
            patch, at = FilePatch(kind="delete", path=checked_path(line[len(DELETE) :].strip())), at + 1
        elif not line.strip():
            at += 1
            continue
        else:
            raise invalid(f"Unexpected line in the patch: {line[:80]!r}. Expected `{UPDATE}path` or Add or Delete.")
        file_patches.append(patch)
    return file_patches


def _add(lines: list[str], at: int) -> tuple[FilePatch, int]:
    path = checked_path(lines[at][len(ADD) :].strip())
    at += 1
    body: list[str] = []
    while at < len(lines) and not lines[at].startswith("*** "):
        if lines[at] and not lines[at].startswith("+"):
            raise invalid(f"Every line of a new file starts with `+`; {path} has {lines[at][:80]!r}.")
        body.append(lines[at] or "+")
        at += 1
    while body and not lines[at - 1]:
        body.pop()  # spacing before the next section
        at -= 1
    return FilePatch(kind="add", path=path, hunks=(Hunk(header="", start=None, body=tuple(body)),)), at


def _update(lines: list[str], at: int) -> tuple[FilePatch, int]:
    path = checked_path(lines[at][len(UPDATE) :].strip())
    at += 1
    target = ""
    if at < len(lines) and lines[at].startswith(MOVE):
        target = checked_path(lines[at][len(MOVE) :].strip())
        target = "" if target == path else target
        at += 1
    if lines[at : at + 2] in ([f"--- a/{path}", f"+++ b/{path}"], [f"--- {path}", f"+++ {path}"]):
        at += 2  # the names once more, in the style of diff
    hunks: list[Hunk] = []
    while at < len(lines) and (not lines[at].startswith("*** ") or lines[at].strip() == END_OF_FILE):
        hunk, at = _hunk(lines, at, path)
        if hunk.body:
            hunks.append(hunk)
    if not hunks and not target:
        raise invalid(f"The patch for {path} changes nothing. Give lines that start with a space, `-` or `+`.")
    return FilePatch(kind="update", path=path, move_to=target, hunks=tuple(hunks)), at


def _hunk(lines: list[str], at: int, path: str) -> tuple[Hunk, int]:
    anchors: list[str] = []
    header, start = "", None
    while at < len(lines) and lines[at].startswith("@@"):
        header = lines[at]
        numbers = re.match(NUMBERS, header)
        if numbers:
            start = int(numbers[1])
        elif header[2:].strip():
            anchors.append(header[2:].strip())
        at += 1
    body: list[str] = []
    while at < len(lines) and not lines[at].startswith(("*** ", "@@")):
        line = lines[at] or " "
        if line[0] not in " +-\\":
            raise invalid(f"A line of the patch for {path} starts with none of space, `-`, `+`: {line[:80]!r}.")
        body.append(line)
        at += 1
    at_end = at < len(lines) and lines[at].strip() == END_OF_FILE
    if body and not lines[at - 1] and not at_end:
        body.pop()  # an empty line before the next section is spacing, not context
    hunk = Hunk(header=header, start=start, body=tuple(body), anchors=tuple(anchors), at_end=at_end, ordered=True)
    return hunk, at + at_end
