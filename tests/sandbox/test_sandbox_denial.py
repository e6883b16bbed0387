"""A refusal of the box is recognised in what programs print, and nothing else is taken for one."""

import pytest
from tests.sandbox.box_kit import USERS, staged

from overt.core.capabilities import Blocked
from overt.sandbox.profile import AccessRules
from overt.sandbox.refused_access import NETWORK, find_refusal

WALLS = AccessRules(
    write=("/w",),
    protected=("/w/.git/config", "/w/.git/hooks"),
    absent=("/w/overt.toml",),
    hidden=("/home/me/.ssh",),
)
OUTSIDE = "write to {} was blocked by the sandbox"
OUTPUTS = [
    ("touch: cannot touch '/etc/x': Read-only file system", Blocked(kind="write", path="/etc/x")),
    ("bash: line 1: /etc/x: Read-only file system", Blocked(kind="write", path="/etc/x")),
    ("OSError: [Errno 30] Read-only file system: '/usr/lib/y'", Blocked(kind="write", path="/usr/lib/y")),
    ("Error: EROFS: read-only file system, open '/opt/z'", Blocked(kind="write", path="/opt/z")),
    ("open /etc/go: read-only file system", Blocked(kind="write", path="/etc/go")),
    ("mkdir: cannot create directory ‘/srv/a’: Read-only file system", Blocked(kind="write", path="/srv/a")),
    ("cp: something: Read-only file system", Blocked(kind="write")),
    (
        "error: could not write config file .git/config: Device or resource busy",
        Blocked(kind="git", path=".git/config"),
    ),
    ("mv: cannot move '.git' to 'x': Device or resource busy", Blocked(kind="protected", path=".git")),
    ("bash: line 1: .git/hooks/pre-commit: Read-only file system", Blocked(kind="git", path=".git/hooks/pre-commit")),
    (
        "bash: line 1: overt.toml: Is a directory\nsh: overt.toml: Read-only file system",
        Blocked(kind="protected", path="overt.toml"),
    ),
    (
        "cat: /home/me/.ssh/id: Permission denied",
        Blocked(kind="hidden", path="/home/me/.ssh/id"),
    ),
    ("curl: (6) Could not resolve host: example.com", NETWORK),
    ("connect: Network is unreachable", NETWORK),
    ("npm error code EAI_AGAIN", NETWORK),
    ("socket.gaierror: [Errno -3] Temporary failure in name resolution\nfailed", NETWORK),
    ("dial tcp: lookup proxy.golang.org: no such host", NETWORK),
    ("failed to get crate: [6] Couldn't resolve host name (Could not resolve host: index.crates.io)", NETWORK),
    ("npm error errno ENOTFOUND", NETWORK),
    ("OSError: [Errno 101] Network is unreachable", NETWORK),
    ("error: error sending request for url (https://pypi.org/simple/x/)\n  Caused by: dns error", NETWORK),
    ("ssh: Could not resolve hostname github.com: -3", NETWORK),
    (
        "'/usr/lib/pytest-cache (this is only the test cache, allowing it is safe)': Read-only file system",
        Blocked(kind="write", path="/usr/lib/pytest-cache"),
    ),
    ("cat: nothere: No such file or directory", None),
    ("bash: ./script: Permission denied", None),
    ("rm: cannot remove '/w/busy': Device or resource busy", None),
    ("", None),
]


@pytest.mark.parametrize(("text", "expected"), OUTPUTS)
def test_output_shows_what_was_refused(text: str, expected: Blocked | None) -> None:
    assert find_refusal(text, WALLS, cwd="/w") == expected


@pytest.mark.parametrize(
    ("blocked", "described", "advised"),
    [
        (
            NETWORK,
            "network access was blocked by the sandbox",
            "; if the command needs it, call bash again with the reason in `network`",
        ),
        (Blocked(kind="hidden", path="~/k"), "~/k is hidden by the sandbox: reading it was blocked", ""),
        (Blocked(kind="write", path="/etc/x"), "write to /etc/x was blocked by the sandbox", ""),
        (Blocked(kind="write"), "a write was blocked by the sandbox", ""),
        (Blocked(kind="protected", path="a;b"), "write to a;b was blocked by the sandbox: it is protected", ""),
        (
            Blocked(kind="git", path=".git/config"),
            "write to .git/config was blocked by the sandbox: git's configuration and hooks can only be changed by the "
            "user",
            "; tell them what to run",
        ),
    ],
)
def test_a_refusal_is_described_to_people_and_models(blocked: Blocked, described: str, advised: str) -> None:
    assert (blocked.describe(), blocked.advise()) == (described, described + advised)


def test_with_the_network_a_failed_connection_is_not_the_boxes_doing() -> None:
    assert find_refusal("connect: Network is unreachable", AccessRules(network=True), cwd="/w") is None


@USERS
@pytest.mark.parametrize("mode", ["bubblewrap", "landlock"])
def test_a_command_that_succeeds_and_prints_a_refusal_was_not_blocked(user: str, mode: str) -> None:
    refusal = "touch: cannot touch '/etc/x': Read-only file system"
    with staged(user) as stage:
        stage.give()
        _, succeeds, fails = stage.run(f'echo "{refusal}"', f'echo "{refusal}"; false', mode=mode)
        assert [succeeds, fails] == [[0, f"{refusal}\n", ""], [1, f"{refusal}\n", OUTSIDE.format("/etc/x")]]


@USERS
@pytest.mark.parametrize("mode", ["bubblewrap", "landlock"])
def test_real_commands_are_told_what_was_blocked(user: str, mode: str) -> None:
    with staged(user) as stage:
        stage.give()

        _, file, offline, fine, failed = stage.run(
            "echo x > ~/.bashrc", "curl -sS http://192.0.2.1/", "echo fine", "false", mode=mode
        )

        said = [file[2], offline[2], fine[2], failed[2]]
        assert said == [OUTSIDE.format(f"{stage.home}/.bashrc"), NETWORK.advise(), "", ""]


CARGO = """warning: spurious network error (1 try remaining): [6] Could not resolve hostname
error: failed to get `serde` as a dependency of package `x`

Caused by:
  [6] Could not resolve host: index.crates.io
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (CARGO, NETWORK),
        ("npm error code EAI_AGAIN", NETWORK),
        ("touch: cannot touch '/etc/x': Read-only file system", None),
        ("connect: network is unreachable", None),
        ("all is well", None),
    ],
)
def test_of_a_pipe_that_ended_well_only_an_unresolved_host_counts(text: str, expected: Blocked | None) -> None:
    assert find_refusal(text, AccessRules(), cwd="/work", failed=False) == expected
    assert find_refusal(text, AccessRules(network=True), cwd="/work", failed=False) is None
