"""Facts about the project and the session that the model is told, and the lines that tell it what changed.

At the start they stand in the environment section of the prefix, one `Name: value` a line. The prefix stays as it is
for the whole session, so a fact that changes is told in a message before the next request. What the model knows is
read from the prefix and the history that are sent: nothing is told twice, and what a compaction or a rewind removed
is told again.
"""

import os
from collections.abc import Iterable, Mapping

from overt.core.messages import Message, said
from overt.core.settings import Action, Mode
from overt.core.text_fragments import LABEL, Fragment, Origin
from overt.lib.read_file import read_regular

NO_VALUE = "none"
NO_CHANGES = "change nothing. Edits are refused and commands leave no changes"
MODES: dict[Mode, str] = {
    "review": "the user approves edits and commands first",
    "auto": "edits and sandboxed commands run unasked",
    "yolo": "everything runs unasked but what undo cannot bring back",
    "plan": f"{NO_CHANGES}. Explore, then answer with a plan; the user changes the mode to have it done",
}
UNATTENDED = "edits and sandboxed commands run"
"""In a non-interactive run review, auto and yolo come to the same."""

LARGEST = 4096
LONGEST = 200
BRANCH = "ref: refs/heads/"
HEX = frozenset("0123456789abcdef")
UNFIT = frozenset(" ~^:?*[\\")


def branch(workspace: str, project: str) -> str:
    """The branch that is checked out, or where else HEAD stands; nothing when there is no telling.

    git itself would run what a repository's configuration says.
    """
    folder = workspace
    while True:
        if head := _head(os.path.join(folder, ".git")):
            return head
        if folder == project or folder == os.path.dirname(folder):
            return ""
        folder = os.path.dirname(folder)


def _head(git: str) -> str:
    if not os.path.isdir(git):
        said = _line(git)  # a worktree or a submodule
        if not said.startswith("gitdir: "):
            return ""
        git = os.path.normpath(os.path.join(os.path.dirname(git), said.removeprefix("gitdir: ")))
    said = _line(os.path.join(git, "HEAD"))
    if len(said) in (40, 64) and HEX.issuperset(said):
        return f"detached at {said[:12]}"
    name = said.removeprefix(BRANCH)
    return name if said.startswith(BRANCH) and _is_name(name) else ""


def _is_name(name: str) -> bool:
    """As git allows it, so that no sentence comes along in a name."""
    return 0 < len(name) <= LONGEST and name.isprintable() and not UNFIT & set(name) and ".." not in name


def _line(path: str) -> str:
    try:
        data, _ = read_regular(path, LARGEST, os.O_NOFOLLOW)
        return data.decode().rstrip("\n")
    except (OSError, ValueError):
        return ""


# ── the session ──────────────────────────────────────────────────────────────────────────────────────────


def describe_mode(
    mode: Mode, *, interactive: bool, read_only: bool = False, dont_ask: bool = False, fallback: Action | None = None
) -> str:
    """The mode and what it means for the model. `fallback` is the verdict where no rule decides, if one is set."""
    if mode == "plan":
        return f"{mode}: {MODES[mode]}"
    name = mode if interactive else "non-interactive, nobody to ask"
    if read_only:
        return f"{name}, read-only: {NO_CHANGES}"
    if dont_ask:
        return f"{name}: what would be asked is denied"
    if fallback:
        return f"{name}: calls without a rule of their own: {fallback}"
    return f"{name}: {MODES[mode] if interactive else UNATTENDED}"


def describe_sandbox(*, boxed: bool, read_only: bool) -> str:
    if not boxed:
        return "none, commands have the user's rights"
    return f"no writes {'but to' if read_only else 'outside the workspace and'} a private /tmp"


def describe_network(*, is_open: bool) -> str:
    return "open to commands" if is_open else "loopback only; bash's `network` asks for more"


def describe_limits(*, max_steps: int, budget_usd: float) -> str:
    """The limits that are set; an empty string if there are none."""
    steps = f"{max_steps} steps a turn" if max_steps else ""
    budget = f"{budget_usd:.2f} USD a session" if budget_usd else ""
    return ", ".join(filter(None, (steps, budget)))


# ── what the model knows ─────────────────────────────────────────────────────────────────────────────────


def known_facts(system: Iterable[Fragment], messages: Iterable[Message]) -> dict[str, str] | None:
    """The facts as the prefix and later messages tell them; None if the prefix has no environment section."""
    section = next((fragment for fragment in system if fragment.key == "environment"), None)
    if section is None:
        return None
    pairs = (line.partition(": ") for line in section.text.split("\n"))
    facts = {name: value for name, separator, value in pairs if separator}
    for message in messages:
        if message.origin.kind == "environment":
            facts |= {message.origin.where: message.origin.detail} if message.origin.detail else {}
    return facts


def announce_changes(known: Mapping[str, str], facts: Mapping[str, str]) -> tuple[Message, ...]:
    """One line for each fact that is not as the model knows it."""
    return tuple(
        said(
            f"{LABEL}{name} is now: {value}",
            origin=Origin(kind="environment", where=name, label=len(LABEL), detail=value),
        )
        for name in dict.fromkeys((*facts, *known))
        if (value := facts.get(name) or NO_VALUE) != (known.get(name) or NO_VALUE)
    )
