"""What a terminal chat needs before it can look as it should, read at once and before a conversation is opened."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

from overt.app.chat.input_history import Prompts
from overt.app.chat.interface import Wishes, wishes
from overt.app.setting import Setting
from overt.config.paths import read_environment

Depth = Literal[0, 16, 256]


class Start(NamedTuple):
    """`history` are earlier prompts, the oldest first."""

    wishes: Wishes
    prompts: Prompts
    history: list[str]


class Looks(NamedTuple):
    """What the environment says of the terminal: `dark` is its background, where it is told; None where it is not.

    `reflows`: rows are broken anew when the window changes. `tmux`: it tells of that late.
    """

    depth: Depth
    dark: bool | None
    reflows: bool
    tmux: bool


def looks() -> Looks:
    environment = read_environment()
    return Looks(
        depth=depth_of(environment.variables),
        dark=dark_of(environment.get("COLORFGBG")),
        reflows=not environment.get("XTERM_VERSION"),
        tmux=bool(environment.get("TMUX")),
    )


def start(setting: Setting) -> Start:
    found = wishes(setting)
    prompts = Prompts(setting.environment.data_dir)
    return Start(wishes=found, prompts=prompts, history=prompts.load() if found.history else [])


def depth_of(variables: Mapping[str, str]) -> Depth:
    """How many colours: none where none are wanted, 256 where the terminal says that it has them."""
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


def dark_of(told: str) -> bool | None:
    """`15;0` is light letters on a dark ground; some terminals say it without being asked."""
    ground = told.rpartition(";")[2]
    if not ground.isascii() or not ground.isdecimal() or len(ground) > 2:
        return None
    return int(ground) not in (7, 15)
