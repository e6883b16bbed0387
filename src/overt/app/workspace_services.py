"""What all sessions of a process share that work in the same workspace: sandbox, undo store, watch over git.

    WorkspaceServices    one per workspace: sandbox, undo store, watch over git, environment of programs
      SessionWorkspace   one per session: background jobs, stored outputs, records for undo, rules about files
        Capabilities     one per agent: effects, files read, todo list

Making any of them is cheap. Each part loads with the first call that needs it, which is after the first request.
"""

import asyncio
import os
import sys
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary, WeakSet

from overt.app.mcp.servers import load_servers
from overt.app.plugins.enabled import enabled_plugins
from overt.app.redaction.secrets import known_secrets
from overt.app.setting import Setting
from overt.config.server_sources import Servers
from overt.core.protocols import Profile, SandboxState
from overt.lib.paths import lies_in

if TYPE_CHECKING:
    from overt.mcp.manifest_cache import KnownServers
    from overt.mcp.servers import McpServers
    from overt.sandbox.profile import SandboxPlace
    from overt.workspace.path_claims import PathClaims
    from overt.workspace.programs import SupervisorSpawner
    from overt.workspace.undo.maintenance import LimitEnforcer
    from overt.workspace.undo.snapshot_keeper import SnapshotKeeper

IDLE_S = 3.0
"""A sandbox that runs nothing is taken down this long after the last turn."""


class WorkspaceServices:
    """Sandbox, undo store and watch over git of one workspace, for all sessions of this process that work in it.

    They are closed when the last session lets go of them. `shared_services` returns those that are in use.
    """

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._sessions: WeakSet[object] = WeakSet()
        self._active: WeakSet[object] = WeakSet()
        self._idle_timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._spawner: SupervisorSpawner | None = None
        self._keeper: SnapshotKeeper | None = None
        self._servers: McpServers | None = None
        self._claims: PathClaims | None = None
        self.interactive = False
        """A user of one of the sessions can answer questions and log in to servers."""

    def serves(self, setting: Setting) -> bool:
        """True if a session with these settings can share them: same folders, sandbox, environment and undo."""
        return not self._closed and _identity(self._setting) == _identity(setting)

    @cached_property
    def place(self) -> "SandboxPlace":
        """The folders around the workspace. From now on no module is imported from where tools may write."""
        from overt.app.context.folders import sandbox_place  # late: 2 ms
        from overt.sandbox.profile import own_code, writable  # late: 1.3 ms

        place = sandbox_place(self._setting)
        _leave_out_of_imports(writable(place), own_code(writable(place)))
        return place

    @cached_property
    def writable(self) -> tuple[str, ...]:
        """Folders that commands may write to: no program from there runs outside of the sandbox."""
        from overt.sandbox.profile import writable  # late: 1.3 ms

        return writable(self.place)

    @cached_property
    def own_folders(self) -> tuple[str, ...]:
        """Folders of Overt, which are no part of the workspace although they may lie in it."""
        from overt.sandbox.profile import own_code  # late: 1.3 ms

        place = self.place
        folders = (place.config_dir, place.data_dir, place.cache_dir, place.state_dir)
        return (*filter(None, folders), *own_code((place.workspace, *place.write)))

    @cached_property
    def environment(self) -> dict[str, str]:
        """The environment variables of child processes."""
        from overt.workspace.environment import child_environment  # late: 0.2 ms

        variables, config = self._setting.environment.variables, self._setting.config
        return child_environment(variables, config.env_pass, secrets=known_secrets(self._setting))

    @cached_property
    def rg(self) -> str:
        """The path of a ripgrep that no command can change, or an empty string."""
        from overt.workspace.trusted_programs import find_rg  # late: 0.2 ms

        return find_rg(self.environment.get("PATH", ""), writable=self.writable)

    @cached_property
    def git(self) -> str:
        """The path of a git that no command can change, or an empty string."""
        from overt.workspace.trusted_programs import find_git  # late: 0.2 ms

        return find_git(self.environment.get("PATH", ""), writable=self.writable)

    @property
    def spawner(self) -> "SupervisorSpawner":
        if self._spawner is None:
            from overt.workspace.programs import SupervisorSpawner  # late: 11 ms

            self._spawner = SupervisorSpawner(place=self.place, mode=self._setting.config.sandbox.mode)
        return self._spawner

    @property
    def keeper(self) -> "SnapshotKeeper":
        if self._keeper is None:
            from overt.workspace.undo.snapshot_keeper import make_keeper  # late: 8 ms

            self._keeper = make_keeper(
                self.place,
                own=self.own_folders,
                path=self.environment.get("PATH", ""),
                settings=self._setting.config.undo,
                make_limits=self._make_limits,
            )
        return self._keeper

    @property
    def claims(self) -> "PathClaims | None":
        """The path claims of the agents; None while no sub-agent runs."""
        return self._claims if self._claims is not None and self._claims.active else None

    def make_claims(self) -> "PathClaims":
        """Return the path claims, creating them for the first sub-agent."""
        if self._claims is None:
            from overt.workspace.path_claims import PathClaims  # late: 2 ms

            self._claims = PathClaims()
        return self._claims

    @cached_property
    def configured_servers(self) -> Servers:
        return load_servers(self._setting)

    @property
    def server_names(self) -> tuple[str, ...]:
        return tuple(entry.name for entry in self.configured_servers.entries if entry.enabled)

    @cached_property
    def known_servers(self) -> "KnownServers | None":
        """The MCP servers of the configuration, with what is known of them without starting any; None without any."""
        entries, setting = self.configured_servers.entries, self._setting
        if not entries:
            return None
        if setting.config.offline:
            from overt.app.mcp.servers import on_this_machine  # late: 0.1 ms

            entries = on_this_machine(entries)
        from overt.mcp.manifest_cache import KnownServers  # late: 2 ms

        return KnownServers(entries, setting.environment.cache_dir, setting.roots.workspace)

    def servers(self) -> "McpServers":
        """Return the way to the MCP servers. Nothing is started before one of them is used."""
        if self._servers is None:
            from overt.app.mcp.server_calls import connect_servers  # late: 10 ms

            assert self.known_servers is not None
            self._servers = connect_servers(self._setting, self)
        return self._servers

    def _make_limits(self) -> "LimitEnforcer":
        from overt.app.undo.usage import limits_of  # late: 12 ms

        return limits_of(self._setting)

    def guess_sandbox(self, profile: Profile) -> SandboxState:
        """Return which sandbox programs will run in. Before the first one, that follows from the settings."""
        if self._spawner is not None:
            return self._spawner.guess(profile)
        from overt.sandbox.choose_sandbox import choose  # late: 0.2 ms

        return choose(self._setting.config.sandbox.mode)

    async def wait_for_records(self) -> None:
        """Wait until everything is recorded that the calls of all sessions have done to files."""
        if self._keeper is not None:
            await self._keeper.wait_for_pending_snapshots()

    # ── the sessions that share them ─────────────────────────────────────────────────────────────────────

    def attach(self, session: object) -> None:
        self._sessions.add(session)

    def stay_up(self, session: object) -> None:
        """Keep the sandbox up: a session is about to run something."""
        self._active.add(session)
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None

    def rest(self, session: object) -> None:
        """The turn of a session is over. Take down what runs nothing, unless another turn begins soon."""
        self._active.discard(session)
        if self._keeper is not None:
            self._keeper.rest()
        if self._spawner is not None and not self._active and self._idle_timer is None:
            self._idle_timer = asyncio.get_running_loop().call_later(IDLE_S, self._take_down)

    def _take_down(self) -> None:
        self._idle_timer = None
        if self._spawner is not None:
            self._spawner.rest()

    async def release(self, session: object) -> None:
        """Let go of them. When the last session does, every program ends."""
        self._sessions.discard(session)
        self._active.discard(session)
        if self._sessions or self._closed:
            return
        self._closed = True
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        if self._servers is not None:
            await self._servers.close()
        if self._spawner is not None:
            await self._spawner.close()
        if self._keeper is not None:
            await self._keeper.close()


def shared_services(setting: Setting) -> WorkspaceServices:
    """Return the services that another session of the running event loop uses for this workspace, or new ones."""
    shared = _SHARED.setdefault(asyncio.get_running_loop(), WeakSet())
    services = next((each for each in shared if each.serves(setting)), None)
    if services is None:
        services = WorkspaceServices(setting)
        shared.add(services)
    return services


_SHARED: WeakKeyDictionary[asyncio.AbstractEventLoop, WeakSet[WorkspaceServices]] = WeakKeyDictionary()
"""Per event loop, because processes are watched by the loop that started them."""


def _identity(setting: Setting) -> tuple[object, ...]:
    """Every setting that the services depend on."""
    config, trusted = setting.config, setting.trust.has(setting.roots.project)
    folders = (setting.roots, config.allow_write, config.allow_read)
    servers = (config.mcp_servers, setting.server_flags, enabled_plugins(setting).plugins)
    recipe = config.recipe
    skills = (config.skills.paths, recipe.strict, recipe.foreign)
    return (
        *folders,
        setting.environment,
        trusted,
        config.env_pass,
        config.sandbox.mode,
        config.undo,
        *servers,
        *skills,
    )


def _leave_out_of_imports(folders: Sequence[str], own_code: Sequence[str]) -> None:
    """Remove folders from `sys.path`, except our own code.

    A command could put a module there, and this process would run it outside of the sandbox.
    """
    sys.path[:] = [
        path for path in sys.path if path and (_lies_in_any(path, own_code) or not _lies_in_any(path, folders))
    ]


def _lies_in_any(path: str, folders: Sequence[str]) -> bool:
    real = os.path.realpath(path)
    return any(lies_in(real, folder) for folder in folders)
