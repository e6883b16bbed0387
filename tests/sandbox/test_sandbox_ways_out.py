"""What would lead out of a box by way of the host: late secrets, sockets, our own code, caches that shells run."""

import json
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.sandbox.box_kit import SOURCE, USERS, Stage, end, staged

from overt.core.protocols import Profile
from overt.sandbox import profile
from overt.sandbox.mechanisms.landlock import version
from overt.sandbox.profile import RuleSource, SandboxPlace, spare_caches, writable
from overt.sandbox.secret_places import HIDDEN, ExistingNames, ListeningSockets

WAIT = "touch ready; for i in $(seq 600); do test -e go && break; sleep 0.05; done"
CALL = """python3 -c 'import socket, sys
try: socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print("CONNECTED")
except OSError as error: print("refused")' """


def meanwhile(stage: Stage, act: Callable[[], object], *commands: str) -> list[list[Any]]:
    """What the commands gave that ran in the same conversation after something happened outside."""
    process = stage.start("true", WAIT, *commands)
    try:
        seen(stage.workspace / "ready")
        act()
        (stage.workspace / "go").touch()
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert err == ""
    found: list[list[Any]] = json.loads(out)
    return found[3:]


def seen(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert path.exists()


# ── what is hidden ───────────────────────────────────────────────────────────────────────────────────────


@USERS
def test_a_secret_that_comes_into_being_during_a_conversation_is_hidden(user: str) -> None:
    with staged(user) as stage:
        stage.give()

        def log_in() -> None:
            for name in (".aws/credentials", ".npmrc"):
                path = stage.home / name
                path.parent.mkdir(exist_ok=True)
                path.write_text("SECRET\n")
                path.chmod(0o644)
            stage.give(stage.home)

        (ran,) = meanwhile(stage, log_in, "cat ~/.aws/credentials ~/.npmrc; ls -A ~/.aws")

        assert "SECRET" not in ran[1] and "credentials\n" not in ran[1].splitlines()


def test_names_are_looked_at_without_following_and_below_missing_folders_not_at_all(tmp_path: Path) -> None:
    (tmp_path / ".config/gh").mkdir(parents=True)
    (tmp_path / ".netrc").symlink_to("nowhere")

    assert ExistingNames(str(tmp_path), HIDDEN).now() == (".config/gh", ".netrc")


@pytest.mark.parametrize("settled", [False, True])
def test_every_name_that_comes_or_goes_is_noticed(tmp_path: Path, settled: bool) -> None:
    """Whether the folders have rested since or changed a moment ago."""
    names = ExistingNames(str(tmp_path), HIDDEN)
    seen: list[tuple[str, ...]] = []
    for path in (".ssh", ".config", ".config/gh", ".local", ".local/share", ".local/share/fish", "other"):
        (tmp_path / path).mkdir()
        if settled:
            for folder in (tmp_path, *tmp_path.rglob("*")):
                os.utime(folder, (time.time() - 60 + len(seen),) * 2)
        seen.append(names.now())
    (tmp_path / ".local/share/fish/fish_history").touch()
    seen.append(names.now())
    (tmp_path / ".ssh").rmdir()
    seen.append(names.now())

    one, two = (".ssh",), (".ssh", ".config/gh")
    last = (".local/share/fish/fish_history",)
    assert seen == [one, one, two, two, two, two, two, (*two, *last), (".config/gh", *last)]


def test_what_is_not_there_yet_is_named_for_walls_that_cannot_be_replaced(tmp_path: Path) -> None:
    place = machine(tmp_path, read=(f"{tmp_path}/home/.kube",))
    (tmp_path / "home" / ".ssh").mkdir()

    ground = RuleSource(Profile(), place)
    before = ground.now()
    (tmp_path / "home" / ".aws").mkdir()
    after = ground.now()

    awaited = {f"{place.home}/{name}" for name in HIDDEN}
    assert set(before.awaited) == awaited - {f"{place.home}/.ssh", f"{place.home}/.kube"}
    assert set(before.awaited) - set(after.awaited) == {f"{place.home}/.aws"}
    assert set(after.hidden) - set(before.hidden) == {f"{place.home}/.aws"}


# ── sockets ──────────────────────────────────────────────────────────────────────────────────────────────

SERVER = """
import os, socket, sys
os.chdir(sys.argv[1])
held = socket.socket(socket.AF_UNIX)
held.bind(sys.argv[2])
os.chmod(sys.argv[2], 0o777)
held.listen()
os.chdir(sys.argv[3])
print("up", flush=True)
sys.stdin.read()
"""


def serve(stage: Stage, folder: Path, name: str, then: Path) -> subprocess.Popen[str]:
    server = subprocess.Popen(
        [stage.python, "-c", SERVER, str(folder), name, str(then)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
    )
    assert server.stdout is not None and server.stdout.readline() == "up\n"
    return server


@USERS
@pytest.mark.parametrize("moves", [False, True])
def test_a_socket_with_a_relative_name_is_hidden(user: str, moves: bool) -> None:
    """Its owner may have left the folder since."""
    with staged(user) as stage:
        folder = stage.home / "service"
        folder.mkdir()
        stage.give()
        with serve(stage, folder, "relative.sock", Path("/") if moves else folder) as server:
            ran = stage.one(f"{CALL} {folder}/relative.sock")
            server.communicate()

        assert ran == [0, "refused\n", ""]


@USERS
def test_a_socket_that_is_bound_during_a_conversation_is_hidden(user: str) -> None:
    with staged(user) as stage:
        stage.give()
        with socket.socket(socket.AF_UNIX) as late:

            def listen() -> None:
                late.bind(str(stage.home / "late.sock"))
                late.listen()
                (stage.home / "late.sock").chmod(0o777)

            (ran,) = meanwhile(stage, listen, f"{CALL} ~/late.sock")

        assert ran == [0, "refused\n", ""]


def test_sockets_are_looked_up_once_and_forgotten_with_their_end(tmp_path: Path) -> None:
    sockets = ListeningSockets(str(tmp_path))
    with socket.socket(socket.AF_UNIX) as held:
        held.bind(str(tmp_path / "s"))
        held.listen()
        first, second = sockets.now(), sockets.now()
    (tmp_path / "s").unlink()

    assert (str(tmp_path / "s") in first, first == second, str(tmp_path / "s") in sockets.now()) == (True, True, False)


# ── Overt's own code ─────────────────────────────────────────────────────────────────────────────────────


def machine(folder: Path, **given: object) -> SandboxPlace:
    for name in ("home", "work"):
        (folder / name).mkdir(exist_ok=True)
    own = {name: f"{folder}/own/{name}" for name in ("config_dir", "data_dir", "cache_dir")}
    usual = {"workspace": f"{folder}/work", "project": f"{folder}/work", "home": f"{folder}/home"}
    return SandboxPlace(**{**usual, **own, **given})  # type: ignore[arg-type]


@USERS
def test_overts_own_code_in_the_workspace_cannot_be_rewritten(user: str) -> None:
    with staged(user) as stage:
        package = stage.workspace / "env" / "lib"
        package.parent.mkdir()
        if user == "nobody":
            shutil.move(str(stage._package), package)
        else:
            shutil.copytree(SOURCE / "overt", package / "overt", ignore=shutil.ignore_patterns("__pycache__"))
        stage._package = package
        stage.give()
        change = "echo x >> env/lib/overt/sandbox/host_process.py"

        changed = stage.one(f"{change} && echo changed")
        moved = stage.one("mv env other || mv env/lib/overt away 2> /dev/null || echo stayed")
        beside = stage.one("echo x > env/mine && echo made")

        assert changed[0] != 0 and changed[2].endswith("host_process.py was blocked by the sandbox: it is protected")
        assert (moved[1].splitlines()[-1], beside[:2]) == ("stayed", [0, "made\n"])


def test_the_interpreter_below_a_writable_place_is_protected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = machine(tmp_path)
    env = tmp_path / "work" / ".venv"
    (env / "bin").mkdir(parents=True)
    monkeypatch.setattr("sys.prefix", str(env))

    assert RuleSource(Profile(), place).now().protected == (str(env),)
    assert RuleSource(Profile(write=False), place).now().protected == ()


def test_a_workspace_inside_overts_own_code_is_not_written(tmp_path: Path) -> None:
    place = machine(tmp_path, workspace=f"{profile.OVERT}/world", project=profile.OVERT)

    found = RuleSource(Profile(), place).now()

    assert (found.write, found.absent) == ((), ())


# ── caches ───────────────────────────────────────────────────────────────────────────────────────────────


@USERS
def test_of_the_cache_only_folders_of_tools_are_written(user: str) -> None:
    with staged(user) as stage:
        for name in ("pip", "go-build"):
            (stage.home / ".cache" / name).mkdir()
        stage.give()

        fetched = stage.one("echo x > ~/.cache/pip/a")
        ran = stage.one("echo x > ~/.cache/go-build/a && echo kept; echo evil > ~/.cache/p10k-instant-prompt-me.zsh")

        assert fetched[2].endswith("pip/a was blocked by the sandbox"), "nothing is fetched without the network"
        assert ran[1].startswith("kept\n") and ran[2].endswith("p10k-instant-prompt-me.zsh was blocked by the sandbox")
        assert [path.name for path in (stage.home / ".cache").iterdir() if path.is_file()] == []


def test_a_tool_without_its_folder_is_sent_to_the_private_one(tmp_path: Path) -> None:
    place = machine(tmp_path)
    for name in (".cache/pip", ".npm"):
        (tmp_path / "home" / name).mkdir(parents=True)

    found = spare_caches(place, {"GOCACHE": "/mine"}, "/tmp", ["/mine"])

    assert not {"XDG_CACHE_HOME", "PIP_CACHE_DIR", "npm_config_cache", "GOCACHE"} & found.keys()
    assert (found["UV_CACHE_DIR"], found["GOMODCACHE"]) == ("/tmp/.cache-uv", "/tmp/go-pkg")


def test_what_programs_in_boxes_can_write_is_known(tmp_path: Path) -> None:
    place = machine(tmp_path, write=("/srv/more",), caches=("/srv/cache",))

    assert writable(place) == (place.workspace, "/srv/more", "/srv/cache")


# ── the fall-back ────────────────────────────────────────────────────────────────────────────────────────

STOP = """touch before; MARKED=1 setsid -f sleep 333; above=$(ps -o ppid= -p $PPID); sleep 0.2
kill -STOP $(ps -o pid= --ppid $above | grep -vw $PPID) $above $PPID; touch stopped; sleep 60"""


@pytest.mark.skipif(version() < 6, reason="needs a kernel with all of Landlock's walls")
@USERS
@pytest.mark.parametrize("killed", [False, True])
def test_what_stops_its_supervisor_does_not_outlive_overt(user: str, killed: bool) -> None:
    with staged(user) as stage:
        stage.give()
        process = stage.start(STOP, mode="landlock", timeout=2000)
        try:
            seen(stage.workspace / "stopped")
            stopped = [line for line in stage.processes() if state(line.split()[0]) == "T"]
            if killed:
                end(process, signal.SIGKILL)
            else:
                process.communicate(timeout=60)
        finally:
            process.kill()
            process.wait()
        deadline = time.monotonic() + 10
        while (left := stage.processes()) and time.monotonic() < deadline:
            time.sleep(0.05)
        for line in left:
            os.kill(int(line.split()[0]), signal.SIGKILL)

        assert (len(stopped) >= 2, left) == (True, [])


def state(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1]
    except OSError:
        return ""
