"""Files of a session put back to how they stood before a turn, and brought back again."""

import stat
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from overt.core.errors import OvertError, ToolError
from overt.core.events import Event, Restored, SnapshotTaken, TreeTaken
from overt.core.file_states import FileChange, FileState
from overt.lib.text import first_line, wide
from overt.lib.translations import say
from overt.sandbox.profile import PRIVATE
from overt.sessions.checkpoints import (
    RESTORE,
    Checkpoints,
    NetChange,
    TurnFileChanges,
    net_changes,
    read_checkpoints,
    reverse_changes,
    without_commands,
)
from overt.sessions.load import load
from overt.workspace.files import Workspace
from overt.workspace.undo.restore import (
    RestoreError,
    is_state,
    name_in_git,
    require_restorable,
    restore,
    state_of,
    unlock_folders,
)
from overt.workspace.undo.snapshot_keeper import SnapshotKeeper

TEMPORARY = tuple(f"{folder}/ (" for folder in PRIVATE)
"""How names of temporary folders begin. They are named, but leaving them as they are is no failure."""
MOST_ON_A_LINE, MOST_FOR_MODEL = 6, 40
COLUMN = 10

Way = Literal["undo", "redo", "rewind"]


class UndoRequest(Struct, frozen=True, kw_only=True):
    """What a person asks for.

    `turn`: go back to before this turn; 0: undo the last turn that changed something. `yes` puts back files that
    somebody else may have changed while a command ran, `force` also files that changed after the turn. `git`: also put
    back HEAD, branches, stash and index. `shell` is how to call `overt undo` for the same session, "" in a chat.
    """

    turn: int = 0
    redo: bool = False
    yes: bool = False
    force: bool = False
    git: bool = False
    shell: str = ""

    def command(self, *, redo: bool, flag: str = "") -> str:
        """What to type for undo or redo in the same place."""
        words = (self.shell, "--redo" if redo else "") if self.shell else ("/redo" if redo else "/undo",)
        return " ".join(filter(None, (*words, flag)))

    def git_command(self) -> str:
        if self.turn and not self.shell:
            return f"/rewind {self.turn} files --git"
        return self.command(redo=False, flag="--git")


class UndoResult(Struct, frozen=True, kw_only=True):
    """`lines` are for the person, `facts` for the record, `notice` for the model; the last two are empty when nothing
    had to be changed. Not `complete`: some files were left as they are; `asks`: `yes` would put some of them back."""

    lines: tuple[str, ...]
    facts: tuple[Event, ...] = ()
    notice: str = ""
    complete: bool = True
    asks: bool = False


class UndoPlan(Struct, frozen=True, kw_only=True):
    """What to do with each file: `steps` are carried out, everything else stays as it is and is named."""

    steps: list[FileChange]
    unreachable: list[tuple[str, str]]
    """With the reason."""
    changed_since: list[str]
    maybe_others: list[NetChange]
    shared: list[NetChange]

    def left(self) -> tuple[str, ...]:
        """Paths of the turn that were not put back."""
        return (*(each.path for each in (*self.maybe_others, *self.shared)), *self.changed_since)


class SessionUndo:
    """One session and the workspace it changed. Everything here blocks: it is for a thread."""

    def __init__(self, path: str, workspace: Workspace, keeper: SnapshotKeeper) -> None:
        if not path:
            raise OvertError(say("undo.unkept"))
        self._path = path
        self._workspace = workspace
        self._keeper = keeper
        self._lost: list[str] = []
        self._damage: tuple[str, ...] = ()
        self._dropped: tuple[str, ...] = ()

    def require_enabled(self) -> None:
        """Raise if the person has switched undo off."""
        if self._keeper.disabled:
            raise OvertError(say("undo.disabled"))

    def points(self) -> Checkpoints:
        loaded = load(self._path)
        there = loaded.opened.workspace
        if there and there != self._workspace.root:
            raise OvertError(say("undo.elsewhere", there=there))
        self._damage = loaded.damage
        return read_checkpoints(loaded.entries)

    def damage(self) -> tuple[str, ...]:
        """What a person should know of a record that is not whole, once it was looked at."""
        return (say("undo.damaged", what="; ".join(self._damage)),) if self._damage else ()

    def undo(self, request: UndoRequest) -> UndoResult:
        """Undo the last turn that did something to files and is not undone, or everything from a turn on.

        With `yes` or `force`, first finish the last undo, if that left files as they were.
        """
        points, first = self.points(), request.turn
        standing = points.standing(first)
        turns, left = points.left_over() if request.yes or request.force else ((), ())
        if turns and (not first or (not standing and turns[0].turn >= first)):
            return self._go_back("undo", turns[0].turn, turns, request, only=left)
        if standing and first:
            return self._go_back("rewind", first, standing, request)
        if standing:
            return self._go_back("undo", standing[-1].turn, standing[-1:], request)
        if first:
            return UndoResult(lines=(say("undo.same", turn=first),))
        raise OvertError(say("undo.nothing"))

    def redo(self, request: UndoRequest) -> UndoResult:
        points = self.points()
        if not points.redo:
            raise OvertError(say("undo.nothing_redo"))
        last = points.redo[-1]
        return self._put("redo", last.turn, net_changes(reverse_changes(last.changes), self._same), request)

    def _go_back(
        self, way: Way, turn: int, turns: Sequence[TurnFileChanges], request: UndoRequest, *, only: Sequence[str] = ()
    ) -> UndoResult:
        """With `only`, nothing but these paths."""
        stored = [self._still_stored(each) for each in turns]
        dropped = [each.turn for each, left in zip(turns, stored, strict=True) if left != each]
        if dropped and not any(left.did or left.unsure for left in stored):
            raise OvertError(say("undo.turn_dropped", turn=dropped[0]))
        turns = stored
        changes = [change for each in turns for change in (*each.changes(self._trees), *self._unseen(each))]
        wanted = [each for each in net_changes(changes, self._same) if not only or each.path in only]
        reverse = [replace(each, before=each.after, after=each.before) for each in wanted]
        uncovered = dict.fromkeys(name for each in turns for name in each.uncovered)
        beside = () if only else (*uncovered, *self._lost)
        self._dropped = tuple(say("undo.turn_partly_dropped", turn=each) for each in dropped)
        return self._put(way, turn, reverse, request, beside=beside)

    def _put(
        self, way: Way, turn: int, wanted: Sequence[NetChange], request: UndoRequest, *, beside: Sequence[str] = ()
    ) -> UndoResult:
        """`wanted` lead from how the files should stand now to how they shall stand; `beside` is not covered."""
        with unlock_folders(self._workspace, [each.path for each in wanted]) as locked:
            plan = self._plan(wanted, request, locked=locked)
            steps = self._restore(plan.steps) if plan.steps else []
            for step in steps:
                locked.pop(step.path, None)
        files = [step for step in steps if not (step.after or step.before or FileState()).folder]
        writers = {each.path: f" ({each.sub_agents})" for each in wanted if each.sub_agents}
        names = [
            (step.path if step.after else say("undo.removed", file=step.path)) + writers.get(step.path, "")
            for step in files or steps
        ]
        left = (*self._dropped, *_left_lines(plan, turn, request))
        if steps:
            first = list_files("undo.redone" if way == "redo" else "undo.done", names, turn=turn)
        elif left or beside:
            first = (say("undo.none_put_back", turn=turn),)
        else:
            first = (say("undo.same", turn=turn),)
        open_lines = list_files("undo.open", beside) if beside else ()
        restored = Restored(way=way, turn=turn, paths=tuple(step.path for step in steps), left=plan.left())
        return UndoResult(
            lines=(*first, *self.damage(), *left, *open_lines),
            facts=(*map(_as_fact, steps), restored),
            notice=_for_model(way, turn, files, left=(*left, *open_lines)),
            complete=not (left or [name for name in beside if not name.startswith(TEMPORARY)]),
            asks=bool(plan.maybe_others),
        )

    def _restore(self, steps: Sequence[FileChange]) -> list[FileChange]:
        """Make the changes, with all contents at hand before the first one, and return them as they are recorded."""
        try:
            names = self._keeper.fetch([step.after for step in steps if step.after])
        except OSError as error:
            raise OvertError(say("undo.failed", why=error.strerror)) from error
        ready: list[FileChange] = []
        for step in steps:
            after = step.after
            if after and after.hash in names:
                after = replace(after, hash=names[after.hash])
            elif after and not after.folder:
                self._keeper.content(after)
            ready.append(replace(step, after=after))
        try:
            restore(self._workspace, ready, self._keeper.content)
        except RestoreError as error:
            done = sorted(step.path for step in error.done)
            rest = [step.path for step in steps if step.path not in done]
            state = say("undo.half", done=", ".join(done), rest=", ".join(rest)) if done else say("undo.rolled_back")
            raise OvertError(say("undo.broken", file=error.path, why=error.why.rstrip("."), state=state)) from error
        return ready

    def _plan(self, wanted: Iterable[NetChange], request: UndoRequest, *, locked: Mapping[str, int]) -> UndoPlan:
        """Decide for every file whether it is put back.

        `locked` are the modes of folders that are open at the moment. Where a file or a link makes room for a folder,
        nothing stands below it: neither is asked what lies behind a link.
        """
        plan = UndoPlan(steps=[], unreachable=[], changed_since=[], maybe_others=[], shared=[])
        cleared: list[str] = []
        for each in sorted(wanted, key=lambda one: one.path):
            below = any(each.path.startswith(f"{path}/") for path in cleared)
            try:
                require_restorable(self._workspace, each.path, cleared=below)
                now, raw = (None, b"") if below else state_of(self._workspace, each.path)
            except ToolError as error:
                plan.unreachable.append((each.path, error.message.rstrip(".")))
                continue
            if now and now.folder and each.path in locked:
                now = replace(now, mode=stat.S_IFDIR | locked[each.path])
            if is_state(now, raw, each.after):
                continue
            folders_only = is_folder(each, now)
            if each.doubt == "shared" and not folders_only:
                plan.shared.append(each)
            elif not (request.force or folders_only or (is_state(now, raw, each.before) and not each.between)):
                plan.changed_since.append(each.path)
            elif each.doubt == "maybe" and not (request.yes or request.force or folders_only):
                plan.maybe_others.append(each)
            else:
                if now and not now.folder:
                    self._kept(raw)
                    if each.after and each.after.folder:
                        cleared.append(each.path)
                plan.steps.append(FileChange(path=each.path, before=now, after=each.after))
        return plan

    def _kept(self, raw: bytes) -> None:
        """What is overwritten can be brought back."""
        try:
            self._keeper.store.put(raw)
        except OSError as error:
            raise OvertError(say("undo.failed", why=error.strerror)) from error

    def _unseen(self, turned: TurnFileChanges) -> list[FileChange]:
        """What changed since commands began whose end was not seen; it may be somebody else's."""
        changes: list[FileChange] = []
        for each in turned.unsure:
            command = turned.command_of(each)
            try:
                unseen = self._keeper.changes(each.before, each.after or self._keeper.now())
            except OvertError as error:
                self._lost.append(error.message)
            else:
                changes += [replace(change, doubt="maybe", command=command, agent=each.agent) for change in unseen]
        return changes

    def _still_stored(self, turned: TurnFileChanges) -> TurnFileChanges:
        """Return what can still be put back of a turn. If one snapshot of its commands was removed, the others would
        put files back to the middle of the turn; so they are left out."""
        trees = [each for each in (*turned.did, *turned.unsure) if isinstance(each, TreeTaken)]
        if self._keeper.lacks_states([name for tree in trees for name in (tree.before, tree.after) if name]):
            turned = without_commands(turned)
        return turned if self._has_contents(turned) else replace(turned, did=(), unsure=())

    def _has_contents(self, turned: TurnFileChanges) -> bool:
        """False if what file tools overwrote was stored and is not there any more."""
        states = {each.path: each.before for each in turned.did if isinstance(each, FileChange)}
        return all(
            self._keeper.store.has(state.hash)
            for path, state in states.items()
            if state and len(state.hash) == 64 and path not in turned.unstored
        )

    def _trees(self, before: str, after: str) -> tuple[FileChange, ...]:
        try:
            return self._keeper.changes(before, after)
        except OvertError as error:
            self._lost.append(error.message)
            return ()

    def _same(self, one: FileState | None, other: FileState | None) -> bool:
        """Whether two states are one, although different stores name them perhaps."""
        if one is None or other is None or one == other:
            return one == other
        if one.mode != other.mode or one.folder or len(one.hash) == len(other.hash):
            return False
        long, short = (one, other) if len(one.hash) == 64 else (other, one)
        try:
            return name_in_git(self._keeper.store.get(long.hash)) == short.hash
        except OvertError:
            names = self._keeper.fetch([short])
            return names.get(short.hash) == long.hash


def turn_lines(points: Checkpoints) -> tuple[str, ...]:
    """A list of the turns: number, what was done to files, how the prompt began."""
    return tuple(
        say(
            "undo.turn_undone" if each.undone else "undo.turn",
            turn=each.turn,
            files=_padded(_count(each.files) if each.did else ""),
            text=first_line(each.text),
        ).rstrip()
        for each in points.turns
    )


def _padded(text: str) -> str:
    return text + " " * (COLUMN - wide(text))


def is_folder(wanted: NetChange, now: FileState | None = None) -> bool:
    """A folder that others use too is made or removed, or not, without a word: nothing is lost with it."""
    return all(state is None or state.folder for state in (now, wanted.before, wanted.after))


def _as_fact(step: FileChange) -> SnapshotTaken:
    before, after = step.before or FileState(), step.after or FileState()
    return SnapshotTaken(
        call_id=RESTORE,
        path=step.path,
        existed=step.before is not None,
        hash=before.hash,
        mode=before.mode,
        after=after.hash,
        after_mode=after.mode,
    )


def _for_model(way: Way, turn: int, steps: Sequence[FileChange], *, left: Sequence[str]) -> str:
    gone = [step.path for step in steps if step.after is None]
    there = [step.path for step in steps if step.after is not None]
    if not (gone or there or left):
        return ""
    how = f"as turn {turn} had left them" if way == "redo" else f"as they were before turn {turn}"
    files_are = "1 file is" if len(there) == 1 else f"{len(there)} files are"
    parts = [f"{files_are} again {how}: {_shorten(there)}." if there else ""]
    parts.append(f"These are gone again: {_shorten(gone)}." if gone else "")
    parts.append(f"Not everything was put back:\n{chr(10).join(left)}\n" if left else "")
    return " ".join(
        ["The user put files back.", *filter(None, parts), "Read them again before you rely on what they hold."]
    )


def _left_lines(plan: UndoPlan, turn: int, request: UndoRequest) -> tuple[str, ...]:
    """Name every file that was left as it is, with the reason and the way to put it back all the same."""
    lines = [say("undo.left", file=path, why=why) for path, why in plan.unreachable]
    for key, changes in (("undo.shared", plan.shared), ("undo.maybe", plan.maybe_others)):
        names: dict[str, list[str]] = {}
        for each in changes:
            names.setdefault(first_line(each.command) or "a command", []).append(each.path)
        for command, paths in names.items():
            lines += list_files(key, paths, command=command)
    if plan.maybe_others:
        lines.append(say("undo.maybe_how", yes=request.command(redo=False, flag="--yes")))
    if plan.changed_since:
        lines += list_files("undo.changed_since", plan.changed_since, turn=turn)
        force = request.command(redo=request.redo, flag="--force")
        lines.append(say("undo.force_how", force=force, redo=request.command(redo=not request.redo)))
    return tuple(lines)


def list_files(key: str, names: Sequence[str], **values: object) -> tuple[str, ...]:
    """A sentence that ends with these names: a few behind it, many below it, one on a line."""
    if len(names) <= MOST_ON_A_LINE:
        return (say(key, files=" " + ", ".join(names), **values),)
    return (say(key, files="", **values), *(f"  {name}" for name in names))


def _count(files: int) -> str:
    return say("undo.count_one") if files == 1 else say("undo.count", count=files)


def _shorten(names: Sequence[str]) -> str:
    more = len(names) - MOST_FOR_MODEL
    return ", ".join((*names[:MOST_FOR_MODEL], f"and {more} more") if more > 0 else names)
