"""Paths as people read them and as folder names carry them."""

from hashlib import sha256


def shown(path: str, root: str = "", home: str = "") -> str:
    """The shortest honest form: relative to `root`, else with `~`, else whole."""
    if root and path == root:
        return "."
    if root and path.startswith(root.rstrip("/") + "/"):
        return path[len(root.rstrip("/")) + 1 :]
    if home and path == home:
        return "~"
    if home and path.startswith(home.rstrip("/") + "/"):
        return "~/" + path[len(home.rstrip("/")) + 1 :]
    return path


def slug(path: str) -> str:
    """A folder name for a path: its last parts to be read, and a hash that keeps two paths apart."""
    words = "-".join(path.strip("/").split("/")[-2:])
    words = "".join(each if each.isascii() and (each.isalnum() or each in "._-") else "-" for each in words).strip("-.")
    digest = sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:10]
    words = words[-48:].strip("-.")
    return f"{words}-{digest}" if words else digest


def literal(folder: str) -> str:
    """A folder as a glob that means itself."""
    return "".join(f"[{each}]" if each in "*?[" else each for each in folder)
