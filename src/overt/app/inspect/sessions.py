"""Sessions of the project for the picker: in pieces, each with a preview, and searched through in pieces too."""

import os
from itertools import islice

from overt.app.conversation import Conversation
from overt.app.inspect.inspector_values import Preview, SessionPage, SessionRow
from overt.core.errors import OvertError, SessionError
from overt.core.events import Replied, UserSpoke
from overt.sessions.entries import sound_entries
from overt.sessions.index import paths, summary_or_name
from overt.sessions.load import open_regular
from overt.sessions.search import search as search_in

PAGE = 100
"""Sessions that are read at once."""
SEARCHED = 20
HITS = 3
TAILS = (64 * 1024, 1024 * 1024, 8 * 1024 * 1024)
LONGEST = 4000


def session_page(conversation: Conversation, start: int) -> SessionPage:
    """The one written last first."""
    known = _known(conversation)
    part = known[start : start + PAGE]
    return SessionPage(tuple(_row(path, conversation) for path in part), _following(start + PAGE, known), len(known))


def search_page(conversation: Conversation, words: str, start: int) -> SessionPage:
    """Those that hold all of the words in one text, with the first lines in which they do."""
    known = _known(conversation)
    rows: list[SessionRow] = []
    for path in known[start : start + SEARCHED]:
        try:
            hits = tuple(hit.line.strip() for hit in islice(search_in(path, words.split()), HITS))
        except OvertError:
            continue  # a session that cannot be read hides none of the others
        if hits:
            rows.append(_row(path, conversation)._replace(hits=hits))
    return SessionPage(tuple(rows), _following(start + SEARCHED, known), len(known))


def session_preview(path: str) -> Preview:
    """From the end of the file, as far back as it takes."""
    prompt, answer = "", ""
    try:
        for size in TAILS:
            prompt, answer, whole = _ending(path, size)
            if whole or prompt:
                break
    except OSError as error:
        raise SessionError(f"{path}: {error.strerror}") from error
    return Preview(prompt[:LONGEST], answer[:LONGEST])


def _ending(path: str, size: int) -> tuple[str, str, bool]:
    with open_regular(path) as file:
        length = os.fstat(file.fileno()).st_size
        file.seek(max(0, length - size))
        lines = file.read(size).split(b"\n")
    prompt = answer = ""
    for entry in sound_entries(lines if length <= size else lines[1:]):
        event = entry.data
        if event.agent != "main":
            continue
        if isinstance(event, UserSpoke) and event.message.origin.kind == "user":
            prompt, answer = event.message.text(), ""
        elif isinstance(event, Replied):
            answer = event.message.text().strip() or answer
    return prompt, answer, length <= size


def _row(path: str, conversation: Conversation) -> SessionRow:
    here = bool(conversation.path) and os.path.basename(path) == os.path.basename(conversation.path)
    return SessionRow(summary_or_name(path), here)


def _known(conversation: Conversation) -> tuple[str, ...]:
    setting = conversation.setting
    return paths(setting.environment.data_dir, setting.roots.project)


def _following(start: int, known: tuple[str, ...]) -> int:
    return start if start < len(known) else 0
