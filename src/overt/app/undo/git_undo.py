"""Name what turns did to git, and put it back for `overt undo --git` and `/undo --git`."""

import os
from collections.abc import Callable, Sequence
from shlex import quote

from msgspec import Struct
from msgspec.structs import replace

from overt.app.undo.session_undo import SessionUndo, UndoRequest, UndoResult
from overt.core.errors import OvertError
from overt.core.events import Event, GitMoved, Restored
from overt.core.file_states import GitState, StashEntry
from overt.lib.translations import load_texts, say
from overt.sessions.checkpoints import RESTORE, Checkpoints, TurnFileChanges
from overt.workspace.git.restore import REMOTES, GitChange, GitRepository
from overt.workspace.git.state import GitReader, find_repository
from overt.workspace.undo.content_store import ContentStore

HEADS, TAGS = "refs/heads/", "refs/tags/"
SHORT = 7


class GitChangeLine(Struct, frozen=True, kw_only=True):
    """One thing that happened to git: the key of its text with the values, and the command that takes it back."""

    key: str
    values: dict[str, object]
    command: str = ""

    def for_person(self, who: str, undo: str) -> str:
        text = say(f"undo.git.{self.key}", who=who, **self.values)
        if self.command and undo:
            return f"{text} {say('undo.git.take_back', command=self.command, undo=undo)}"
        way_back = self.command or undo
        return f"{text} {say('undo.git.take_back_by_hand', command=way_back)}" if way_back else text

    def for_model(self, who: str) -> str:
        return load_texts("en")[f"undo.git.{self.key}"].format(who=who, **self.values)


class GitUndo:
    """The git side of undo for one workspace. `program` is a git that can be trusted; blocking."""

    def __init__(self, workspace: str, store: ContentStore, program: str) -> None:
        self._workspace = workspace
        self._store = store
        self._program = program

    def describe(self, done: UndoResult, points: Checkpoints, *, undo: str) -> UndoResult:
        """Add what the undone turns did to git. `points` are from before the undo; `undo` is the command to type."""
        turns = find_turns(done.facts, points)
        lines = self.list_changes(turns)
        if not lines:
            return done
        who = name_turns(turns)
        change = combine([move for each in turns for move in each.git])
        offer = "" if self.find_obstacle(change) else undo
        notice = " ".join(line.for_model(name_turns_in_english(turns)) for line in lines)
        return replace(
            done,
            lines=(*done.lines, *(line.for_person(who, offer) for line in lines)),
            notice=f"{done.notice or 'The user ran undo.'} Git was not put back: {notice}",
        )

    def undo(self, points: Checkpoints, first: int, files: Callable[[], UndoResult]) -> UndoResult:
        """Put files and git back, or nothing if git cannot be put back.

        `first` is the turn to go back to, or 0 for the last one. If its files are back already and git is not, only
        git follows.
        """
        if first:
            wanted = [each for each in points.turns if each.turn >= first and each.git]
            only_git = False
        else:
            undone = find_undone_with_git(points)
            wanted = undone or [each for each in points.standing()[-1:] if each.git]
            only_git = bool(undone)
        if not wanted:
            done = files()
            turn = next((fact.turn for fact in done.facts if isinstance(fact, Restored)), first)
            who = say("undo.git.turn", turn=turn)
            return replace(done, lines=(*done.lines, say("undo.git.unchanged", who=who)))
        change = combine([move for each in wanted for move in each.git])
        if obstacle := self.find_obstacle(change):
            raise OvertError(say("undo.git.refused", why=obstacle))
        done = UndoResult(lines=()) if only_git else files()
        numbers = tuple(each.turn for each in wanted)
        lines, notice, fact = self._restore(change, numbers)
        return replace(
            done,
            lines=(*done.lines, *lines),
            facts=(*done.facts, fact),
            notice=" ".join(filter(None, (done.notice, notice))),
        )

    def _repository(self, change: GitChange) -> GitRepository:
        repository = find_repository(self._workspace)
        if repository is None or repository.git_dir != change.git_dir:
            raise OvertError(say("undo.git.other_repository", folder=change.git_dir))
        return GitRepository(self._program, repository)

    def find_obstacle(self, change: GitChange) -> str:
        """Return why git cannot be put back, or an empty string."""
        before, after = change.before, change.after
        if not self._program:
            return say("undo.no_git")
        if not (before.exists and after.exists):
            return say("undo.git.whole_repository")
        if change.interrupted:
            return say("undo.git.interrupted")
        if before.operation != after.operation:
            return say("undo.git.in_operation", operation=before.operation or after.operation)
        if before.stash_commits != after.stash_commits and not (change.pushed_stash or change.dropped_stash):
            return say("undo.git.stash_order")
        if change.index_changed and before.index and not before.index_copy:
            return say("undo.git.no_index")
        try:
            repository = self._repository(change)
            if os.path.lexists(os.path.join(change.git_dir, "index.lock")):
                return say("undo.git.locked")
            if moved := self._find_later_change(change):
                return say("undo.git.moved_on", what=moved)
            heads = [(old or before.commit, new) for old, new in change.local_refs.values() if new]
            if not after.head and not before.head:
                heads.append((before.commit, after.commit))
            for old, new in heads:
                if branch := repository.find_remote_branch(new, old):
                    return say("undo.git.pushed", commit=new[:SHORT], branch=branch)
        except OvertError as error:
            return error.message
        return ""

    def _find_later_change(self, change: GitChange) -> str:
        """Return what is not any more as the turn left it, or an empty string."""
        now = GitReader(self._workspace).read().state
        after = change.after
        if (now.head, now.commit) != (after.head, after.commit):
            return f"HEAD ({name_head(now)})"
        for name, (_, new) in change.local_refs.items():
            if now.refs.get(name, "") != new:
                return shorten(name)
        if now.operation != after.operation:
            return now.operation or after.operation
        if change.before.stash != after.stash and now.stash_commits != after.stash_commits:
            return "stash"
        return "index" if change.index_changed and now.index != after.index else ""

    def _restore(self, change: GitChange, turns: tuple[int, ...]) -> tuple[list[str], str, GitMoved]:
        repository = self._repository(change)
        before, after = change.before, change.after
        message = f"overt undo --git: turn {turns[0]}"
        backups = list(repository.restore_refs(change, message))
        problems: list[str] = []
        if change.index_changed:
            try:
                raw = self._store.get(before.index_copy) if before.index_copy else b""
                repository.restore_index(raw, before.index_mtime)
            except OvertError as error:
                problems.append(say("undo.git.index_left", why=error.message))
        backups += self._restore_stash(repository, change, problems)
        now = GitReader(self._workspace).read().state
        lines = [say("undo.git.done", turn=turns[0], head=name_head(now)), *problems]
        lines += [say("undo.git.backup", commit=each[:SHORT], command=find_way_back(change, each)) for each in backups]
        notice = f"Git was put back as well: HEAD is {name_head(now)}."
        names = [name for name in change.refs if after.refs.get(name, "") != now.refs.get(name, "")]
        stash = tuple(StashEntry(commit=commit) for commit in now.stash_commits)  # messages may hold secrets
        fact = GitMoved(
            call_id=RESTORE,
            git_dir=change.git_dir,
            before=after,
            after=replace(now, refs={name: now.refs[name] for name in names if name in now.refs}, stash=stash),
            turns=turns,
        )
        return lines, notice, fact

    def _restore_stash(self, repository: GitRepository, change: GitChange, problems: list[str]) -> list[str]:
        """Return the stash commits that were dropped and have a backup."""
        if change.dropped_stash:
            repository.store_stash(change.dropped_stash)
        pushed = change.pushed_stash
        for entry in pushed:
            if not repository.stash_matches_files(entry):
                problems.append(say("undo.git.stash_left", message=entry.message, commit=entry.commit[:SHORT]))
                return []
        if pushed:
            repository.drop_stash(pushed, left=len(change.before.stash))
        return [entry.commit for entry in pushed]

    def list_changes(self, turns: Sequence[TurnFileChanges]) -> list[GitChangeLine]:
        """All that these turns did to git together, in the order in which it should be taken back."""
        moves = [move for each in turns for move in each.git]
        if not moves:
            return []
        change = combine(moves)
        before, after = change.before, change.after
        if not before.exists or not after.exists:
            key = "repository_created" if after.exists else "repository_removed"
            return [GitChangeLine(key=key, values={"folder": change.git_dir})] if before.exists != after.exists else []
        lines: list[GitChangeLine] = []
        if before.head != after.head or (not after.head and before.commit != after.commit):
            command = f"symbolic-ref HEAD {quote(before.head)}" if before.head else f"checkout --detach {before.commit}"
            values: dict[str, object] = {"old": name_head(before), "new": name_head(after)}
            lines.append(GitChangeLine(key="switched", values=values, command=f"git {command}"))
        lines += [self._ref_line(change, name, *values) for name, values in change.refs.items()]
        lines += list_stash_lines(change)
        if before.operation != after.operation:
            key = "operation_begun" if after.operation else "operation_ended"
            lines.append(GitChangeLine(key=key, values={"operation": after.operation or before.operation}))
        if change.index_changed and not lines:
            lines.append(GitChangeLine(key="staged", values={}))
        return lines

    def _ref_line(self, change: GitChange, name: str, old: str, new: str) -> GitChangeLine:
        short = shorten(name)
        values: dict[str, object] = {"ref": short, "old": old[:SHORT], "new": new[:SHORT]}
        word = "branch" if name.startswith(HEADS) else "tag"
        if not name.startswith((HEADS, TAGS)):
            return GitChangeLine(
                key="moved", values={**values, "ref": name, "old": old[:SHORT] or "-", "new": new[:SHORT] or "-"}
            )
        if not new:
            return GitChangeLine(key="deleted", values=values, command=f"git {word} {quote(short)} {old[:SHORT]}")
        is_head = name == change.after.head
        if not old:
            first = is_head and change.before.head == name
            command = f"git update-ref -d {quote(name)}" if first else f"git {word} -{'D' if word == 'branch' else 'd'}"
            command += "" if first else f" {quote(short)}"
            count = self._count(change, new, change.before.commit)
            key = "first_commit" if first else "created_with_commits" if count else "created"
            return GitChangeLine(key=key, values={**values, "count": count}, command=command)
        command = f"git reset --soft {old[:SHORT]}" if is_head else f"git update-ref {quote(name)} {old[:SHORT]}"
        ahead, behind = self._count(change, new, old), self._count(change, old, new)
        if ahead and behind == 0:
            key = "commit" if ahead == 1 else "commits"
        else:
            key = "moved_back" if ahead == 0 else "replaced"
        return GitChangeLine(key=key, values={**values, "count": ahead}, command=command)

    def _count(self, change: GitChange, new: str, old: str) -> int | None:
        try:
            return self._repository(change).count_commits(new, old) if self._program else None
        except OvertError:
            return None


def run_undo(work: SessionUndo, request: UndoRequest, git: GitUndo) -> UndoResult:
    """Put files back, and git too if asked; otherwise say what stays in git. Blocking."""
    work.require_enabled()
    if request.redo:
        return work.redo(request)
    points = work.points()
    if request.git:
        return git.undo(points, request.turn, lambda: work.undo(request))
    return git.describe(work.undo(request), points, undo=request.git_command())


def find_undone_with_git(points: Checkpoints) -> list[TurnFileChanges]:
    """The turns of the last undo whose git changes still stand; empty if a later turn is next to be undone."""
    last = points.redo[-1].turns if points.redo else ()
    if any(each.turn > max(last, default=0) for each in points.standing()):
        return []
    return [each for each in points.turns if each.turn in last and each.git]


def combine(moves: Sequence[GitMoved]) -> GitChange:
    """What several recorded moves in a row come to."""
    first, last = moves[0], moves[-1]
    refs: dict[str, tuple[str, str]] = {}
    interrupted = False
    for number, move in enumerate(moves):
        if number:
            earlier, here = moves[number - 1].after, move.before
            same = (earlier.head, earlier.commit, earlier.stash_commits, earlier.index, earlier.operation)
            interrupted |= same != (here.head, here.commit, here.stash_commits, here.index, here.operation)
        for name in {**move.before.refs, **move.after.refs}:
            old, new = move.before.refs.get(name, ""), move.after.refs.get(name, "")
            known = refs.get(name)
            interrupted |= known is not None and known[1] != old
            refs[name] = (known[0] if known else old, new)
    before = first.before
    for move in moves:
        if move.before.index == before.index and move.before.index_copy:
            before = replace(before, index_copy=move.before.index_copy, index_mtime=move.before.index_mtime)
            break
    changed = {name: pair for name, pair in sorted(refs.items()) if pair[0] != pair[1]}
    return GitChange(git_dir=last.git_dir, before=before, after=last.after, refs=changed, interrupted=interrupted)


def find_turns(facts: Sequence[Event], points: Checkpoints) -> list[TurnFileChanges]:
    """The turns that an undo or a rewind has just taken back and that moved git."""
    for fact in facts:
        if isinstance(fact, Restored) and fact.way != "redo":
            standing = points.standing(fact.turn)
            turns = standing if fact.way == "rewind" else [each for each in standing if each.turn == fact.turn]
            return [each for each in turns if each.git]
    return []


def list_stash_lines(change: GitChange) -> list[GitChangeLine]:
    if change.before.stash_commits == change.after.stash_commits:
        return []
    if pushed := change.pushed_stash:
        return [_stash_line("stashed", entry, "git stash drop stash@{0}") for entry in pushed]
    if dropped := change.dropped_stash:
        return [_stash_line("unstashed", each, f"git stash store {each.commit[:SHORT]}") for each in reversed(dropped)]
    return [GitChangeLine(key="stash_changed", values={})]


def _stash_line(key: str, entry: StashEntry, command: str) -> GitChangeLine:
    return GitChangeLine(key=key, values={"commit": entry.commit[:SHORT], "message": entry.message}, command=command)


def find_way_back(change: GitChange, commit: str) -> str:
    """The command that brings a commit back after `undo --git`."""
    for entry in change.after.stash:
        if entry.commit == commit:
            return f"git stash store {commit[:SHORT]}"
    for name, (old, new) in change.refs.items():
        if new == commit and name.startswith(HEADS):
            if old and change.before.head == name:
                return f"git reset --soft {commit[:SHORT]}"
            return f"git branch -f {quote(shorten(name))} {commit[:SHORT]}"
    return f"git branch NAME {commit[:SHORT]}"


def name_head(state: GitState) -> str:
    commit = state.commit[:SHORT]
    if state.head:
        return f"{shorten(state.head)} ({commit})" if commit else shorten(state.head)
    return commit


def shorten(ref: str) -> str:
    return ref.removeprefix(HEADS).removeprefix(TAGS).removeprefix(REMOTES)


def name_turns(turns: Sequence[TurnFileChanges]) -> str:
    if len(turns) < 2:
        return say("undo.git.turn", turn=turns[0].turn)
    return say("undo.git.turns", first=turns[0].turn, last=turns[-1].turn)


def name_turns_in_english(turns: Sequence[TurnFileChanges]) -> str:
    return f"turn {turns[0].turn}" if len(turns) < 2 else f"turns {turns[0].turn} to {turns[-1].turn}"
