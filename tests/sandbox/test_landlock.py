"""The fall-back walls, tried by real processes as root and as an ordinary user."""

import json
import os
import shutil
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.sandbox.walls_kit import EVERYBODY, PACKAGE, RESTRICTED, Person, Who, person

from overt.sandbox.mechanisms.landlock import NEVER_HELD, UNIX_SOCKETS, version

pytestmark = pytest.mark.skipif(version() < 6, reason="needs a kernel with all of Landlock's walls")

TRY = """
import errno, os, signal, socket, sys

def said(make):
    try:
        make()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"
"""


@pytest.fixture(params=EVERYBODY)
def one(request: pytest.FixtureRequest) -> Iterator[Person]:
    who: Who = request.param
    with person(who) as made:
        yield made


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────


def test_it_names_the_walls_it_does_not_hold(one: Person) -> None:
    closed = one.shell('printf %s "$LACKING"')
    assert (json.loads(closed.out), closed.err) == (list(NEVER_HELD), "")
    assert json.loads(one.shell('printf %s "$LACKING"', network=True).out) == [*NEVER_HELD, UNIX_SOCKETS]


WRITES = {
    "append": "echo x >> $OUT/file",
    "empty": ": > $OUT/file",
    "truncate": "truncate -s 0 $OUT/file",
    "create": "echo x > $OUT/new",
    "make a folder": "mkdir $OUT/folder",
    "delete": "rm -f $OUT/file",
    "rename": "mv $OUT/file $OUT/other",
    "move in": "mv $OUT/file inside",
    "move out": "echo x > mine; mv mine $OUT/mine",
    "link": "ln $OUT/file hard && echo x >> hard",
    "follow a link": "ln -s $OUT/file soft; echo x >> soft",
    "make a pipe": "mkfifo $OUT/pipe",
    "make a link there": "ln -s / $OUT/soft",
    "from a grandchild": "sh -c 'sh -c \"echo x >> $OUT/file\"'",
    "from another session": "setsid -w sh -c 'echo x >> $OUT/file'",
    "through a descriptor": "exec 3< $OUT/file; echo x >> /proc/self/fd/3",
    "through the process": "echo x >> /proc/self/root$OUT/file",
}


@pytest.mark.parametrize("way", WRITES)
def test_nothing_outside_the_roots_is_written(one: Person, way: str) -> None:
    one.written(one.outside / "file", "as it was\n")
    done = one.shell(f"OUT={one.outside}\n" + WRITES[way])
    assert done.code != 0 or done.err, done
    assert {path.name: path.read_text() for path in one.outside.iterdir()} == {"file": "as it was\n"}


def test_the_roots_are_used_as_ever(one: Person) -> None:
    script = """set -e
mkdir -p a/b; echo one > a/b/file; ln a/b/file hard; ln -s a/b/file soft; mv a/b a/c; mkfifo pipe; cp -p a/c/file copy
chmod 755 copy; truncate -s 2 copy; touch -d 2020-01-01 copy; rm hard; echo x > $TMPDIR/temp; mktemp >/dev/null
: > /dev/null; head -c 4 /dev/urandom > /dev/null; cat a/c/file; cat < <(echo two)
"""
    assert one.shell(script) == (0, "one\ntwo\n", "")
    assert sorted(path.name for path in one.work.iterdir()) == ["a", "copy", "pipe", "soft"]


def test_what_is_hidden_cannot_be_read_but_its_neighbours_can(one: Person) -> None:
    one.written(one.home / ".ssh/id", "SECRET")
    one.written(one.home / ".netrc", "SECRET")
    one.written(one.home / ".config/overt/key", "SECRET")
    one.written(one.home / ".config/tool/setting", "open\n")
    one.written(one.home / ".profile", "plain\n")
    (one.work / "link").symlink_to(one.home / ".ssh")
    hidden = [one.home / name for name in (".ssh", ".netrc", ".config/overt", ".aws")]
    script = """
cat ~/.profile ~/.config/tool/setting
for path in ~/.ssh/id ~/.netrc ~/.config/overt/key link/id /proc/self/root$HOME/.netrc; do cat $path && echo READ; done
for path in ~/.ssh ~/.config/overt link; do ls $path && echo LISTED; done
ln ~/.netrc stolen && cat stolen; cp -r ~/.ssh stolen && cat stolen/id; mv ~/.ssh moved && cat moved/id
true
"""
    done = one.shell(script, hidden=hidden)
    assert (done.code, done.out) == (0, "plain\nopen\n")
    assert done.err.count("Permission denied") >= 8


def test_what_appears_later_under_a_hidden_name_is_hidden(one: Person) -> None:
    """It is made from outside while somebody inside waits for it."""
    os.mkfifo(one.work / "go")
    one.give(one.work / "go")
    script = 'read line < go; cat ~/.aws/credentials; ls ~/.aws; echo "ended $line"'
    argv = [one.python, "-I", "-S", "-c", RESTRICTED, json.dumps(_told(one, hidden=[one.home / ".aws"]))]
    with subprocess.Popen(
        [*argv, "bash", "-c", script],
        cwd=one.work,
        env=one.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **one.identity(),
    ) as inside:
        with (one.work / "go").open("w") as go:
            one.written(one.home / ".aws/credentials", "SECRET")
            go.write("well\n")
        out, err = inside.communicate(timeout=60)
    assert out == "ended well\n"
    assert err.count("Permission denied") == 2


def test_a_workspace_inside_a_hidden_place_is_open_and_a_hidden_place_inside_it_closed(one: Person) -> None:
    vault = one.made("vault")
    inner = one.made("vault/work")
    one.written(vault / "secret", "SECRET")
    one.written(inner / "keys/id", "SECRET")
    one.written(inner / "plain", "open\n")
    script = f"cd {inner}; cat plain; echo more >> plain; cat ../secret; cat keys/id; echo x > keys/new; ls keys; true"
    done = one.shell(script, write=[inner, one.temp], hidden=[vault, inner / "keys"])
    assert (done.code, done.out, done.err.count("Permission denied")) == (0, "open\n", 4)
    assert (inner / "plain").read_text() == "open\nmore\n"
    assert [path.name for path in (inner / "keys").iterdir()] == ["id"]


def test_a_hidden_socket_does_not_keep_new_files_from_its_folder(one: Person) -> None:
    """It cannot be read anyhow, and a folder that is opened child by child takes nothing new."""
    with socket.socket(socket.AF_UNIX) as mine:
        mine.bind(str(one.work / "socket"))
        assert one.shell("echo new > file; cat file", hidden=[one.work / "socket"]) == (0, "new\n", "")


def test_what_may_be_read_is_open_inside_a_hidden_place(one: Person) -> None:
    vault = one.made("vault")
    one.written(vault / "public/key", "open\n")
    one.written(vault / "secret", "SECRET")
    script = f"""
sys.path.insert(0, {PACKAGE!r})
from overt.sandbox.mechanisms import landlock
landlock.restrict([], [{str(vault)!r}], False, read=[{str(vault / "public")!r}])
print(open({str(vault / "public/key")!r}).read(), said(lambda: open({str(vault / "public/key")!r}, "a")))
print(said(lambda: open({str(vault / "secret")!r})))
"""
    assert one.run([one.python, "-I", "-S", "-c", TRY + script]) == (0, "open\n EACCES\nEACCES\n", "")


def test_disks_and_other_devices_are_closed_to_root_too(one: Person) -> None:
    disks = [path for path in Path("/dev").iterdir() if stat.S_ISBLK(path.stat().st_mode)]
    others = [Path("/dev/mem"), Path("/dev/kmsg"), Path("/dev/fuse"), Path("/dev/kvm"), Path("/proc/kcore")]
    there = [str(path) for path in (*disks[:4], *others) if path.exists()]
    script = TRY + f"print([path for path in {there} for mode in (os.O_RDONLY, os.O_WRONLY) "
    script += 'if said(lambda: os.open(path, mode)) not in ("EACCES", "EPERM")])'
    assert one.code(script) == (0, "[]\n", "")


def test_terminals_of_people_are_closed(one: Person) -> None:
    """And so is making one inside, since it would be numbered among theirs."""
    leader, follower = os.openpty()
    try:
        if one.switched:
            os.chown(os.ttyname(follower), 65534, 65534)
        script = (
            TRY
            + f"""
for path in ({os.ttyname(follower)!r}, "/dev/tty", "/dev/ptmx", "/dev/pts/ptmx", "/proc/{os.getpid()}/fd/{follower}"):
    print(said(lambda: os.open(path, os.O_RDONLY)), said(lambda: os.open(path, os.O_WRONLY)))
print(said(lambda: os.listdir("/dev/pts")))
"""
        )
        done = one.code(script)
    finally:
        os.close(leader)
        os.close(follower)
    assert (done.code, set(done.out.split()) <= {"EACCES", "EPERM", "ENOENT", "ENXIO"}, done.err) == (0, True, "")


# ── the network ──────────────────────────────────────────────────────────────────────────────────────────

SOCKETS = """
for family in ("AF_INET", "AF_INET6", "AF_PACKET", "AF_VSOCK", "AF_ALG"):
    for kind in ("SOCK_STREAM", "SOCK_DGRAM", "SOCK_RAW", "SOCK_SEQPACKET"):
        print(said(lambda: socket.socket(getattr(socket, family), getattr(socket, kind))))
print(said(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)))
"""


def test_without_network_there_is_no_socket_that_leaves(one: Person) -> None:
    done = one.code(TRY + SOCKETS)
    assert (done.code, set(done.out.split()), done.err) == (0, {"EACCES"}, "")


def test_without_network_no_socket_in_a_file_is_reached(one: Person) -> None:
    with socket.socket(socket.AF_UNIX) as stream, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as datagram:
        stream.bind(str(one.outside / "stream"))
        stream.listen()
        datagram.bind(str(one.outside / "datagram"))
        for name in ("stream", "datagram"):
            (one.outside / name).chmod(0o777)
        script = f"""
out = {str(one.outside)!r}
print(said(lambda: socket.socket(socket.AF_UNIX).connect(out + "/stream")))
print(said(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(out + "/stream")))
print(said(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", out + "/datagram")))
print(said(lambda: socket.socket(socket.AF_UNIX, socket.SOCK_RAW).sendto(b"x", out + "/datagram")))
print(said(lambda: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b"x", out + "/datagram")))
pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)[0]
print(said(lambda: pair.sendmsg([b"x"], [], 0, out + "/datagram")))
"""
        done = one.code(TRY + script)
        datagram.setblocking(False)
        stream.setblocking(False)
        with pytest.raises(BlockingIOError):
            datagram.recv(1)
        with pytest.raises(BlockingIOError):
            stream.accept()
    assert (done.code, done.out.split()[:5], done.err) == (0, ["EACCES"] * 5, "")


def test_with_network_only_abstract_names_stay_closed(one: Person) -> None:
    name = f"\0overt-{os.urandom(8).hex()}"
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(name)
        abstract.listen()
        script = f"""
print(said(lambda: socket.create_connection(("127.0.0.1", {tcp.getsockname()[1]}), 5)))
print(said(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).bind(("127.0.0.1", 0))))
print(said(lambda: socket.socket(socket.AF_UNIX).connect({name!r})))
mine = socket.socket(socket.AF_UNIX)
mine.bind({name + "-mine"!r})
mine.listen()
print(said(lambda: socket.socket(socket.AF_UNIX).connect({name + "-mine"!r})))
"""
        done = one.code(TRY + script, network=True)
    assert done == (0, "done\ndone\nEPERM\ndone\n", "")


# ── processes and privileges ─────────────────────────────────────────────────────────────────────────────


def test_processes_outside_are_out_of_reach_and_own_ones_are_not(one: Person) -> None:
    with subprocess.Popen(["sleep", "60"], env={"SECRET": "SECRET"}, **one.identity()) as outside:
        try:
            script = f"""
import ctypes
libc = ctypes.CDLL(None, use_errno=True)

def attach(pid):
    if libc.ptrace(0x4206, pid, None, None) == -1:
        raise OSError(ctypes.get_errno(), "ptrace")

for pid in ({outside.pid}, {os.getpid()}, 1):
    print(said(lambda: os.kill(pid, 0)), said(lambda: attach(pid)), said(lambda: open(f"/proc/{{pid}}/environ", "rb")))
    handle = os.pidfd_open(pid)
    print(said(lambda: signal.pidfd_send_signal(handle, 0)), said(lambda: os.readlink(f"/proc/{{pid}}/cwd")))
mine = os.fork()
if not mine:
    signal.pause()
print(said(lambda: os.kill(mine, 0)), said(lambda: attach(mine)), said(lambda: open(f"/proc/{{mine}}/environ", "rb")))
os.kill(mine, signal.SIGKILL)
"""
            done = one.code(TRY + script)
            assert outside.poll() is None
        finally:
            outside.kill()
    refused = {"EPERM", "EACCES"}
    lines = [set(line.split()) for line in done.out.splitlines()]
    assert (done.code, done.err, lines[6]) == (0, "", {"done"})
    assert set().union(*lines[:6]) <= refused


def test_nothing_is_gained_and_little_is_left_of_root(one: Person) -> None:
    script = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
held = [int(lines["Cap" + name], 16) & ~0b11011 for name in ("Eff", "Prm", "Bnd", "Amb")]
print(lines["NoNewPrivs"].strip(), lines["Seccomp"].strip(), *held)

def system(name, *words):
    if getattr(libc, name)(*words) == -1:
        raise OSError(ctypes.get_errno(), name)

os.mkdir("inner")
print(said(lambda: system("mount", b"none", b"inner", b"tmpfs", 0, None)), said(lambda: system("unshare", 0x10000000)))
print(said(lambda: system("chroot", b".")), said(lambda: system("sethostname", b"x", 1)))
print(said(lambda: os.mknod("device", 0o20600, os.makedev(1, 3))), said(lambda: os.mknod("disk", 0o60600, 1)))
print(said(lambda: os.mknod("whiteout", 0o20600, 0)))
for path in ("/proc/sys/kernel/core_pattern", "/sys/kernel/mm/ksm/run"):
    print(said(lambda: os.open(path, os.O_WRONLY)))
"""
    done = one.code(TRY + script)
    first, *rest = done.out.splitlines()
    bounds = first.split()
    assert (bounds[:4], bounds[5]) == (["1", "2", "0", "0"], "0")
    assert one.switched or os.geteuid() != 0 or bounds[4] == "0"
    assert {word for line in rest for word in line.split()} <= {"EPERM", "EACCES", "ENOENT"}
    assert [path.name for path in one.work.iterdir()] == ["inner"]


def test_a_kernel_without_landlock_is_told_before_anything_has_changed(one: Person) -> None:
    script = f"""
import sys
sys.path.insert(0, {PACKAGE!r})
from overt.sandbox.mechanisms import landlock
from overt.sandbox.mechanisms import seccomp
whole = seccomp.program
steps = [seccomp._step(0x20, 0), *seccomp._when(444, [seccomp._refuse(38)]), seccomp._step(6, 0x7FFF0000)]
seccomp.program = lambda network: b"".join(steps)
seccomp.install(True)
seccomp.program = whole
print(landlock.version(), landlock.isolate())
try:
    landlock.restrict(["/nowhere"], [], False)
except OSError as error:
    print(error)
open("written", "w")
socket.socket(socket.AF_INET).close()
"""
    done = one.run([one.python, "-I", "-S", "-c", TRY + script])
    assert done == (0, "0 False\nthis kernel has no Landlock\n", "")


OLDER = {
    1: ["truncating files outside", "signals to programs outside"],
    2: ["truncating files outside", "signals to programs outside"],
    3: ["signals to programs outside"],
    4: ["signals to programs outside"],
    5: ["signals to programs outside"],
    6: [],
    99: [],
}


@pytest.mark.parametrize("older", OLDER)
def test_on_another_kernel_more_walls_are_named(older: int) -> None:
    """The rules of an older version are a part of ours, so this kernel takes them as that one would."""
    script = f"""
sys.path.insert(0, {PACKAGE!r})
from overt.sandbox.mechanisms import landlock
landlock.version = lambda: {older}
print(landlock.restrict([os.getcwd()], ["/root/.ssh"], False)[{len(NEVER_HELD)}:])
print(said(lambda: open("/etc/overt-test", "w")), said(lambda: open("inside", "w")))
"""
    with person("ordinary") as one:
        done = one.run([one.python, "-I", "-S", "-c", TRY + script])
        assert done == (0, f"{tuple(OLDER[older])}\nEACCES done\n", "")


def test_isolating_closes_abstract_names_and_signals_and_nothing_else(one: Person) -> None:
    name = f"\0overt-{os.urandom(8).hex()}"
    with socket.socket(socket.AF_UNIX) as abstract:
        abstract.bind(name)
        abstract.listen()
        script = f"""
sys.path.insert(0, {PACKAGE!r})
from overt.sandbox.mechanisms import landlock
print(landlock.isolate())
print(said(lambda: socket.socket(socket.AF_UNIX).connect({name!r})), said(lambda: os.kill({os.getpid()}, 0)))
print(said(lambda: open("written", "w")), said(lambda: os.kill(os.getpid(), 0)))
print(said(lambda: socket.socket(socket.AF_INET)))
"""
        done = one.run([one.python, "-I", "-S", "-c", TRY + script])
    assert done == (0, "True\nEPERM EPERM\ndone done\ndone\n", "")


# ── everyday work ────────────────────────────────────────────────────────────────────────────────────────

EVERYDAY = {
    "git": (
        "git init -q . && git config user.email a@b.c && git config user.name n && echo x > x && git add . && "
        "git commit -qm one && git checkout -qb two && git stash list && git status --short && git log --format=%s",
        "one\n",
    ),
    "python": (
        "python3 -c 'import threading, subprocess, tempfile; t = threading.Thread(target=print); t.start(); t.join(); "
        'tempfile.TemporaryFile(); print(subprocess.run(["echo", "hi"], capture_output=True).stdout)\'',
        "\nb'hi\\n'\n",
    ),
    "a pool of processes": (
        "python3 -c 'import multiprocessing as m; p = m.get_context(\"fork\").Pool(2); print(p.map(abs, [-1, 2]))'",
        "[1, 2]\n",
    ),
    "asyncio": ("python3 -c 'import asyncio; print(asyncio.run(asyncio.sleep(0, 7)))'", "7\n"),
    "gcc": ("printf 'int main(void){return 3;}' > a.c && gcc a.c && { ./a.out; echo $?; }", "3\n"),
    "node": ("node -e 'console.log(1 + 1)'", "2\n"),
    "make": ("printf 'all:\\n\\t@echo made\\n' > Makefile && make", "made\n"),
    "strace": ("strace -o trace true && grep -c exited trace", "1\n"),
    "names": ("getent passwd root | cut -d: -f1; hostname > /dev/null; id -u > /dev/null; ps > /dev/null", "root\n"),
    "a background process": ("sleep 0.05 & wait $!; echo over", "over\n"),
    "killing its own": ("sleep 60 & kill $!; wait $!; echo $?", "143\n"),
}


@pytest.mark.parametrize("task", EVERYDAY)
def test_everyday_work_goes_on(one: Person, task: str) -> None:
    command, wanted = EVERYDAY[task]
    needed = "git python3 gcc node make strace".split()
    missing = [
        name
        for name in needed
        if name in command.split()[0] and not shutil.which(name, path="/usr/local/bin:/usr/bin:/bin")
    ]
    if missing:
        pytest.skip(f"{missing[0]} is not here")
    done = one.shell(command, hidden=[one.home / ".ssh"])
    assert (done.code, done.out) == (0, wanted), done.err


def _told(one: Person, *, hidden: list[Path]) -> dict[str, object]:
    return {"write": [str(one.work), str(one.temp)], "hidden": [str(path) for path in hidden], "network": False}
