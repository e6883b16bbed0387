"""Which folders the user vouches for, with the content they had then, and what of their `.env` may be used.

An answer is kept with the hash of every file it was given for. When one of them changes, appears or goes, the
answer no longer stands: what was read is what is trusted.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from time import time_ns
from typing import Literal

from msgspec import Struct, ValidationError, convert

from overt import __version__
from overt.config._private_json import plain, read, update
from overt.config.paths import KEY_VARIABLES, Environment
from overt.config.project_files import (
    CLAUDE_SETTINGS,
    CONFIGURATION,
    FILES,
    FOLDERS,
    UNREADABLE,
    ProjectFiles,
    hash_project_files,
    list_project_files,
)
from overt.core.codec import encode
from overt.core.errors import ConfigError
from overt.lib.atomic import replace
from overt.lib.read_file import is_settled, read_regular, stamp_files

LARGEST_DOTENV = 256 * 1024
MOST_NAMES = 5
ADVICE = "read it, then run `overt trust` in this folder"


class TrustAnswer(Struct, frozen=True, kw_only=True):
    """What was said of a folder and of which files; None when an earlier version kept no record of them."""

    trusted: bool
    files: dict[str, str] | None


class _File(Struct, frozen=True, kw_only=True):
    v: Literal[2]
    folders: dict[str, TrustAnswer]


class _Paths(Struct, frozen=True, kw_only=True):
    """The file as version 1 wrote it."""

    v: Literal[1]
    trusted: tuple[str, ...]


class TrustStamp(Struct, frozen=True, kw_only=True):
    """The `stamp` of `paths` when their content was what the user trusted. `answer` is the hash of that answer."""

    answer: str
    paths: tuple[str, ...]
    stamp: str


class TrustState(Struct, frozen=True, kw_only=True):
    """The last answer for a folder, held against what it holds now. `stands` is False when a question is due."""

    project: str
    answer: TrustAnswer | None = None
    now: ProjectFiles = ProjectFiles()
    changed: tuple[str, ...] = ()
    stands: bool = False
    warning: str = ""


class Trusted(Struct, frozen=True, kw_only=True):
    """The folders trusted now; `warning` says what is not obeyed and why."""

    paths: frozenset[str] = frozenset()
    warning: str = ""

    def has(self, project: str) -> bool:
        return _name(project) in self.paths


def trust_file(environment: Environment) -> str:
    return os.path.join(environment.data_dir, "trust.json")


def check_trust(environment: Environment, project: str) -> TrustState:
    """Everything a question needs: the answer, the files, and which of them are not as they were."""
    answer, warning = _answer(environment, project)
    return _held(environment, answer, project, warning)


def _held(environment: Environment, answer: TrustAnswer | None, project: str, warning: str = "") -> TrustState:
    """Compare an answer with the files. They are read only if one of them changed since the last check."""
    files = answer.files if answer is not None and answer.trusted else None
    if files is not None and fits_stamp(environment, project, files):
        return TrustState(project=project, answer=answer, now=ProjectFiles(files=files), stands=True, warning=warning)
    started = time_ns()
    now = hash_project_files(project)
    changed = _changed(answer, now)
    stands = answer is not None and answer.files is not None and not changed and not (answer.trusted and now.problem)
    if files is not None and stands:
        _store_stamp(environment, project, now, started)
    return TrustState(project=project, answer=answer, now=now, changed=changed, stands=stands, warning=warning)


def trusted(environment: Environment, project: str) -> Trusted:
    """For the way to the first request: a folder nobody spoke of is not read at all, its files only named."""
    answer, warning = _answer(environment, project)
    if answer is None or not answer.trusted:
        return Trusted(warning=warning or _ignored(project))
    found = _held(environment, answer, project)
    if found.stands:
        return Trusted(paths=frozenset({_name(project)}))
    if found.now.problem:
        return Trusted(warning=f"this folder cannot be trusted: {found.now.problem}; nothing of it is obeyed")
    if answer.files is None:
        return Trusted(
            warning="this folder was trusted by a version that kept no record of its files, so nothing of it is "
            f"obeyed; {ADVICE}"
        )
    return Trusted(
        warning=f"{_listed(found.changed)} changed since this folder was trusted, so nothing of it is obeyed; {ADVICE}"
    )


def trust_own_change(environment: Environment, before: TrustState, name: str) -> None:
    """Extend an answer that stood `before` to one file that the user has changed since, through Overt itself."""
    if before.stands and before.answer and before.answer.trusted:
        files = before.now.files | {name: hash_project_files(before.project).files.get(name, "")}
        decide(environment, before.project, TrustAnswer(trusted=True, files={k: v for k, v in files.items() if v}))


def is_trusted(environment: Environment, project: str) -> bool:
    return trusted(environment, project).has(project)


def trust(environment: Environment, project: str) -> None:
    """Vouch for a folder as it is now."""
    found = hash_project_files(project)
    if found.problem:
        raise ConfigError(f"{project} cannot be trusted: {found.problem}")
    decide(environment, project, TrustAnswer(trusted=True, files=found.files))


def untrust(environment: Environment, project: str) -> None:
    """Forget what was said of a folder, so that it is asked about again."""
    name = _name(project)
    update(
        trust_file(environment),
        _read_answers,
        lambda answers: _content({each: answer for each, answer in (answers or {}).items() if each != name}),
    )
    _delete_stamp(environment, project)


def decide(environment: Environment, project: str, answer: TrustAnswer) -> None:
    name = _name(project)
    update(trust_file(environment), _read_answers, lambda answers: _content((answers or {}) | {name: answer}))


def _name(project: str) -> str:
    return plain(os.path.realpath(project))


def _changed(answer: TrustAnswer | None, now: ProjectFiles) -> tuple[str, ...]:
    if answer is None or answer.files is None:
        return ()
    before = answer.files
    return tuple(name for name in sorted({*before, *now.files}) if before.get(name) != now.files.get(name))


def _ignored(project: str) -> str:
    """What an untrusted folder holds besides configuration, of which the loader speaks line by line."""
    others = [plain(name) for name in list_project_files(project) if name not in CONFIGURATION]
    return f"{_listed(others)} ignored, because this folder is not trusted; {ADVICE}" if others else ""


def _listed(names: Iterable[str]) -> str:
    found = list(names)
    more = f" and {len(found) - MOST_NAMES} more" if len(found) > MOST_NAMES else ""
    return ", ".join(found[:MOST_NAMES]) + more


# ── the file ─────────────────────────────────────────────────────────────────────────────────────────────


def _answer(environment: Environment, project: str) -> tuple[TrustAnswer | None, str]:
    path = trust_file(environment)
    content, reason = read(path)
    answers = _read_answers(content)
    if content is not None and answers is None:
        reason = "is damaged"
    warning = f"{path}: {reason}, so no folder is trusted" if reason else ""
    return (answers or {}).get(_name(project)), warning


def _read_answers(content: object) -> dict[str, TrustAnswer] | None:
    """None when anything is not as it was written. Version 1 was a list of paths without their content."""
    try:
        if isinstance(content, dict) and content.get("v") == 1:
            return {path: TrustAnswer(trusted=True, files=None) for path in convert(content, _Paths).trusted}
        return convert(content, _File).folders
    except ValidationError:
        return None


def _content(answers: dict[str, TrustAnswer]) -> _File:
    return _File(v=2, folders={path: answers[path] for path in sorted(answers)})


# ── stamps ───────────────────────────────────────────────────────────────────────────────────────────────
#
#     DATA/trust/<hash of the project's path>.json
#
# The files of a trusted folder are not read at every start: if their stamp fits, they have not changed. It covers all
# paths that trust depends on, missing ones too, and belongs to one answer of `trust.json`. No command in the sandbox
# can write to the folder of both files.


def fits_stamp(environment: Environment, project: str, files: Mapping[str, str]) -> bool:
    """True if no file has changed since the content was compared with the answer."""
    content, _ = read(_stamp_file(environment, project))
    try:
        stored = convert(content, TrustStamp)
        return stored.answer == _hash_answer(files) and stored.stamp == stamp_files(project, stored.paths)[0]
    except (ValidationError, OSError):
        return False


def _store_stamp(environment: Environment, project: str, now: ProjectFiles, started_ns: int) -> None:
    """Store the stamp of trusted files that were read after `started_ns`.

    No stamp is stored, and the files are read again next time, if one of them changed just before (it could change
    again within a tick of the clock), is a link (its target could change) or cannot be read.
    """
    if not now.files or UNREADABLE in now.files.values():
        return
    if any(os.path.islink(os.path.join(project, path)) for path in now.looked_at):
        return
    try:
        stamp, newest = stamp_files(project, now.looked_at)
        if is_settled(newest, started_ns):
            path = _stamp_file(environment, project)
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            stored = TrustStamp(answer=_hash_answer(now.files), paths=now.looked_at, stamp=stamp)
            replace(path, encode(stored), sync=False)
    except (OSError, UnicodeEncodeError):
        pass


def _delete_stamp(environment: Environment, project: str) -> None:
    try:
        os.unlink(_stamp_file(environment, project))
    except OSError:
        pass  # without its answer the stamp is never used


def _stamp_file(environment: Environment, project: str) -> str:
    name = sha256(os.fsencode(os.path.realpath(project))).hexdigest()
    return os.path.join(environment.data_dir, "trust", f"{name[:32]}.json")


def _hash_answer(files: Mapping[str, str]) -> str:
    """Return a hash of an answer and of the rules for which files count."""
    rules = (__version__, FILES, CONFIGURATION, CLAUDE_SETTINGS, FOLDERS)
    return sha256(encode((rules, sorted(files.items())))).hexdigest()


# ── .env ─────────────────────────────────────────────────────────────────────────────────────────────────


def dotenv(project: str, names: Iterable[str], *, trusted: Trusted) -> dict[str, str]:
    """Keys from the `.env` of a trusted project: only variables some `api_key_env` names, never an address."""
    if not trusted.has(project):
        return {}
    wanted = {*names, *KEY_VARIABLES}
    found = assignments(os.path.join(project, ".env"))
    return {name: value for name, value in found if name in wanted and value and "://" not in value}


def assignments(path: str) -> Iterator[tuple[str, str]]:
    """Every variable a file of this kind sets, with its value."""
    try:
        data, _ = read_regular(path, LARGEST_DOTENV)
    except OSError:
        return
    for line in data.decode("utf-8-sig", "replace").splitlines():
        name, value = _assignment(line)
        if name:
            yield name, value


def _assignment(line: str) -> tuple[str, str]:
    """`export NAME="value"  # comment`, in any of its shorter forms."""
    name, equals, value = line.strip().removeprefix("export ").partition("=")
    name, value = name.strip(), value.strip()
    if name.startswith("#") or not equals:
        return "", ""
    if value[:1] in ("'", '"') and (end := value.find(value[0], 1)) > 0:
        return name, value[1:end]
    return name, value.split(" #", 1)[0].strip()
