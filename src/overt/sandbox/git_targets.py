"""Files in the work tree that git obeys because a repository's own settings name them: hooks (`core.hooksPath`, as
husky sets it), further settings (`include.path`, `includeIf`), attributes and the monitor that `git status` starts."""

import os
import re
import stat
from collections.abc import Iterator

SECTION = re.compile(r'\[\s*([A-Za-z0-9.-]+)(?:\s+"(?:[^"\\]|\\.)*")?\s*\]\s*')
FROM_TOP = frozenset({("core", "hookspath"), ("core", "attributesfile"), ("core", "fsmonitor")})
"""Settings whose paths count from the top of the work tree."""
FROM_FILE = frozenset({("include", "path"), ("includeif", "path")})
"""Settings whose paths count from the folder of the file they are in."""
LARGEST = 1024 * 1024
DEEPEST = 10
Signature = tuple[int, int, int, int]
_parsed: dict[str, tuple[Signature, list[tuple[str, str, str]]]] = {}


def configured_targets(config: str, top: str) -> list[str]:
    """Return the absolute paths that a file of settings names, and those that the files it includes name. `top` is the
    work tree."""
    targets: dict[str, None] = {}
    waiting = [(config, 0)]
    for path, depth in waiting:
        for section, key, value in _settings(path):
            if (section, key) in FROM_FILE:
                target = _resolve(value, os.path.dirname(path))
                if depth < DEEPEST and target not in targets:
                    waiting.append((target, depth + 1))
            elif key == "fsmonitor" and value.lower() in ("true", "false", "yes", "no", "on", "off", "0", "1", ""):
                continue
            else:
                target = _resolve(value, top)
                if key == "hookspath" and os.path.basename(target) == "_":
                    target = os.path.dirname(target)  # husky: what is in `_` runs the scripts beside it
            targets[target] = None
    return list(targets)


def _resolve(value: str, folder: str) -> str:
    return os.path.normpath(os.path.join(folder, os.path.expanduser(value)))


def _settings(path: str) -> list[tuple[str, str, str]]:
    """Section, key and value of the settings that matter here; read again only when the file has changed."""
    try:
        status = os.stat(path)
    except OSError:
        return []
    signature = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    known = _parsed.get(path)
    if known and known[0] == signature:
        return known[1]
    settings: list[tuple[str, str, str]] = []
    if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST:
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                settings = list(_parse(file.read(LARGEST)))
        except OSError:
            pass  # git cannot read it, either
    _parsed[path] = (signature, settings)
    return settings


def _parse(text: str) -> Iterator[tuple[str, str, str]]:
    section = ""
    for line in text.replace("\\\n", "").splitlines():
        rest = line.strip()
        while match := SECTION.match(rest):
            section, rest = match.group(1).lower(), rest[match.end() :]
        key, _, value = rest.partition("=")
        name = (section, key.strip().lower())
        if name in FROM_TOP or name in FROM_FILE:
            yield *name, _unquote(value.strip())


def _unquote(value: str) -> str:
    """A value without its quotes, escapes and the comment after it."""
    text, is_quoted, is_escaped = "", False, False
    for char in value:
        if is_escaped:
            text, is_escaped = text + char, False
        elif char == "\\":
            is_escaped = True
        elif char == '"':
            is_quoted = not is_quoted
        elif char in "#;" and not is_quoted:
            return text.rstrip()
        else:
            text += char
    return text
