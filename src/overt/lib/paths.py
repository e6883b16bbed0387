"""Paths as people read them and as folder names carry them."""

from hashlib import sha256


def display_path(path: str, root: str = "", home: str = "") -> str:
    """Return the shortest honest form: relative to `root`, else with `~`, else whole."""
    if root and lies_in(path, root):
        return path[len(root.rstrip("/")) + 1 :] or "."
    if home and lies_in(path, home):
        return f"~{path[len(home.rstrip('/')) :]}"
    return path


def lies_in(path: str, folder: str) -> bool:
    """True for the folder itself and everything below it, by their names alone."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def slug(path: str) -> str:
    """Return a folder name for a path: its last parts to be read, and a hash that keeps two paths apart."""
    words = "-".join(path.strip("/").split("/")[-2:])
    words = "".join(each if each.isascii() and (each.isalnum() or each in "._-") else "-" for each in words).strip("-.")
    digest = sha256(path.encode("utf-8", "surrogateescape")).hexdigest()[:10]
    words = words[-48:].strip("-.")
    return f"{words}-{digest}" if words else digest


def literal(folder: str) -> str:
    """Return a glob that matches only this folder."""
    return "".join(f"[{each}]" if each in "*?[" else each for each in folder)
