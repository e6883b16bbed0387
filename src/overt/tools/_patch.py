"""Patches as models write them: unified diffs, git's extras, and the `*** Begin Patch` form.

Line counts in hunk headers are trusted when they fit and ignored when they do not, since models miscount.
Names that would leave the tree are refused here already; `workspace` checks links.
"""

import re
from typing import Literal

from msgspec import Struct

from overt.core.errors import ToolError
from overt.tools._hunks import FilePatch, Hunk, checked_path, invalid
from overt.tools._patch_format import find_envelope, read_envelope

HEADER = r"^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@"
HEREDOC = r"<<-?[ \t]*['\"]?(\w+)"
QUOTED = rb"\\([0-7]{3}|.)"
ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b'"': b'"', b"\\": b"\\", b"a": b"\a", b"b": b"\b"}
UNSUPPORTED = {
    "copy from ": "copies",
    "GIT binary patch": "binary patches",
    "Binary files ": "binary patches",
    "old mode ": "mode changes (use chmod through bash)",
}


class FileNames(Struct, kw_only=True):
    """What the lines above a file's hunks say; "" where they say nothing, None for /dev/null."""

    old: str | None = ""
    new: str | None = ""
    git_old: str = ""
    git_new: str = ""
    rename_from: str = ""
    rename_to: str = ""
    kind: Literal["add", "update", "delete"] = "update"


def parse_patch(patch: str) -> tuple[FilePatch, ...]:
    """Return every file that the patch touches, in order."""
    lines = patch.replace("\r\n", "\n").split("\n")
    start = find_envelope(lines)
    leftovers = {"", "```", "EOF"}
    if start and (heredoc := re.search(HEREDOC, "\n".join(lines[:start]))):
        leftovers.add(heredoc[1])
    while lines and (lines[-1].rstrip() or lines[-1]) in leftovers:
        lines.pop()
    patches = read_envelope(lines[start:]) if start is not None else _Unified(lines).read()
    if not patches:
        raise invalid("No file was found in the patch. Start each with `--- a/path` and `+++ b/path`, then `@@` hunks.")
    return tuple(patches)


class _Unified:
    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0

    def read(self) -> list[FilePatch]:
        patches: list[FilePatch] = []
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if line.startswith("diff --git ") or self._names_at(self.at):
                patches.append(self._file())
            elif line.startswith("@@"):
                raise invalid("A hunk stands before any `--- a/path` and `+++ b/path` lines.")
            else:
                self.at += 1
        return patches

    def _names_at(self, at: int) -> bool:
        return at + 1 < len(self.lines) and self.lines[at].startswith("--- ") and self.lines[at + 1].startswith("+++ ")

    def _file(self) -> FilePatch:
        names = self._names()
        hunks: list[Hunk] = []
        while self.at < len(self.lines) and self.lines[self.at].startswith("@@"):
            hunks.append(self._hunk())
        return _file_patch(names, tuple(hunks))

    def _names(self) -> FileNames:
        names = FileNames()
        if self.lines[self.at].startswith("diff --git "):
            names.git_old, names.git_new = _git_names(self.lines[self.at][11:])
            self.at += 1
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if self._names_at(self.at):
                names.old, names.new = _name(line[4:]), _name(self.lines[self.at + 1][4:])
                self.at += 2
                return names
            if line.startswith(("diff --git ", "@@")):
                return names
            self._extended(names, line)
            self.at += 1
        return names

    def _extended(self, names: FileNames, line: str) -> None:
        for start, what in UNSUPPORTED.items():
            if line.startswith(start):
                raise invalid(f"{what} are not supported in patches.".capitalize())
        if line.startswith(("new file mode ", "deleted file mode ")):
            if line.rstrip()[-6:] in ("120000", "160000"):
                raise ToolError("Links and submodules cannot be made or removed by a patch.", code="outside")
            names.kind = "add" if line.startswith("new") else "delete"
        elif line.startswith("rename from "):
            names.rename_from = _unquoted(line[12:])
        elif line.startswith("rename to "):
            names.rename_to = _unquoted(line[10:])

    def _hunk(self) -> Hunk:
        header = self.lines[self.at]
        self.at += 1
        match = re.match(HEADER, header)
        start = None
        if match:
            start = int(match[1])
            end = self._counted(int(match[2] or "1"), int(match[4] or "1"))
        else:
            end = None
        if end is None:
            end = self._until_next()
        body = [line or " " for line in self.lines[self.at : end]]
        self.at = end
        return Hunk(header=header, start=start, body=tuple(body))

    def _counted(self, old: int, new: int) -> int | None:
        """Return where the hunk ends by its counts, or None if it cannot end there."""
        at = self.at
        while old > 0 or new > 0:
            if at >= len(self.lines):
                return None
            sign = self.lines[at][:1] or " "
            if sign not in " +-\\":
                return None
            old -= sign in " -"
            new -= sign in " +"
            at += 1
        if old or new:
            return None
        if at < len(self.lines) and self.lines[at].startswith("\\"):
            at += 1
        return at if self._may_end(at) else None

    def _may_end(self, at: int) -> bool:
        if at >= len(self.lines) or self._names_at(at):
            return True
        line = self.lines[at]
        return line[:1] not in (" ", "+", "-") or line.rstrip() == "--"

    def _until_next(self) -> int:
        at = self.at
        while at < len(self.lines) and (self.lines[at][:1] or " ") in " +-\\" and not self._names_at(at):
            if self.lines[at].rstrip() == "--" and at + 2 >= len(self.lines):
                break  # the signature that git format-patch adds
            at += 1
        while at > self.at and not self.lines[at - 1]:
            at -= 1
        return at


def _file_patch(names: FileNames, hunks: tuple[Hunk, ...]) -> FilePatch:
    old, new = names.old, names.new
    if names.rename_from and names.rename_to:
        source, target = checked_path(names.rename_from), checked_path(names.rename_to)
        return FilePatch(kind="update", path=source, move_to=target, hunks=hunks)
    prefixed = all(name is None or name.startswith(prefix) for name, prefix in ((old, "a/"), (new, "b/")))
    if not old and not new:
        old, new = names.git_old, names.git_new
    elif prefixed:
        old, new = old and old[2:], new and new[2:]
    if names.kind == "add" or old is None:
        return FilePatch(kind="add", path=checked_path(new or ""), hunks=hunks)
    if names.kind == "delete" or new is None:
        return FilePatch(kind="delete", path=checked_path(old or ""), hunks=hunks)
    if not hunks:
        raise invalid(f"The patch for {old or new} has no hunk. Each starts with `@@ -line,count +line,count @@`.")
    # Different names without a rename: the new one counts, as in a diff of `x.orig` against `x`.
    return FilePatch(kind="update", path=checked_path(new or old or ""), hunks=hunks)


def _name(text: str) -> str | None:
    name = _unquoted(text.partition("\t")[0].rstrip()) if not text.startswith('"') else _unquoted(text.rstrip())
    return None if name == "/dev/null" else name


def _git_names(text: str) -> tuple[str, str]:
    """Both names of `a/x b/x`; they are the same unless a rename line says otherwise."""
    if text.startswith('"'):
        first = text.split('" ')[0] + '"'
        name = _unquoted(first)[2:]
        return name, name
    middle = len(text) // 2
    old, new = text[:middle], text[middle + 1 :]
    if old[2:] == new[2:]:
        return old[2:], new[2:]
    old, _, new = text.partition(" b/")
    return old.removeprefix("a/"), new


def _unquoted(text: str) -> str:
    """A name as git quotes it when it holds odd bytes."""
    text = text.strip()
    if len(text) < 2 or not text.startswith('"') or not text.endswith('"'):
        return text
    raw = re.sub(QUOTED, _byte, text[1:-1].encode("utf-8", "surrogatepass"))
    return raw.decode("utf-8", "surrogateescape")


def _byte(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    return bytes((int(escape, 8) & 255,)) if len(escape) == 3 else ESCAPES.get(escape, escape)
