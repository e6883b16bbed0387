"""Which folders the user vouches for, and what of their `.env` may be used then."""

import os
from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from overt.config._store import plain, read, update
from overt.config.paths import KEY_VARIABLES, Environment
from overt.config.regular import read_regular

LARGEST_DOTENV = 256 * 1024


class Trusted(Struct, frozen=True, kw_only=True):
    """The folders trusted now; `warning` says why a trust file was not believed."""

    paths: frozenset[str] = frozenset()
    warning: str = ""

    def has(self, project: str) -> bool:
        return plain(os.path.realpath(project)) in self.paths


def trust_file(environment: Environment) -> str:
    return os.path.join(environment.data_dir, "trust.json")


def trusted(environment: Environment) -> Trusted:
    path = trust_file(environment)
    content, reason = read(path)
    paths = _paths(content)
    if content is not None and paths is None:
        reason = "is damaged"
    if reason:
        return Trusted(warning=f"{path}: {reason}, so no folder is trusted")
    return Trusted(paths=paths or frozenset())


def is_trusted(environment: Environment, project: str) -> bool:
    return trusted(environment).has(project)


def trust(environment: Environment, project: str) -> None:
    name = plain(os.path.realpath(project))
    update(trust_file(environment), _paths, lambda paths: _content((paths or frozenset()) | {name}))


def untrust(environment: Environment, project: str) -> None:
    name = plain(os.path.realpath(project))
    update(trust_file(environment), _paths, lambda paths: _content((paths or frozenset()) - {name}))


def _paths(content: Any) -> frozenset[str] | None:
    listed = content.get("trusted") if isinstance(content, dict) and content.get("v") == 1 else None
    if not isinstance(listed, list) or not all(isinstance(path, str) for path in listed):
        return None
    return frozenset(listed)


def _content(paths: frozenset[str]) -> dict[str, Any]:
    return {"v": 1, "trusted": sorted(paths)}


def dotenv(project: str, names: Iterable[str], *, trusted: Trusted) -> dict[str, str]:
    """Keys from the `.env` of a trusted project: only variables some `api_key_env` names, never an address."""
    if not trusted.has(project):
        return {}
    wanted = {*names, *KEY_VARIABLES}
    found = (_assignment(line) for line in _lines(os.path.join(project, ".env")))
    return {name: value for name, value in found if name in wanted and value and "://" not in value}


def _lines(path: str) -> list[str]:
    try:
        data, _ = read_regular(path, LARGEST_DOTENV)
    except OSError:
        return []
    return data.decode("utf-8-sig", "replace").splitlines()


def _assignment(line: str) -> tuple[str, str]:
    """`export NAME="value"  # comment`, in any of its shorter forms."""
    name, _, value = line.strip().removeprefix("export ").partition("=")
    name, value = name.strip(), value.strip()
    if name.startswith("#"):
        return "", ""
    if value[:1] in ("'", '"') and (end := value.find(value[0], 1)) > 0:
        return name, value[1:end]
    return name, value.split(" #", 1)[0].strip()
