"""Which system calls a filter refuses: its program run step by step, and the real one in a child."""

import errno
import os
import signal
import struct
import subprocess
import sys
from collections.abc import Sequence

import pytest
from tests.sandbox.walls_kit import PACKAGE

from overt.sandbox.mechanisms.seccomp import JUDGED, MACHINES, TABLE, known, program

ALLOWED, KILLED = "allowed", "killed"
INSTALLED = f"""
import ctypes, errno, os, socket, sys, threading
sys.path.insert(0, {PACKAGE!r})
from overt.sandbox.mechanisms.seccomp import install
libc = ctypes.CDLL(None, use_errno=True)

def said(make):
    try:
        make()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "done"

def call(*words):
    return "done" if libc.syscall(*words) >= 0 else errno.errorcode[ctypes.get_errno()]
"""


def verdict(code: bytes, number: int, arguments: Sequence[int] = (), *, architecture: int = 0) -> str:
    """What the kernel would make of a call, read off the program as the kernel reads it."""
    six = [*arguments, 0, 0, 0, 0, 0, 0][:6]
    data = struct.pack("=iIQ6Q", number - (1 << 32) if number >= 1 << 31 else number, architecture, 0, *six)
    steps = [struct.unpack("=HBBI", code[at : at + 8]) for at in range(0, len(code), 8)]
    held = at = 0
    while True:
        operation, yes, no, value = steps[at]
        at += 1
        match operation:
            case 0x20:
                held = struct.unpack_from("=I", data, value)[0]
            case 0x54:
                held &= value
            case 0x15:
                at += yes if held == value else no
            case 0x45:
                at += yes if held & value else no
            case _:
                assert operation == 0x06
                break
    if value == 0x7FFF0000:
        return ALLOWED
    return KILLED if value == 0x80000000 else errno.errorcode[value & 0xFFFF]


def numbers(machine: str, table: str = TABLE + JUDGED) -> dict[str, int]:
    words = table.split()
    column = 1 + list(MACHINES).index(machine)
    return {words[at]: int(words[at + column]) for at in range(0, len(words), 3) if words[at + column] != "-"}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("network", [False, True])
def test_what_reaches_around_the_walls_is_refused_whatever_its_arguments(machine: str, network: bool) -> None:
    code = program(network, machine=machine)
    arch = MACHINES[machine][1]
    said = {name: verdict(code, number, architecture=arch) for name, number in numbers(machine, TABLE).items()}
    assert said == dict.fromkeys(said, "EPERM")
    assert len(said) == (49 if machine == "x86_64" else 45)


@pytest.mark.parametrize("machine", MACHINES)
def test_another_instruction_set_is_fatal(machine: str) -> None:
    code = program(True, machine=machine)
    foreign = [0x40000003, 0x40000028, *(arch for name, (_, arch) in MACHINES.items() if name != machine)]
    assert {verdict(code, 39, architecture=arch) for arch in foreign} == {KILLED}


def test_the_other_numbering_of_the_same_machine_does_not_exist() -> None:
    code = program(False, machine="x86_64")
    arch = MACHINES["x86_64"][1]
    assert [verdict(code, 0x40000000 | number, architecture=arch) for number in (39, 41, 520, 547)] == ["ENOSYS"] * 4


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("network", [False, True])
def test_everyday_calls_pass(machine: str, network: bool) -> None:
    code = program(network, machine=machine)
    arch = MACHINES[machine][1]
    others = set(range(460)) - set(numbers(machine).values())
    assert {verdict(code, number, (1, 2, 3), architecture=arch) for number in others} == {ALLOWED}


FLAGS = {
    "a thread": (0x3D0F00, ALLOWED),
    "a process": (0x1200011, ALLOWED),
    "a vfork": (0x4111, ALLOWED),
    "a user namespace": (0x10000011, "EPERM"),
    "a mount namespace": (0x20011, "EPERM"),
    "a network namespace": (0x40000011, "EPERM"),
}


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("shape", FLAGS)
def test_processes_are_made_but_no_namespaces(machine: str, shape: str) -> None:
    code, arch, calls = program(True, machine=machine), MACHINES[machine][1], numbers(machine)
    flags, wanted = FLAGS[shape]
    assert verdict(code, calls["clone"], (flags,), architecture=arch) == wanted
    assert verdict(code, calls["clone3"], (1, 88), architecture=arch) == "ENOSYS"


SOCKETS = [
    # family, kind, without network, with network
    (1, 1, ALLOWED, ALLOWED),
    (1, 5, ALLOWED, ALLOWED),
    (1, 1 | 0o2000000 | 0o4000, ALLOWED, ALLOWED),
    (1, 2, "EACCES", ALLOWED),
    (1, 3, "EACCES", ALLOWED),
    (1, 2 | 0o2000000, "EACCES", ALLOWED),
    (2, 1, "EACCES", ALLOWED),
    (2, 2, "EACCES", ALLOWED),
    (2, 3, "EACCES", ALLOWED),
    (10, 1, "EACCES", ALLOWED),
    (10, 2, "EACCES", ALLOWED),
    (16, 3, ALLOWED, ALLOWED),
    (17, 3, "EACCES", "EAFNOSUPPORT"),
    (38, 5, "EACCES", "EAFNOSUPPORT"),
    (40, 1, "EACCES", "EAFNOSUPPORT"),
    (43, 1, "EACCES", "EAFNOSUPPORT"),
    (1 << 32 | 2, 1, "EACCES", ALLOWED),
]


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize(("family", "kind", "closed", "open_"), SOCKETS)
def test_sockets_by_family_and_kind(machine: str, family: int, kind: int, closed: str, open_: str) -> None:
    arch, calls = MACHINES[machine][1], numbers(machine)
    for network, wanted in ((False, closed), (True, open_)):
        code = program(network, machine=machine)
        assert verdict(code, calls["socket"], (family, kind), architecture=arch) == wanted
        if family == 1:
            assert verdict(code, calls["socketpair"], (family, kind), architecture=arch) == wanted
        assert verdict(code, calls["connect"], (3,), architecture=arch) == (ALLOWED if network else "EACCES")


@pytest.mark.parametrize("machine", MACHINES)
def test_nobody_types_into_the_terminal_or_limits_others(machine: str) -> None:
    code, arch, calls = program(True, machine=machine), MACHINES[machine][1], numbers(machine)
    requests = (0x5412, 0x541C, 0xFFFFFFFF00005412, 0x5401, 0x5413)
    assert [verdict(code, calls["ioctl"], (0, request), architecture=arch) for request in requests] == [
        *("EPERM", "EPERM", "EPERM", ALLOWED, ALLOWED),
    ]
    assert verdict(code, calls["prlimit64"], (0, 7), architecture=arch) == ALLOWED
    assert verdict(code, calls["prlimit64"], (1234, 7), architecture=arch) == "EPERM"


def child(script: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", INSTALLED + script], capture_output=True, text=True, timeout=60
    )


def test_the_kernel_takes_the_filter_and_everything_below_is_bound() -> None:
    script = """
install(False)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(said(lambda: socket.socket(socket.AF_INET)), flush=True)
        os._exit(0)
    os.wait()
    os._exit(0)
os.wait()
a, b = socket.socketpair()
a.send(b"x")
done = []
thread = threading.Thread(target=lambda: done.append(1))
thread.start()
thread.join()
unshare = libc.unshare(0x10000000), errno.errorcode[ctypes.get_errno()]
print(b.recv(1), done, said(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)), unshare)
"""
    done = child(script)
    assert (done.returncode, done.stdout, done.stderr) == (0, "EACCES\nb'x' [1] EACCES (-1, 'EPERM')\n", "")


HEADERS = {
    "x86_64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h",
    "aarch64": "/usr/include/asm-generic/unistd.h",
}


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_are_those_of_the_kernel(machine: str) -> None:
    if not os.path.exists(HEADERS[machine]):
        pytest.skip("the kernel's headers are not here")
    with open(HEADERS[machine]) as file:
        lines = [line.split() for line in file if line.startswith("#define __NR_")]
    named = {line[1].removeprefix("__NR_"): int(line[2]) for line in lines if line[2].isdigit()}
    ours = {name: number for name, number in numbers(machine).items() if name != "open_tree_attr"}
    assert ours == {name: named[name] for name in ours}
    assert {name for name in named if name in TABLE.split()} <= set(ours)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="machine code for x86_64")
def test_a_call_by_the_numbers_of_thirty_two_bits_kills() -> None:
    """`mov eax, getpid; int 0x80; ret`, which a program for 64 bits can do as well."""
    script = """
import mmap
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(bytes.fromhex("b814000000cd80c3"))
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
before = function()
print(before > 0, flush=True)
install(True)
function()
"""
    done = child(script)
    if done.stdout != "True\n":
        pytest.skip("this kernel has no calls of thirty-two bits")
    assert done.returncode == -signal.SIGSYS


def test_the_filter_of_an_unknown_machine_is_not_made_up() -> None:
    with pytest.raises(KeyError):
        program(True, machine="riscv64")
    assert not known("riscv64")
