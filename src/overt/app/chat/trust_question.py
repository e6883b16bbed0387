"""Ask whether a folder is trusted, and store the answer, before anything in the folder takes effect."""

import os
from typing import Literal

from msgspec import Struct

from overt.app.options import Options
from overt.config.load import load
from overt.config.paths import Environment, read_environment, roots
from overt.config.trust import TrustAnswer, TrustState, check_trust, decide, trust, untrust
from overt.core.errors import ConfigError
from overt.lib.paths import lies_in
from overt.lib.translations import language_of, set_language

MOST_DESCRIBED = 40
DESCRIBED_FILES = frozenset(f".overt/{name}" for name in ("config.json", "config.jsonc", "config.toml", "hooks.json"))
Before = Literal["", "yes", "no", "unrecorded"]


class ProjectFile(Struct, frozen=True, kw_only=True):
    """A file of the project and what it would do, line by line."""

    name: str
    effects: tuple[str, ...] = ()


class TrustQuestion(Struct, frozen=True, kw_only=True):
    """`before` is the last answer (`unrecorded`: yes, without a list of files), `changed` what has changed since.

    `broad` is set if the folder holds everything the user has. The answer is stored for `files`; of many, only the
    first are described and `more` are not. With a `problem` the answer can only be no.
    """

    project: str
    described_files: tuple[ProjectFile, ...] = ()
    before: Before = ""
    changed: tuple[str, ...] = ()
    broad: Literal["", "home", "root"] = ""
    problem: str = ""
    warning: str = ""
    more: int = 0
    files: dict[str, str] = {}


def trust_question(options: Options) -> TrustQuestion | None:
    """Return None if the last answer is still valid. Set the language that the user, not the folder, wants."""
    environment = read_environment()
    project = roots(environment, options.directory).project
    config = load(environment, project="", trusted=False)
    set_language(language_of(config.language, environment.variables))
    found = check_trust(environment, project)
    return None if found.stands else _make_question(environment, found)


def trust_state(directory: str) -> tuple[TrustQuestion, bool]:
    """Return what would be asked, and whether the folder is trusted as it is."""
    environment = read_environment()
    found = check_trust(environment, roots(environment, directory).project)
    said = found.answer is not None and found.answer.trusted
    return _make_question(environment, found), found.stands and said


def answer(question: TrustQuestion, yes: bool) -> None:
    """Store an answer for exactly the files that the question was about."""
    if yes and question.problem:
        raise ConfigError(f"{question.project} cannot be trusted: {question.problem}")
    decide(read_environment(), question.project, TrustAnswer(trusted=yes, files=question.files))


def set_trust(directory: str, *, trusting: bool) -> str:
    environment = read_environment()
    project = roots(environment, directory).project
    (trust if trusting else untrust)(environment, project)
    return project


def _make_question(environment: Environment, found: TrustState) -> TrustQuestion:
    from overt.config.describe_files import describe_file  # late: 3 ms

    names = sorted(found.now.files, key=lambda name: _rank(name, found.changed))
    described = (ProjectFile(name=name, effects=describe_file(found.project, name)) for name in names[:MOST_DESCRIBED])
    return TrustQuestion(
        project=found.project,
        described_files=tuple(described),
        before=_before(found.answer),
        changed=found.changed,
        broad=_broad(environment, found.project),
        problem=found.now.problem,
        warning=found.warning,
        more=max(0, len(names) - MOST_DESCRIBED),
        files=found.now.files,
    )


def _rank(name: str, changed: tuple[str, ...]) -> int:
    """Put changed files first, then those whose effects can be described. The rest is text for the model."""
    return 0 if name in changed else 1 if not name.startswith(".overt/") or name in DESCRIBED_FILES else 2


def _before(answer: TrustAnswer | None) -> Before:
    if answer is None:
        return ""
    if not answer.trusted:
        return "no"
    return "yes" if answer.files is not None else "unrecorded"


def _broad(environment: Environment, project: str) -> Literal["", "home", "root"]:
    if project == "/":
        return "root"
    home = os.path.realpath(environment.home)
    return "home" if lies_in(home, project) else ""
