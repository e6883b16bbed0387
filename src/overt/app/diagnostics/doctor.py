"""What `overt doctor` and `/doctor` find out: the setting as it is read, and which walls of the sandbox hold."""

import asyncio
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from overt import __version__
from overt.app.models.pick_model import choose_model
from overt.app.setting import Setting
from overt.config.profiles import load_profile, with_profile
from overt.core.errors import ConfigError, OvertError
from overt.core.protocols import SandboxState, Spawner
from overt.lib.paths import display_path
from overt.lib.translations import say
from overt.sandbox.choose_sandbox import find_bubblewrap
from overt.sandbox.profile import SandboxPlace
from overt.sandbox.selftest.checks import NAMES, SelfTestFolders, SelfTestResult, Wall, check
from overt.workspace.environment import child_environment
from overt.workspace.git.process import read_git_version
from overt.workspace.programs import SupervisorSpawner
from overt.workspace.trusted_programs import find_rg

ASKED_WITHIN = 3.0


class Program(Struct, frozen=True, kw_only=True):
    """A program Overt uses. `version` is the first line it prints, empty if it is missing or was not started."""

    name: str
    path: str
    version: str


class ModelCheck(Struct, frozen=True, kw_only=True):
    """Which model would be used, as far as that is known without leaving this machine.

    `probed` is the day on which `overt doctor --model` looked at it, and `calls` how it then calls tools.
    """

    name: str = ""
    problem: str = ""
    reference: str = ""
    probed: str = ""
    calls: str = ""


class SandboxCheck(Struct, frozen=True, kw_only=True):
    """`state` is the sandbox that started and why no better one; `checked` is which of its walls held."""

    state: SandboxState
    checked: SelfTestResult
    network: str = ""

    @property
    def whole(self) -> bool:
        return not self.checked.void and all(wall.held for wall in self.checked.walls)


class Examination(Struct, frozen=True, kw_only=True):
    version: str
    python: str
    platform: str
    files: tuple[str, ...]
    warnings: tuple[str, ...]
    mistake: str
    workspace: str
    project: str
    trusted: bool
    model: ModelCheck
    programs: tuple[Program, ...]
    sessions: str
    sessions_writable: bool
    sandbox: SandboxCheck

    @property
    def well(self) -> bool:
        """True if nothing is broken. A model that is not set up yet does not count."""
        return not self.mistake and self.sessions_writable and self.sandbox.whole


async def examine(setting: Setting, mistake: str = "") -> Examination:
    """Look at everything. Nothing is changed or left behind, and nothing beyond this machine is asked.

    `mistake` says why the configuration could not be read; `setting` then holds its defaults.
    """
    config, environment = setting.config, setting.environment
    sandbox, model, programs = await asyncio.gather(_sandbox(setting), _model(setting), _programs(setting))
    system = os.uname()
    sessions = os.path.join(environment.data_dir, "sessions")
    warnings = [*config.warnings, *([setting.trust.warning] if setting.trust.warning else [])]
    return Examination(
        version=__version__,
        python=".".join(str(number) for number in sys.version_info[:3]),
        platform=f"{system.sysname} {system.release} {system.machine}",
        files=tuple(display_path(path, setting.roots.project, environment.home) for path in config.files),
        warnings=tuple(dict.fromkeys(warnings)),
        mistake=mistake,
        workspace=setting.roots.workspace,
        project=setting.roots.project,
        trusted=setting.trust.has(setting.roots.project),
        model=model,
        programs=programs,
        sessions=display_path(sessions, home=environment.home),
        sessions_writable=_writable(sessions),
        sandbox=sandbox,
    )


async def _model(setting: Setting) -> ModelCheck:
    """Find the model offline, so that only servers on this machine are asked. One that lies beyond is only named."""
    offline = replace(setting, config=replace(setting.config, offline=True))
    try:
        async with asyncio.timeout(ASKED_WITHIN):
            found = await choose_model(offline, "")
    except OvertError as error:
        if isinstance(error, ConfigError) and error.code == "offline" and not setting.config.offline:
            return ModelCheck(name=error.details[0])
        return ModelCheck(problem=error.message)
    except TimeoutError:
        return ModelCheck(problem="no server on this machine answered in time")
    place = f" at {found.entry.base_url}" if found.entry.base_url else ""
    full = f"{found.entry.name}/{found.model}"
    profile = load_profile(setting.environment.data_dir, found.entry.base_url, found.model)
    calls = with_profile(found.about, profile).calls
    return ModelCheck(
        name=f"{full}{place}",
        reference=found.model if found.entry.name == "environment" else full,
        probed=profile.probed if profile else "",
        calls=calls or "",
    )


async def _programs(setting: Setting) -> tuple[Program, ...]:
    path = setting.environment.get("PATH")
    absolute = os.pathsep.join(filter(os.path.isabs, path.split(os.pathsep)))
    paths = {"rg": find_rg(path), "git": shutil.which("git", path=absolute) or "", "bwrap": find_bubblewrap()}
    versions = await asyncio.gather(*(_version(path, setting.roots.workspace) for path in paths.values()))
    return tuple(
        Program(name=name, path=path, version=version)
        for (name, path), version in zip(paths.items(), versions, strict=True)
    )


async def _version(path: str, workspace: str) -> str:
    """Return the first line a program prints. One in the workspace is not started: the user may not trust it."""
    ours = os.path.dirname(path) == os.path.dirname(sys.executable)
    if not path or (os.path.realpath(path).startswith(workspace.rstrip("/") + "/") and not ours):
        return ""
    if os.path.basename(path) == "git":
        return await asyncio.to_thread(read_git_version, path, ASKED_WITHIN)
    return await asyncio.to_thread(_read_version, path)


def _read_version(path: str) -> str:
    command, environment = [path, "--version"], {"PATH": os.defpath}
    try:
        ended = subprocess.run(
            command, cwd="/", env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=ASKED_WITHIN
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    lines = ended.stdout.decode("utf-8", "replace").splitlines()
    return lines[0] if lines and ended.returncode == 0 else ""


async def _sandbox(setting: Setting) -> SandboxCheck:
    config, environment = setting.config, setting.environment
    network = config.origin("sandbox.network") if config.sandbox.network else ""
    base = _base(environment.cache_dir)
    with tempfile.TemporaryDirectory(prefix="overt-doctor-", dir=base) as folder:
        spawner = SupervisorSpawner(place=_place(folder, folder), mode=config.sandbox.mode)
        try:
            state = await spawner.standing()
        finally:
            await spawner.close()
    if not state.boxed or sys.platform != "linux":
        return SandboxCheck(state=state, checked=_untried(state), network=network)

    def open_box(stage: SelfTestFolders, most: int) -> Spawner:
        place = replace(
            _place(stage.workspace, stage.temp), home=stage.home, config_dir=stage.config, data_dir=stage.data
        )
        return SupervisorSpawner(place=place, mode=config.sandbox.mode, most_processes=most)

    env = child_environment(environment.variables, config.env_pass)
    return SandboxCheck(state=state, checked=await check(open_box, base=base, env=env), network=network)


def _place(workspace: str, temp: str) -> SandboxPlace:
    return SandboxPlace(
        workspace=os.path.realpath(workspace),
        project=os.path.realpath(workspace),
        home=f"{workspace}/home",
        config_dir=f"{workspace}/home/.config/overt",
        data_dir=f"{workspace}/home/.local/share/overt",
        cache_dir=f"{workspace}/home/.cache/overt",
        temp=temp,
    )


def _untried(state: SandboxState) -> SelfTestResult:
    """Return all walls as not held: without a sandbox there is nothing to try, and trying would do harm."""
    walls = tuple(
        Wall(number=number, name=name, held=False, detail="", attempts=()) for number, name in enumerate(NAMES, 1)
    )
    return SelfTestResult(walls=walls, void=f"it cannot be tried on {sys.platform}" if state.boxed else "")


def _base(cache: str) -> str:
    """Return a folder that is visible in a sandbox: a wall must refuse it, not only hide it."""
    for folder in (cache, os.path.dirname(cache)):
        if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):
            return os.path.realpath(folder)
    return os.path.realpath(tempfile.gettempdir())


def _writable(folder: str) -> bool:
    """True if a folder can be written or created, without trying it."""
    while not os.path.lexists(folder) and folder != "/":
        folder = os.path.dirname(folder)
    return os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


def doctor_lines(found: Examination) -> Iterator[str]:
    """Yield what was found, in lines for people."""
    yield say("doctor.head", version=found.version, python=found.python, platform=found.platform)
    yield say("doctor.files", files=", ".join(found.files) or say("doctor.no_files"))
    if found.mistake:
        yield f"  ✗ {found.mistake}"
    for warning in found.warnings:
        yield f"  ! {warning}"
    yield say("doctor.trusted" if found.trusted else "doctor.untrusted", project=found.project)
    if found.model.name:
        yield say("doctor.model", model=found.model.name)
        if found.model.probed:
            yield say("doctor.profile", calls=found.model.calls, probed=found.model.probed)
        elif found.model.reference:
            yield say("doctor.no_profile", model=found.model.reference)
    else:
        yield say("doctor.no_model")
        yield from (f"  ! {line}" for line in found.model.problem.splitlines())
    yield say("doctor.programs")
    for program in found.programs:
        yield (
            f"  ✓ {program.version or program.name} ({program.path})"
            if program.path
            else f"  ! {program.name}: {say('doctor.absent')}"
        )
    yield say("doctor.sessions", folder=found.sessions)
    if not found.sessions_writable:
        yield f"  ✗ {say('doctor.read_only')}"
    yield from _walls(found.sandbox)


def _walls(sandbox: SandboxCheck) -> Iterator[str]:
    checked, state = sandbox.checked, sandbox.state
    held = 0 if checked.void else checked.held
    yield say("doctor.sandbox", held=held, all=len(checked.walls), kind=state.kind)
    if checked.void:
        yield f"  ✗ {say('doctor.void', reason=checked.void)}"
        return
    for wall in checked.walls:
        yield f"  {'✓' if wall.held else '✗'} {wall.number:2} {say(f'doctor.wall.{wall.name}')}"
        if not wall.held:
            yield f"       {say(f'doctor.means.{wall.name}')}"
        if wall.detail:
            yield f"       {say('doctor.through', what=wall.detail)}"
    if state.boxed and not checked.loopback:
        yield f"  ! {say('doctor.no_loopback')}"
    if state.missing:
        yield f"  ! {say('doctor.lacking', names=', '.join(state.missing))}"
    if sandbox.network:
        yield f"  ! {say('doctor.network', origin=sandbox.network)}"
    if state.why and not sandbox.whole:
        yield f"  → {state.why}"
