"""Python packages that add tools and wires through the entry points `overt.tools` and `overt.providers`.

Their code runs in Overt's own process, outside of every sandbox, and no lock covers it. So only packages that the user
names in `tools.packages` are loaded, and only then are the installed packages searched, which takes about 40 ms.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from overt.app.registries import Registries
from overt.core.errors import ConfigError
from overt.lib.translations import say

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from overt.app.setting import Setting

GROUPS = ("overt.tools", "overt.providers")


class PythonPlugin(Struct, frozen=True, kw_only=True):
    """A package with entry points. It is never verified; `enabled` says whether the configuration names it."""

    name: str
    version: str
    enabled: bool
    tools: tuple[str, ...] = ()
    providers: tuple[str, ...] = ()
    kind: str = "python"
    verified: bool = False


def load_python_plugins(registries: Registries, packages: Iterable[str], origin: str) -> Registries:
    """Add what the named packages bring. ConfigError if one is missing, or brings something else."""
    from overt.core.tool import Tool  # late: 22 ms
    from overt.providers.wires import WireKind  # late: 1 ms

    found = dict(_entry_points())
    tools, wires = list(registries.tools), list(registries.wires)
    for package in packages:
        name = _normal(package)
        if name not in found:
            raise ConfigError(f"{origin}: no installed package {package} has entry points of {' or '.join(GROUPS)}")
        for point in found[name]:
            value = _load(point, origin)
            values = value if isinstance(value, list | tuple) else (value,)
            kind: type[Tool] | type[WireKind] = Tool if point.group == GROUPS[0] else WireKind
            if not all(isinstance(each, kind) for each in values):
                raise ConfigError(f"{origin}: {package}: `{point.name}` of {point.group} must be a {kind.__name__}")
            tools += [each for each in values if isinstance(each, Tool)]
            wires += [each for each in values if isinstance(each, WireKind)]
    return replace(registries, tools=tuple(tools), wires=tuple(wires))


def _load(point: "EntryPoint", origin: str) -> object:
    try:
        value: object = point.load()
    except (ImportError, AttributeError, SyntaxError) as error:
        raise ConfigError(f"{origin}: `{point.value}` of {point.group} cannot be loaded: {error}") from None
    return value


def python_plugins(setting: "Setting") -> tuple[PythonPlugin, ...]:
    """Return the installed packages with entry points, loaded or not."""
    named = {_normal(name) for name in setting.config.tools.packages}
    rows: list[PythonPlugin] = []
    for name, points in _entry_points():
        distribution = points[0].dist
        rows.append(
            PythonPlugin(
                name=name,
                version=distribution.version if distribution else "",
                enabled=name in named,
                tools=tuple(point.name for point in points if point.group == GROUPS[0]),
                providers=tuple(point.name for point in points if point.group == GROUPS[1]),
            )
        )
    return tuple(rows)


def python_plugin_lines(packages: Iterable[PythonPlugin]) -> Iterator[str]:
    for package in packages:
        state = say("plugin.python_on" if package.enabled else "plugin.python_off", name=package.name)
        yield f"{package.name} {package.version}  ({state})"
        yield f"  {', '.join((*package.tools, *package.providers))}"


def _entry_points() -> Iterator[tuple[str, list["EntryPoint"]]]:
    from importlib.metadata import entry_points  # late: 43 ms

    packages: dict[str, list[EntryPoint]] = {}
    for group in GROUPS:
        for point in entry_points(group=group):
            packages.setdefault(_normal(point.dist.name if point.dist else point.module), []).append(point)
    return iter(sorted(packages.items()))


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
