"""The sources of the prefix: each becomes fragments that know where they came from and how much of it they hold."""

from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256

from msgspec import Struct
from msgspec.structs import replace

from overt.core.text_fragments import Fragment, Origin, SourceFile
from overt.lib.package_data import read_text

CUT = "[cut here: {where} has {size} characters, of which {room} are shown]"
TOO_LARGE = "[cut here: {where} is too large; its first {room} characters are shown]"
ORDER = "Rules follow, the most general ones first. Where two of them disagree, the later one holds: {places}"
WIDEST = 120


class IndexedNote(Struct, frozen=True, kw_only=True):
    """A note: its name and first line go into the index, its text behind it while there is room."""

    name: str
    first: str
    source: SourceFile


def built_in_prompt() -> Fragment:
    text = read_text("overt.context", "prompts/system.md").strip()
    return Fragment(key="system", text=text, origin=Origin(kind="harness", where="context/prompts/system.md"))


def given_prompt(key: str, text: str, *, origin: Origin, cap: int) -> Fragment:
    """A text from a flag, a variable or the configuration."""
    fragment = Fragment(key=key, text=text.strip(), origin=origin)
    if len(fragment.text) <= cap:
        return fragment
    mark = CUT.format(where=origin.where, size=len(fragment.text), room=cap)
    return replace(fragment, text=f"{fragment.text[:cap]}\n{mark}", cap=cap)


def files(key: str, title: str, sources: Sequence[SourceFile], cap: int) -> tuple[Fragment, ...]:
    """Files that share a cap, each under a heading that says its place."""
    rooms = shares([len(source.text().strip()) for source in sources], cap)
    return tuple(
        file(key, f"# {title} ({source.where})", source, room)
        for source, room in zip(sources, rooms, strict=True)
        if source.text().strip()
    )


def file(key: str, head: str, source: SourceFile, room: int) -> Fragment:
    """`lines` are those that are shown; `hash` is of the whole file, so a part of one too large to read has none."""
    text = source.text()
    body = source.body()
    skipped = text[: text.index(body, source.start)].count("\n")
    shown = body[:room].rstrip()
    lines = f"{skipped + 1}-{skipped + shown.count(chr(10)) + 1}" if shown else ""
    digest = sha256(source.content).hexdigest() if source.whole else ""
    origin = Origin(kind="file", where=source.where, lines=lines, hash=digest)
    mark = ""
    if len(body) > room:
        mark = CUT.format(where=source.where, size=len(body), room=len(shown))
    elif not source.whole:
        mark = TOO_LARGE.format(where=source.where, room=len(shown))
    said = "\n".join(part for part in (head, shown, mark) if part)
    return Fragment(key=key, text=said, origin=origin, cap=room if mark else 0)


def shares(sizes: Sequence[int], cap: int) -> tuple[int, ...]:
    """How much of each text there is room for: the last come first, because they hold over the others."""
    rooms: list[int] = []
    for size in reversed(sizes):
        rooms.append(min(size, cap))
        cap -= rooms[-1]
    return tuple(reversed(rooms))


def order(rules: Sequence[Fragment]) -> Iterator[Fragment]:
    """Which rules hold over which, where there are several."""
    if len(rules) > 1:
        text = ORDER.format(places=", ".join(fragment.origin.where for fragment in rules))
        yield Fragment(key="order", text=text, origin=Origin(kind="harness", where="context/prefix_sources"))


def notes(title: str, where: str, entries: Sequence[IndexedNote], cap: int) -> tuple[Fragment, ...]:
    """An index of all notes, then those that are longer than their line in it, while there is room.

    The hash of the index is over the hashes of all of them.
    """
    if not entries:
        return ()
    lines = [f"# {title} ({where})"]
    longer: list[IndexedNote] = []
    for entry in entries:
        text = entry.source.body()
        short = text if "\n" not in text and len(text) <= WIDEST else ""
        lines.append(f"- {entry.name}: {short or entry.first[:WIDEST]}")
        longer += [] if short else [entry]
    index = "\n".join(lines)
    left = cap - len(index)
    if left < 0:
        mark = CUT.format(where=f"the index of {where}", size=len(index), room=cap)
        return (_index(f"{index[:cap]}\n{mark}", where, entries, cap=cap),)
    bodies: list[Fragment] = []
    for entry in longer:
        size = len(entry.source.body())
        bodies += [file("notes", f"## {entry.name}", entry.source, left)] if left > 0 else []
        index += "" if left > 0 else f"\n[left out, no room: {entry.name}]"
        left -= size
    return (_index(index, where, entries, cap=cap if left < 0 else 0), *bodies)


def _index(text: str, where: str, entries: Sequence[IndexedNote], *, cap: int) -> Fragment:
    digest = sha256()
    for entry in entries:
        digest.update(sha256(entry.source.content).digest())
    return Fragment(key="notes", text=text, origin=Origin(kind="file", where=where, hash=digest.hexdigest()), cap=cap)


def environment(facts: Mapping[str, str], *, cap: int) -> Fragment:
    """Facts as they are when the session begins; what changes later is told in messages."""
    text = "\n".join(("# Environment", *(f"{name}: {value}" for name, value in facts.items())))
    return given_prompt("environment", text, origin=Origin(kind="harness", where="environment"), cap=cap)
