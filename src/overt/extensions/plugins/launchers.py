"""Find commands that run code which no lock can hold still: packages without a version, branches, piped scripts."""

import re
import shlex
from collections.abc import Iterable, Sequence
from itertools import pairwise

PIPED = re.compile(
    r"\b(?:curl|wget)\b[^\n;&|]*\|\s*(?:sudo\s+)?(?:env\s+)?(?:ba|z|da|k)?sh\b|\b(?:ba)?sh\b[^\n]*<\(\s*curl\b[^)\n]*"
)
NODE = {"npx", "bunx", "pnpx"}
NODE_SUBCOMMANDS = {("npm", "exec"), ("npm", "x"), ("pnpm", "dlx"), ("yarn", "dlx"), ("bun", "x")}
PYTHON = {"uvx", "pipx"}
NODE_VALUES = {"-p", "--package", "-c", "--call", "--registry", "--cache", "--prefix", "-w", "--workspace"}
PYTHON_VALUES = {"--from", "--with", "--python", "-p", "--index-url", "--index", "--spec", "--directory", "--env-file"}
EXACT = re.compile(r"v?\d+(?:\.\d+)+[\w.+-]*|v?\d+\.\d+\.\d+")
REVISION = re.compile(r"@[0-9a-f]{40}(?:#.*)?$")


def unpinned_words(words: Sequence[str]) -> str:
    """Return the package that a command fetches without saying which version of it; empty if there is none."""
    words = [word for word in words if not re.fullmatch(r"[A-Za-z_]\w*=.*", word)]
    while words and words[0].rpartition("/")[2] in ("env", "exec", "sudo", "nice", "timeout", "command"):
        words = words[1:]
    if not words:
        return ""
    program = words[0].rpartition("/")[2]
    if program in ("sh", "bash", "zsh", "dash") and len(words) > 2 and "c" in words[1]:
        return next(iter(unpinned_text(words[2])), "")
    if program in NODE:
        return _node_package(words[1:])
    if (program, *words[1:2]) in NODE_SUBCOMMANDS:
        return _node_package(words[2:])
    if program == "uv" and words[1:3] == ["tool", "run"]:
        return _python_package(words[3:])
    if program in PYTHON:
        return _python_package(words[2:] if words[1:2] == ["run"] else words[1:])
    if program in ("docker", "podman") and "run" in words:
        return _image(words[words.index("run") + 1 :])
    return ""


def unpinned_text(text: str) -> list[str]:
    """Return what a shell text or script fetches and runs without a version, in the order of its lines."""
    found: list[str] = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.lstrip().startswith("#"):
            continue
        found += [match.group().strip() for match in PIPED.finditer(line)]
        if not any(word in line for word in ("npx", "uvx", "bunx", "dlx", "pipx", "npm", "uv tool")):
            continue
        for part in re.split(r"&&|\|\||[;|&()]", line):
            try:
                package = unpinned_words(shlex.split(part))
            except ValueError:
                package = ""
            if package:
                found.append(package)
    return found


def _node_package(words: Sequence[str]) -> str:
    packages = _values(words, ("-p", "--package")) or _first(words, NODE_VALUES)
    return next((each for each in packages if not _is_pinned_node(each)), "")


def _is_pinned_node(package: str) -> bool:
    if package.startswith((".", "/", "$")):
        return True  # a file of the plugin
    name, _, version = package.rpartition("@")
    return bool(name) and EXACT.fullmatch(version) is not None


def _python_package(words: Sequence[str]) -> str:
    packages = [*_values(words, ("--from", "--spec")), *_values(words, ("--with",))] or _first(words, PYTHON_VALUES)
    return next((each for each in packages if not _is_pinned_python(each)), "")


def _is_pinned_python(package: str) -> bool:
    if package.startswith((".", "/", "$")):
        return True
    if package.startswith("git+"):
        return REVISION.search(package) is not None
    return "==" in package or ("@" in package and EXACT.fullmatch(package.rpartition("@")[2]) is not None)


def _image(words: Sequence[str]) -> str:
    """Return the image of `docker run` if its tag can be moved to another one: it has none, or `latest`."""
    for word in words:
        name, _, tag = word.rpartition(":")
        if "@sha256:" in word:
            return ""
        if tag == "latest" and name:
            return word
    return ""


def _values(words: Sequence[str], flags: Iterable[str]) -> list[str]:
    """Return the values of flags, written as two words or with `=`, up to the first word that is no flag."""
    names = tuple(flags)
    values = [after for word, after in pairwise(words) if word in names]
    return values + [word.partition("=")[2] for word in words if word.startswith(tuple(f"{name}=" for name in names))]


def _first(words: Sequence[str], with_value: set[str]) -> list[str]:
    """Return the first word that is neither a flag nor the value of one."""
    at = 0
    while at < len(words):
        if words[at] in with_value:
            at += 1
        elif not words[at].startswith("-"):
            return [words[at]]
        at += 1
    return []
