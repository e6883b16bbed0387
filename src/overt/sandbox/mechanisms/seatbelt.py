"""The same walls on macOS, as a profile for `sandbox-exec`. Its tests read the text; none has run it on a Mac.

Of several rules that fit, the last one counts, so every section goes from the general to the particular.
"""

from collections.abc import Iterable

from overt.sandbox.mechanisms.bubblewrap import between
from overt.sandbox.profile import AccessRules
from overt.sandbox.protected_paths import is_below

PROGRAM = "/usr/bin/sandbox-exec"
LINKED = ("/tmp", "/var", "/etc")
"""Links to the same names below /private; the kernel speaks of the latter, and profiles of either."""
DEVICES = "null zero random urandom tty ptmx dtracehelper fd stdin stdout stderr".split()
SERVICES = (
    "com.apple.system.opendirectoryd.libinfo",
    "com.apple.system.opendirectoryd.membership",
    "com.apple.system.notification_center",
    "com.apple.system.logger",
    "com.apple.system.DirectoryService.libinfo_v1",
    "com.apple.logd",
    "com.apple.diagnosticd",
    "com.apple.bsd.dirhelper",
    "com.apple.cfprefsd.agent",
    "com.apple.cfprefsd.daemon",
    "com.apple.FSEvents",
    "com.apple.SystemConfiguration.configd",
    "com.apple.SystemConfiguration.DNSConfiguration",
    "com.apple.trustd",
    "com.apple.trustd.agent",
    "com.apple.PowerManagement.control",
)
"""What compilers and interpreters talk to. Whoever could start a program or open a keychain for us is not here."""
RESOLVER = "/private/var/run/mDNSResponder"

HEAD = """(version 1)
(allow default)
(deny appleevent-send)
(deny job-creation)
(deny mach-register)
(deny mach-priv-task-port)
(deny sysctl-write)
(deny nvram*)
(deny signal)
(allow signal (target same-sandbox))
(deny process-info*)
(allow process-info* (target same-sandbox))
(deny mach-lookup)"""


def argv(rules: AccessRules) -> tuple[str, ...]:
    """The words to put before a command line."""
    return (PROGRAM, "-p", profile_text(rules))


def profile_text(rules: AccessRules) -> str:
    """ValueError for a path that cannot be written down safely."""
    write = [path for path in (*rules.write, rules.temp) if path]
    inside = [path for path in rules.hidden if any(is_below(path, root) for root in (*rules.read, *write))]
    kept = (*rules.protected, *rules.absent)
    holding = [root for root in write if any(is_below(path, root) for path in kept)]
    sections = [
        HEAD,
        _rule("allow", "mach-lookup", (f'(global-name "{name}")' for name in SERVICES)),
        *_network(rules.network, write),
        "(deny file-write*)",
        _rule("deny", "file-read* file-write*", _below(rules.hidden)),
        _rule("allow", "file-read*", _below(rules.read)),
        _rule("allow", "file-read* file-write*", _below(write)),
        _rule("allow", "file-write*", _below(f"/dev/{name}" for name in DEVICES)),
        _rule("deny", "file-write*", _below(kept)),
        # A folder that could be renamed would take what is protected in it away, and leave its name free.
        _rule("deny", "file-write-unlink", _literal([*between(write, kept), *holding])),
        _rule("deny", "file-read* file-write*", _below(inside)),
    ]
    return "\n".join(section for section in sections if section) + "\n"


def _network(open_: bool, write: list[str]) -> list[str]:
    """Sockets in files stay closed in any case, but for those a program could have made itself."""
    own = [f"(subpath {path})" for path in _paths(write)]
    names = [f"(remote unix-socket {path})" for path in own]
    if open_:
        return [
            "(deny network-outbound (remote unix-socket))",
            _rule("allow", "network-outbound", [*names, f"(remote unix-socket (literal {_quoted(RESOLVER)}))"]),
        ]
    return [
        "(deny network*)",
        '(allow network-bind network-inbound (local ip "localhost:*"))',
        '(allow network-outbound (remote ip "localhost:*"))',
        _rule("allow", "network-outbound", names),
        _rule("allow", "network-bind network-inbound", (f"(local unix-socket {path})" for path in own)),
    ]


def _rule(action: str, operations: str, filters: Iterable[str]) -> str:
    lines = "".join(f"\n  {each}" for each in filters)
    return f"({action} {operations}{lines})" if lines else ""


def _below(paths: Iterable[str]) -> list[str]:
    """A path itself and everything below it, whether it is there yet or not."""
    return [f"({kind} {path})" for path in _paths(paths) for kind in ("literal", "subpath")]


def _literal(paths: Iterable[str]) -> list[str]:
    return [f"(literal {path})" for path in _paths(paths)]


def _paths(paths: Iterable[str]) -> list[str]:
    return [_quoted(spelling) for path in paths for spelling in _spellings(path)]


def _spellings(path: str) -> list[str]:
    plain = path.removeprefix("/private")
    if any(is_below(plain, link) for link in LINKED):
        return [plain, "/private" + plain]
    return [path]


def _quoted(path: str) -> str:
    if not path.startswith("/") or any(ord(letter) < 32 or letter == "\x7f" for letter in path):
        raise ValueError(f"{path!r} cannot be named in a sandbox profile")
    escaped = path.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
