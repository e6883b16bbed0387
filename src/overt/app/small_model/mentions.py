"""What a task is about: the files it names, and the names in it that code would hold."""

import re
from collections.abc import Sequence

LONGEST = 4
IDENTIFIER = r"`([A-Za-z_]\w+)(?:\(\))?`|\b([A-Za-z]+_\w+|[a-z]+[A-Z]\w+|[A-Z][a-z]+[A-Z]\w+)\b|\b([A-Za-z_]\w+)\(\w*\)"
SECRETIVE = ("id_", "secret", "credential", "password", "passwd")
SEALED = (".env", ".pem", ".key", ".p12", ".pfx", ".kdbx", ".jks", ".keystore", ".gpg", ".asc", ".tfvars", ".tfstate")


def named_paths(text: str, paths: Sequence[str]) -> list[str]:
    """Paths that stand in the text whole, by their file name, or by a known name without its ending; in its order."""
    positions: dict[str, int] = {}
    names = [path.rpartition("/")[2] for path in paths]
    low = text.lower()
    for path, name in zip(paths, names, strict=True):
        at = _stands(path, text)
        if at < 0 and names.count(name) == 1:
            at = _stands(name, text)
        stem = name.partition(".")[0].lower()
        if at < 0 and stem in ("readme", "makefile", "changelog", "license", "dockerfile"):
            at = _stands(stem, low)
        if at >= 0:
            positions[path] = at
    return sorted(positions, key=lambda path: positions[path])


def find_identifiers(text: str) -> list[str]:
    """Identifiers in a text: in backticks, with an underline or a capital inside, or followed by parentheses."""
    words = ("".join(groups) for groups in re.findall(IDENTIFIER, text))
    return list(dict.fromkeys(words))[:LONGEST]


def _stands(name: str, text: str) -> int:
    match = re.search(rf"(?<![\w./-]){re.escape(name)}(?![\w-]|\.\w)", text)
    return match.start() if match else -1


def looks_private(path: str) -> bool:
    """Whether a file is likely to hold secrets or settings: shown only to a task that names it."""
    parts = path.lower().split("/")
    name = parts[-1]
    return any(part.startswith(".") for part in parts) or name.startswith(SECRETIVE) or name.endswith(SEALED)
