"""Where things are: the only reader of the environment."""

import os
from collections.abc import Sequence

from msgspec import Struct

from overt.core.errors import ConfigError

MARKERS = ("overt.toml", ".overt", ".git", "overt.json", "overt.jsonc")

KEY_VARIABLES = (
    "OVERT_API_KEY",
    "AGENT_API_KEY",
    "OPENAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "ANTHROPIC_API_KEY",
    "DASHSCOPE_API_KEY",
)
"""Variables that hold a key although no `api_key_env` names them."""


class Environment(Struct, frozen=True, kw_only=True):
    """Folders and variables as they were at start; `variables` is for children and keys, and is never shown."""

    home: str
    config_dir: str
    data_dir: str
    cache_dir: str
    state_dir: str = ""
    cwd: str
    variables: dict[str, str]

    def get(self, name: str) -> str:
        return self.variables.get(name, "")

    def secrets(self, names: Sequence[str] = ()) -> tuple[str, ...]:
        """Values that must never be shown: the known key variables and those that `names` adds."""
        return tuple(value for name in (*KEY_VARIABLES, *names) if (value := self.variables.get(name, "")))

    def __repr__(self) -> str:
        return f"Environment(home={self.home!r}, cwd={self.cwd!r})"


class Roots(Struct, frozen=True, kw_only=True):
    """File tools stay in the workspace; configuration, rules and trust come from the project."""

    workspace: str
    project: str


def read_environment() -> Environment:
    variables = dict(os.environ)
    try:
        cwd = os.getcwd()
    except FileNotFoundError:
        raise ConfigError("the current folder no longer exists; change to another one and start again") from None
    home = os.path.join(cwd, os.path.expanduser("~"))
    return Environment(
        home=home,
        config_dir=_folder(variables, "XDG_CONFIG_HOME", f"{home}/.config"),
        data_dir=_own(variables, "OVERT_DATA", cwd) or _folder(variables, "XDG_DATA_HOME", f"{home}/.local/share"),
        cache_dir=_own(variables, "OVERT_CACHE", cwd) or _folder(variables, "XDG_CACHE_HOME", f"{home}/.cache"),
        state_dir=_folder(variables, "XDG_STATE_HOME", f"{home}/.local/state"),
        cwd=cwd,
        variables=variables,
    )


def _folder(variables: dict[str, str], name: str, default: str) -> str:
    """XDG says that a relative path in these variables is to be ignored."""
    given = variables.get(name, "")
    return os.path.join(given if os.path.isabs(given) else default, "overt")


def _own(variables: dict[str, str], name: str, cwd: str) -> str:
    given = variables.get(name, "")
    return os.path.join(cwd, os.path.expanduser(given)) if given else ""


def is_placeholder(path: str, depth: int = 4) -> bool:
    """True for a folder without a single file: a sandbox holds the places of absent files with such folders."""
    if depth == 0 or os.path.islink(path):
        return False
    try:
        with os.scandir(path) as entries:
            return all(
                entry.is_dir(follow_symlinks=False) and is_placeholder(entry.path, depth - 1) for entry in entries
            )
    except OSError:
        return False  # a file, or a folder that cannot be read


def is_present(path: str) -> bool:
    return os.path.lexists(path) and not is_placeholder(path)


def roots(environment: Environment, directory: str = "") -> Roots:
    """`directory` is the value of -C; the project is the nearest marked ancestor below the home folder."""
    workspace = os.path.realpath(os.path.join(environment.cwd, os.path.expanduser(directory)))
    if not os.path.isdir(workspace):
        raise ConfigError(f"-C: {directory} is not a folder; give one that exists")
    home = os.path.realpath(environment.home)
    folder = workspace
    while folder not in (home, "/"):
        if any(is_present(os.path.join(folder, marker)) for marker in MARKERS):
            return Roots(workspace=workspace, project=folder)
        folder = os.path.dirname(folder)
    return Roots(workspace=workspace, project=workspace)
