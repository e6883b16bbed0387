"""What a failed command was refused by its box, read from what it printed: only programs know which call failed."""

import os
import re

from overt.core.capabilities import Blocked
from overt.sandbox.profile import PRIVATE, AccessRules
from overt.sandbox.protected_paths import is_below

SEARCHED = 16 * 1024
QUOTED = r"['\"‘“`]([^'\"’”`\n]+)['\"’”`]"
BARE = r"((?:~|\.{0,2})/[^\s:'\",;)]*|[\w.@+-]+(?:/[\w.@+-]+)+|\.[\w.-]+|[\w@+-]+\.[\w.-]+)"
REFUSED = re.compile(
    r"read-only file system|EROFS|permission denied|EACCES|operation not permitted|EPERM|device or resource busy|EBUSY"
    r"|invalid cross-device link|EXDEV",
    re.IGNORECASE,
)
OFFLINE = re.compile(
    r"network is unreachable|ENETUNREACH|could(?: not|n't) resolve (?:host|proxy)|temporary failure in name resolution"
    r"|EAI_AGAIN|name or service not known|no address associated with hostname|getaddrinfo (?:ENOTFOUND|failed)"
    r"|unable to resolve host|nodename nor servname|failed to lookup address information"
    r"|dial tcp.*(?:lookup|unreachable)"
    r"|failed to connect to (?!localhost|127\.|\[?::1)|connect: cannot assign requested address|unknown host"
    r"|ENOTFOUND|could not resolve hostname|dns error|name resolution (?:failed|error)|no route to host|EHOSTUNREACH"
    r"|failed to resolve (?:host|address|')|couldn't resolve host|error sending request for url"
    r"|\[Errno (?:-2|-3|-5|101|113)\]|could not connect to (?!localhost|127\.|\[?::1)\S+:(?:80|443)\b",
    re.IGNORECASE,
)
UNRESOLVED = re.compile(
    r"could(?: not|n't) resolve (?:host|proxy)|temporary failure in name resolution|EAI_AGAIN|getaddrinfo ENOTFOUND"
    r"|failed to lookup address information",
    re.IGNORECASE,
)
NETWORK = Blocked(kind="network")
OF_GIT = re.compile(r"/\.git/(?:.*/)?(?:config(?:\.worktree|\.lock)?|commondir|hooks(?:/.*)?)$")


def find_refusal(text: str, rules: AccessRules, *, cwd: str, failed: bool = True) -> Blocked | None:
    """Return what the output shows that the sandbox refused, or None if nothing points to the sandbox.

    Of a command that has not `failed`, only a host that could not be resolved counts: it ends with the code of the
    last program of a pipe, and `cargo build | tail` fails with 0.
    """
    if not failed:
        return NETWORK if not rules.network and UNRESOLVED.search(text[-SEARCHED:]) else None
    for line in reversed(text[-SEARCHED:].splitlines()):
        if match := REFUSED.search(line):
            if refusal := _refused(line, match, rules, cwd):
                return refusal
        elif not rules.network and OFFLINE.search(line):
            return NETWORK
    return None


def _refused(line: str, match: re.Match[str], rules: AccessRules, cwd: str) -> Blocked | None:
    what = match.group().lower()
    read_only = what in ("read-only file system", "erofs")
    for spelled in _paths(line, match):
        path = os.path.normpath(os.path.join(cwd, spelled))
        if any(is_below(path, hidden) for hidden in rules.hidden):
            return Blocked(kind="hidden", path=spelled)
        if OF_GIT.search(path) and not _outside(path, rules):
            return Blocked(kind="git", path=spelled)
        kept = next((each for each in (*rules.protected, *rules.absent) if is_below(path, each)), "")
        if kept or any(is_below(each, path) and each != path for each in (*rules.protected, *rules.absent)):
            return Blocked(kind="protected", path=spelled)
        if _outside(path, rules) and (read_only or (what in ("permission denied", "eacces") and _exists_for_us(path))):
            return Blocked(kind="write", path=spelled)
    return Blocked(kind="write") if read_only else None


def _paths(line: str, found: re.Match[str]) -> list[str]:
    """Paths in a line, those in quotes first, then the one nearest to the reason.

    Quotes may hold a whole sentence, which must not become a part of our own: a path with blanks is not named.
    """
    quoted = re.findall(QUOTED, line)
    bare = re.findall(BARE, line[: found.start()])[::-1] + re.findall(BARE, line[found.end() :])
    home = os.path.expanduser("~")
    paths = [home + each[1:] if each.startswith("~/") else each for each in (*quoted, *bare)]
    return [each for each in paths if not re.search(r"\s", each)]


def _outside(path: str, rules: AccessRules) -> bool:
    """Whether what lies nearest above a path is closed to writing."""
    opened = (*rules.write, *PRIVATE, "/dev", "/proc", "/run")
    nearest = max((place for place in (*opened, *rules.read) if is_below(path, place)), key=len, default="")
    return nearest not in opened


def _exists_for_us(path: str) -> bool:
    """Overt itself could write there, so it is the box that said no (Landlock says it so), not the owner."""
    place = path if os.path.lexists(path) else os.path.dirname(path)
    return os.access(place, os.W_OK)
