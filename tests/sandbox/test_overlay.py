"""A copy-on-write view of the workspace: commands and file tools work in it, and the folder below stays as it is."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.sandbox.box_kit import USERS, staged

DRIVER = """
import asyncio, json, os, sys
from msgspec.structs import replace
from overt.core.capabilities import Change, Query
from overt.core.protocols import Journal, Profile
from overt.sandbox.overlay import mount_overlay
from overt.sandbox.profile import SandboxPlace
from overt.workspace.environment import child_environment
from overt.workspace.files import Files, FileServices, Workspace
from overt.workspace.jobs import Jobs
from overt.workspace.programs import Programs, ProgramServices, SupervisorSpawner
from overt.workspace.trusted_programs import find_rg

async def main():
    spec, home = json.loads(sys.argv[1]), os.environ["HOME"]
    root = spec["workspace"]
    overlay = mount_overlay(root, f"{home}/.local/share/overt/copy")
    place = SandboxPlace(
        workspace=root, project=root, home=home, config_dir=f"{home}/.config/overt", temp=spec["temp"],
        data_dir=f"{home}/.local/share/overt", cache_dir=f"{home}/.cache/overt", isolated=True,
    )
    spawner = SupervisorSpawner(place=place, mode="bubblewrap", overlay=overlay)
    env = child_environment(os.environ, ()) | {"MARK": spec["mark"]}
    workspace = Workspace(root=root, copy=overlay.view)
    services = ProgramServices(spawner=spawner, jobs=Jobs(), workspace=workspace, env=env)
    results = []
    for command in spec["commands"]:
        ran = await Programs(services, profile=Profile()).run(command, timeout_ms=60_000)
        results.append([ran.code, ran.text])
    rg = find_rg(os.environ["PATH"], writable=(root,))  # not there where no package came with one
    services_of_files = FileServices(workspace=workspace, rg=rg, before_rg=overlay.enter())
    files = Files(services_of_files, call_id="c", journal=Journal(), seen={})
    lines = await files.lines(f"{root}/a.txt", offset=1, limit=9)
    await files.change([Change(path="by-tool.txt", content="tool\\n", base="absent")])
    listed = await files.list(".", depth=1, limit=9)
    listed = [[entry.path for entry in listed[0]]]
    if rg:
        matches = await files.search(Query(pattern="tool|command", path="."))
        listed += [matches.text, sorted((await files.find("*.txt", path=".", limit=9)).paths)]
    after = await Programs(services, profile=Profile()).run(f"cat {root}/by-tool.txt", timeout_ms=60_000)
    print(json.dumps([results, lines.lines, listed, after.text]), flush=True)
    await spawner.close()

asyncio.run(main())
"""


@USERS
def test_commands_and_file_tools_share_a_view_and_the_folder_below_stays_as_it_is(user: str) -> None:
    with staged(user) as stage:
        (stage.workspace / "a.txt").write_text("below\n")
        (stage.workspace / "b.txt").write_text("below\n")
        (stage.workspace / "link").symlink_to("a.txt")
        stage.repository()
        before = snapshot(stage.workspace)
        results: list[Any] = stage.run(
            f"echo command > {stage.workspace}/a.txt && rm -rf .git b.txt && git init -q . && pwd && ls -A",
            f"touch {stage.home}/outside || echo refused",
            driver=DRIVER,
        )
        commands, lines, (names, *searches), after = results
        first, second = commands
        assert first == [0, f"{stage.workspace}\n.git\na.txt\nlink\n"]
        assert "refused" in second[1]
        assert lines == ["command"]
        assert names == ["a.txt", "by-tool.txt", "link"]
        assert searches == (["a.txt:1:command\nby-tool.txt:1:tool", ["a.txt", "by-tool.txt"]] if user == "root" else [])
        assert after == "tool\n"
        assert snapshot(stage.workspace) == before
        assert not (stage.home / "outside").exists()
        assert stage.left() == []


def test_a_command_in_the_view_can_change_what_is_protected_in_the_workspace() -> None:
    with staged("root") as stage:
        stage.repository()
        (stage.workspace / "a.txt").write_text("a\n")
        before = snapshot(stage.workspace)
        results: list[Any] = stage.run(
            "echo evil > .git/hooks/post-commit && git config user.name other && cd .. && (rm -rf * || true)",
            f"cd {stage.workspace} && echo a > a.txt",
            driver=DRIVER,
        )
        assert results[0][0][0] == 0
        assert snapshot(stage.workspace) == before


def test_without_user_namespaces_there_is_no_view_and_the_reason_is_named(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    program = "import sys; from overt.sandbox.overlay import mount_overlay; mount_overlay(*sys.argv[1:])"
    without = 'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --bounding-set -sys_admin "$@"'
    words = (sys.executable, "-c", program, str(tmp_path / "work"), str(tmp_path / "copy"))
    ended = subprocess.run(["unshare", "-Ur", "sh", "-c", without, "sh", *words], capture_output=True, timeout=60)
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith(b"overt.core.errors.OvertError: user namespaces: ")


def test_nothing_of_a_view_is_left_when_its_process_is_killed(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    program = (
        "import os, signal, sys; from overt.sandbox.overlay import mount_overlay;"
        "view = mount_overlay(*sys.argv[1:]); open(view.on_host(sys.argv[1] + '/new'), 'w').close();"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(tmp_path / "work"), str(tmp_path / "copy")], timeout=60)
    assert ended.returncode == -9
    assert os.listdir(tmp_path / "work") == []
    assert os.listdir(tmp_path / "copy" / "upper") == ["new"]
    words = str(tmp_path).encode()
    assert [pid for pid in filter(str.isdigit, os.listdir("/proc")) if words in command_line(pid)] == []


def command_line(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def snapshot(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Every file and link below a folder, with its mode and content."""
    states: dict[str, tuple[int, bytes]] = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = os.fsencode(os.readlink(path)) if path.is_symlink() else b""
        states[str(path)] = (status.st_mode, path.read_bytes() if path.is_file() and not content else content)
    return states
