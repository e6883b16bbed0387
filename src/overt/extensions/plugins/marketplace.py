"""Read a marketplace: a `marketplace.json` that lists plugins, as Claude Code and Codex have it."""

import os
import re
from collections.abc import Mapping

from msgspec import Struct

from overt.core.codec import decode
from overt.core.errors import OvertError
from overt.extensions.plugins.lock import NAME, PluginSource
from overt.lib.read_file import read_regular

FILES = (".claude-plugin/marketplace.json", ".agents/plugins/marketplace.json")
MOST_BYTES = 8 * 1024 * 1024
COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
LOCAL = ("local", "directory", "path")
GIT = ("url", "git", "git-subdir")
HOSTS = {"github": "https://github.com/", "gitlab": "https://gitlab.com/", "bitbucket": "https://bitbucket.org/"}


class MarketplaceEntry(Struct, frozen=True, kw_only=True):
    """A plugin of a marketplace. Without a `source`, `problem` says why it cannot be installed.

    `fields` are those that count as the plugin's manifest too.
    """

    name: str
    description: str = ""
    source: PluginSource | None = None
    problem: str = ""
    fields: dict[str, object] = {}

    @property
    def is_local(self) -> bool:
        """True if the plugin lies in the marketplace itself."""
        return self.source is not None and self.source.location == ""


class Marketplace(Struct, frozen=True, kw_only=True):
    """`renames` maps names that plugins had before to those they have now."""

    name: str
    entries: dict[str, MarketplaceEntry]
    renames: dict[str, str] = {}
    problems: tuple[str, ...] = ()

    def find(self, name: str) -> MarketplaceEntry:
        entry = self.entries.get(name) or self.entries.get(self.renames.get(name, ""))
        if entry is None:
            import difflib  # late: 1 ms

            near = difflib.get_close_matches(name, self.entries, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise OvertError(f"the marketplace {self.name} has no plugin {name}{hint}")
        return entry


def is_marketplace(folder: str) -> bool:
    return any(os.path.isfile(os.path.join(folder, name)) for name in FILES)


def read_marketplace(folder: str) -> Marketplace:
    """Read the list of plugins in a folder. OvertError if there is none or it cannot be read as a whole."""
    file = next((name for name in FILES if os.path.isfile(os.path.join(folder, name))), "")
    if not file:
        raise OvertError(f"{folder} is no marketplace: it has no {FILES[0]}")
    try:
        data, _ = read_regular(os.path.join(folder, file), MOST_BYTES)
        tree = decode(data)
    except OSError as error:
        raise OvertError(f"{file}: cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise OvertError(f"{file}: is not valid JSON: {error}") from None
    plugins = tree.get("plugins") if isinstance(tree, dict) else None
    if not isinstance(tree, dict) or not isinstance(plugins, list):
        raise OvertError(f"{file}: must be an object with a list `plugins`")
    root = tree.get("metadata", {}).get("pluginRoot", "") if isinstance(tree.get("metadata"), dict) else ""
    entries: dict[str, MarketplaceEntry] = {}
    problems: list[str] = []
    for number, item in enumerate(plugins):
        name = item.get("name") if isinstance(item, dict) else None
        if not isinstance(name, str) or not NAME.fullmatch(name):
            problems.append(f"{file}: plugin {number + 1} has no usable `name`")
        elif name in entries:
            problems.append(f"{file}: there are two plugins {name}; the first one counts")
        else:
            entries[name] = _entry(name, item, str(root))
    renames = tree.get("renames")
    return Marketplace(
        name=str(tree.get("name") or os.path.basename(os.path.realpath(folder))),
        entries=entries,
        renames={str(old): str(new) for old, new in renames.items()} if isinstance(renames, dict) else {},
        problems=tuple(problems),
    )


def _entry(name: str, item: Mapping[str, object], root: str) -> MarketplaceEntry:
    fields = {key: value for key, value in item.items() if key != "source"}
    description = " ".join(str(item.get("description") or "").split())
    try:
        source = _source(item.get("source"), root)
    except OvertError as error:
        return MarketplaceEntry(name=name, description=description, problem=error.message, fields=fields)
    return MarketplaceEntry(name=name, description=description, source=source, fields=fields)


def _source(source: object, root: str) -> PluginSource:
    """Read where a plugin lies. An empty `location` is the marketplace itself."""
    if isinstance(source, str):
        return PluginSource(location="", path=_inner_path(os.path.join(root, source)))
    if not isinstance(source, dict):
        raise OvertError("it has no `source`")
    kind, texts = source.get("source"), {key: value for key, value in source.items() if isinstance(value, str)}
    path = _inner_path(texts.get("path", ""))
    ref, commit = texts.get("ref", ""), texts.get("sha", texts.get("commit", ""))
    if commit and not COMMIT.fullmatch(commit):
        raise OvertError(f"`sha` is no full commit: {commit!r}")
    if kind in LOCAL:
        return PluginSource(location="", path=_inner_path(os.path.join(root, path)))
    if kind in HOSTS and (repository := texts.get("repo", "")):
        location = repository if "://" in repository else f"{HOSTS[str(kind)]}{repository}.git"
        return PluginSource(location=location, path=path, ref=ref, commit=commit)
    if kind in GIT and (location := texts.get("url", texts.get("repo", ""))):
        if location.count("/") == 1 and ":" not in location:
            location = f"{HOSTS['github']}{location}.git"
        return PluginSource(location=location, path=path, ref=ref, commit=commit)
    raise OvertError(f"Overt cannot install from a source of the kind {kind!r}")


def _inner_path(path: str) -> str:
    """Return a path inside of a repository or marketplace in its plain form, empty for its root."""
    plain = os.path.normpath(path) if path else "."
    if os.path.isabs(plain) or plain.split("/")[0] == ".." or "\0" in plain:
        raise OvertError(f"its path {path!r} leads out of its repository")
    return "" if plain == "." else plain
