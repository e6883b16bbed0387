"""Bring the files of a plugin here: from a folder, a git repository, a bundle, an address or a marketplace."""

import os
import re

from msgspec import Struct

from overt.app.context.folders import sandbox_place
from overt.app.setting import Setting
from overt.core.errors import OvertError, UsageError
from overt.extensions.plugins.lock import NAME, PluginSource
from overt.extensions.plugins.marketplace import COMMIT, Marketplace, is_marketplace, read_marketplace
from overt.extensions.plugins.package import MANIFESTS, PORTABLE_MANIFEST
from overt.extensions.plugins.portable import ADDRESS, is_loopback
from overt.lib.translations import say
from overt.sandbox.profile import writable
from overt.workspace.git.repository_content import (
    GitContent,
    export_commit,
    fetch_address,
    find_commit,
    is_bundle,
    open_bundle,
    open_folder,
)
from overt.workspace.trusted_programs import find_git

SHORT = re.compile(r"\w[\w.-]*/\w[\w.-]*")
MOST_NAMES = 8


class FetchedPlugin(Struct, frozen=True, kw_only=True):
    """The files of a plugin in `folder`. `entry` is what its marketplace says of it."""

    folder: str
    source: PluginSource
    name: str = ""
    commit: str = ""
    entry: dict[str, object] = {}
    problems: tuple[str, ...] = ()


class _Tree(Struct, frozen=True, kw_only=True):
    folder: str
    commit: str = ""
    problems: tuple[str, ...] = ()


def parse_source(text: str, cwd: str) -> PluginSource:
    """Read SOURCE or NAME@MARKETPLACE as the user writes it; `#ref` chooses a branch, a tag or a commit."""
    path = os.path.join(cwd, os.path.expanduser(text))
    if os.path.exists(path):
        return PluginSource(location=os.path.realpath(path))
    text, _, ref = text.partition("#")
    name, at, marketplace = text.partition("@")
    if at and NAME.fullmatch(name) and ":" not in name:
        return PluginSource(location=parse_source(marketplace, cwd).location, ref=ref, plugin=name)
    commit = ref if COMMIT.fullmatch(ref) else ""
    ref = "" if commit else ref
    path = os.path.join(cwd, os.path.expanduser(text.removeprefix("file://")))
    if os.path.exists(path):
        return PluginSource(location=os.path.realpath(path), ref=ref, commit=commit)
    if SHORT.fullmatch(text):
        text = f"https://github.com/{text}.git"
    if "://" not in text:
        raise UsageError(say("plugin.no_source", source=text))
    return PluginSource(location=text, ref=ref, commit=commit)


def fetch_plugin(setting: Setting, source: PluginSource, scratch: str) -> FetchedPlugin:
    """Bring a plugin into `scratch`, unless it lies in a folder on this machine, which is read where it is."""
    tree = _open(setting, source, f"{scratch}/first")
    manifests = (*MANIFESTS, PORTABLE_MANIFEST)
    if not source.plugin and is_marketplace(tree.folder):
        if any(os.path.lexists(os.path.join(tree.folder, name)) for name in manifests):
            return _whole(tree, source)
        entries = read_marketplace(tree.folder).entries
        if len(entries) != 1:
            names = ", ".join([*entries][:MOST_NAMES]) + (", …" if len(entries) > MOST_NAMES else "")
            raise UsageError(say("plugin.choose", source=source.location, names=names))
        source = PluginSource(
            location=source.location, ref=source.ref, commit=source.commit, plugin=next(iter(entries))
        )
    if not source.plugin:
        return _whole(tree, source)
    entry = read_marketplace(tree.folder).find(source.plugin)
    if entry.source is None:
        raise OvertError(say("plugin.not_installable", name=entry.name, reason=entry.problem))
    if entry.is_local:
        folder = os.path.realpath(os.path.join(tree.folder, entry.source.path))
        root = os.path.realpath(tree.folder)
        if folder != root and not folder.startswith(f"{root}/"):
            raise OvertError(say("plugin.not_installable", name=entry.name, reason="its path leads elsewhere"))
        plugin = _Tree(folder=folder, commit=tree.commit)
    else:
        plugin = _open(setting, entry.source, f"{scratch}/second")
    return FetchedPlugin(
        folder=plugin.folder,
        source=source,
        name=entry.name,
        commit=plugin.commit,
        entry=entry.fields,
        problems=plugin.problems,
    )


def _whole(tree: _Tree, source: PluginSource) -> FetchedPlugin:
    """Return the plugin that a source is, with its folder or repository as the name where no manifest has one."""
    name = re.sub(r"\.(git|bundle)$", "", os.path.basename(source.location.rstrip("/")))
    return FetchedPlugin(folder=tree.folder, source=source, name=name, commit=tree.commit, problems=tree.problems)


def open_marketplace(setting: Setting, text: str, scratch: str) -> Marketplace:
    return read_marketplace(_open(setting, parse_source(text, setting.environment.cwd), scratch).folder)


def _open(setting: Setting, source: PluginSource, scratch: str) -> _Tree:
    if not os.path.isabs(source.location):
        return _export(setting, source, _fetch(setting, source, f"{scratch}.git"), scratch)
    if not os.path.exists(source.location):
        raise OvertError(say("plugin.source_gone", source=source.location))
    if is_bundle(source.location):
        return _export(setting, source, open_bundle(_git(setting), source.location, f"{scratch}.git"), scratch)
    content = open_folder(source.location)
    if content is not None:
        return _export(setting, source, content, scratch)
    if source.ref or source.commit or not os.path.isdir(source.location):
        raise OvertError(say("plugin.no_repository", source=source.location))
    return _Tree(folder=os.path.join(source.location, source.path))


def _export(setting: Setting, source: PluginSource, content: GitContent, scratch: str) -> _Tree:
    git = _git(setting)
    commit = find_commit(git, content, source.commit or source.ref)
    problems = export_commit(git, content, commit, source.path, scratch)
    return _Tree(folder=scratch, commit=commit, problems=problems)


def _fetch(setting: Setting, source: PluginSource, scratch: str) -> GitContent:
    match = ADDRESS.fullmatch(source.location)
    if match is None or (match[1].lower() == "http" and not is_loopback(match[2])):
        raise OvertError(say("plugin.https_only", source=source.location))
    if setting.config.offline:
        raise OvertError(say("plugin.offline", source=source.location))
    wanted = [each for each in (source.commit, source.ref) if each] or ["HEAD"]
    variables = setting.environment.variables
    return fetch_address(_git(setting), source.location, scratch, wanted=wanted, variables=variables)


def _git(setting: Setting) -> str:
    program = find_git(setting.environment.get("PATH"), writable=writable(sandbox_place(setting)))
    if not program:
        raise OvertError(say("plugin.no_git"))
    return program
