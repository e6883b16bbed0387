"""The tools of a recorded session run again: in a scratch copy of its workspace, inside the sandbox, and compared.

Only what was allowed then is run, and nothing of it in the real folder. The copy is of the workspace as it is now,
so what has changed since shows as a difference.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from overt.agent.run_tool import attempt
from overt.app.agent_capabilities import Capabilities
from overt.app.options import Options
from overt.app.records.recorded_services import RecordedUnlisted
from overt.app.records.recorded_steps import RecordedStep, flattens_arguments, read_steps, tools_of
from overt.app.redaction.secrets import make_redactor
from overt.app.registries import Registries
from overt.app.session_workspace import SessionWorkspace
from overt.app.setting import Setting, read_setting
from overt.app.small_model.scaffold import small_limits
from overt.app.workspace_services import WorkspaceServices
from overt.config.paths import Roots
from overt.core.capabilities import AVAILABLE
from overt.core.errors import SessionError, ToolError
from overt.core.events import Event, PrefixSet, RequestSent, TodoSet, ToolFinished
from overt.core.history import History
from overt.core.messages import Call
from overt.core.protocols import Profile, SandboxState
from overt.core.tool import JsonArguments
from overt.core.views import Output
from overt.lib.diff import file_diff
from overt.lib.redaction.redact import HIDDEN
from overt.lib.result_limit import ResultLimit, result_limit
from overt.lib.text import clip
from overt.lib.tokens import family_of
from overt.repair.repair_call import mend
from overt.sessions.entries import Entry
from overt.tools.jobs import jobs
from overt.workspace.command_output import HINT

MOST_BYTES, MOST_FILES = 512 * 1024 * 1024, 50_000
SHOWN_BYTES, SHOWN_TOKENS = 2000, 600

NOT_RUN = ("invalid", "repeated")

Likeness = Literal["same", "differs", "skipped"]


class ReplayedCall(Struct, frozen=True, kw_only=True):
    """One call run again. `why` it was skipped, or the difference, short."""

    turn: int
    step: int
    seq: int
    name: str
    about: str
    state: Likeness
    why: str = ""


async def run_tools(
    entries: Sequence[Entry[Event]], workspace: str, registries: Registries
) -> tuple[ReplayedCall, ...]:
    """Run every call of the main agent again, in order."""
    if not os.path.isdir(workspace):
        raise SessionError(f"The workspace of this session, {workspace or '(unknown)'}, is not there to be copied.")
    with scratch_copy(workspace) as scratch:
        setting = _setting(workspace, scratch, registries)
        runner = _ToolRunner(setting, workspace)
        try:
            return await runner.run_all(entries)
        finally:
            await runner.close()


def _setting(workspace: str, scratch: str, registries: Registries) -> Setting:
    """As the workspace is configured; only the place is another, and no folder beside it may be written to."""
    setting = read_setting(Options(directory=workspace, registries=registries))
    sandbox = replace(setting.config.sandbox, network=False, write=True)
    config = replace(setting.config, sandbox=sandbox, allow_write=())
    return replace(setting, roots=Roots(workspace=scratch, project=scratch), config=config)


class _ToolRunner:
    """Runs recorded calls in the scratch copy. `_history` is what the tools know of the session so far."""

    def __init__(self, setting: Setting, workspace: str) -> None:
        self._history = History()
        redactor = make_redactor(setting)
        self._files = SessionWorkspace(setting, WorkspaceServices(setting), redactor=redactor)
        self._hands = Capabilities(self._files, history=lambda: self._history, effects=AVAILABLE)
        self._clean = redactor.clean
        self._config = setting.config
        self._scratch = setting.roots.workspace
        self._workspace = workspace
        self._sandbox: SandboxState | None = None

    async def close(self) -> None:
        await self._files.close()

    async def run_all(self, entries: Sequence[Entry[Event]]) -> tuple[ReplayedCall, ...]:
        mine = [entry for entry in entries if entry.agent == "main"]
        calls: list[ReplayedCall] = []
        opening: PrefixSet | None = None
        at = 0
        while at < len(mine):
            event = mine[at].data
            if isinstance(event, PrefixSet):
                opening = event
            if not isinstance(event, RequestSent) or event.purpose != "step" or opening is None:
                at += 1
                continue
            part = read_steps(mine, at)
            for step in part.steps:
                for call in step.reply.message.calls() if step.reply else ():
                    calls.append(await self._run_again(step, call, opening))
            at = max(part.stop, at + 1)
        return tuple(calls)

    async def _run_again(self, step: RecordedStep, call: Call, opening: PrefixSet) -> ReplayedCall:
        started, then = step.started.get(call.id), step.outcomes.get(call.id)
        named = started.call if started else call
        place = ReplayedCall(
            turn=step.entry.turn,
            step=step.entry.step,
            seq=step.entry.seq,
            name=named.name,
            about=started.headline if started else "",
            state="skipped",
        )
        cut = step.reply is not None and step.reply.finish == "length"
        unlisted = RecordedUnlisted(lambda: step)
        mended = mend(
            call, tools_of(opening), cut=cut, flatten=flattens_arguments(opening), find_unlisted=unlisted.find
        )
        if why := self._skip_reason(step, mended.call, then):
            return replace(place, why=why)
        assert then is not None
        if mended.tool is None:
            return self._compare(place, then, mended.error, opening)
        if mended.tool.args is JsonArguments:
            return replace(place, why="it belongs to an MCP server or another package")
        if "ask" in mended.tool.effects:
            return replace(place, why="it asks the user")
        if "network" in mended.tool.effects:
            return replace(place, why="the web is not the same twice")
        if "run" in mended.tool.effects and not (await self._standing()).boxed:
            return replace(place, why="there is no sandbox here to run it in")
        try:
            outcome, journal = await attempt(mended, self._hands, box=Profile(), limit=self._limit(opening))
        except ToolError as error:
            return self._compare(place, then, error.message, opening)
        for fact in journal.facts:
            if isinstance(fact, TodoSet):
                self._history = replace(self._history, todos=fact.items)
        self._history = replace(self._history, seen=self._history.seen | journal.seen)
        if outcome.blocked and outcome.blocked.kind == "network":
            return replace(place, why="it needs the network, which is closed here")
        return self._compare(place, then, outcome.text, opening)

    def _skip_reason(self, step: RecordedStep, call: Call, then: ToolFinished | None) -> str:
        """Return why a call is not run again, or an empty string."""
        verdict = step.verdicts.get(call.id)
        if then is None or then.code == "interrupted":
            return "it was interrupted"
        if then.code == "denied" or (verdict and verdict.verdict == "deny"):
            return "it was denied"
        if verdict is None and then.code not in NOT_RUN:
            return "nobody had allowed it"
        if HIDDEN in call.arguments:
            return "a secret was taken out of it"
        if then.code in NOT_RUN:
            return "it was not run"
        if call.name == jobs.name or "run_in_background" in call.arguments:
            return "what runs in the background is not the same twice"
        return ""

    async def _standing(self) -> SandboxState:
        self._sandbox = self._sandbox or await self._hands.standing()
        return self._sandbox

    def _limit(self, opening: PrefixSet) -> ResultLimit:
        """As it was cut then, if the window was known and no setting has changed."""
        limits, window = self._config.limits, self._config.context_window
        if opening.about and opening.about.compact:
            limits = small_limits(limits)
        elif self._config.origin("context.context_window") == "default":
            window = opening.about.window if opening.about else 0
        return result_limit(window, limits, family=family_of(opening.model))

    def _compare(self, place: ReplayedCall, then: ToolFinished, text: str, opening: PrefixSet) -> ReplayedCall:
        now, before = self._clean(text).replace(self._scratch, self._workspace), then.result.text()
        if isinstance(then.view, Output) and then.view.hint:
            before = before.replace(then.view.hint, HINT)
        if before in (now, self._limit(opening).clip(now)):
            return replace(place, state="same")
        diff = file_diff("", before, now).diff
        return replace(place, state="differs", why=clip(diff, SHOWN_BYTES, SHOWN_TOKENS))


@contextmanager
def scratch_copy(folder: str) -> Iterator[str]:
    """A private copy that is gone afterwards. Links stay links; pipes, sockets and devices stay where they are."""
    copy = os.path.realpath(tempfile.mkdtemp(prefix="overt-replay-"))
    try:
        _copy(folder, copy)
        yield copy
    finally:
        shutil.rmtree(copy, onerror=_let_in)


def _copy(folder: str, target: str) -> None:
    files = size = 0
    for place, folders, names in os.walk(folder):
        inner = os.path.relpath(place, folder)
        for name in folders:
            at, to = os.path.join(place, name), os.path.join(target, inner, name)
            if os.path.islink(at):
                os.symlink(os.readlink(at), to)
            else:
                os.mkdir(to, 0o700)
        for name in names:
            at = os.path.join(place, name)
            facts = os.lstat(at)
            files, size = files + 1, size + (facts.st_size if stat.S_ISREG(facts.st_mode) else 0)
            if files > MOST_FILES or size > MOST_BYTES:
                raise SessionError(
                    f"{folder} is too large for a scratch copy (more than {MOST_FILES} files or "
                    f"{MOST_BYTES // 1024 // 1024} MB). Replay without --tools, or from a smaller workspace."
                )
            if stat.S_ISREG(facts.st_mode) or stat.S_ISLNK(facts.st_mode):
                _copy_file(at, os.path.join(target, inner, name))


def _copy_file(at: str, to: str) -> None:
    try:
        shutil.copy2(at, to, follow_symlinks=False)
    except OSError as error:
        raise SessionError(f"{at} cannot be copied: {error.strerror}. Check its mode and the room in /tmp.") from error


def _let_in(_: object, path: str, __: object) -> None:
    """A folder that a tool closed is opened, so that nothing stays behind."""
    for place in (os.path.dirname(path), path):
        if os.path.isdir(place) and not os.path.islink(place):
            os.chmod(place, 0o700)
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
    elif os.path.lexists(path):
        os.unlink(path)
