"""What a terminal chat needs to know of the person's wishes and of the terminal, decided once."""

import shlex
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from overt.app.setting import Setting
from overt.core.settings import Interface

NOTIFYING = frozenset({"iterm.app", "wezterm", "ghostty", "warpterminal", "kitty"})
LINKING = NOTIFYING | {"vscode", "hyper", "tabby", "rio", "contour"}
"""Terminals by what they call themselves: those that show a notification (OSC 9), those that follow links (OSC 8)."""
TERMS = ("xterm-kitty", "xterm-ghostty", "foot")
LINKING_TERMS = (*TERMS, "alacritty", "contour")
LINKING_SINCE = {"VTE_VERSION": 5000, "KONSOLE_VERSION": 201200}
TMUX_LINKS = (3, 4)
EDITORS = ("VISUAL", "EDITOR")
FALLBACK = "vi"

Notify = Literal["bell", "osc9", "off"]


class Wishes(Struct, frozen=True, kw_only=True):
    """`Interface` with every `auto` decided but the theme's, which only the terminal's background can."""

    theme: Literal["auto", "dark", "light"]
    keys: Literal["emacs", "vi"]
    plain: bool
    notify: Notify
    notify_after: float
    status: str
    mouse: bool
    links: bool
    editor: tuple[str, ...]
    history: bool


def wishes(setting: Setting) -> Wishes:
    return decided(setting.config.ui, setting.environment.variables)


def decided(ui: Interface, variables: Mapping[str, str]) -> Wishes:
    notify: Notify = ui.notify if ui.notify != "auto" else "osc9" if _notifies(variables) else "bell"
    return Wishes(
        theme=ui.theme,
        keys=ui.keys,
        plain=ui.face == "plain",
        notify=notify,
        notify_after=ui.notify_after,
        status=ui.status,
        mouse=ui.mouse,
        links=ui.links == "on" or (ui.links == "auto" and _follows_links(variables)),
        editor=_words(ui.editor)
        or next((found for name in EDITORS if (found := _words(variables.get(name, "")))), ())
        or (FALLBACK,),
        history=ui.history,
    )


def _words(command: str) -> tuple[str, ...]:
    """A command as a list of words; one with an open quote is taken to be a path with a quote in it."""
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return (command,)


def _multiplexed(variables: Mapping[str, str]) -> bool:
    return bool(variables.get("TMUX") or variables.get("STY")) or _term(variables).startswith(("screen", "tmux"))


def _term(variables: Mapping[str, str]) -> str:
    return variables.get("TERM", "").lower()


def _program(variables: Mapping[str, str]) -> str:
    return variables.get("TERM_PROGRAM", "").lower()


def _notifies(variables: Mapping[str, str]) -> bool:
    """Not through tmux or screen: they keep such a message to themselves, and pass a bell on."""
    if _multiplexed(variables):
        return False
    return _program(variables) in NOTIFYING or _term(variables).startswith(TERMS)


def _follows_links(variables: Mapping[str, str]) -> bool:
    if _multiplexed(variables):
        return _program(variables) == "tmux" and _version(variables.get("TERM_PROGRAM_VERSION", "")) >= TMUX_LINKS
    since = any(_number(variables.get(name, "")) >= least for name, least in LINKING_SINCE.items())
    known = _program(variables) in LINKING or _term(variables).startswith(LINKING_TERMS)
    return known or since or bool(variables.get("WT_SESSION"))


def _version(text: str) -> tuple[int, ...]:
    """`3.4a` is 3.4."""
    return tuple(_number("".join(char for char in part if char.isdecimal())) for part in text.split(".")[:2])


def _number(text: str) -> int:
    return int(text[:9]) if text.isascii() and text.isdecimal() else 0
