"""Names that file tools never write and commands ask about: one test, whatever disguise a name wears.

A file system may take many spellings for one name: other letter case, compatibility characters and invisible
ones (HFS+, APFS), trailing dots and spaces, stream suffixes and short names (NTFS). Here a name counts as
protected when any of them would; on a stricter file system that refuses a few names nobody needs.
"""

import re
from collections.abc import Sequence
from enum import StrEnum
from typing import Literal

Home = Literal["here", "elsewhere", "anywhere"]


class Protection(StrEnum):
    """Why a path is protected, in words."""

    GIT = "git's own files"
    OWN = "Overt's configuration"
    OWN_FILES = "Overt's own files"
    RECORDS = "Overt's records"
    SHELL = "shell start file"
    DIRENV = "direnv start file"
    GIT_SETTINGS = "git's settings"
    GIT_TARGET = "git runs or obeys it"
    SSH = "ssh keys and settings"


EVERYWHERE: dict[str, Protection] = {
    ".git": Protection.GIT,
    ".overt": Protection.OWN,
    "overt.toml": Protection.OWN,
    "overt.json": Protection.OWN,
    "overt.jsonc": Protection.OWN,
    ".envrc": Protection.DIRENV,
}
"""As any component of a path: what lies below a protected folder is protected with it."""

AT_HOME: dict[tuple[str, ...], Protection] = {
    **{
        (name,): Protection.SHELL
        for name in """.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile
        .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .logout .xprofile .xinitrc .xsession .xsessionrc
        .pam_environment""".split()
    },
    (".config", "fish"): Protection.SHELL,
    (".config", "autostart"): Protection.SHELL,
    (".config", "environment.d"): Protection.SHELL,
    (".config", "systemd"): Protection.SHELL,
    (".gitconfig",): Protection.GIT_SETTINGS,
    (".config", "git"): Protection.GIT_SETTINGS,
    (".ssh",): Protection.SSH,
    (".config", "overt"): Protection.OWN,
    (".local", "share", "overt"): Protection.RECORDS,
}
"""Counted from the home folder."""

# Code points that a file system or a reader may skip; patterns are compiled at first use, mostly never.
INVISIBLE = (
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U000e0000-\U000e0fff]"
)


def fold_name(path: str) -> str:
    """One spelling for all that a file system without letter case or invisible characters takes for the same."""
    if path.isascii():
        return path.lower()
    import unicodedata  # late: 0.2 ms

    compatible = unicodedata.normalize("NFKC", re.sub(INVISIBLE, "", path)).casefold()
    return unicodedata.normalize("NFKC", compatible)


def protected_name(path: str, *, home: Home = "anywhere") -> Protection | None:
    """Return why a path is protected, or None.

    `home` says how to take names that count in the home folder only: the path is relative to it (`here`), does
    not lie in it (`elsewhere`), or may lie in it wherever that is (`anywhere`).
    """
    spelled = fold_name(path).replace("\\", "/").split("/")
    names = [_canonical(name) for name in spelled if name not in ("", ".")]
    for name in names:
        if reason := EVERYWHERE.get(name):
            return reason
    return None if home == "elsewhere" else _at_home(_resolved(names), anywhere=home == "anywhere")


def _at_home(names: Sequence[str], *, anywhere: bool) -> Protection | None:
    for start, name in enumerate(names if anywhere else names[:1]):
        if name.startswith("."):
            for length in (1, 2, 3):
                if reason := AT_HOME.get(tuple(names[start : start + length])):
                    return reason
    return None


def _resolved(names: Sequence[str]) -> list[str]:
    """Without the steps up, as far as the text can tell."""
    found: list[str] = []
    for name in names:
        if name != "..":
            found.append(name)
        elif found:
            found.pop()
    return found


def _canonical(name: str) -> str:
    """A component as NTFS would take it: without a stream, without trailing dots and spaces, in its long form."""
    if name == "..":
        return name
    bare = name.partition(":")[0].rstrip(". ")
    stem, _, tail = bare.partition("~")
    number, _, ending = tail.partition(".")
    return SHORT.get(f"{stem}.{ending}", bare) if number.isdigit() else bare


def _short(name: str) -> str:
    """The short name of NTFS without its number: `.bash_profile` is `bash_p`, `overt.toml` is `overt.tom`."""
    stem, dot, ending = name.lstrip(".").rpartition(".")
    return f"{(stem if dot else ending)[:6]}.{ending[:3] if dot else ''}"


SHORT: dict[str, str] = {
    _short(name): name
    for name in (*EVERYWHERE, *(part for parts in AT_HOME for part in parts))
    if "." in name or len(name) > 8  # others are short already
}
