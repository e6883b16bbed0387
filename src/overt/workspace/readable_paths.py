"""What file tools may read outside the workspace: whatever a command in the sandbox can read.

Closed are credentials, Overt's own settings and records, the homes of other users, and what looks different inside the
sandbox (`/proc`, `/tmp` …). Open places inside a closed one stay open: the nearest place above a path decides.
"""

import os
import time
from collections.abc import Callable, Iterable, Mapping

from overt.sandbox.profile import PACKAGE, SandboxPlace
from overt.sandbox.secret_places import FOLDERS_OF_SOCKETS, HIDDEN
from overt.workspace.contained_path import lies_below

SYSTEM = ("/proc", "/sys", "/dev", "/run")
HOMES, ROOT_HOME = ("/home", "/Users"), "/root"
LINKS_FRESH_S = 1.0
"""The targets of links among the hidden names are looked up again after this."""
PRIVATE_DATA = "it may hold credentials or private data, and the sandbox hides it from commands too. Do without it"
OWN_DATA = "it belongs to Overt's own settings and records, which commands cannot read either. Do without it"
SHOWN_BY_SYSTEM = "the system makes up what is in it, which differs inside the sandbox. Read it with bash"
ANOTHER_USER = "it is in the home of another user. Do without it"
OTHER_TEMPORARY = "commands have a temporary folder of their own in its place"


class Readable:
    """`private` gives the temporary folders of the sandbox: path as commands see it → folder on the host, or "" while
    there is none. `also` are folders that file tools may read wherever they lie."""

    def __init__(
        self, place: SandboxPlace, *, private: Callable[[], Mapping[str, str]], also: Iterable[str] = ()
    ) -> None:
        self.private = private
        self._home = place.home
        self._hidden = frozenset(HIDDEN)
        asked = {place.workspace, *place.write, *place.read}
        own = [path for path in (place.config_dir, place.data_dir, place.state_dir) if path and path not in asked]
        self._closed = {
            **dict.fromkeys(SYSTEM, SHOWN_BY_SYSTEM),
            **dict.fromkeys(FOLDERS_OF_SOCKETS, PRIVATE_DATA),
            **dict.fromkeys(own, OWN_DATA),
        }
        self._open = (*asked, place.project, place.home, PACKAGE, *also)
        self._links: dict[str, str] = {}
        self._looked = -LINKS_FRESH_S

    def root_of(self, path: str) -> str:
        """Where the walk to an absolute path starts: the temporary folder it means, an open folder, or `/`."""
        return _nearest(path, (*self._open, *self.private())) or "/"

    def refusal(self, path: str) -> str:
        """Why nothing at a real path may be read; empty if it may."""
        closed = self._closed | self._linked() | dict.fromkeys(self.private(), OTHER_TEMPORARY)
        if secret := self._secret(path):
            closed.setdefault(secret, PRIVATE_DATA)
        if other := self._another_home(path):
            closed[other] = ANOTHER_USER
        nearest, opened = _nearest(path, closed), _nearest(path, self._open)
        return closed[nearest] if nearest and len(nearest) > len(opened) else ""

    def _secret(self, path: str) -> str:
        """The hidden name below the home folder that a path lies in."""
        if not path.startswith(f"{self._home}/"):
            return ""
        name = ""
        for part in path[len(self._home) + 1 :].split("/")[:4]:
            name = f"{name}/{part}" if name else part
            if name in self._hidden:
                hidden = f"{self._home}/{name}"
                return "" if hidden in self._open else hidden
        return ""

    def _linked(self) -> dict[str, str]:
        """Where hidden names lead that are links."""
        if time.monotonic() - self._looked >= LINKS_FRESH_S:
            self._looked = time.monotonic()
            paths = [path for name in HIDDEN if os.path.islink(path := f"{self._home}/{name}")]
            targets = {os.path.realpath(path) for path in paths} - {"/", self._home, *self._open}
            self._links = {path: PRIVATE_DATA for path in targets if lies_below(self._home, path) is None}
        return self._links

    def _another_home(self, path: str) -> str:
        """The home of another user that a path lies in."""
        place = _nearest(path, (*HOMES, ROOT_HOME))
        if not place or path in HOMES:
            return ""
        home = place if place == ROOT_HOME else f"{place}/{path[len(place) + 1 :].partition('/')[0]}"
        if lies_below(self._home, home) is not None:
            return ""
        try:
            return "" if os.stat(home).st_uid == os.geteuid() else home
        except OSError:
            return home


def _nearest(path: str, places: Iterable[str]) -> str:
    return max((place for place in places if lies_below(path, place) is not None), key=len, default="")
