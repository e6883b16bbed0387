"""What a shell command may do, judged by its words: a first cut that errs towards asking.

Without a parser, a command is cut into segments at the operators and judged word by word. Anything that
computes words (substitution, variables in command position) is at best ordinary, never harmless.
"""

import re
from collections.abc import Callable, Iterator
from typing import Literal

from msgspec import Struct

Hazard = Literal["harmless", "ordinary", "dangerous"]

DANGEROUS = frozenset(
    """rm rmdir unlink shred mv chmod chown chgrp dd mkfs fdisk parted wipefs truncate shutdown reboot halt poweroff
    kill killall pkill sudo su doas crontab mount umount swapoff iptables nft useradd userdel passwd visudo
    eval""".split()
)
SHELLS = frozenset("sh bash dash zsh ksh fish busybox ssh script watch su".split())
"""Programs that take a command as text, so that quoted words count too."""

HARMLESS = frozenset(
    """ls cat head tail wc pwd echo printf true false sleep date whoami id uname hostname which type basename dirname
    realpath readlink stat file du df diff cmp sort cut tr nl od rev seq test grep egrep fgrep rg ps
    cksum md5sum sha1sum sha256sum""".split()
)
HARMLESS_GIT = frozenset("status log diff show branch rev-parse ls-files blame describe shortlog".split())
WRITING_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "sort": ("-o", "--output", "--compress-program"),
    "rg": ("--pre", "--hostname-bin", "-z", "--search-zip"),
    "date": ("-s", "--set"),
    "hostname": ("",),
    "file": ("-C", "--compile"),
    "git": (
        "--output",
        "--ext-diff",
        "--textconv",
        "-c",
        "-C",
        "--exec-path",
        "-d",
        "-D",
        "-m",
        "-M",
        "--delete",
        "--edit-description",
        "-f",
        "--force",
        "-u",
        "--set-upstream-to",
        "--unset-upstream",
        "-c",
        "--config-env",
        "--git-dir",
        "--work-tree",
        "-O",
        "--paginate",
        "-p",
        "--no-index",
        "--contents",
    ),
}
"""Arguments that turn a reader into something else; the empty string stands for any argument."""

# Compiled by `re` at first use, which most starts never come to.
SEGMENTS = r"\n|;|&&|\|\||\||&(?!>)|\(|\)|\{|\}|`|\$\("
WORDS = r"""(?:[^\s"'\\]|\\.|"[^"]*"|'[^']*')+"""
RAW_WORDS = r"[\w./-]+"
COMPUTED = r"[`$\\*?\[~!#]|<<|<\(|>\("
TO_NULL = r"[0-9&]?>>?\s*/dev/null|[0-9]?>&[0-9-]"
TARGET = r">(>?)\s*(\|?\s*[^\s;&|)]*)"
REDIRECT = r"(?<![0-9&])>|[0-9&]>(?!&[0-9-])"
ASSIGNMENT = r"^[A-Za-z_][A-Za-z0-9_]*\+?="


class Reading(Struct, frozen=True, kw_only=True):
    """`words` are what made the command more than harmless."""

    hazard: Hazard
    words: tuple[str, ...] = ()


def _assume_it_exists(path: str) -> bool:
    return True


def read_command(command: str, exists: Callable[[str], bool] = _assume_it_exists) -> Reading:
    """`exists` tells whether a redirection would overwrite; by default it is assumed to."""
    command = command.replace("\\\n", "")  # the shell joins such lines before it reads words
    segments = [segment for segment in re.split(SEGMENTS, re.sub(TO_NULL, "", command)) if segment.strip()]
    words = [re.findall(WORDS, segment) for segment in segments]
    bad = tuple(word for line in words for word in line if _name(word) in DANGEROUS)
    if any(_name(word) in SHELLS for line in words for word in line):
        bad += tuple(word for word in re.findall(RAW_WORDS, command) if _name(word) in DANGEROUS)
    bad += tuple(f"find … {word}" for line in words for word in line if word == "-delete")
    bad += tuple(f"> {target}" for target in _targets(command) if _overwrites(target, exists))
    if bad:
        return Reading(hazard="dangerous", words=bad)
    if re.search(COMPUTED, command) or not segments or list(_targets(command)):
        return Reading(hazard="ordinary")
    if all(_harmless(line) for line in words):
        return Reading(hazard="harmless")
    return Reading(hazard="ordinary")


def segments_of(command: str) -> tuple[str, ...] | None:
    """The simple commands of a plain list or pipe; None when the text computes or redirects anything."""
    if re.search(COMPUTED, command) or re.search(REDIRECT, _unquoted(command)):
        return None
    return tuple(segment.strip() for segment in re.split(SEGMENTS, command) if segment.strip())


def _harmless(words: list[str]) -> bool:
    if not words or re.match(ASSIGNMENT, words[0]):
        return False
    name, arguments = words[0], words[1:]
    if name == "git":
        return _harmless_git(arguments)
    if name not in HARMLESS:
        return False
    return not _writes(name, arguments)


def _harmless_git(arguments: list[str]) -> bool:
    if not arguments or arguments[0] not in HARMLESS_GIT or _writes("git", arguments):
        return False
    return arguments[0] != "branch" or all(word.startswith("-") for word in arguments[1:])


def _writes(name: str, arguments: list[str]) -> bool:
    """Flags may be clustered (`-uo`) or shortened (`--outp=`); in doubt it writes."""
    flags = WRITING_ARGUMENTS.get(name, ())
    for word in arguments:
        if "" in flags:
            return True
        long = word.partition("=")[0]
        if long.startswith("--") and len(long) > 2 and any(flag.startswith(long) for flag in flags):
            return True
        if not word.startswith("--") and any(
            flag[1] in word[1:] for flag in flags if len(flag) == 2 and word[:1] == "-"
        ):
            return True
    return False


def _name(word: str) -> str:
    return re.sub(r"\$?[\"']|\\", "", word).rpartition("/")[2]


def _unquoted(command: str) -> str:
    """The text outside quotes, taken from left to right."""
    return re.sub(r"""\\.|"(?:[^"\\]|\\.)*"|'[^']*'""", "", command)


def _targets(command: str) -> Iterator[str]:
    """Where plain redirections write to; appending is marked by its second `>`."""
    rest = re.sub(TO_NULL, "", command if re.search(REDIRECT, _unquoted(command)) else "")
    for found in re.finditer(TARGET, rest):
        yield found[1] + found[2]


def _overwrites(target: str, exists: Callable[[str], bool]) -> bool:
    if target.startswith(">"):
        return target[1:].strip().rpartition("/")[2].startswith(".")
    name = target.strip("| ")
    return not name or re.search(COMPUTED, name) is not None or bool(set(name) & {'"', "'"}) or exists(name)
