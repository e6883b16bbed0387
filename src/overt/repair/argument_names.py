"""Other agents' names for the arguments of tools, and for some of their values (`argument_names.txt`)."""

from overt.lib.package_data import read_text


def _read() -> dict[str, dict[str, str]]:
    """Return each table of the file: their name → ours."""
    tables: dict[str, dict[str, str]] = {}
    table: dict[str, str] = {}
    for line in read_text("overt.repair", "argument_names.txt").splitlines():
        ours, _, theirs = line.partition(": ")
        if line.startswith("["):
            table = tables[line.strip("[]")] = {}
        elif not line.startswith("#"):
            table |= dict.fromkeys(theirs.split(), ours)
    return tables


OUR_VALUES = _read()
"""Our name of an argument → their values → ours."""
OUR_ARGUMENTS, OUR_ITEMS = OUR_VALUES.pop("arguments"), OUR_VALUES.pop("items")
"""Their name → ours. Those of items are names in the objects of a list."""
