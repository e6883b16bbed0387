"""Find the modules of a package that hold one thing each: tools, commands of the chat, subcommands, wires.

A new one is a new file in its folder; nothing lists them.
"""

import os
from collections.abc import Iterator
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import TypeVar

T = TypeVar("T")


def module_names(package: ModuleType) -> list[str]:
    """Return the names of the modules in a package, sorted, without those that begin with `_`."""
    folder = package.__path__[0]
    if os.path.isdir(folder):
        names = [name.removesuffix(".py") for name in os.listdir(folder) if name.endswith(".py")]
    else:  # in a zip
        from pkgutil import iter_modules  # late: 1.1 ms

        names = [module.name for module in iter_modules(package.__path__)]
    return sorted(name for name in names if not name.startswith("_"))


def has_module(package: ModuleType, name: str) -> bool:
    """Return whether a package has a module of this name, without importing it."""
    if not name.isidentifier() or name.startswith("_"):
        return False
    return PathFinder.find_spec(f"{package.__name__}.{name}", package.__path__) is not None


def find_module(package: str, name: str) -> ModuleType | None:
    """Import a module of a package by its name, if there is one."""
    if not name.isidentifier() or name.startswith("_"):
        return None
    path = f"{package}.{name}"
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name == path:
            return None
        raise


def values_in(package: ModuleType, kind: type[T]) -> Iterator[T]:
    """Yield every value of that type that a module of the package names."""
    for name in module_names(package):
        namespace = vars(import_module(f"{package.__name__}.{name}"))
        yield from (value for value in namespace.values() if isinstance(value, kind))
