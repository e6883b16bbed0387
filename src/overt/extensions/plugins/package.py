"""Read a plugin folder: a package of Claude Code, of Codex or of Agent Plugins 1.0.0.

A part that cannot be used costs only itself and is named in `problems`; a manifest that cannot be used costs the
whole package. Nothing of the package runs here.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal

from msgspec import Struct

from overt.core.codec import decode
from overt.core.errors import OvertError
from overt.extensions.plugins.hook_commands import PackagedHook, hook_commands
from overt.extensions.plugins.lock import NAME, PluginServer
from overt.extensions.plugins.portable import MCP_FILE, check_manifest, portable_servers
from overt.lib.front_matter import read_front_matter
from overt.lib.read_file import read_regular

Layout = Literal["claude", "codex", "agent-plugins"]
MANIFESTS: dict[str, Layout] = {".claude-plugin/plugin.json": "claude", ".codex-plugin/plugin.json": "codex"}
PORTABLE_MANIFEST = "plugin.json"
NOT_USED = ("lspServers", "monitors", "outputStyles", "themes", "settings", "userConfig", "channels", "apps")
"""Parts of other programs' plugins that Overt has no use for yet."""
NOT_USED_FILES = (".lsp.json", "output-styles", "monitors", "themes")
MOST_BYTES = 1024 * 1024
DEEPEST_COMMANDS = 4


class PluginPackage(Struct, frozen=True, kw_only=True):
    """What a plugin folder holds. Paths are relative to it; `skills` are folders, the others files.

    `problems` says what is left out and why; `not_used` names parts that Overt has no use for.
    """

    root: str
    name: str
    layouts: tuple[Layout, ...]
    version: str = ""
    description: str = ""
    skills: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    inline_hooks: dict[str, object] | None = None
    hook_commands: tuple[PackagedHook, ...] = ()
    servers: dict[str, PluginServer] = {}
    problems: tuple[str, ...] = ()
    not_used: tuple[str, ...] = ()


def read_package(root: str, *, name: str = "", entry: Mapping[str, object] | None = None) -> PluginPackage:
    """Read a plugin folder. `entry` is what its marketplace says of it; `name` counts where no manifest has one.

    OvertError if the folder is no plugin or its manifest cannot be used.
    """
    return _Reader(os.path.realpath(root), name, entry or {}).read()


def is_package(root: str) -> bool:
    """True if a folder has a manifest, or one of the folders and files that plugins consist of."""
    names = (*MANIFESTS, PORTABLE_MANIFEST, "skills", "commands", "agents", "hooks/hooks.json", ".mcp.json")
    return any(os.path.lexists(os.path.join(root, each)) for each in names)


class _Reader:
    def __init__(self, root: str, name: str, entry: Mapping[str, object]) -> None:
        self._root = root
        self._name = name
        self._entry = entry
        self._problems: list[str] = []

    def read(self) -> PluginPackage:
        manifest, layouts = self._manifest()
        if "agent-plugins" in layouts:
            self._problems += check_manifest(manifest)
        name = str(manifest.get("name") or self._name or os.path.basename(self._root))
        if not NAME.fullmatch(name) or ".." in name:
            raise OvertError(f"the plugin's name {name!r} must be letters, digits, `-`, `_` and `.`, at most 64")
        claude = layouts != ("agent-plugins",)
        own = [manifest, self._entry] if claude else []
        hooks, inline, commands = self._hooks(own)
        skills = self._skills(own)
        if not (skills or is_package(self._root) or self._entry):
            raise OvertError("the folder is no plugin: it has no manifest, skills, commands, agents, hooks or servers")
        return PluginPackage(
            root=self._root,
            name=name,
            layouts=layouts,
            version=_text(manifest, "version") or _text(self._entry, "version"),
            description=_text(manifest, "description") or _text(self._entry, "description"),
            skills=skills,
            commands=self._markdown("commands", own, ()) if claude else (),
            agents=self._markdown("agents", own, ("description",)) if claude else (),
            hooks=hooks,
            inline_hooks=inline,
            hook_commands=commands,
            servers=self._servers(own, portable="agent-plugins" in layouts),
            problems=tuple(self._problems),
            not_used=tuple(self._not_used(own)),
        )

    # ── files ────────────────────────────────────────────────────────────────────────────────────────────

    def _manifest(self) -> tuple[dict[str, object], tuple[Layout, ...]]:
        """Return the fields that count. Those of Agent Plugins stand above those of a second manifest."""
        manifest: dict[str, object] = {}
        layouts: list[Layout] = []
        for path, layout in MANIFESTS.items():
            if os.path.lexists(os.path.join(self._root, path)):
                manifest = {**self._json(path), **manifest}
                layouts.append(layout)
        if os.path.lexists(os.path.join(self._root, PORTABLE_MANIFEST)):
            portable = self._json(PORTABLE_MANIFEST)
            if "$schema" in portable or not layouts:
                return {**manifest, **portable}, (*layouts, "agent-plugins")
        return manifest, tuple(layouts) or ("claude",)

    def _json(self, path: str) -> dict[str, object]:
        try:
            content = decode(self._text(path).encode())
        except (ValueError, RecursionError) as error:
            raise OvertError(f"{path}: is not valid JSON: {error}") from None
        if not isinstance(content, dict):
            raise OvertError(f"{path}: must be a JSON object")
        return content

    def _text(self, path: str) -> str:
        try:
            data, _ = read_regular(self._inside(path), MOST_BYTES)
        except OSError as error:
            raise OvertError(f"{path}: cannot be read: {error.strerror}") from None
        if len(data) > MOST_BYTES:
            raise OvertError(f"{path}: is larger than 1 MB")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise OvertError(f"{path}: is not valid UTF-8") from None

    def _inside(self, path: str) -> str:
        """Return where a path of the package leads. OvertError if that is outside of the package."""
        real = os.path.realpath(os.path.join(self._root, path))
        if real != self._root and not real.startswith(f"{self._root}/"):
            raise OvertError(f"{path}: leads out of the plugin")
        return real

    def _folder(self, path: str) -> list[str]:
        """Return the names in a folder of the package, sorted; none if there is no such folder."""
        if not os.path.lexists(os.path.join(self._root, path)):
            return []
        real = self._inside(path)
        if not os.path.isdir(real):
            raise OvertError(f"{path}: must be a folder")
        return sorted(os.listdir(real))

    def _paths(self, tables: list[Mapping[str, object]], key: str) -> Iterator[str]:
        """Yield the paths that manifests give for a kind of part, without `./`."""
        for table in tables:
            value = table.get(key)
            for path in value if isinstance(value, list) else [value]:
                if isinstance(path, str):
                    yield os.path.normpath(path)
                elif path is not None and not isinstance(path, dict):
                    self._problems.append(f"{key}: must be a path or a list of paths")

    @contextmanager
    def _one_part(self) -> Iterator[None]:
        """An OvertError within costs only this part: it is recorded, and reading goes on after the block."""
        try:
            yield
        except OvertError as error:
            self._problems.append(error.message)

    # ── skills, commands, agents ─────────────────────────────────────────────────────────────────────────

    def _skills(self, tables: list[Mapping[str, object]]) -> tuple[str, ...]:
        folders: dict[str, None] = {}
        for parent in ("skills", *self._paths(tables, "skills")):
            with self._one_part():
                if parent == "." and os.path.exists(os.path.join(self._root, "SKILL.md")):
                    raise OvertError(
                        "SKILL.md: a skill at the root of a plugin is not supported; move it below skills/"
                    )
                is_skill = os.path.lexists(os.path.join(self._root, parent, "SKILL.md"))
                inside = [parent] if is_skill else [f"{parent}/{name}" for name in self._folder(parent)]
                folders |= dict.fromkeys(
                    each for each in inside if os.path.lexists(os.path.join(self._root, each, "SKILL.md"))
                )
        for folder in folders:
            with self._one_part():
                self._check_skill(folder)
        return tuple(folders)

    def _check_skill(self, folder: str) -> None:
        fields = self._check_markdown(f"{folder}/SKILL.md", ("description",))
        if (name := fields.get("name", os.path.basename(folder))) != os.path.basename(folder):
            raise OvertError(f"{folder}/SKILL.md: its name {name!r} is not that of its folder")

    def _check_markdown(self, path: str, required: tuple[str, ...]) -> dict[str, object]:
        matter = read_front_matter(self._text(path))
        if matter.problem:
            raise OvertError(f"{path}: {matter.problem}")
        if missing := [key for key in required if not matter.fields.get(key)]:
            raise OvertError(f"{path}: has no `{missing[0]}` in its front matter")
        return matter.fields

    def _markdown(self, kind: str, tables: list[Mapping[str, object]], required: tuple[str, ...]) -> tuple[str, ...]:
        files: dict[str, None] = {}
        for path in (kind, *self._paths(tables, kind)):
            if os.path.lexists(os.path.join(self._root, path)):
                self._add_markdown(path, files, DEEPEST_COMMANDS)
            elif path != kind:
                self._problems.append(f"{path}: does not exist")
        for path in files:
            with self._one_part():
                self._check_markdown(path, required)
        return tuple(files)

    def _add_markdown(self, path: str, files: dict[str, None], depth: int) -> None:
        with self._one_part():
            if path.endswith(".md") and os.path.isfile(self._inside(path)):
                files[path] = None
            elif depth and os.path.isdir(self._inside(path)):
                for name in self._folder(path):
                    self._add_markdown(f"{path}/{name}", files, depth - 1)

    # ── hooks and servers ────────────────────────────────────────────────────────────────────────────────

    def _hooks(
        self, tables: list[Mapping[str, object]]
    ) -> tuple[tuple[str, ...], dict[str, object] | None, tuple[PackagedHook, ...]]:
        files: dict[str, None] = {}
        commands: list[PackagedHook] = []

        usual = ["hooks/hooks.json"] if tables and os.path.lexists(f"{self._root}/hooks/hooks.json") else []
        for path in dict.fromkeys((*usual, *self._paths(tables, "hooks"))):
            with self._one_part():
                commands.extend(hook_commands(self._json(path), path))
                files[path] = None
        inline = next((hooks for each in tables if isinstance(hooks := each.get("hooks"), dict)), None)
        usable = None
        if inline is not None:
            with self._one_part():
                inline = inline if "hooks" in inline else {"hooks": inline}
                commands.extend(hook_commands(inline, "hooks of the manifest"))
                usable = inline
        return tuple(files), usable, tuple(commands)

    def _servers(self, tables: list[Mapping[str, object]], *, portable: bool) -> dict[str, PluginServer]:
        servers: dict[str, PluginServer] = {}
        usual = [".mcp.json"] if tables and os.path.lexists(f"{self._root}/.mcp.json") else []
        for path in dict.fromkeys((*usual, *self._paths(tables, "mcpServers"))):
            with self._one_part():
                servers |= self._claude_servers(self._json(path), path)
        for table in tables:
            if isinstance(inline := table.get("mcpServers"), dict):
                servers |= self._claude_servers({"mcpServers": inline}, "mcpServers of the manifest")
        if portable and os.path.lexists(os.path.join(self._root, MCP_FILE)):
            with self._one_part():
                valid, problems = portable_servers(self._json(MCP_FILE), self._root)
                servers |= {name: PluginServer(table=table, portable=True) for name, table in valid.items()}
                self._problems.extend(problems)
        return servers

    def _claude_servers(self, tree: Mapping[str, object], where: str) -> dict[str, PluginServer]:
        """Return the servers of a file with `mcpServers`, or of a flat one, which may have other keys too."""
        table = tree.get("mcpServers", tree)
        if not isinstance(table, dict):
            raise OvertError(f"{where}: `mcpServers` must be an object")
        if "mcpServers" in tree:
            wrong = (name for name, item in table.items() if not isinstance(item, dict))
            self._problems += [f"{where}: the server `{name}` must be an object" for name in wrong]
        return {name: PluginServer(table=item) for name, item in table.items() if isinstance(item, dict)}

    def _not_used(self, tables: list[Mapping[str, object]]) -> Iterator[str]:
        for key in NOT_USED:
            if any(table.get(key) for table in tables):
                yield key
        yield from (name for name in NOT_USED_FILES if os.path.lexists(os.path.join(self._root, name)))


def _text(table: Mapping[str, object], key: str) -> str:
    value = table.get(key)
    return " ".join(value.split())[:500] if isinstance(value, str) else ""
