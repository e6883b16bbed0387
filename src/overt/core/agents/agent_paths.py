"""The path of an agent names its place in the tree: `main/explore-1/general-2`."""


def path_order(path: str) -> list[tuple[str, int]]:
    """Return a sort key by name and number, so that `explore-10` comes after `explore-9`."""
    parts = (part.rpartition("-") for part in path.split("/"))
    return [(name, int(number) if number.isdecimal() else 0) for name, _, number in parts]


def is_below(path: str, agent: str) -> bool:
    """True if `path` is that of `agent` or of an agent below it."""
    return path == agent or path.startswith(f"{agent}/")
