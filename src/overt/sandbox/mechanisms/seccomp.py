"""A filter for system calls that no path and no namespace can guard, built here for x86_64 and aarch64.

The supervisor loads it without third-party packages, so this holds to the standard library. A call is refused
with an errno, as if the user lacked the right, so that programs go on or say what failed; only a foreign
instruction set is fatal, because its numbers mean other calls.
"""

import ctypes
import errno
import os
import struct
from collections.abc import Iterable, Mapping

TABLE = """
mount 165 40            umount2 166 39           pivot_root 155 41       chroot 161 51
move_mount 429 429      open_tree 428 428        open_tree_attr 467 467  fsopen 430 430
fsmount 432 432         fsconfig 431 431         fspick 433 433          mount_setattr 442 442
setns 308 268           io_uring_setup 425 425   io_uring_enter 426 426  io_uring_register 427 427
keyctl 250 219          add_key 248 217          request_key 249 218     bpf 321 280
perf_event_open 298 241 userfaultfd 323 282      kexec_load 246 104      kexec_file_load 320 294
reboot 169 142          swapon 167 224           swapoff 168 225         init_module 175 105
finit_module 313 273    delete_module 176 106    acct 163 89             settimeofday 164 170
clock_settime 227 112   clock_adjtime 305 266    adjtimex 159 171        iopl 172 -
ioperm 173 -            sethostname 170 161      setdomainname 171 162   quotactl 179 60
quotactl_fd 443 443     nfsservctl 180 42        lookup_dcookie 212 18   open_by_handle_at 304 265
fanotify_init 300 262   vhangup 153 58           syslog 103 116          _sysctl 156 -
uselib 134 -
"""
"""Refused whatever the arguments: name, number on x86_64, number on aarch64."""

MODES = """
chmod 90 - 1    fchmod 91 52 1   fchmodat 268 53 2   fchmodat2 452 452 2
creat 85 - 1    mknod 133 - 1    mknodat 259 33 2
"""
"""Calls that set permission bits: name, numbers, and which argument has them. Setuid is refused: as root such a file
would give its rights to every user of the machine."""
OPENING = {0: ((2, 1), (257, 2)), 1: ((56, 2),)}
"""`open` and `openat` by machine: number and which argument has the flags; the permission bits come after it."""

JUDGED = """
clone 56 220   clone3 435 435   unshare 272 97   prlimit64 302 261   ioctl 16 29
socket 41 198  socketpair 53 199  connect 42 203 prctl 157 167
openat2 437 437
"""
"""Refused for some of their arguments."""

MACHINES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
"""The column in the tables, and the name the kernel gives to the instruction set."""
X32 = 0x40000000
NEW_NAMESPACES = 0x7E020000 | 0x80
"""Mount, cgroup, uts, ipc, user, pid, net and time. The lowest is part of the exit signal in `clone`."""
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
SOCK_STREAM, SOCK_SEQPACKET, SOCK_KIND = 1, 5, 0xF
TIOCSTI, TIOCLINUX = 0x5412, 0x541C
S_ISUID, O_TMPFILE = 0o4000, 0o20000000

LOAD, EQUAL, ANY_BIT, AND, RETURN = 0x20, 0x15, 0x45, 0x54, 0x06
ALLOW, KILL, ERRNO, NOTIFY = 0x7FFF0000, 0x80000000, 0x00050000, 0x7FC00000
NUMBER, ARCHITECTURE, FIRST_ARGUMENT = 0, 4, 16

PR_SET_DUMPABLE, PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 4, 38, 22, 2


def known(machine: str = "") -> bool:
    return (machine or os.uname().machine) in MACHINES


def program(network: bool, *, machine: str = "") -> bytes:
    """The filter as the kernel takes it.

    With `network`, the box has a network of its own or may use everybody's: internet sockets stay. Without it
    there are no sockets but pairs and UNIX ones nobody can be called with: `connect` is refused, because a
    socket in a file (Docker's, a bus, an agent) leads out and a filter cannot see the name.
    """
    column, architecture = MACHINES[machine or os.uname().machine]
    refused = _numbers(TABLE, column)
    judged = _numbers(JUDGED, column)
    code = [
        _step(LOAD, ARCHITECTURE),
        _step(EQUAL, architecture, 1, 0),
        _step(RETURN, KILL),
        _step(LOAD, NUMBER),
    ]
    if column == 0:
        code += [_step(ANY_BIT, X32, 0, 1), _step(RETURN, ERRNO | errno.ENOSYS)]
    for number in refused.values():
        code += [_step(EQUAL, number, 0, 1), _step(RETURN, ERRNO | errno.EPERM)]
    if not network:
        code += [_step(EQUAL, judged["connect"], 0, 1), _step(RETURN, ERRNO | errno.EACCES)]
    # Programs that meet ENOSYS fall back to `clone` and `openat`, whose flags and modes are not behind a pointer.
    for name in ("clone3", "openat2"):
        code += [_step(EQUAL, judged[name], 0, 1), _step(RETURN, ERRNO | errno.ENOSYS)]
    code += _no_setuid(column)
    code += _when(judged["clone"], _bits(0, NEW_NAMESPACES & ~0xFF))
    code += _when(judged["unshare"], _bits(0, NEW_NAMESPACES))
    code += _when(judged["prlimit64"], [_step(LOAD, _word(0)), _step(EQUAL, 0, 1, 0), _refuse(errno.EPERM)])
    code += _when(judged["ioctl"], _among(1, (TIOCSTI, TIOCLINUX)))
    code += _when(judged["socket"], _families(network))
    if not network:
        code += _when(judged["socketpair"], _STREAMS)
    code.append(_step(RETURN, ALLOW))
    return b"".join(code)


def notify_writes(numbers: Iterable[int], opening: Mapping[int, int]) -> bytes:
    """A filter that stops these calls until a listener has seen them, and each call in `opening` (number → index of
    the argument with its flags) when it may create a file or write to one.

    A program that hides its memory from the listener (`PR_SET_DUMPABLE`) is told that it worked: it did not.
    """
    column, architecture = MACHINES[os.uname().machine]
    code = [_step(LOAD, ARCHITECTURE), _step(EQUAL, architecture, 1, 0), _step(RETURN, ALLOW), _step(LOAD, NUMBER)]
    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
    for number, argument in opening.items():
        code += _when(number, [_step(LOAD, _word(argument)), _step(ANY_BIT, writing, 0, 1), _step(RETURN, NOTIFY)])
    for number in numbers:
        code += [_step(EQUAL, number, 0, 1), _step(RETURN, NOTIFY)]
    hide = [_step(LOAD, _word(0)), _step(EQUAL, PR_SET_DUMPABLE, 0, 1), _refuse(0)]
    code += _when(_numbers(JUDGED, column)["prctl"], hide)
    return b"".join([*code, _step(RETURN, ALLOW)])


def install(network: bool) -> None:
    """Bind this thread and all it starts, for good; OSError where the kernel does not take it."""
    code = program(network)
    buffer = ctypes.create_string_buffer(code, len(code))
    head = struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) or libc.prctl(PR_SET_SECCOMP, FILTER, head, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _numbers(table: str, column: int) -> dict[str, int]:
    words = table.split()
    rows = zip(words[::3], zip(words[1::3], words[2::3], strict=True), strict=True)
    return {name: int(numbers[column]) for name, numbers in rows if numbers[column] != "-"}


def _step(code: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", code, yes, no, value)


def _word(argument: int) -> int:
    """Where the low half of an argument lies; the kernel takes these arguments as 32 bits, and so do we."""
    return FIRST_ARGUMENT + 8 * argument


def _refuse(number: int) -> bytes:
    return _step(RETURN, ERRNO | number)


def _when(number: int, body: list[bytes]) -> list[bytes]:
    """Run `body` for one call, and allow what it does not refuse: the number of the call is lost after it."""
    body = [*body, _step(RETURN, ALLOW)]
    return [_step(EQUAL, number, 0, len(body)), *body]


def _bits(argument: int, mask: int) -> list[bytes]:
    return [_step(LOAD, _word(argument)), _step(ANY_BIT, mask, 0, 1), _refuse(errno.EPERM)]


def _no_setuid(column: int) -> list[bytes]:
    words = MODES.split()
    code = []
    for numbers, argument in zip(zip(words[1::4], words[2::4], strict=True), words[3::4], strict=True):
        if numbers[column] != "-":
            code += _when(int(numbers[column]), _bits(int(argument), S_ISUID))
    for number, flags in OPENING[column]:
        creating = [_step(LOAD, _word(flags)), _step(ANY_BIT, os.O_CREAT | O_TMPFILE, 0, 3)]
        code += _when(number, [*creating, *_bits(flags + 1, S_ISUID)])
    return code


def _among(argument: int, values: tuple[int, ...]) -> list[bytes]:
    steps = [_step(LOAD, _word(argument))]
    for value in values:
        steps += [_step(EQUAL, value, 0, 1), _refuse(errno.EPERM)]
    return steps


def _families(network: bool) -> list[bytes]:
    """An allow-list: families that no namespace holds (vsock, the kernel's cipher sockets, packets) stay away."""
    if network:
        families = (AF_UNIX, AF_INET, AF_INET6, AF_NETLINK)
        steps = [_step(LOAD, _word(0))]
        steps += [_step(EQUAL, family, len(families) - at, 0) for at, family in enumerate(families)]
        return [*steps, _refuse(errno.EAFNOSUPPORT)]
    return [
        _step(LOAD, _word(0)),
        _step(EQUAL, AF_NETLINK, 2 + len(_STREAMS), 0),
        _step(EQUAL, AF_UNIX, 1, 0),
        _refuse(errno.EACCES),
        *_STREAMS,
    ]


# A datagram socket, which a UNIX one of the kind "raw" is too, needs no `connect` to reach a socket in a file.
_STREAMS = [
    _step(LOAD, _word(1)),
    _step(AND, SOCK_KIND),
    _step(EQUAL, SOCK_STREAM, 2, 0),
    _step(EQUAL, SOCK_SEQPACKET, 1, 0),
    _refuse(errno.EACCES),
]
