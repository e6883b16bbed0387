"""Find the values of a type in the modules of a package: the built-in tools, commands and wires.

A new one is a new file in its folder; nothing lists them. Plugins enter by the same function.
"""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


def values_in(package: ModuleType, kind: type[T]) -> Iterator[T]:
    """Yield every value of that type that a module of the package names. Modules that begin with `_` are skipped."""
    for module in iter_modules(package.__path__):
        if not module.name.startswith("_"):
            namespace = vars(import_module(f"{package.__name__}.{module.name}"))
            yield from (value for value in namespace.values() if isinstance(value, kind))
