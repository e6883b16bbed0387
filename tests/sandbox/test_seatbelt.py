"""The profile for macOS, as text: there is no Mac here to run it on."""

import re

import pytest

from overt.sandbox.mechanisms.seatbelt import HEAD, SERVICES, argv, profile_text
from overt.sandbox.profile import AccessRules

WALLS = AccessRules(
    write=("/Users/me/work", "/Users/me/Library/Caches"),
    protected=("/Users/me/work/.git/hooks", "/Users/me/work/.git/config"),
    absent=("/Users/me/work/.overt",),
    hidden=("/Users/me/.ssh", "/Users/me/work/private"),
    read=("/Users/me/.ssh/known",),
    temp="/private/tmp/overt-1",
)
SERVED = "\n".join(f'  (global-name "{name}")' for name in SERVICES)
GOLDEN = f"""{HEAD}
(allow mach-lookup
{SERVED})
(deny network*)
(allow network-bind network-inbound (local ip "localhost:*"))
(allow network-outbound (remote ip "localhost:*"))
(allow network-outbound
  (remote unix-socket (subpath "/Users/me/work"))
  (remote unix-socket (subpath "/Users/me/Library/Caches"))
  (remote unix-socket (subpath "/tmp/overt-1"))
  (remote unix-socket (subpath "/private/tmp/overt-1")))
(allow network-bind network-inbound
  (local unix-socket (subpath "/Users/me/work"))
  (local unix-socket (subpath "/Users/me/Library/Caches"))
  (local unix-socket (subpath "/tmp/overt-1"))
  (local unix-socket (subpath "/private/tmp/overt-1")))
(deny file-write*)
(deny file-read* file-write*
  (literal "/Users/me/.ssh")
  (subpath "/Users/me/.ssh")
  (literal "/Users/me/work/private")
  (subpath "/Users/me/work/private"))
(allow file-read*
  (literal "/Users/me/.ssh/known")
  (subpath "/Users/me/.ssh/known"))
(allow file-read* file-write*
  (literal "/Users/me/work")
  (subpath "/Users/me/work")
  (literal "/Users/me/Library/Caches")
  (subpath "/Users/me/Library/Caches")
  (literal "/tmp/overt-1")
  (subpath "/tmp/overt-1")
  (literal "/private/tmp/overt-1")
  (subpath "/private/tmp/overt-1"))
DEVICES
(deny file-write*
  (literal "/Users/me/work/.git/hooks")
  (subpath "/Users/me/work/.git/hooks")
  (literal "/Users/me/work/.git/config")
  (subpath "/Users/me/work/.git/config")
  (literal "/Users/me/work/.overt")
  (subpath "/Users/me/work/.overt"))
(deny file-write-unlink
  (literal "/Users/me/work/.git")
  (literal "/Users/me/work"))
(deny file-read* file-write*
  (literal "/Users/me/work/private")
  (subpath "/Users/me/work/private"))
"""


def test_the_whole_profile_reads() -> None:
    devices = re.compile(r'\(allow file-write\*(\n  \((literal|subpath) "/dev/\w+"\))+\)')
    text, count = devices.subn("DEVICES", profile_text(WALLS))
    assert (text, count) == (GOLDEN, 1)


def test_the_command_line_holds_it() -> None:
    assert argv(WALLS) == ("/usr/bin/sandbox-exec", "-p", profile_text(WALLS))


def test_with_network_only_sockets_in_files_are_closed() -> None:
    text = profile_text(AccessRules(write=("/w",), network=True))
    assert "(deny network*)" not in text
    assert (
        "(deny network-outbound (remote unix-socket))\n(allow network-outbound\n"
        '  (remote unix-socket (subpath "/w"))\n'
        '  (remote unix-socket (literal "/private/var/run/mDNSResponder")))\n'
    ) in text


def test_every_section_without_a_path_is_left_out() -> None:
    text = profile_text(AccessRules())
    assert re.findall(r"\((?:allow|deny) [^()\n]*\)", text)[-1] == "(deny file-write*)"
    assert text.count("file-read*") == 0


@pytest.mark.parametrize(
    ("path", "spellings"),
    [
        ("/tmp", ['"/tmp"', '"/private/tmp"']),
        ("/private/tmp/x", ['"/tmp/x"', '"/private/tmp/x"']),
        ("/var/folders/x", ['"/var/folders/x"', '"/private/var/folders/x"']),
        ("/etc/x", ['"/etc/x"', '"/private/etc/x"']),
        ("/tmpfoo", ['"/tmpfoo"']),
        ("/private/work", ['"/private/work"']),
        ('/a "b"', ['"/a \\"b\\""']),
        ("/a\\b", ['"/a\\\\b"']),
        ("/a) (allow default", ['"/a) (allow default"']),
        ("/工作", ['"/工作"']),
    ],
)
def test_a_path_is_spelled(path: str, spellings: list[str]) -> None:
    text = profile_text(AccessRules(protected=(path,)))
    wanted = "".join(f"\n  ({kind} {spelling})" for spelling in spellings for kind in ("literal", "subpath"))
    assert text.endswith(f"(deny file-write*{wanted})\n")


@pytest.mark.parametrize("path", ["/a\nb", "/a\rb", "/a\0b", "/a\x7fb", "relative", ""])
def test_a_path_that_could_end_a_line_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="cannot be named"):
        profile_text(AccessRules(hidden=(path,)))


def test_brackets_are_balanced() -> None:
    text = re.sub(r'"(?:[^"\\]|\\.)*"', "", profile_text(WALLS))
    depth = 0
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        assert depth >= 0
    assert depth == 0
