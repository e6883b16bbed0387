"""What a prompt points at with `@`: files, parts of files and folders, put before it as the read tool would show them.

A reference is one only when something is there. An address (`me@example.com`), a decorator (`@property`) and a
package (`@scope/name`) are left alone. Texts without blanks between words are searched for the longest name that
exists, so `看@src/a.py里的错误` means `src/a.py`.
"""

import re
from collections.abc import Callable, Iterator, Sequence

from msgspec import Struct
from msgspec.structs import replace

from overt.core.errors import ToolError
from overt.core.events import Noticed
from overt.core.messages import Document, Image, Message, Part, Text
from overt.core.protocols import Hands
from overt.core.text_fragments import Origin
from overt.core.tool import Outcome
from overt.core.views import Excerpt
from overt.lib.result_limit import ResultLimit, limited_to
from overt.lib.translations import say
from overt.tools.list import list_
from overt.tools.read import read

MOST = 12
MOST_BYTES = 128 * 1024
MOST_IMAGE = 2 * 1024 * 1024
MOST_LOOKED = 300
"""Words with an @ that are looked up; a log or a list that was pasted may hold any number of them."""
MOST_TOLD = 5
LONGEST_TOLD = 120
TRIES = 12
LONGEST = 1024

ENDS = "\\s\"'`<>|,;()\\[\\]{}，。；：！？、（）【】《》“”‘’「」…"
FOUND = rf'(?<![A-Za-z0-9_.+\-@/])@(?:"([^"\n]+)"(?::(\d{{1,9}})(?:-(\d{{1,9}}))?)?|([^{ENDS}@]+))'
LINES = r"(.+?):(\d{1,9})(?:-(\d{1,9}))?(?!\d)"
SEAM = r"(?<=[\x21-\x7e])(?=[^\x21-\x7e])|(?<=[^\x21-\x7e])(?=[\x21-\x7e])"
PUNCTUATION = ".:!?~*_"


class ReferenceContext(Struct, frozen=True, kw_only=True):
    """What a reference is read through."""

    hands: Hands
    may_read: Callable[[str], bool]
    exists: Callable[[str], bool]
    limit: ResultLimit
    led: bool


class Reference(Struct, frozen=True, kw_only=True):
    """A place that a prompt names, from line `first` to `last` when it says so."""

    path: str
    first: int = 0
    last: int = 0


async def references(
    text: str,
    hands: Hands,
    may_read: Callable[[str], bool],
    *,
    exists: Callable[[str], bool],
    limit: ResultLimit,
    led: bool = False,
) -> tuple[tuple[Message, ...], tuple[Noticed, ...]]:
    """What goes before the prompt, and what a person should know of what does not.

    `exists` is asked first, so that a word that is no file costs little. `led`: whole files that the words of a
    prompt name stand before it already, for a small model.
    """
    reach = ReferenceContext(hands=hands, may_read=may_read, exists=exists, limit=limit, led=led)
    messages: list[Message] = []
    notices: list[Noticed] = []
    room = MOST_BYTES
    places = tuple(dict.fromkeys(_named(text, reach.exists, notices)))
    for number, reference in enumerate(places):
        if number == MOST or room <= 0:
            notices.append(_notice("refer.too_many", what=_listed([each.path for each in places[number:]])))
            break
        if not reach.may_read(reference.path):
            notices.append(_notice("refer.denied", path=_short(reference.path)))
            continue
        try:
            with limited_to(limit):
                message = await _attached(reference, reach)
        except ToolError as error:
            notices.append(_notice("refer.failed", path=_short(reference.path), why=error.message))
            continue
        if message is not None:
            messages.append(message)
            room -= len(message.text().encode("utf-8", "replace"))
    return tuple(messages), tuple(notices)


def _notice(key: str, **values: object) -> Noticed:
    return Noticed(text=say(key, **values), level="warning")


def _listed(paths: Sequence[str]) -> str:
    more = len(paths) - MOST
    names = [f"@{_short(path)}" for path in paths[:MOST]]
    return ", ".join((*names, f"+ {more}") if more > 0 else names)


def _short(path: str) -> str:
    return path if len(path) <= LONGEST_TOLD else f"{path[: LONGEST_TOLD - 1]}…"


# ── which places a text names ────────────────────────────────────────────────────────────────────────────


def _named(text: str, exists: Callable[[str], bool], notices: list[Noticed]) -> Iterator[Reference]:
    missing: dict[str, None] = {}
    for number, match in enumerate(re.finditer(FOUND, text)):
        if number == MOST_LOOKED:
            notices.append(_notice("refer.too_many", what=f"{_short(match[0])}, …"))
            break
        quoted, first, last, word = match.groups()
        if quoted is not None:
            reference = Reference(path=quoted, first=int(first or 0), last=int(last or first or 0))
            candidates = [reference]
        else:
            candidates = list(_candidates(word[:LONGEST]))
        meant = next((each for each in candidates if _is_place(each.path, exists)), None)
        if meant is not None:
            yield replace(meant, path=meant.path.removeprefix("./"))
        elif quoted is not None or _looks_like_a_file(candidates, text[match.end() : match.end() + 1]):
            missing[_meant(candidates) if quoted is None else quoted] = None
    if len(missing) <= MOST_TOLD:
        notices += [_notice("refer.missing", path=_short(path)) for path in missing]
    else:
        notices.append(_notice("refer.missing_many", what=_listed([*missing])))


def _candidates(word: str) -> Iterator[Reference]:
    """The readings of a word, the longest name first."""
    words = [word, word.rstrip(PUNCTUATION)]
    seams = [match.start() for match in re.finditer(SEAM, word)]
    for seam in reversed(seams[:TRIES]):
        words += [word[:seam], word[:seam].rstrip(".:!?~*_-")]
    for each in dict.fromkeys(words):
        if not each:
            continue
        yield Reference(path=each)
        if lines := re.fullmatch(LINES, each):
            path, first, last = lines.groups()
            yield Reference(path=path, first=int(first), last=int(last or first))


def _is_place(path: str, exists: Callable[[str], bool]) -> bool:
    return "\0" not in path and path.strip("/.") != "" and exists(path)


def _meant(candidates: list[Reference]) -> str:
    """Return the name that the user most likely meant if none of the candidates exists."""
    lined = (each.path for each in candidates if each.first)
    return next(lined, candidates[0].path.rstrip(PUNCTUATION))


def _looks_like_a_file(candidates: list[Reference], behind: str) -> bool:
    """True if the user meant a file that does not exist: not a decorator with arguments, nor a package."""
    if any(each.first for each in candidates):
        return True
    path = _meant(candidates)
    name = path.rpartition("/")[2]
    stem, dot, ending = name.rpartition(".")
    plain = bool(stem and dot) and ending.isascii() and ending.isalnum() and len(ending) <= 5
    return behind != "(" and plain and ("/" in path or "." not in stem)


# ── what stands there ────────────────────────────────────────────────────────────────────────────────────


async def _attached(reference: Reference, reach: ReferenceContext) -> Message | None:
    loan = reach.hands.lend("reference", {"files": "read"})
    window = {"offset": max(reference.first, 1)} if reference.first else {}
    if reference.first:
        window["limit"] = max(reference.last - reference.first, 0) + 1
    try:
        outcome: Outcome = await read.run(read.args(path=reference.path, **window), **loan.capabilities)
    except ToolError as error:
        if error.code == "binary":
            return _told(reference.path, "", f"{error.message} It is not attached.")
        if error.code != "folder":
            raise
        listed: Outcome = await list_.run(list_.args(path=reference.path), **loan.capabilities)
        path = reference.path.rstrip("/") + "/"
        return _told(path, f"The user refers to the folder {path}:", _clipped(listed.text, reach.limit))
    if outcome.parts:
        return _pictured(reference.path, outcome)
    if not isinstance(outcome.view, Excerpt):
        return _told(reference.path, f"The user refers to {reference.path}:", _clipped(outcome.text, reach.limit))
    if reach.led and not reference.first:
        return None
    return _excerpt(reference, outcome, outcome.view, hash=loan.journal.seen.get(outcome.view.path, ""), reach=reach)


def _excerpt(reference: Reference, outcome: Outcome, view: Excerpt, *, hash: str, reach: ReferenceContext) -> Message:
    body = _clipped(outcome.text, reach.limit)
    uncut = body == outcome.text and not view.truncated
    whole = uncut and not reference.first and view.first <= 1 and view.last == view.total
    lines = f"{view.first}-{view.last}" if view.last else ""
    part = f", lines {lines}" if reference.first else ""
    message = _told(view.path, f"The user refers to {view.path}{part}:", body)
    origin = Origin(kind="file", where=view.path, lines=lines, hash=hash if whole else "")
    return replace(message, origin=origin)


def _pictured(path: str, outcome: Outcome) -> Message:
    """A small picture is shown; of anything else it is said what it is."""
    images: list[Part] = [part for part in outcome.parts if isinstance(part, Image) and len(part.data) <= MOST_IMAGE]
    later = any(isinstance(part, Document) for part in outcome.parts) or not images
    message = _told(
        path, f"The user refers to {path}:", outcome.text + (" It is not attached; read shows it." if later else "")
    )
    return replace(message, parts=(*message.parts, *images))


def _told(path: str, head: str, body: str) -> Message:
    text = "\n".join(part for part in (head, body) if part)
    return Message(role="user", parts=(Text(text=f"[overt] {text}"),), origin=Origin(kind="file", where=path))


def _clipped(text: str, limit: ResultLimit) -> str:
    return limit.clip(text, "read shows the rest")
