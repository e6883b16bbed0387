"""Commit the changes of an isolated agent, and apply them to the workspace if the user or the mode allows that."""

import asyncio
import os
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from overt.agent.permission_settings import PermissionState
from overt.app.permission_answers import Mailbox
from overt.app.subagents.workspace_copy import CopyState, WorkspaceCopy
from overt.core.capabilities import Change
from overt.core.errors import OvertError, ToolError
from overt.core.events import Emit, PermissionAsked, PermissionDecided
from overt.core.ids import new_id
from overt.core.messages import Call
from overt.core.protocols import Answer, Journal, ResolvedPath
from overt.core.settings import Action
from overt.core.views import Diffs, FileDiff
from overt.lib.encoding import show_name
from overt.lib.read_file import read_regular
from overt.lib.translations import say
from overt.safety.policy import PathFacts, judge, subject_of_paths
from overt.safety.rules import Subject, matching
from overt.workspace.change_files import MAX_FILES
from overt.workspace.contained_path import OpenPath, open_path
from overt.workspace.copies.changed_files import CopyChange
from overt.workspace.protected_places import require_unprotected
from overt.workspace.read_file import MAX_TEXT, digest, read_raw
from overt.workspace.real_path import describe_path

if TYPE_CHECKING:
    from overt.app.session_workspace import SessionWorkspace

MOST_BYTES = 64 * 1024 * 1024
"""The most bytes of all files that are applied together."""
MOST_NAMED = 20
MOST_DIFF_CHARACTERS = 4000
"""The model sees at most this much of the diffs of files in conflict."""
SOMETHING_ELSE = "the workspace has something else at this path"


class MergeParts(Struct, frozen=True, kw_only=True):
    """`workspace` and `emit` belong to the parent, whose files are changed; `ask` records the question in the session
    of the `agent`. Without a `mailbox` no user can be asked."""

    workspace: "SessionWorkspace"
    emit: Emit
    ask: Emit
    permissions: PermissionState
    mailbox: Mailbox | None
    call_id: str
    agent: str


class MergeError(OvertError):
    """A change was refused after `applied` files had been written."""

    def __init__(self, message: str, *, applied: int) -> None:
        super().__init__(message)
        self.applied = applied


class Selection(Struct, frozen=True, kw_only=True):
    """The changes that can be applied, those in conflict, and `others` with the reason why they cannot."""

    changes: tuple[Change, ...]
    conflicts: tuple[CopyChange, ...]
    others: tuple[str, ...]
    deletes: bool = False


async def describe_stopped(copy: WorkspaceCopy) -> str:
    """Commit the state of a stopped agent. Return a text for the model that says where it is."""
    state = await copy.keep_state()
    if not state.changes:
        return _describe_place(state) if state.folder else ""
    return f"{_summary(state)} {_describe_place(state)}"


async def merge_copy(copy: WorkspaceCopy, parts: MergeParts) -> str:
    """Commit the state of an agent that has finished, and apply its changes if the user or the mode allows that.
    Return a text for the model: what was changed, and where it is."""
    state = await copy.keep_state()
    if not state.changes:
        return _describe_place(state) if state.folder else "It changed no files."
    chosen = await asyncio.to_thread(_select, state, parts)
    applied, verdict = await _apply(copy, chosen, parts)
    lines = [f"{_summary(state)} {verdict}"]
    if chosen.conflicts:
        names = _join_names([change.path for change in chosen.conflicts])
        lines.append(
            f"Conflicts, not applied because these files changed meanwhile: {names}\n"
            + await asyncio.to_thread(_conflict_diff, chosen.conflicts, parts)
        )
    if chosen.others:
        lines.append(f"Not applied: {_join_names(chosen.others)}")
    if applied and not chosen.conflicts and not chosen.others:
        copy.is_applied = True
    if not copy.is_applied or state.in_git:
        lines.append(
            _describe_place(state) if state.kept or not chosen.changes else await _save_patch(state, chosen, parts)
        )
    return "\n".join(lines)


async def _apply(copy: WorkspaceCopy, chosen: Selection, parts: MergeParts) -> tuple[bool, str]:
    """Return whether the changes were applied, and a sentence for the model about it."""
    if not chosen.changes:
        return False, "None of these changes was applied to the workspace."
    paths = [change.path for change in chosen.changes]
    clean = not chosen.conflicts and not chosen.deletes
    decision = await asyncio.to_thread(_decide, paths, parts, clean=clean)
    if decision == "ask" and parts.mailbox is None:
        why = "a conflict" if chosen.conflicts else "deleted files" if chosen.deletes else "this mode"
        return False, f"Not applied: {why} needs the user, and the run is non-interactive."
    if decision == "deny":
        return False, "Not applied: the rules or the mode do not allow changes of files."
    try:
        if decision == "ask" and parts.mailbox is not None:
            diffs = await _change(chosen.changes, parts, preview=True)
            answer = await _ask(diffs, chosen, parts, parts.mailbox)
            if answer.choice == "deny":
                return False, f"Not applied: the user did not want it. {answer.reason}".rstrip()
        if len(chosen.changes) > MAX_FILES:  # a batch that fails does so before the first one is written
            await _change(chosen.changes, parts, preview=True)
        await _change(chosen.changes, parts, preview=False)
    except MergeError as error:
        if not error.applied:
            return False, f"Not applied: {error}"
        return False, f"Applied {error.applied} of {len(paths)} files; not applied: {error}"
    return True, "Applied to the workspace; /undo takes it back." if parts.workspace.undo_enabled else "Applied."


def _decide(paths: Sequence[str], parts: MergeParts, *, clean: bool) -> Action:
    """Judge the changes like calls of `edit`. Conflicts and deletions always need the user."""
    permissions, workspace = parts.permissions, parts.workspace.workspace
    root = workspace.root

    def look(values: tuple[str, ...]) -> tuple[ResolvedPath, ...]:
        return tuple(describe_path(workspace, value) for value in values)

    facts = PathFacts(root=root, exists=lambda path: os.path.lexists(os.path.join(root, path)), look=look)
    actions = {
        judge(
            subject_of_paths((path,), facts, tool="edit", family="edit"),
            frozenset({"write"}),
            rules=permissions.rules,
            mode=permissions.effective_mode,
            fallback=permissions.terms.fallback,
        ).action
        for path in paths
    }
    if "deny" in actions:
        return "deny"
    return "allow" if clean and actions == {"allow"} else "ask"


async def _ask(diffs: tuple[FileDiff, ...], chosen: Selection, parts: MergeParts, mailbox: Mailbox) -> Answer:
    """Ask the user to approve the diff, as a question of the agent."""
    conflicts = [show_name(change.path) for change in chosen.conflicts]
    why = say("agents.copy_why", agent=parts.agent)
    if conflicts:
        why += f" {say('agents.copy_conflicts', paths=_join_names(conflicts))}"
    question = PermissionAsked(
        id=new_id(),
        call=Call(id=parts.call_id, name="task", arguments="{}"),
        headline=_join_names([file.path for file in diffs]),
        why=why,
        view=Diffs(files=diffs),
    )
    parts.ask(question)
    answer = await mailbox.ask(question)
    decided = PermissionDecided(
        call_id=parts.call_id,
        verdict="deny" if answer.choice == "deny" else "allow",
        rule="copy",
        origin="mode",
        by="person",
        reason=answer.reason,
    )
    parts.ask(decided)
    return answer


async def _change(changes: Sequence[Change], parts: MergeParts, *, preview: bool) -> tuple[FileDiff, ...]:
    """Write the changes like file tools, which store the old content for undo. Raise MergeError if a batch fails."""
    diffs: list[FileDiff] = []
    for start in range(0, len(changes), MAX_FILES):
        journal = Journal()
        files = parts.workspace.files(parts.call_id, journal, preview=preview)
        try:
            diffs += await files.change(changes[start : start + MAX_FILES])
        except ToolError as error:
            raise MergeError(error.message, applied=0 if preview else start) from error
        for fact in journal.facts:
            parts.emit(fact)
    return tuple(diffs)


def _select(state: CopyState, parts: MergeParts) -> Selection:
    """Read the new contents, and separate the changes that cannot be applied. Blocking."""
    ignored = frozenset(state.kept.ignored if state.kept else ())
    changes: list[Change] = []
    conflicts: list[CopyChange] = []
    others: list[str] = []
    ignored_tops: Counter[str] = Counter()
    size = 0
    for change in state.changes:
        if change.path in ignored:
            ignored_tops[_first_folder(change.path)] += 1
        elif change.conflict:
            conflicts.append(change)
        elif why := "too large" if size + change.size > MOST_BYTES else _refusal(change):
            others.append(f"{show_name(change.path)} ({why})")
        else:
            try:
                changes.append(_read(change, parts))
                size += change.size
            except OvertError as error:
                others.append(f"{show_name(change.path)} ({error.message.rstrip('.')})")
            except OSError as error:
                others.append(f"{show_name(change.path)} ({error.strerror})")
    others += [f"{show_name(top)} ({count} ignored by git)" for top, count in ignored_tops.items()]
    deletes = any(change.raw is None for change in changes)
    return Selection(changes=tuple(changes), conflicts=tuple(conflicts), others=tuple(others), deletes=deletes)


def _first_folder(path: str) -> str:
    """Return the first folder of a path, with a slash, or the path itself."""
    top, slash, _ = path.partition("/")
    return top + slash


def _refusal(change: CopyChange) -> str:
    """Return why this kind of change cannot be applied, or an empty string."""
    if change.kind == "link":
        return "a link"
    if change.kind == "other":
        return "not a readable file"
    return "too large" if change.size > MAX_TEXT else ""


def _read(change: CopyChange, parts: MergeParts) -> Change:
    """Return the change with its contents. Raise OvertError if file tools would refuse it."""
    workspace, path = parts.workspace.workspace, show_name(change.path)
    with open_path(workspace, path, writing=True) as spot:
        require_unprotected(workspace, spot)
        base = digest(_read_workspace(spot, change)) if change.existed else "absent"
        if spot.real != change.path or (spot.stat is None) == change.existed:
            raise ToolError(SOMETHING_ELSE, code="stale")
    if change.kind == "deleted":
        return Change(path=path, content=None, base=base)
    return Change(path=path, content=None, base=base, raw=_read_copy(change), executable=change.executable)


def _read_workspace(spot: OpenPath, change: CopyChange) -> bytes:
    """Read the file of the workspace that a change is about. Links and pipes that replaced it are not opened."""
    if spot.real != change.path:
        raise ToolError(SOMETHING_ELSE, code="stale")
    return read_raw(spot, MAX_TEXT, "compare.")[0]


def _read_copy(change: CopyChange) -> bytes:
    return read_regular(change.source, MAX_TEXT, os.O_NOFOLLOW)[0]


def _summary(state: CopyState) -> str:
    ignored = frozenset(state.kept.ignored if state.kept else ())
    names = [
        show_name(change.path) + (" (deleted)" if change.kind == "deleted" else "" if change.existed else " (new)")
        for change in state.changes
        if change.path not in ignored
    ]
    text = (
        f"It worked in a copy and changed {len(names)} {'file' if len(names) == 1 else 'files'}: {_join_names(names)}."
    )
    return text if names else "It worked in a copy and changed no files but ignored ones."


def _describe_place(state: CopyState) -> str:
    """Return a sentence for the model that says where the changes are."""
    if state.kept is None:
        return f"Its changes are kept in {state.folder}/upper ({state.why_not})."
    text = f"Its state is the commit {state.kept.ref} (`git show` shows its changes, without commits of its own)."
    if not state.kept.kept_ignored:
        text += f" {len(state.kept.ignored)} files that git ignores are not in it."
    if state.kept.left_out:
        text += f" {_join_names(state.kept.left_out)} did not fit in and are kept in {state.folder}/upper."
    return text


async def _save_patch(state: CopyState, chosen: Selection, parts: MergeParts) -> str:
    """Save the diff as a patch file of the session, for a workspace without git. Return a sentence for the model."""
    outputs = parts.workspace.outputs
    if outputs is None:
        return _describe_place(state)
    try:
        diffs = await _change(chosen.changes, parts, preview=True)
    except MergeError:
        return _describe_place(state)
    spool = outputs.spool(head=1, tail=1)
    for file in diffs:
        old, new = f"a/{file.path}", f"b/{file.path}"
        names = (
            "/dev/null" if file.change == "created" else old,
            "/dev/null" if file.change == "deleted" else new,
        )
        spool.feed(f"--- {names[0]}\n+++ {names[1]}\n{file.diff}".encode("utf-8", "replace"))
    return f"{_describe_place(state)} Its changes as a patch: {await asyncio.to_thread(outputs.save, spool)}."


def _conflict_diff(conflicts: Sequence[CopyChange], parts: MergeParts) -> str:
    """Return the diffs from the current workspace to the copy, of the files that file tools may read."""
    from overt.lib.diff import file_diff  # late: 0.3 ms

    text, workspace, rules = "", parts.workspace.workspace, parts.permissions.rules
    for change in conflicts:
        if matching(rules, Subject(tool="read", values=(change.path,)), "deny"):
            continue
        try:
            with open_path(workspace, show_name(change.path)) as spot:
                old = _read_workspace(spot, change).decode("utf-8", "replace")
            new = None if change.kind == "deleted" else _read_copy(change).decode("utf-8", "replace")
        except (OvertError, OSError):
            continue
        text += f"--- {show_name(change.path)}\n{file_diff(change.path, old, new).diff}"
        if len(text) > MOST_DIFF_CHARACTERS:
            return f"{text[:MOST_DIFF_CHARACTERS]}\n[...]"
    return text.rstrip("\n")


def _join_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more
