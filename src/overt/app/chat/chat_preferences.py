"""What a terminal chat reads before a conversation is opened: preferences, earlier prompts, traits of the terminal."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from overt.app.chat.input_history import InputHistory
from overt.app.chat.interface import ChatPreferences, preferences_of
from overt.app.setting import Setting
from overt.config.paths import read_environment

Depth = Literal[0, 16, 256]


class ChatStart(NamedTuple):
    """`history` are earlier prompts, the oldest first."""

    preferences: ChatPreferences
    prompts: InputHistory
    history: list[str]


class TerminalTraits(NamedTuple):
    """What the environment says of the terminal. `dark` is None if its background is unknown.

    A terminal that `reflows` wraps rows anew when the window changes; `tmux` reports that late.
    """

    depth: Depth
    dark: bool | None
    reflows: bool
    tmux: bool


def terminal_traits() -> TerminalTraits:
    environment = read_environment()
    return TerminalTraits(
        depth=depth_of(environment.variables),
        dark=dark_of(environment.get("COLORFGBG")),
        reflows=not environment.get("XTERM_VERSION"),
        tmux=bool(environment.get("TMUX")),
    )


def start(setting: Setting) -> ChatStart:
    preferences, prompts = preferences_of(setting), InputHistory(setting.environment.data_dir)
    return ChatStart(preferences, prompts, history=prompts.load() if preferences.history else [])


def depth_of(variables: Mapping[str, str]) -> Depth:
    """Return how many colours to use: none if the user wants none, 256 if the terminal says that it has them."""
    if variables.get("NO_COLOR") or variables.get("AGENT_NO_COLOR"):
        return 0
    term = variables.get("TERM", "")
    rich = (
        variables.get("COLORTERM")
        or "256" in term
        or "direct" in term
        or term.startswith(("tmux", "foot", "alacritty"))
    )
    return 256 if rich else 16


def dark_of(colours: str) -> bool | None:
    """Read COLORFGBG, which some terminals set: `15;0` is light letters on a dark background."""
    background = colours.rpartition(";")[2]
    if not background.isascii() or not background.isdecimal() or len(background) > 2:
        return None
    return int(background) not in (7, 15)
