"""Which files each turn of a session changed, and what was put back since: read from the entries, never stored.

A turn's changes are those of its calls and of the sub-agents that it started, in the order of the record. Putting files
back is on record the same way, as snapshots of what was overwritten followed by `Restored`, so that it can be taken
back itself.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from overt.core.agents.agent_events import AgentStarted
from overt.core.events import Event, GitMoved, Restored, SnapshotTaken, ToolStarted, TreeTaken, UserSpoke
from overt.core.file_states import MAIN_AGENT, Doubt, FileChange, FileState
from overt.core.history import ALONG
from overt.sessions.entries import Entry

RESTORE = "restore"
"""In place of a call: the snapshot was taken because files were put back."""

DOUBTS: tuple[Doubt, ...] = ("", "maybe", "shared")

Trees = Callable[[str, str], Sequence[FileChange]]
Same = Callable[[FileState | None, FileState | None], bool]


class TurnFileChanges(Struct, frozen=True, kw_only=True):
    """What one turn did to files, in order: single changes, and commands as two states of the workspace.

    `uncovered` is what no snapshot holds, in words; `unstored` are files whose content was not kept. `unsure` are
    commands without a recorded end, as when the program was killed: what changed since may be their work or
    someone else's; an empty `after` means the files as they are now. `git` is what commands did to the repository and
    `overt undo --git` has not taken back.
    """

    turn: int
    text: str = ""
    did: tuple[FileChange | TreeTaken, ...] = ()
    unsure: tuple[TreeTaken, ...] = ()
    uncovered: tuple[str, ...] = ()
    unstored: frozenset[str] = frozenset()
    git: tuple[GitMoved, ...] = ()
    undone: bool = False
    commands: dict[str, str] = {}
    """By the id of the call, for those that changed files."""

    @property
    def files(self) -> int:
        """How many, a file that a tool and a command changed counted for each."""
        single = {each.path for each in self.did if isinstance(each, FileChange) and not _folder(each)}
        return len(single) + sum(each.changed for each in self.did if isinstance(each, TreeTaken))

    def changes(self, trees: Trees) -> Iterator[FileChange]:
        """`trees` gives what differs between two states of the workspace."""
        for each in self.did:
            if isinstance(each, FileChange):
                yield each
            else:
                yield from self._by_command(each, trees)

    def _by_command(self, taken: TreeTaken, trees: Trees) -> Iterator[FileChange]:
        command = self.command_of(taken)
        shared, others = frozenset(taken.shared), frozenset(taken.others)
        for change in trees(taken.before, taken.after):
            if change.path in others:
                continue
            doubt: Doubt = "shared" if change.path in shared else "" if taken.tracked else "maybe"
            if doubt or taken.agent != MAIN_AGENT:
                change = replace(change, doubt=doubt, command=command if doubt else "", agent=taken.agent)
            yield change

    def command_of(self, taken: TreeTaken) -> str:
        """The command between two states. Commands of sub-agents are recorded in their own sessions."""
        if taken.agent == MAIN_AGENT:
            return self.commands.get(taken.call_id, "")
        return f"a command of {taken.agent}"


class RestoredChanges(Struct, frozen=True, kw_only=True):
    """Files that were put back, which can be taken back: `changes` lead from what stood to what was put there.

    `left` are paths that were left as they were, because someone else may have changed them.
    """

    turns: tuple[int, ...]
    turn: int
    changes: tuple[FileChange, ...]
    left: tuple[str, ...] = ()


class Checkpoints(Struct, frozen=True, kw_only=True):
    """`redo` is what can be taken back, the last one first to go."""

    turns: tuple[TurnFileChanges, ...] = ()
    redo: tuple[RestoredChanges, ...] = ()

    def standing(self, first: int = 0) -> tuple[TurnFileChanges, ...]:
        """Turns from `first` on that may have done something to files or to git and are not undone."""
        return tuple(
            each
            for each in self.turns
            if each.turn >= first and not each.undone and (each.did or each.unsure or each.uncovered or each.git)
        )

    def left_over(self) -> tuple[tuple[TurnFileChanges, ...], tuple[str, ...]]:
        """The turns that were undone last and the paths that this left as they were; both empty if there are none."""
        last = self.redo[-1] if self.redo else None
        if last is None or not last.left:
            return (), ()
        return tuple(each for each in self.turns if each.turn in last.turns), last.left


class NetChange(Struct, frozen=True, kw_only=True):
    """What several changes come to. `between`: someone else changed the file in the middle of them.

    `agents` are the paths of the agents that made the changes, in order.
    """

    path: str
    before: FileState | None
    after: FileState | None
    between: bool = False
    doubt: Doubt = ""
    command: str = ""
    agents: tuple[str, ...] = (MAIN_AGENT,)

    @property
    def sub_agents(self) -> str:
        """The agents that wrote the file; empty if only the main agent did."""
        return "" if self.agents == (MAIN_AGENT,) else ", ".join(self.agents)


class _Reading:
    def __init__(self) -> None:
        self.turn_of: dict[str, int] = {}
        self.turn_of_agent: dict[str, int] = {}
        self.texts: dict[int, str] = {}
        self.did: dict[int, list[FileChange | TreeTaken]] = {}
        self.uncovered: dict[int, dict[str, None]] = {}
        self.unstored: dict[int, set[str]] = {}
        self.undone: dict[int, None] = {}
        self.begun: dict[tuple[str, str], tuple[int, TreeTaken]] = {}
        self.git: dict[int, list[GitMoved]] = {}
        self.redo: list[RestoredChanges] = []
        self.putting: list[FileChange] = []
        self.commands: dict[str, str] = {}

    def read(self, entry: Entry[Event]) -> None:
        match entry.data:
            case UserSpoke(message=message, steered=False) if message.origin.kind not in ALONG:
                if not self.texts.get(entry.turn):
                    self.texts[entry.turn] = message.text() if message.origin.kind == "user" else ""
            case ToolStarted(call=call):
                self.turn_of[call.id] = entry.turn
                self.commands[call.id] = call.arguments
            case AgentStarted(agent=agent):
                self.turn_of_agent[agent] = entry.turn
            case SnapshotTaken(call_id="restore", agent="main"):
                self.putting.append(_as_change(entry.data))
            case SnapshotTaken(path=path, uncovered=uncovered) as taken:
                turn = self._turn(taken, entry.turn)
                self._changed(turn, _as_change(taken))
                if uncovered:
                    self._open(turn, [f"{path} ({uncovered})"])
                    self.unstored.setdefault(turn, set()).add(path)
            case TreeTaken() as tree:
                self._taken(tree, self._turn(tree, entry.turn))
            case GitMoved(call_id="restore", agent="main", turns=turns):
                for turn in turns:
                    self.git.pop(turn, None)
            case GitMoved() as moved:
                self.git.setdefault(self._turn(moved, entry.turn), []).append(moved)
            case Restored():
                self._restored(entry.data)
            case _:
                pass

    def _turn(self, event: SnapshotTaken | TreeTaken | GitMoved, recorded: int) -> int:
        """Return the turn of a call, which may have ended before the event was recorded. Calls of different agents may
        have the same id."""
        if event.agent == MAIN_AGENT:
            return self.turn_of.get(event.call_id, recorded)
        return self.turn_of_agent.get(event.agent, recorded)

    def _taken(self, taken: TreeTaken, turn: int) -> None:
        if taken.before and not taken.after and not taken.uncovered:
            for key, (other, earlier) in self.begun.items():
                self.begun[key] = (other, replace(earlier, after=earlier.after or taken.before))
            self.begun[taken.agent, taken.call_id] = (turn, taken)
            return
        self.begun.pop((taken.agent, taken.call_id), None)
        self._open(turn, taken.uncovered)
        if taken.before and taken.after and taken.before != taken.after:
            self._changed(turn, taken)

    def unsure(self, turn: int) -> tuple[TreeTaken, ...]:
        return tuple(each for at, each in self.begun.values() if at == turn and each.before != each.after)

    def commands_of(self, turn: int) -> dict[str, str]:
        """What the commands of a turn were that changed files."""
        taken = [each for each in self.did.get(turn, ()) if isinstance(each, TreeTaken)]
        taken += self.unsure(turn)
        main = [each.call_id for each in taken if each.agent == MAIN_AGENT]
        commands = {id: _command(self.commands.get(id, "")) for id in main}
        return {id: command for id, command in commands.items() if command}

    def _changed(self, turn: int, what: FileChange | TreeTaken) -> None:
        self.did.setdefault(turn, []).append(what)
        self.redo = []  # what was undone before a new change has a past of its own

    def _open(self, turn: int, names: Iterable[str]) -> None:
        self.uncovered.setdefault(turn, {}).update(dict.fromkeys(names))

    def _restored(self, event: Restored) -> None:
        putting, self.putting = self.putting, []
        if event.way == "redo":
            if self.redo:
                self._redone(self.redo.pop(), event.left)
            return
        known = sorted({*self.did, *self.git, *self.uncovered, *(turn for turn, _ in self.begun.values())})
        candidates = [event.turn] if event.way == "undo" else [turn for turn in known if turn >= event.turn]
        turns = tuple(turn for turn in candidates if turn not in self.undone)
        if not turns and self.redo:
            turns = self.redo[-1].turns  # it put back what the undo before had left
        self.undone |= dict.fromkeys(turns)
        self.redo.append(RestoredChanges(turns=turns, turn=event.turn, changes=tuple(putting), left=event.left))

    def _redone(self, back: RestoredChanges, left: tuple[str, ...]) -> None:
        """An undo was taken back; if that left paths as they were, another redo can bring those back."""
        if left:
            rest = tuple(each for each in back.changes if each.path in left)
            self.redo.append(RestoredChanges(turns=back.turns, turn=back.turn, changes=rest))
        elif not any(set(back.turns) & set(each.turns) for each in self.redo):
            for turn in back.turns:
                self.undone.pop(turn, None)


def read_checkpoints(entries: Iterable[Entry[Event]]) -> Checkpoints:
    reading = _Reading()
    for entry in entries:
        reading.read(entry)
    begun = (turn for turn, _ in reading.begun.values())
    numbers = sorted({*reading.texts, *reading.did, *reading.uncovered, *reading.git, *begun})
    return Checkpoints(
        turns=tuple(
            TurnFileChanges(
                turn=turn,
                text=reading.texts.get(turn, ""),
                did=tuple(reading.did.get(turn, ())),
                uncovered=tuple(reading.uncovered.get(turn, ())),
                unstored=frozenset(reading.unstored.get(turn, ())),
                unsure=reading.unsure(turn),
                git=tuple(reading.git.get(turn, ())),
                undone=turn in reading.undone,
                commands=reading.commands_of(turn),
            )
            for turn in numbers
        ),
        redo=tuple(reading.redo),
    )


def without_commands(turned: TurnFileChanges) -> TurnFileChanges:
    """Return the turn with only what file tools changed."""
    return replace(turned, did=tuple(each for each in turned.did if isinstance(each, FileChange)), unsure=())


def net_changes(changes: Iterable[FileChange], same: Same) -> tuple[NetChange, ...]:
    """From the state before the first change of each path to the one after the last."""
    net_by_path: dict[str, NetChange] = {}
    for each in changes:
        known = net_by_path.get(each.path)
        if known is None:
            net_by_path[each.path] = NetChange(
                path=each.path,
                before=each.before,
                after=each.after,
                doubt=each.doubt,
                command=each.command,
                agents=(each.agent,),
            )
            continue
        net_by_path[each.path] = NetChange(
            path=each.path,
            before=known.before,
            after=each.after,
            between=known.between or not same(known.after, each.before),
            doubt=max(known.doubt, each.doubt, key=DOUBTS.index),
            command=known.command or each.command,
            agents=tuple(dict.fromkeys((*known.agents, each.agent))),
        )
    return tuple(each for each in net_by_path.values() if each.between or not same(each.before, each.after))


def _command(arguments: str) -> str:
    """The command line in the arguments of a call, if there is one."""
    try:
        command = json.decode(arguments).get("command", "")
    except (DecodeError, AttributeError):
        return ""
    return command if isinstance(command, str) else ""


def reverse_changes(changes: Iterable[FileChange]) -> tuple[FileChange, ...]:
    """The same changes the other way, the last one first."""
    return tuple(FileChange(path=each.path, before=each.after, after=each.before) for each in reversed([*changes]))


def _as_change(taken: SnapshotTaken) -> FileChange:
    before = FileState(hash=taken.hash, mode=taken.mode) if taken.existed else None
    after = FileState(hash=taken.after, mode=taken.after_mode) if taken.after or taken.after_mode else None
    return FileChange(path=taken.path, before=before, after=after, agent=taken.agent)


def _folder(change: FileChange) -> bool:
    return all(state is None or state.folder for state in (change.before, change.after))
