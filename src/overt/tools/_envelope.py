"""The `*** Begin Patch` form: files by name, places by the lines around them."""

import re

from overt.tools._hunks import FilePatch, Hunk, checked_path, invalid

BEGIN = "*** Begin Patch"
END = "*** End Patch"
ADD = "*** Add File: "
UPDATE = "*** Update File: "
DELETE = "*** Delete File: "
MOVE = "*** Move to: "
END_OF_FILE = "*** End of File"
NUMBERS = r"^@@ -(\d{1,9})(?:,\d+)? \+\d+(?:,\d+)? @@"


def read_envelope(lines: list[str], at: int) -> list[FilePatch]:
    found: list[FilePatch] = []
    while at < len(lines) and lines[at].strip() != END:
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
        found.append(patch)
    return found


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
        at += 1
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
