"""`overt doctor --report`: one redacted archive to attach to an issue.

It holds what doctor says, versions, every setting with its origin, the newest log files and crash files. Sessions
and saved replies are added only on request. All text is redacted once more, with the secrets that are known now,
and the home folder is written as `~`.
"""

import io
import os
import tarfile
from collections.abc import Iterable, Iterator
from time import gmtime, strftime, time

from msgspec import Struct

from overt.app.diagnostics.crash import FOLDER as CRASHES
from overt.app.diagnostics.crash import hide_prompt, prepare_log, version_lines
from overt.app.diagnostics.doctor import Examination, doctor_lines
from overt.app.redaction.secrets import known_secrets
from overt.app.setting import Setting
from overt.config.origin import explain
from overt.config.paths import Environment
from overt.core.errors import OvertError
from overt.core.ids import new_id
from overt.lib.atomic import replace
from overt.lib.logs.log import LOG, NAME
from overt.lib.logs.raw_replies import FOLDER as REPLIES
from overt.lib.logs.raw_replies import redact_stream
from overt.sessions.index import find_path

FOLDER = "reports"
MAX_LOGS, MAX_CRASHES, MAX_REPLIES = 2, 5, 5
MAX_LOG_BYTES = 1_000_000


class ReportArchive(Struct, frozen=True, kw_only=True):
    """The archive that was written, its size in bytes and the files in it."""

    path: str
    size: int
    names: tuple[str, ...]


def make_report(examined: Examination, setting: Setting, *, session: str = "", replies: bool = False) -> ReportArchive:
    """Write the archive into the state folder. `session` is the id of one to include."""
    environment = setting.environment
    prepare_log()
    LOG.learn(*known_secrets(setting))
    members = {
        "doctor.txt": _text(doctor_lines(examined)),
        "versions.txt": _text(version_lines()),
        "config.txt": _text(_config(setting, examined.mistake)),
        **_files(environment.state_dir, f"{NAME}*", "logs", MAX_LOGS),
        **_files(os.path.join(environment.state_dir, CRASHES), "crash-*", "crashes", MAX_CRASHES),
    }
    if replies:
        members |= _files(os.path.join(environment.state_dir, REPLIES), "reply-*", "replies", MAX_REPLIES)
    if session:
        path = find_path(environment.data_dir, session, None)
        if path is None:
            raise OvertError(f"there is no session {session!r}; `overt sessions` lists them")
        members[f"session/{os.path.basename(path)}"] = _content(path)
    return _write(environment, {name: _clean(data, environment) for name, data in members.items()})


def _config(setting: Setting, mistake: str) -> Iterator[str]:
    """Yield every setting with its origin."""
    if mistake:
        yield f"The configuration cannot be read: {mistake}"
        return
    for row in explain(setting.config):
        yield f"{row.key} = {hide_prompt(row)!r} ({row.origin})"
    yield from (f"warning: {warning}" for warning in setting.config.warnings)


def _text(lines: Iterable[str]) -> bytes:
    return ("\n".join(lines) + "\n").encode("utf-8", "replace")


def _files(folder: str, pattern: str, inside: str, newest: int) -> dict[str, bytes]:
    """The newest regular files of a folder whose name fits; links are not followed."""
    prefix = pattern.rstrip("*")
    try:
        entries = [entry for entry in os.scandir(folder) if entry.name.startswith(prefix)]
    except OSError:
        return {}
    files = [entry for entry in entries if entry.is_file(follow_symlinks=False) and not entry.name.endswith(".lock")]
    files.sort(key=lambda entry: entry.stat(follow_symlinks=False).st_mtime_ns, reverse=True)
    return {f"{inside}/{entry.name}": _content(entry.path) for entry in files[:newest]}


def _content(path: str) -> bytes:
    """The end of a file: of a log that is the newest part."""
    try:
        with open(path, "rb") as file:
            file.seek(max(os.fstat(file.fileno()).st_size - MAX_LOG_BYTES, 0))
            return file.read()
    except OSError as error:
        return f"not readable: {error.strerror}\n".encode()


def _clean(data: bytes, environment: Environment) -> bytes:
    cleaned = redact_stream(data, LOG.redactor())
    home = environment.home
    return cleaned.replace(f"{home}/".encode(), b"~/") if home not in ("", "/") else cleaned


def _write(environment: Environment, members: dict[str, bytes]) -> ReportArchive:
    name = f"overt-report-{strftime('%Y%m%dT%H%M%SZ', gmtime())}-{new_id()}"
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for member, data in members.items():
            about = tarfile.TarInfo(f"{name}/{member}")
            about.size, about.mode, about.mtime = len(data), 0o600, int(time())
            archive.addfile(about, io.BytesIO(data))
    folder = os.path.join(environment.state_dir, FOLDER)
    path = os.path.join(folder, f"{name}.tar.gz")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        replace(path, buffer.getvalue())
    except OSError as error:
        raise OvertError(f"{path}: the report cannot be written: {error.strerror}") from None
    return ReportArchive(path=path, size=len(buffer.getvalue()), names=tuple(members))
