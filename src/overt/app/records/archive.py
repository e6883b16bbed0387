"""What is done with sessions as a whole: named, forked, exported, searched, looked over."""

import os
import unicodedata
from collections.abc import Iterator, Sequence
from typing import assert_never

from msgspec import Struct

from overt import __version__
from overt.app.inspect.queries import find_session
from overt.app.records.export import FORMATS, Format, SessionExport, build_export
from overt.app.redaction.secrets import make_redactor
from overt.app.setting import Setting
from overt.core.codec import printable
from overt.core.errors import OvertError, SessionError, UsageError
from overt.core.events import TitleSet
from overt.lib import atomic
from overt.sessions.check_session import CheckResult, check, strays
from overt.sessions.fork import fork
from overt.sessions.index import Summary, paths, summary
from overt.sessions.load import load
from overt.sessions.log import SessionLog
from overt.sessions.names import id_of
from overt.sessions.search import Hit, search

LONGEST_NAME = 120


class SearchResult(Struct, frozen=True, kw_only=True):
    """The hits of a search in one session."""

    session: Summary
    hits: Iterator[Hit]


def clean_name(text: str) -> str:
    """A name on one line, without what a terminal or a list could stumble over."""
    whole = "".join(" " if char.isspace() else char for char in unicodedata.normalize("NFC", text))
    words = " ".join("".join(char for char in whole if char.isprintable()).split())
    return words if len(words) <= LONGEST_NAME else f"{words[: LONGEST_NAME - 1]}…"


def rename(setting: Setting, reference: str, name: str) -> tuple[str, str]:
    """Give a session a name; its id, and the name as it was taken."""
    path = find_session(reference, setting)
    title = clean_name(make_redactor(setting).clean(name))
    if not title:
        raise UsageError("a name needs at least one letter: overt sessions rename ID NAME")
    try:
        log, loaded = SessionLog.open(path)
    except SessionError as error:
        if error.code != "locked":
            raise
        raise SessionError(f"{error.message} In its chat, `/rename {title}` does it.", code="locked") from None
    turn = max((entry.turn for entry in loaded.entries), default=0)
    log.append(TitleSet(title=title, model=""), turn=turn, step=0)
    log.close()
    if log.unsaved:
        raise SessionError(f"{path} cannot be written, so the session keeps its name. Make room on its disk.")
    return id_of(path), title


def fork_session(setting: Setting, reference: str, turn: int | None, step: int | None = None) -> str:
    """The id of the copy."""
    return id_of(fork(find_session(reference, setting), turn=turn, step=step, overt=__version__))


def export_text(path: str, format: Format) -> str:
    loaded = load(path)
    return render_export(build_export(loaded.entries, loaded.opened, loaded.damage), format)


def export_session(setting: Setting, reference: str, *, format: str, target: str) -> str:
    """The text of an export, or, when it went to a file, nothing."""
    chosen = format_for(format, target)
    text = export_text(find_session(reference, setting), chosen)
    if not target or target == "-":
        return text
    try:
        write_export(target, text)
    except OSError as error:
        raise OvertError(f"{target} cannot be written: {error.strerror}. Give another file to -o.") from error
    return ""


def format_for(format: str, target: str) -> Format:
    """The one that was named, else the one the name of the file asks for, else Markdown."""
    ending = os.path.splitext(target)[1].lower().removeprefix(".")
    return FORMATS.get(format or ending, "markdown")


def write_export(target: str, text: str) -> None:
    """For the owner only, as the session itself is."""
    atomic.replace(target, text.encode("utf-8", "replace"))


def search_sessions(setting: Setting, words: Sequence[str], *, everywhere: bool) -> Iterator[SearchResult]:
    """Session after session, the one written last first; what cannot be read is passed over."""
    if not any(word.strip() for word in words):
        raise UsageError("overt sessions search needs at least one word")
    for path in _known(setting, everywhere=everywhere):
        try:
            yield SearchResult(session=summary(path), hits=search(path, words))
        except (OSError, SessionError):
            continue


def check_sessions(setting: Setting, reference: str, *, everywhere: bool) -> Iterator[CheckResult]:
    if reference:
        yield check(find_session(reference, setting))
        return
    for path in _known(setting, everywhere=everywhere):
        yield check(path)


def stray_files(setting: Setting, *, everywhere: bool) -> tuple[str, ...]:
    folders = dict.fromkeys(os.path.dirname(path) for path in _known(setting, everywhere=everywhere))
    return tuple(path for folder in folders for path in strays(folder))


def _known(setting: Setting, *, everywhere: bool) -> tuple[str, ...]:
    return paths(setting.environment.data_dir, None if everywhere else setting.roots.project)


def render_export(session: SessionExport, format: Format) -> str:
    """The text of the file."""
    match format:
        case "html":
            from overt.app.records import export_html  # late: 3 ms

            return export_html.render_html(session)
        case "markdown":
            from overt.app.records import export_markdown  # late: 0.4 ms

            return export_markdown.render_markdown(session)
        case "json":
            return printable(session)
        case _:
            assert_never(format)
