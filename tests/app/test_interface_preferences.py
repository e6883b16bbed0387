"""What `auto` comes to in the terminals there are."""

from pathlib import Path

import pytest

from overt.app.chat.interface import ChatPreferences, decide_preferences, preferences_of
from overt.app.options import Options
from overt.app.setting import read_setting
from overt.core.settings import Interface


@pytest.mark.parametrize(
    ("variables", "notify", "links"),
    [
        ({"TERM": "xterm-256color"}, "bell", False),
        ({"TERM": "xterm-kitty"}, "osc9", True),
        ({"TERM": "foot"}, "osc9", True),
        ({"TERM": "alacritty"}, "bell", True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, "osc9", True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, "osc9", True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "vscode"}, "bell", True),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, "bell", False),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7003"}, "bell", True),
        ({"TERM": "xterm-256color", "VTE_VERSION": "4803"}, "bell", False),
        ({"TERM": "xterm-256color", "WT_SESSION": "x"}, "bell", True),
        ({"TERM": "tmux-256color", "TMUX": "x", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.4"}, "bell", True),
        ({"TERM": "screen", "TMUX": "x", "TERM_PROGRAM": "tmux", "TERM_PROGRAM_VERSION": "3.3a"}, "bell", False),
        ({"TERM": "xterm-kitty", "TMUX": "x"}, "bell", False),
        ({"TERM": "linux"}, "bell", False),
        ({}, "bell", False),
    ],
)
def test_notes_and_links_go_only_where_the_terminal_is_known_to_take_them(
    variables: dict[str, str], notify: str, links: bool
) -> None:
    found = decide_preferences(Interface(), variables)
    assert (found.notify, found.links) == (notify, links)


def test_what_was_set_wins_over_the_terminal() -> None:
    known = {"TERM": "xterm-kitty", "VISUAL": "emacs -nw", "EDITOR": "nano"}
    ui = Interface(
        theme="dark",
        keys="vi",
        face="plain",
        notify="off",
        notify_after=3.0,
        status="{model}",
        mouse=False,
        links="off",
        editor="'my editor' --wait",
        history=False,
    )
    assert decide_preferences(ui, known) == ChatPreferences(
        theme="dark",
        keys="vi",
        plain=True,
        notify="off",
        notify_after=3.0,
        status="{model}",
        mouse=False,
        links=False,
        editor=("my editor", "--wait"),
        history=False,
    )
    assert decide_preferences(Interface(links="on", notify="osc9"), {}).links is True
    assert decide_preferences(Interface(notify="osc9"), {}).notify == "osc9"


@pytest.mark.parametrize(
    ("variables", "editor"),
    [
        ({"VISUAL": "emacs -nw", "EDITOR": "nano"}, ("emacs", "-nw")),
        ({"VISUAL": " ", "EDITOR": "nano"}, ("nano",)),
        ({"EDITOR": "it's"}, ("it's",)),
        ({}, ("vi",)),
    ],
)
def test_the_editor_is_the_persons_own(variables: dict[str, str], editor: tuple[str, ...]) -> None:
    assert decide_preferences(Interface(), variables).editor == editor


def test_they_are_read_for_a_folder(tmp_path: Path, a_home_of_its_own: Path) -> None:
    place = a_home_of_its_own / ".config/overt"
    place.mkdir(parents=True)
    (place / "config.toml").write_text('[ui]\ntheme = "light"\n')
    assert preferences_of(read_setting(Options(directory=str(tmp_path)))).theme == "light"
