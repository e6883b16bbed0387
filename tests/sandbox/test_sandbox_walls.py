"""The walls, called through the supervisor directly: everything that leads out of a box is refused."""

import json
import os
import shutil
import socket
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from tests.sandbox.box_kit import NOBODY, USERS, Stage, staged

ATTACK = """
import ctypes, json, os, shutil, socket, stat, subprocess, sys

spec = json.load(open("spec.json"))
home = os.environ["HOME"]
done = {}

def attempt(name):
    def take(function):
        try:
            got = function()
            done[name] = "open" if got is None else got
        except OSError as error:
            done[name] = "held"
    return take

def put(path, text="x"):
    with open(path, "a") as file:
        file.write(text)

attempt("hook")(lambda: put(".git/hooks/pre-commit"))
attempt("git config")(lambda: put(".git/config"))
attempt("git config by rename")(lambda: (put("c"), os.rename("c", ".git/config")) and None)
attempt("commondir")(lambda: put(".git/commondir"))
attempt("commondir by rename")(lambda: (put("c"), os.rename("c", ".git/commondir")) and None)
attempt("rename of .git")(lambda: os.rename(".git", "g"))
attempt("hard link to config")(lambda: os.link(".git/config", "hard"))
attempt("hooks folder away")(lambda: os.rename(".git/hooks", ".git/h"))
attempt("overt.toml")(lambda: put("overt.toml"))
attempt("overt.toml removed")(lambda: os.rmdir("overt.toml"))
attempt("overt.toml moved")(lambda: os.rename("overt.toml", "other"))
attempt("absent hooks.json")(lambda: (os.makedirs(".overt", exist_ok=True), put(".overt/hooks.json")) and None)
attempt(".envrc")(lambda: put(".envrc"))
os.symlink("/etc/overt-box-test", "out")
attempt("link out")(lambda: put("out"))
attempt("/etc")(lambda: put("/etc/overt-box-test"))
attempt("/usr/local/bin")(lambda: put("/usr/local/bin/overt-box-test"))
attempt("start file")(lambda: put(home + "/.bashrc"))
attempt("absent start file")(lambda: put(home + "/.zshenv"))
attempt("mode of a file outside")(lambda: os.chmod(home + "/.bashrc", 0o777))
attempt("times of a file outside")(lambda: os.utime(home + "/.bashrc", (1, 1)))
attempt("removing a file outside")(lambda: os.unlink(home + "/.bashrc"))
attempt("key")(lambda: open(home + "/.ssh/id").read())
attempt("login")(lambda: open(home + "/.netrc").read() or "held")
attempt("listing of keys")(lambda: os.listdir(home + "/.ssh") or "held")

def tcp(address):
    with socket.create_connection(address, timeout=3):
        pass

attempt("tcp to a program outside")(lambda: tcp(("127.0.0.1", spec["tcp"])))
attempt("tcp out")(lambda: tcp(("192.0.2.1", 80)))

def udp(address):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as it:
        it.connect(address)
        it.send(b"out")

attempt("udp out")(lambda: udp(("192.0.2.1", 53)))
try:
    udp(("127.0.0.1", spec["udp"]))  # its own loopback; the listener outside must not hear it
except OSError:
    pass

def unix(path):
    with socket.socket(socket.AF_UNIX) as it:
        it.connect(path)

attempt("abstract socket")(lambda: unix(bytes(1) + spec["abstract"].encode()))
attempt("socket in a folder")(lambda: unix(spec["socket"]))
attempt("socket in /run")(lambda: unix(spec["run"]))
attempt("folder of sockets")(lambda: unix("/run/dbus/system_bus_socket"))
outside = int(spec["pid"])
attempt("signal")(lambda: os.kill(outside, 9))
attempt("its environment")(lambda: b"OUTSIDE-MARK" in open(f"/proc/{outside}/environ", "rb").read() and "open" or "held")
libc = ctypes.CDLL(None, use_errno=True)
attempt("ptrace")(lambda: "held" if libc.ptrace(16, outside, 0, 0) < 0 else "open")
attempt("environment of Overt")(lambda: open(f"/proc/{os.environ['OUTSIDE']}/environ").read())
attempt("seeded secret")(lambda: "open" if "seeded-secret-value" in os.environ.values() else "held")
attempt("setuid program")(lambda: "open" if subprocess.run(["./suid", "-u"], capture_output=True, text=True).stdout
        .strip() not in (str(os.getuid()), "") else "held")
attempt("no new privileges")(lambda: "held" if "NoNewPrivs:\\t1" in open("/proc/self/status").read() else "open")
attempt("device")(lambda: (os.mknod("device", stat.S_IFCHR | 0o666, os.makedev(1, 3))))
for name in ("sys/kernel/core_pattern", "sys/kernel/printk", "sysrq-trigger", "irq/default_smp_affinity"):
    attempt("/proc/" + name)(lambda: open("/proc/" + name, "r+b", buffering=0).close())
attempt("/sys")(lambda: put("/sys/kernel/mm/ksm/run", ""))

def shell(command):
    return "open" if subprocess.run(["sh", "-c", command], capture_output=True).returncode == 0 else "held"

attempt("mount")(lambda: shell("mount -t tmpfs none /mnt"))
attempt("remount")(lambda: shell("mount -o remount,rw,bind /"))
attempt("unmount")(lambda: shell("umount .git/config"))
attempt("namespace of its own, config")(lambda: shell("unshare -Urm sh -c 'umount .git/config; echo x >> .git/config'"))
attempt("namespace of its own, hooks")(lambda: shell("unshare -Urm sh -c 'mount -o remount,rw,bind .git/hooks; echo > .git/hooks/x'"))
attempt("namespace of its own, /etc")(lambda: shell("unshare -Urm sh -c 'mount -o remount,rw /; echo > /etc/overt-box-test'"))
attempt("namespace of its own, key")(lambda: shell("unshare -Urm sh -c 'umount ~/.ssh; cat ~/.ssh/id'"))
attempt("namespace of its own, /proc")(lambda: shell("unshare -Urmpf sh -c 'mount -t proc p /mnt && echo > /mnt/sys/kernel/core_pattern'"))
attempt("the supervisor's descriptors")(lambda: os.readlink("/proc/1/fd/3"))
attempt("the supervisor's memory")(lambda: open("/proc/1/mem", "rb").close())
attempt("killing the supervisor")(lambda: os.kill(1, 9) or "held")
attempt("seeing other processes")(lambda: "held" if len([n for n in os.listdir("/proc") if n.isdigit()]) < 12 else "open")
attempt("disks")(lambda: "open" if set(os.listdir("/dev")) & {"vda", "sda", "nvme0n1", "mem", "kmsg"} else "held")
print(json.dumps(done))
"""  # noqa: E501 - one attempt a line

LATER = """cat .git/hooks/pre-commit overt.toml .overt/hooks.json 2> /dev/null | wc -c"""


class HostObserver:
    """Real targets: listeners that count who came, and a process to hurt."""

    def __init__(self, stack: ExitStack, stage: Stage) -> None:
        self.tcp = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        self.udp = stack.enter_context(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.udp.bind(("127.0.0.1", 0))
        self.abstract = self._listen(stack, f"\0{stage.mark}")
        self.file = self._listen(stack, str(stage.home / "service.sock"))
        self.run = self._listen(stack, f"/run/{stage.mark}.sock" if os.geteuid() == 0 else str(stage.home / "r.sock"))
        for path in (stage.home / "service.sock", Path("/run") / f"{stage.mark}.sock"):
            if path.exists():
                path.chmod(0o777)
                stack.callback(path.unlink)
        stage.give(stage.home)
        words = ["sleep", "60"]
        self.victim = subprocess.Popen(
            words,
            env={"PATH": os.defpath, "NAME": "OUTSIDE-MARK"},
            user=NOBODY if stage.user == "nobody" else None,
        )
        stack.callback(self._bury)
        (stage.workspace / "spec.json").write_text(
            json.dumps(
                {
                    "tcp": self.tcp.getsockname()[1],
                    "udp": self.udp.getsockname()[1],
                    "abstract": stage.mark,
                    "socket": str(stage.home / "service.sock"),
                    "run": f"/run/{stage.mark}.sock",
                    "pid": self.victim.pid,
                }
            )
        )

    def _listen(self, stack: ExitStack, name: str) -> socket.socket:
        found = stack.enter_context(socket.socket(socket.AF_UNIX))
        found.bind(name)
        found.listen()
        return found

    def _bury(self) -> None:
        self.victim.kill()
        self.victim.wait()

    def visited(self) -> list[str]:
        found = []
        for name in ("tcp", "udp", "abstract", "file", "run"):
            it = getattr(self, name)
            it.setblocking(False)
            try:
                it.recv(9) if name == "udp" else it.accept()[0].close()
                found.append(name)
            except BlockingIOError:
                pass
        return found if self.victim.poll() is None else [*found, "victim"]


@USERS
def test_every_way_out_of_a_box_is_refused(user: str) -> None:
    with staged(user) as stage, ExitStack() as stack:
        stage.repository()
        (stage.workspace / "attack.py").write_text(ATTACK)
        shutil.copy("/usr/bin/id", stage.workspace / "suid")
        outside = HostObserver(stack, stage)
        stage.give(stage.workspace)
        if os.geteuid() == 0:
            os.chown(stage.workspace / "suid", 0 if user == "nobody" else NOBODY, 0)
            (stage.workspace / "suid").chmod(0o6755)
        before = judged(stage)

        state, ran, after = stage.run("python3 attack.py", LATER)

        assert state == ["bubblewrap", [], ""]
        found: dict[str, str] = json.loads(ran[1])
        assert {name: got for name, got in found.items() if got != "held"} == {}
        assert len(found) > 50
        assert (after[1], judged(stage), outside.visited(), stage.left()) == ("0\n", before, [], [])


def judged(stage: Stage) -> dict[str, Any]:
    """What must be the same afterwards."""
    git = stage.workspace / ".git"
    return {
        "config": (git / "config").read_bytes(),
        "hooks": sorted(path.name for path in (git / "hooks").iterdir()),
        "head": (git / "HEAD").read_bytes(),
        "start": ((stage.home / ".bashrc").read_bytes(), (stage.home / ".bashrc").stat().st_mode),
        "home": sorted(path.name for path in stage.home.iterdir()),
        "own": [name for name in ("overt.toml", ".overt", ".envrc") if (stage.workspace / name).exists()],
        "etc": Path("/etc/overt-box-test").exists(),
        "core": Path("/proc/sys/kernel/core_pattern").read_bytes(),
    }


@USERS
def test_without_the_right_to_write_only_the_private_folder_can_be_written(user: str) -> None:
    with staged(user) as stage:
        (stage.workspace / "there").write_text("")
        stage.give()
        command = "touch a there; touch ~/.cache/a; touch /tmp/a && echo temp; touch /var/tmp/a && echo var; ls -A"

        ran = stage.one(command, write=False)

        assert (ran[1].count("Read-only file system"), ran[1].splitlines()[3:]) == (3, ["temp", "var", "there"])


def test_with_the_network_abstract_sockets_outside_stay_out_of_reach() -> None:
    with staged("root") as stage, ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(f"\0{stage.mark}")
        listener.listen()
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        script = f"""
import socket
socket.create_connection(("127.0.0.1", {server.getsockname()[1]})).close()
print("tcp")
try:
    socket.socket(socket.AF_UNIX).connect(bytes(1) + b"{stage.mark}")
    print("abstract")
except PermissionError:
    print("held")
"""
        (stage.workspace / "go.py").write_text(script)

        assert stage.one("python3 go.py", network=True) == [0, "tcp\nheld\n", ""]


@pytest.mark.parametrize("name", ["overt.toml", ".overt", ".envrc"])
def test_what_is_there_is_kept_as_it_is(name: str) -> None:
    with staged("root") as stage:
        (stage.workspace / name).write_text("real\n")

        ran = stage.one(f"echo x >> {name}; rm -f {name}; mv {name} y; cat {name}")

        assert (ran[1].splitlines()[-1], (stage.workspace / name).read_text()) == ("real", "real\n")
        assert stage.left() == []
