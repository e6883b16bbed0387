"""Where sessions lie and what their file names say: `<data dir>/sessions/<project slug>/<utc>-<id8>.jsonl`.

The sub-agents of a session, at any depth, lie in a folder beside it: `<utc>-<id8>.agents/<utc>-<id8>.jsonl`.
"""

import os
import time

from overt.lib.paths import slug

SUFFIX = ".jsonl"
AGENTS_SUFFIX = ".agents"


def sessions_folder(data_dir: str) -> str:
    return os.path.join(data_dir, "sessions")


def folder_of(data_dir: str, project: str) -> str:
    return os.path.join(sessions_folder(data_dir), slug(os.path.abspath(project)))


def outputs_folder(data_dir: str) -> str:
    """Holds a folder for each session, with what its commands printed beyond what the model was shown."""
    return os.path.join(data_dir, "output")


def project_folder(path: str) -> str:
    """The folder with the sessions of a project, from the path of a session or of a sub-agent's session."""
    folder = os.path.dirname(path)
    return os.path.dirname(folder) if folder.endswith(AGENTS_SUFFIX) else folder


def outputs_of(path: str) -> str:
    """The folder with the outputs of the session in a file."""
    data_dir = os.path.dirname(os.path.dirname(project_folder(path)))
    return os.path.join(outputs_folder(data_dir), id_of(path))


def agents_folder(path: str) -> str:
    """Return the folder with the sessions of all sub-agents in the tree that a session belongs to."""
    folder = os.path.dirname(path)
    return folder if folder.endswith(AGENTS_SUFFIX) else path.removesuffix(SUFFIX) + AGENTS_SUFFIX


def utc_stamp() -> str:
    """Now, in UTC, to the second, as it stands in a file name."""
    return time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())


def file_name(created: str, id: str) -> str:
    return f"{created}-{id}{SUFFIX}"


def id_of(path: str) -> str:
    """Behind the time, which has no dash; an id that a person chose may have some."""
    return _stem(path).partition("-")[2] or _stem(path)


def created_of(path: str) -> str:
    created, dash, _ = _stem(path).partition("-")
    return created if dash else ""


def _stem(path: str) -> str:
    return os.path.basename(path).removesuffix(SUFFIX)
