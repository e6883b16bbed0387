"""What servers offered when they were last asked, so that a session knows their tools without starting any.

    CACHE/mcp/index.json          fingerprint of an entry → number of tools, tokens of their schemas, era
    CACHE/mcp/FINGERPRINT.json    the manifest

Only the index is read at the start of a session, and those manifests whose tools are listed in the first request.
"""

import os
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, Literal

from msgspec import DecodeError, Struct, json
from msgspec.structs import replace

from overt.core.settings import ServerEntry
from overt.lib.atomic import replace as replace_file
from overt.lib.logs.log import LOG
from overt.lib.text import plain_name

if TYPE_CHECKING:
    from overt.mcp.manifest import Era, Manifest

MOST_ENTRIES = 200
"""Servers that the index remembers; those that were stored first go first."""


class ManifestSummary(Struct, frozen=True, kw_only=True):
    """What the index says of a stored manifest."""

    tools: int
    tokens: int
    era: Literal["", "legacy", "modern"] = ""  # `Era`, whose module is loaded late


def fingerprint(entry: ServerEntry, workspace: str) -> str:
    """Return a hash of everything that decides which server an entry reaches and what it is told.

    The command of a program may name files of the folder it runs in.
    """
    decisive = replace(entry, origin="", shown="", of_project=False, timeout_ms=0, read_only=False, enabled=True)
    folder = workspace if entry.kind == "stdio" else ""
    return sha256(json.encode((decisive, folder), order="sorted")).hexdigest()[:32]


class ManifestCache:
    def __init__(self, cache_folder: str, workspace: str) -> None:
        self._folder = os.path.join(cache_folder, "mcp")
        self._workspace = workspace
        self._index: dict[str, ManifestSummary] | None = None

    def summary(self, entry: ServerEntry) -> ManifestSummary | None:
        """Return what is stored about a server, without reading its manifest."""
        if self._index is None:
            self._index = self._read_index()
        return self._index.get(fingerprint(entry, self._workspace))

    def era(self, entry: ServerEntry) -> "Era":
        summary = self.summary(entry)
        return summary.era if summary else ""

    def load(self, entry: ServerEntry) -> "Manifest | None":
        if self.summary(entry) is None:
            return None
        from overt.mcp.manifest import Manifest  # late: 0.7 ms

        try:
            with open(self._manifest_path(entry), "rb") as file:
                return json.decode(file.read(), type=Manifest)
        except (OSError, DecodeError):
            return None

    def store(self, entry: ServerEntry, manifest: "Manifest", tokens: int) -> None:
        """Remember a manifest. A full disk only means that the server is asked again next time."""
        name = fingerprint(entry, self._workspace)
        index = self._read_index()  # another process may have stored others
        index.pop(name, None)
        index[name] = ManifestSummary(tools=len(manifest.tools), tokens=tokens, era=manifest.era)
        index = dict(list(index.items())[-MOST_ENTRIES:])
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            replace_file(self._manifest_path(entry), json.encode(manifest), sync=False)
            replace_file(self._index_path, json.encode(index), sync=False)
        except OSError as error:
            LOG.warning("mcp", f"the manifest of {entry.name} could not be stored: {error}")
            return
        self._index = index

    @property
    def _index_path(self) -> str:
        return os.path.join(self._folder, "index.json")

    def _manifest_path(self, entry: ServerEntry) -> str:
        return os.path.join(self._folder, f"{fingerprint(entry, self._workspace)}.json")

    def _read_index(self) -> dict[str, ManifestSummary]:
        try:
            with open(self._index_path, "rb") as file:
                return json.decode(file.read(), type=dict[str, ManifestSummary])
        except (OSError, DecodeError):
            return {}


class KnownServers:
    """The MCP servers of a configuration, with what each offers as far as is known.

    `version` counts how often something has become known or has changed. `clashes` are servers that are left out, each
    with the server whose tools and rules it would take.
    """

    def __init__(self, entries: Sequence[ServerEntry], cache_folder: str, workspace: str) -> None:
        self.entries, self.clashes = _without_clashes(entries)
        self.version = 0
        self.cache = ManifestCache(cache_folder, workspace)
        self._manifests: dict[str, Manifest | None] = {}

    @property
    def enabled(self) -> tuple[ServerEntry, ...]:
        return tuple(entry for entry in self.entries.values() if entry.enabled)

    def tokens(self, entry: ServerEntry) -> int | None:
        """Return how many tokens the tools of a server take, or None if nothing is known of it."""
        summary = self.cache.summary(entry)
        return summary.tokens if summary else None

    def manifest(self, server: str) -> "Manifest | None":
        if server not in self._manifests:
            self._manifests[server] = self.cache.load(self.entries[server])
        return self._manifests[server]

    def learn(self, server: str, manifest: "Manifest", tokens: int) -> None:
        """Remember what a server offers now, in this program and for later ones."""
        if manifest != self.manifest(server):
            self._manifests[server] = manifest
            self.version += 1
            self.cache.store(self.entries[server], manifest, tokens)


def _without_clashes(entries: Sequence[ServerEntry]) -> tuple[dict[str, ServerEntry], dict[str, str]]:
    """Leave out servers whose tools could have the names of another server's; those of the user stay."""
    kept: dict[str, str] = {}
    clashes: dict[str, str] = {}
    for entry in sorted(entries, key=lambda entry: entry.of_project):
        name = f"{plain_name(entry.name)}__"
        clash = next((each for each, plain in kept.items() if name.startswith(plain) or plain.startswith(name)), "")
        if clash:
            clashes[entry.name] = clash
        else:
            kept[entry.name] = name
    return {entry.name: entry for entry in entries if entry.name in kept}, clashes
