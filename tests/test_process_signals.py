"""The tests can be started in the background: what the shell ignores does not reach the programs that tests start."""

import subprocess
import sys

SIGNALS = "INT HUP QUIT TERM TSTP"
PROGRAM = """
import os, signal, subprocess
from tests.process_signals import reset_inherited_signals
reset_inherited_signals()
for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
    os.kill(os.getpid(), number)
print(subprocess.run(["grep", "^SigIgn", "/proc/self/status"], capture_output=True, text=True).stdout)
"""


def test_programs_started_by_tests_do_not_inherit_ignored_signals_and_the_tests_survive_them() -> None:
    done = subprocess.run(
        ["sh", "-c", f"trap '' {SIGNALS}; exec \"$@\"", "sh", sys.executable, "-c", PROGRAM],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    ignored = int(done.stdout.split()[1], 16) & (1 << 31) - 1  # the C library keeps signals above for itself
    assert ignored == 0
