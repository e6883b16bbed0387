"""The preferences of the user for a terminal chat, with every `auto` decided by what the terminal can do."""

import shlex
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct

from overt.app.setting import Setting
from overt.core.settings import Interface
from overt.lib.text import whole_number

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


class ChatPreferences(Struct, frozen=True, kw_only=True):
    """`Interface` with every `auto` decided except that of the theme, which follows the background of the terminal."""

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


def preferences_of(setting: Setting) -> ChatPreferences:
    return decide_preferences(setting.config.ui, setting.environment.variables)


def decide_preferences(ui: Interface, variables: Mapping[str, str]) -> ChatPreferences:
    notify: Notify = ui.notify if ui.notify != "auto" else "osc9" if _notifies(variables) else "bell"
    return ChatPreferences(
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
    """Split a command into words. One with an open quote is taken to be a path with a quote in it."""
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return (command,)


def _terminal(variables: Mapping[str, str]) -> tuple[str, str, bool]:
    """Return what the terminal calls itself, its type, and whether tmux or screen stands in between."""
    program, term = (variables.get(name, "").lower() for name in ("TERM_PROGRAM", "TERM"))
    return program, term, bool(variables.get("TMUX") or variables.get("STY")) or term.startswith(("screen", "tmux"))


def _notifies(variables: Mapping[str, str]) -> bool:
    """True if the terminal shows notifications. tmux and screen do not pass them on, only a bell."""
    program, term, multiplexed = _terminal(variables)
    return not multiplexed and (program in NOTIFYING or term.startswith(TERMS))


def _follows_links(variables: Mapping[str, str]) -> bool:
    program, term, multiplexed = _terminal(variables)
    if multiplexed:
        return program == "tmux" and _version(variables.get("TERM_PROGRAM_VERSION", "")) >= TMUX_LINKS
    since = any((whole_number(variables.get(name, "")) or 0) >= least for name, least in LINKING_SINCE.items())
    known = program in LINKING or term.startswith(LINKING_TERMS)
    return known or since or bool(variables.get("WT_SESSION"))


def _version(text: str) -> tuple[int, ...]:
    """Read the first two numbers of a version: `3.4a` is 3.4."""
    return tuple(whole_number("".join(filter(str.isdecimal, part))) or 0 for part in text.split(".")[:2])
