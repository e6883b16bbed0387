"""What remains of root's rights in a box without namespaces: to handle files as before, and nothing more."""

import ctypes
import os
import struct

from overt.sandbox.process_tree import effective_capabilities

PR_CAPBSET_DROP, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 24, 47, 4
CAPSET_NUMBER = {"x86_64": 126, "aarch64": 91}
VERSION = 0x20080522
KEPT = 1 << 0 | 1 << 1 | 1 << 3 | 1 << 4
"""CHOWN, DAC_OVERRIDE, FOWNER and FSETID: installing and unpacking as root. Where these may act, paths decide."""
LARGEST = 64


def drop() -> bool:
    """Keep no capability but those; False where something else stayed."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
    for each in range(LARGEST):
        if not KEPT >> each & 1:
            libc.prctl(PR_CAPBSET_DROP, each, 0, 0, 0)
    held = effective_capabilities() & KEPT
    number = CAPSET_NUMBER.get(os.uname().machine)
    if number is not None:
        low, high = held & 0xFFFFFFFF, held >> 32
        head = struct.pack("=Ii", VERSION, 0)
        libc.syscall(number, head, struct.pack("=6I", low, low, 0, high, high, 0))
    return effective_capabilities() & ~KEPT == 0
