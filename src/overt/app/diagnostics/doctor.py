"""What `overt doctor` finds out: the setting as it is read, and the walls of the sandbox as they really stand."""

import asyncio
import os
import sys
import tempfile

from msgspec import Struct
from msgspec.structs import replace

from overt import __version__
from overt.app.models.pick_model import choose_model
from overt.app.setting import Setting
from overt.config.profiles import load_profile, with_profile
from overt.core.errors import ConfigError, OvertError
from overt.core.ports import SandboxState, Spawner
from overt.lib.paths import shown
from overt.sandbox.choose import find_bubblewrap
from overt.sandbox.profile import Place
from overt.sandbox.selftest.checks import NAMES, Checked, Stage, Wall, check
from overt.workspace.environment import child_environment
from overt.workspace.git.process import read_git_version
from overt.workspace.programs import Supervised
from overt.workspace.trusted_programs import find_rg

ASKED_WITHIN = 3.0


class Program(Struct, frozen=True, kw_only=True):
    """A program Overt uses; `version` is its own first line, empty when it is not there or was not asked."""

    name: str
    path: str
    version: str


class Model(Struct, frozen=True, kw_only=True):
    """Which model would be used, as far as that can be told without leaving this machine.

    `probed` is the day on which `overt doctor --model` looked at it, and `calls` how it then calls tools.
    """

    name: str = ""
    problem: str = ""
    reference: str = ""
    probed: str = ""
    calls: str = ""


class Sandbox(Struct, frozen=True, kw_only=True):
    """`state` is which one came up and why no better one; `checked` what its walls did when they were tried."""

    state: SandboxState
    checked: Checked
    network: str = ""

    @property
    def whole(self) -> bool:
        return not self.checked.void and all(wall.held for wall in self.checked.walls)


class Examined(Struct, frozen=True, kw_only=True):
    version: str
    python: str
    platform: str
    files: tuple[str, ...]
    warnings: tuple[str, ...]
    mistake: str
    workspace: str
    project: str
    trusted: bool
    model: Model
    programs: tuple[Program, ...]
    sessions: str
    sessions_writable: bool
    sandbox: Sandbox

    @property
    def well(self) -> bool:
        """A missing model is no illness: it is the next thing to set up."""
        return not self.mistake and self.sessions_writable and self.sandbox.whole


async def examine(setting: Setting, mistake: str = "") -> Examined:
    """Look at everything. Nothing is changed or left behind, and nothing beyond this machine is asked.

    `mistake` says why the configuration could not be read; `setting` then holds its defaults.
    """
    config, environment = setting.config, setting.environment
    sandbox, model, programs = await asyncio.gather(_sandbox(setting), _model(setting), _programs(setting))
    system = os.uname()
    sessions = os.path.join(environment.data_dir, "sessions")
    warnings = [*config.warnings, *([setting.trust.warning] if setting.trust.warning else [])]
    return Examined(
        version=__version__,
        python=".".join(str(number) for number in sys.version_info[:3]),
        platform=f"{system.sysname} {system.release} {system.machine}",
        files=tuple(shown(path, setting.roots.project, environment.home) for path in config.files),
        warnings=tuple(dict.fromkeys(warnings)),
        mistake=mistake,
        workspace=setting.roots.workspace,
        project=setting.roots.project,
        trusted=setting.trust.has(setting.roots.project),
        model=model,
        programs=programs,
        sessions=shown(sessions, home=environment.home),
        sessions_writable=_writable(sessions),
        sandbox=sandbox,
    )


async def _model(setting: Setting) -> Model:
    """Asked offline first, so that only servers on this machine are; what lies beyond is named, not called."""
    offline = replace(setting, config=replace(setting.config, offline=True))
    try:
        async with asyncio.timeout(ASKED_WITHIN):
            found = await choose_model(offline, "")
    except OvertError as error:
        if isinstance(error, ConfigError) and error.code == "offline" and not setting.config.offline:
            return Model(name=error.details[0])
        return Model(problem=error.message)
    except TimeoutError:
        return Model(problem="no server on this machine answered in time")
    place = f" at {found.entry.base_url}" if found.entry.base_url else ""
    full = f"{found.entry.name}/{found.model}"
    profile = load_profile(setting.environment.data_dir, found.entry.base_url, found.model)
    calls = with_profile(found.about, profile).calls
    return Model(
        name=f"{full}{place}",
        reference=found.model if found.entry.name == "environment" else full,
        probed=profile.probed if profile else "",
        calls=calls or "",
    )


async def _programs(setting: Setting) -> tuple[Program, ...]:
    environ = setting.environment.get("PATH")
    paths = {"rg": find_rg(environ), "git": _which("git", environ), "bwrap": find_bubblewrap()}
    versions = await asyncio.gather(*(_version(path, setting.roots.workspace) for path in paths.values()))
    return tuple(
        Program(name=name, path=path, version=version)
        for (name, path), version in zip(paths.items(), versions, strict=True)
    )


def _which(name: str, environ_path: str) -> str:
    for folder in environ_path.split(os.pathsep):
        path = os.path.join(folder, name)
        if os.path.isabs(folder) and os.path.isfile(path) and os.access(path, os.X_OK):
            return path
    return ""


async def _version(path: str, workspace: str) -> str:
    """Its first line. What lies in the workspace is not started: nobody may have vouched for it."""
    ours = os.path.dirname(path) == os.path.dirname(sys.executable)
    if not path or (os.path.realpath(path).startswith(workspace.rstrip("/") + "/") and not ours):
        return ""
    if os.path.basename(path) == "git":
        return await asyncio.to_thread(read_git_version, path, ASKED_WITHIN)
    try:
        async with asyncio.timeout(ASKED_WITHIN):
            running = await asyncio.create_subprocess_exec(
                path,
                "--version",
                cwd="/",
                env={"PATH": os.defpath},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
            )
            try:
                out, _ = await running.communicate()
            finally:
                if running.returncode is None:
                    running.kill()
                    await running.wait()
    except (OSError, TimeoutError):
        return ""
    lines = out.decode("utf-8", "replace").splitlines()
    return lines[0] if lines and running.returncode == 0 else ""


async def _sandbox(setting: Setting) -> Sandbox:
    config, environment = setting.config, setting.environment
    network = config.origin("sandbox.network") if config.sandbox.network else ""
    base = _base(environment.cache_dir)
    with tempfile.TemporaryDirectory(prefix="overt-doctor-", dir=base) as folder:
        state = await _came_up(_place(folder, folder), config.sandbox.mode)
    if not state.boxed or sys.platform != "linux":
        return Sandbox(state=state, checked=_untried(state), network=network)

    def open_box(stage: Stage, most: int) -> Spawner:
        place = replace(
            _place(stage.workspace, stage.temp), home=stage.home, config_dir=stage.config, data_dir=stage.data
        )
        return Supervised(place=place, mode=config.sandbox.mode, most_processes=most)

    env = child_environment(environment.variables, config.env_pass)
    return Sandbox(state=state, checked=await check(open_box, base=base, env=env), network=network)


async def _came_up(place: Place, mode: str) -> SandboxState:
    spawner = Supervised(place=place, mode=mode)
    try:
        return await spawner.standing()
    finally:
        await spawner.close()


def _place(workspace: str, temp: str) -> Place:
    return Place(
        workspace=os.path.realpath(workspace),
        project=os.path.realpath(workspace),
        home=f"{workspace}/home",
        config_dir=f"{workspace}/home/.config/overt",
        data_dir=f"{workspace}/home/.local/share/overt",
        cache_dir=f"{workspace}/home/.cache/overt",
        temp=temp,
    )


def _untried(state: SandboxState) -> Checked:
    """Without a box there is nothing to try, and trying would do harm."""
    walls = tuple(
        Wall(number=number, name=name, held=False, detail="", attempts=()) for number, name in enumerate(NAMES, 1)
    )
    return Checked(walls=walls, void=f"it cannot be tried on {sys.platform}" if state.boxed else "")


def _base(cache: str) -> str:
    """A folder that a box shows: there a wall has to refuse what elsewhere is merely out of sight."""
    for folder in (cache, os.path.dirname(cache)):
        if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
            return os.path.realpath(folder)
    return os.path.realpath(tempfile.gettempdir())


def _writable(folder: str) -> bool:
    """Whether it can be written, or made, without trying."""
    while not os.path.lexists(folder) and folder != "/":
        folder = os.path.dirname(folder)
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)
