"""Files of a session put back to how they stood before a turn, and brought back again."""

import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from overt.core.errors import OvertError, ToolError
from overt.core.events import Event, Restored, SnapshotTaken
from overt.core.states import FileChange, FileState
from overt.lib.catalogue import say
from overt.lib.text import wide
from overt.sessions.checkpoints import RESTORE, Checkpoints, Net, Turned, back, checkpoints, net
from overt.sessions.load import load
from overt.world.files import Workspace
from overt.world.keeping import Keeper
from overt.world.restore import Broken, Step, is_state, name_in_git, require_restorable, restore, state_of, unlocked

MOST_NAMED = 12
COLUMN = 10

Way = Literal["undo", "redo", "rewind"]


class Words(Struct, frozen=True, kw_only=True):
    """How the person asks for the two other ways, where they are."""

    force: str = "/undo --force"
    redo: str = "/redo"


class Undone(Struct, frozen=True, kw_only=True):
    """`lines` are for the person, `facts` for the record, `told` for the model; the last two are empty when nothing
    had to be changed."""

    lines: tuple[str, ...]
    facts: tuple[Event, ...] = ()
    told: str = ""


class Undoing:
    """One session and the workspace it changed. Everything here blocks: it is for a thread."""

    def __init__(self, path: str, workspace: Workspace, keeper: Keeper) -> None:
        if not path:
            raise OvertError(say("undo.unkept"))
        self._path = path
        self._workspace = workspace
        self._keeper = keeper
        self._lost: list[str] = []
        self._damage: tuple[str, ...] = ()
        self._unsure: set[str] = set()

    def points(self) -> Checkpoints:
        loaded = load(self._path)
        there = loaded.opened.workspace
        if there and there != self._workspace.root:
            raise OvertError(say("undo.elsewhere", there=there))
        self._damage = loaded.damage
        return checkpoints(loaded.entries)

    def damage(self) -> tuple[str, ...]:
        """What a person should know of a record that is not whole, once it was looked at."""
        return (say("undo.damaged", what="; ".join(self._damage)),) if self._damage else ()

    def undo(self, *, force: bool, words: Words) -> Undone:
        """The last turn that did something to files and is not undone."""
        standing = self.points().standing()
        if not standing:
            raise OvertError(say("undo.nothing"))
        return self._go_back("undo", standing[-1].turn, standing[-1:], force=force, words=words)

    def rewind(self, turn: int, *, force: bool, words: Words) -> Undone:
        """Everything from a turn on."""
        standing = self.points().standing(turn)
        if not standing:
            return Undone(lines=(say("undo.same", turn=turn),))
        return self._go_back("rewind", turn, standing, force=force, words=words)

    def redo(self, *, force: bool, words: Words) -> Undone:
        points = self.points()
        if not points.redo:
            raise OvertError(say("undo.nothing_redo"))
        last = points.redo[-1]
        wanted = net(back(last.changes), self._same)
        return self._put("redo", last.turn, wanted, force=force, words=words, beside=())

    def _go_back(self, way: Way, turn: int, turns: Sequence[Turned], *, force: bool, words: Words) -> Undone:
        changes = [change for each in turns for change in (*each.changes(self._trees), *self._unseen(each))]
        uncovered = dict.fromkeys(name for each in turns for name in each.uncovered)
        beside = (*uncovered, *self._lost)
        wanted = net(changes, self._same)
        reverse = tuple(replace(each, before=each.after, after=each.before) for each in wanted)
        return self._put(way, turn, reverse, force=force, words=words, beside=beside)

    def _put(
        self, way: Way, turn: int, wanted: Sequence[Net], *, force: bool, words: Words, beside: Sequence[str]
    ) -> Undone:
        """`wanted` lead from how the files should stand now to how they shall stand."""
        with unlocked(self._workspace, [each.path for each in wanted]) as locked:
            steps, left, conflicts = self._planned(wanted, force=force, locked=locked)
            if conflicts:
                raise OvertError(say("undo.conflict", files=_some(conflicts), force=words.force, redo=words.redo))
            if steps:
                steps = self._restored(steps)
                for step in steps:
                    locked.pop(step.path, None)
        lines = [*self.damage(), *(say("undo.left", file=path, why=why) for path, why in left)]
        if beside:
            lines.append(say("undo.open", files=_some(beside)))
        if not steps:
            return Undone(lines=(say("undo.same", turn=turn), *lines), facts=(Restored(way=way, turn=turn),))
        files = [step.path for step in steps if not (step.then or step.now or FileState()).folder]
        gone = {step.path for step in steps if step.then is None}
        named = [
            say("undo.removed", file=path) if path in gone else path for path in files or [step.path for step in steps]
        ]
        said = say("undo.redone" if way == "redo" else "undo.done", turn=turn, files=_some(named))
        return Undone(
            lines=(said, *lines),
            facts=(*map(_as_fact, steps), Restored(way=way, turn=turn, paths=tuple(step.path for step in steps))),
            told=_for_model(way, turn, [step for step in steps if step.path in set(files)]),
        )

    def _restored(self, steps: Sequence[Step]) -> list[Step]:
        fetched = self._fetched(steps)
        try:
            restore(self._workspace, fetched, self._keeper.content)
        except Broken as error:
            done, rest = {step.path for step in error.done}, [step.path for step in steps]
            rest = [path for path in rest if path not in done]
            state = say("undo.half", done=_some(sorted(done)), rest=_some(rest)) if done else say("undo.rolled_back")
            raise OvertError(say("undo.broken", file=error.path, why=error.why.rstrip("."), state=state)) from error
        return fetched

    def _planned(
        self, wanted: Iterable[Net], *, force: bool, locked: Mapping[str, int]
    ) -> tuple[list[Step], list[tuple[str, str]], list[str]]:
        """What to do, what is left as it is and why, and what somebody else has changed since.

        `locked` are the modes of folders that are open at the moment. Where a file or a link makes room for a folder,
        nothing stands below it: neither is asked what lies behind a link.
        """
        steps: list[Step] = []
        left: list[tuple[str, str]] = []
        conflicts: list[str] = []
        cleared: list[str] = []
        for each in sorted(wanted, key=lambda one: one.path):
            below = any(each.path.startswith(f"{path}/") for path in cleared)
            try:
                require_restorable(self._workspace, each.path, cleared=below)
                now, raw = (None, b"") if below else state_of(self._workspace, each.path)
            except ToolError as error:
                left.append((each.path, error.message.rstrip(".")))
                continue
            if now and now.folder and each.path in locked:
                now = replace(now, mode=stat.S_IFDIR | locked[each.path])
            if is_state(now, raw, each.after):
                continue
            sure = is_state(now, raw, each.before) and not each.between and each.path not in self._unsure
            if not (force or sure or _folders(now, each)):
                conflicts.append(each.path)
                continue
            if now and not now.folder:
                self._kept(raw)
                if each.after and each.after.folder:
                    cleared.append(each.path)
            steps.append(Step(path=each.path, now=now, then=each.after))
        return steps, left, conflicts

    def _kept(self, raw: bytes) -> None:
        """What is overwritten can be brought back."""
        try:
            self._keeper.store.put(raw)
        except OSError as error:
            raise OvertError(say("undo.failed", why=error.strerror)) from error

    def _fetched(self, steps: Sequence[Step]) -> list[Step]:
        """Every content at hand before anything is changed, named the same way."""
        states = [step.then for step in steps if step.then]
        try:
            names = self._keeper.fetch(states)
        except OSError as error:
            raise OvertError(say("undo.failed", why=error.strerror)) from error
        found: list[Step] = []
        for step in steps:
            then = step.then
            if then and then.hash in names:
                then = replace(then, hash=names[then.hash])
            elif then and not then.folder:
                self._keeper.content(then)
            found.append(replace(step, then=then))
        return found

    def _unseen(self, turned: Turned) -> list[FileChange]:
        """What changed since commands began of which nobody saw the end; it is not undone without asking."""
        found: list[FileChange] = []
        for each in turned.unsure:
            try:
                found += self._keeper.changes(each.before, each.after or self._keeper.now())
            except OvertError as error:
                self._lost.append(error.message)
        self._unsure |= {each.path for each in found}
        return found

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


def turn_lines(points: Checkpoints, first_line: Callable[[str], str]) -> tuple[str, ...]:
    """A list of the turns: number, what was done to files, how the prompt began."""
    return tuple(
        say(
            "undo.turn_undone" if each.undone else "undo.turn",
            turn=each.turn,
            files=_padded(_count(range(each.files)) if each.did else ""),
            text=first_line(each.text),
        ).rstrip()
        for each in points.turns
    )


def _padded(text: str) -> str:
    return text + " " * (COLUMN - wide(text))


def first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= 60 else line[:59] + "…"


def _folders(now: FileState | None, wanted: Net) -> bool:
    """A folder that others use too is made or removed, or not, without a word: nothing is lost with it."""
    return all(state is None or state.folder for state in (now, wanted.before, wanted.after))


def _as_fact(step: Step) -> SnapshotTaken:
    now, then = step.now, step.then
    return SnapshotTaken(
        call_id=RESTORE,
        path=step.path,
        existed=now is not None,
        hash=now.hash if now else "",
        mode=now.mode if now else 0,
        after=then.hash if then else "",
        after_mode=then.mode if then else 0,
    )


def _for_model(way: Way, turn: int, steps: Sequence[Step]) -> str:
    gone = [step.path for step in steps if step.then is None]
    there = [step.path for step in steps if step.then is not None]
    if not gone and not there:
        return ""
    how = f"as turn {turn} had left them" if way == "redo" else f"as they were before turn {turn}"
    parts = [f"{len(there)} files are again {how}: {_some(there)}." if there else ""]
    parts.append(f"These are gone again: {_some(gone)}." if gone else "")
    return " ".join(
        ["The user put files back.", *filter(None, parts), "Read them again before you rely on what they hold."]
    )


def _count(files: Sequence[object]) -> str:
    return say("undo.count_one") if len(files) == 1 else say("undo.count", count=len(files))


def _some(names: Sequence[str]) -> str:
    more = len(names) - MOST_NAMED
    return ", ".join((*names[:MOST_NAMED], f"+ {more}") if more > 0 else names)
