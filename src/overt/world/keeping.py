"""What is kept so that files can be put back: contents before an edit, the whole workspace around a command.

A pass over the workspace runs in a thread. The one before a command begins while its call still streams in, and is
waited for no longer than `PATIENCE`; the one after it runs while the model already reads the result, and the next
change waits for it. The very first one of a workspace takes longest: it begins with the first call of any kind, and a
command waits longer for it.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager

from overt.core.errors import OvertError
from overt.core.events import Event, Noticed, TreeTaken
from overt.core.states import FileChange, FileState
from overt.lib.catalogue import say
from overt.lib.paths import slug
from overt.lib.protected import AT_HOME
from overt.world._contain import lies_below
from overt.world._shadow_git import Git, find_git
from overt.world.sandbox._secrets import HIDDEN
from overt.world.sandbox.profile import Place, writable
from overt.world.shadow import Shadow, Taken
from overt.world.snapshots import Store

PATIENCE = 2.0
FIRST_PATIENCE = 10.0
UNTOLD = 1.0
"""So long is the first one waited for before a word is said about it."""
SOON = 1.0
"""So long after the first call the first one begins, where no command is in sight."""
FRESH = 1.0
"""So old may a pass be that stands for the moment before a command, when nothing of ours changed a file since."""


class Keeper:
    """`record` takes facts that come later than the call they belong to. Without `shadow`, `why` says what is amiss."""

    def __init__(
        self, store: Store, shadow: Shadow | None, *, why: str = "", record: Callable[[Event], None] = lambda _: None
    ) -> None:
        self.store = store
        self.shadow = shadow
        self._why = why
        self._record = record
        self._pass: asyncio.Task[Taken | str] | None = None
        self._begun = 0.0
        self._after: set[asyncio.Task[None]] = set()
        self._told: set[str] = set()
        self._soon: asyncio.TimerHandle | None = None
        self._closed = False

    def warm(self) -> None:
        """Begin a pass now: a command is coming."""
        if self._free() and not self._fresh():
            self._start()

    def prepare(self) -> None:
        """Begin the very first pass soon, behind everything else: a command may come some time.

        Not at once: a session that only looks something up is over before, and the search would have to share.
        """
        if self.shadow and self._free() and not self.shadow.begun() and self._soon is None:
            self._soon = asyncio.get_running_loop().call_later(SOON, self._begin)

    def _begin(self) -> None:
        self._soon = None
        if self.shadow and self._free() and not self.shadow.begun():
            self._start(idle=True)

    def _free(self) -> bool:
        return self.shadow is not None and not self._closed and (self._pass is None or self._pass.done())

    async def before(self) -> Taken | str:
        """The workspace just before a command, or why it is not known."""
        await self.quiet()
        if self.shadow is None:
            return self._why
        first = not self.shadow.begun()
        telling = asyncio.get_running_loop().call_later(UNTOLD, self._tell_of_the_first) if first else None
        try:
            async with asyncio.timeout(FIRST_PATIENCE if first else PATIENCE):
                if self._pass and not self._pass.done():
                    await asyncio.wait({self._pass})
                found = self._pass if self._fresh() and self._pass else self._start()
                await asyncio.wait({found})
                return found.result()
        except TimeoutError:
            return say("undo.not_ready")
        finally:
            if telling:
                telling.cancel()

    def after(self, call_id: str, before: Taken | str) -> None:
        """A command has ended: what it changed is found out and recorded, and nobody waits for that here."""
        if not self._closed:
            task = asyncio.get_running_loop().create_task(self._look_after(call_id, before))
            self._after.add(task)
            task.add_done_callback(self._after.discard)

    @asynccontextmanager
    async def around(self, call_id: str) -> AsyncIterator[None]:
        """A command that may write runs inside of this, whatever becomes of it."""
        before = await self.before()
        if isinstance(before, Taken):  # should nobody live to see the end of it
            self._record(TreeTaken(call_id=call_id, before=before.name, after=""))
        try:
            yield
        finally:
            self.after(call_id, before)

    async def quiet(self) -> None:
        """Until the commands before have been looked at; a change now would be taken for theirs."""
        if self._after:
            await asyncio.wait(set(self._after), timeout=PATIENCE)

    def touched(self) -> None:
        """We have changed a file ourselves: a pass from before that is not fresh any more."""
        self._begun = 0.0

    def tell(self, facts: Iterable[Event]) -> None:
        """Of a call that was broken off: what it did stays done."""
        for fact in facts:
            self._record(fact)

    async def close(self) -> None:
        if self._after:
            await asyncio.wait(set(self._after), timeout=FIRST_PATIENCE)
        self._closed = True
        if self._soon:
            self._soon.cancel()
        if self.shadow:
            self.shadow.stop()
        left = {*self._after, *((self._pass,) if self._pass else ())}
        if left:
            await asyncio.wait(left, timeout=PATIENCE)

    def content(self, state: FileState) -> bytes:
        """What a file held, or where a link led, once it was fetched."""
        return self.store.get(state.hash)

    def fetch(self, states: Iterable[FileState]) -> dict[str, str]:
        """Bring contents that git holds into the store of contents: name there → name here. Blocking."""
        wanted = tuple({state.hash for state in states if len(state.hash) == 40})
        if not wanted:
            return {}  # where only file tools wrote, git may never have been started
        if self.shadow is None:
            raise OvertError(self._why)
        return {name: self.store.put(raw) for name, raw in self.shadow.contents(wanted)}

    def changes(self, before: str, after: str) -> tuple[FileChange, ...]:
        """What differs between two states of the workspace; blocking."""
        if self.shadow is None:
            raise OvertError(self._why)
        return self.shadow.changes(before, after)

    def now(self) -> str:
        """The state of the workspace at this moment; blocking."""
        if self.shadow is None:
            raise OvertError(self._why)
        return self.shadow.take().name

    def _fresh(self) -> bool:
        return self._pass is not None and asyncio.get_running_loop().time() - self._begun < FRESH

    def _start(self, *, idle: bool = False) -> "asyncio.Task[Taken | str]":
        loop = asyncio.get_running_loop()
        self._begun = loop.time()
        self._pass = loop.create_task(self._take(idle=idle))
        return self._pass

    async def _take(self, *, idle: bool) -> Taken | str:
        assert self.shadow is not None
        try:
            return await asyncio.to_thread(self.shadow.take, idle=idle)
        except OvertError as error:
            return say("undo.failed", why=error.message)

    async def _look_after(self, call_id: str, before: Taken | str) -> None:
        if isinstance(before, str):
            self._record(TreeTaken(call_id=call_id, before="", after="", uncovered=(before,)))
            self._warn(before)
            return
        if self._pass and not self._pass.done():
            await asyncio.wait({self._pass})
        after = await self._start()
        if self._closed:
            return
        if isinstance(after, str):
            self._record(TreeTaken(call_id=call_id, before=before.name, after="", uncovered=(after,)))
            self._warn(after)
        elif after.name == before.name:
            self._record(TreeTaken(call_id=call_id, before=before.name, after=after.name))
        else:
            uncovered = tuple(dict.fromkeys((*before.uncovered, *after.uncovered)))
            changed = await asyncio.to_thread(self._count, before.name, after.name)
            fact = TreeTaken(
                call_id=call_id, before=before.name, after=after.name, changed=changed, uncovered=uncovered
            )
            self._record(fact)

    def _count(self, before: str, after: str) -> int:
        assert self.shadow is not None
        try:
            changes = self.shadow.changes(before, after)
        except OvertError:
            return 0  # whoever wants them back is told
        return sum(1 for each in changes if not (each.before or each.after or FileState()).folder)

    def _warn(self, why: str) -> None:
        """Once for each reason."""
        if why not in self._told:
            self._told.add(why)
            self._record(Noticed(text=say("undo.uncovered", why=why)))

    def _tell_of_the_first(self) -> None:
        if not self._closed and "" not in self._told:
            self._told.add("")
            self._record(Noticed(text=say("undo.first")))


def make_keeper(
    place: Place, *, own: Sequence[str], path: str, record: Callable[[Event], None] = lambda _: None
) -> Keeper:
    """For the workspace of a place; `own` are folders of Overt, and `path` is where git is looked for."""
    workspace, home = place.workspace, place.home
    store = Store(os.path.join(place.data_dir, "snapshots", slug(os.path.abspath(place.project))))
    git = find_git(path, writable=writable(place))
    if not git:
        return Keeper(store, None, why=say("undo.no_git"), record=record)
    if workspace == "/" or home == workspace or home.startswith(workspace.rstrip("/") + "/"):
        return Keeper(store, None, why=say("undo.home"), record=record)
    secret = [os.path.join(home, name) for name in (*HIDDEN, *("/".join(names) for names in AT_HOME))]
    if any(lies_below(workspace, path) is not None for path in secret):
        return Keeper(store, None, why=say("undo.secret"), record=record)
    folder = os.path.join(place.data_dir, "shadow", slug(workspace))
    return Keeper(store, Shadow(Git(git, folder, workspace), workspace, own=(*own, *secret)), record=record)
