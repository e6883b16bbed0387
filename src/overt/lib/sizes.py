"""Sizes for people to read."""


def show_size(size: int) -> str:
    for power, unit in ((40, "TB"), (30, "GB"), (20, "MB"), (10, "KB")):
        if size >= 1 << power:
            return f"{size / (1 << power):.1f}".removesuffix(".0") + f" {unit}"
    return f"{size} B"


def spell_size(size: int) -> str:
    """The same with one decimal always, and bytes written out."""
    for power, unit in ((30, "GB"), (20, "MB"), (10, "KB")):
        if size >= 1 << power:
            return f"{size / (1 << power):.1f} {unit}"
    return f"{size} {'byte' if size == 1 else 'bytes'}"
