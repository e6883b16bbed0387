"""What a configuration says of single models: names alone, or names with what is known of each."""

from collections.abc import Callable
from typing import Any

from overt.config.reading.keys import DOLLARS, FACTS, PROVIDER, QUIRKS, Check, read_value
from overt.config.reading.values import described
from overt.core.errors import ConfigError
from overt.core.settings import ModelFacts, Price, Quirks
from overt.lib.jsonc import Path

PRICES = dict.fromkeys(Price.__struct_fields__, DOLLARS)
SAME = {"reasoning": "reasons", "attachment": "images", "cost": "price"}
SAME_PRICE = {"cache_read": "cached"}
LIMIT = {"context": "window", "output": "output"}
"""How opencode words it."""

IGNORED = frozenset({"name", "id"})


class Models:
    """Reads the models of one provider; `place` gives the line of a value, `unknown` takes a key nobody knows."""

    def __init__(self, place: Callable[[Path], str], unknown: Callable[[Path, Any, tuple[str, ...]], None]) -> None:
        self._place = place
        self._unknown = unknown

    def read(self, path: Path, value: Any) -> tuple[tuple[str, ...], tuple[ModelFacts, ...]]:
        """The names, and what is said of those of which something is."""
        items = self._items(path, value)
        found = read_value(PROVIDER["models"], [name for _, name, _ in items], name="models", place=self._place(path))
        names: tuple[str, ...] = found
        facts = [self._facts(here, name, table) for here, name, table in items if IGNORED.issuperset(table) is False]
        return names, tuple(facts)

    def _items(self, path: Path, value: Any) -> list[tuple[Path, Any, dict[str, Any]]]:
        """A list of names and tables, or a map from name to table."""
        if isinstance(value, dict):
            return [((*path, name), name, self._table((*path, name), table)) for name, table in value.items()]
        if not isinstance(value, list):
            read_value(PROVIDER["models"], value, name="models", place=self._place(path))
            return []
        return [
            ((*path, index), item.get("name"), item) if isinstance(item, dict) else ((*path, index), item, {})
            for index, item in enumerate(value)
        ]

    def _facts(self, path: Path, model: str, table: dict[str, Any]) -> ModelFacts:
        found: dict[str, Any] = {}
        for key, value in table.items():
            here, name = (*path, key), SAME.get(key, key)
            if name in FACTS:
                found[name] = read_value(FACTS[name], value, name=key, place=self._place(here))
            elif name == "price":
                found["price"] = Price(**self._checked(here, value, PRICES, SAME_PRICE))
            elif name == "quirks":
                found["quirks"] = Quirks(**self._checked(here, value, QUIRKS, {}))
            elif name == "limit":
                limits = {word: FACTS[LIMIT[word]] for word in LIMIT}
                found |= {LIMIT[word]: size for word, size in self._checked(here, value, limits, {}).items()}
            elif name not in IGNORED:
                self._unknown(here, value, (*FACTS, "price", "quirks"))
        return ModelFacts(name=model, **found)

    def _checked(self, path: Path, value: Any, checks: dict[str, Check], same: dict[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, item in self._table(path, value).items():
            here, name = (*path, key), same.get(key, key)
            if name in checks:
                found[name] = read_value(checks[name], item, name=key, place=self._place(here))
            else:
                self._unknown(here, item, tuple(checks))
        return found

    def _table(self, path: Path, value: Any) -> dict[str, Any]:
        if isinstance(value, dict):
            return value
        raise ConfigError(f"{self._place(path)}: `{path[-1]}` must be a table, got {described(value)}")
