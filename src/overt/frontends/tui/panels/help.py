"""The help inspector: every key and every command in a line each, in two columns where there is room."""

from collections.abc import Sequence
from itertools import zip_longest

from overt.app.slash_command import Command
from overt.frontends.tui.panels.pager import LEAVING, Pager, PanelInputs
from overt.frontends.tui.terminal.rows import BLANK, Row, Span, cut, pad, wrap
from overt.lib.display_width import width
from overt.lib.translations import say, say_columns

WIDE = 110
GAP = 3
KEYS = {
    "keys": (
        "send", "newline", "history", "complete", "mode", "details", "todos", "editor", "image", "stash", "redraw",
        "suspend", "rewind", "quit",
    ),
    "working": ("steer", "queue", "interrupt", "agents"),
    "asked": ("once", "session", "always", "no", "no_at_once"),
    "signs": ("slash", "at", "shell", "note", "question"),
}  # fmt: skip


def make(inputs: PanelInputs) -> Pager:
    """`?` opens it and closes it."""
    pager = Pager(say("tui.help.title"), lambda columns: help_rows(columns, inputs.commands))
    pager.leaving = (*LEAVING, "?")
    return pager


def help_rows(columns: int, commands: Sequence[Command]) -> list[Row]:
    if columns < WIDE:
        return [*_keys(columns), BLANK, *_commands(columns, commands)]
    left = (columns - GAP) * 45 // 100
    right = columns - GAP - left
    pairs = zip_longest(_keys(left), _commands(right, commands), fillvalue=BLANK)
    return [(*pad(cut(one, left), left + GAP), *other) if other else one for one, other in pairs]


def _keys(columns: int) -> list[Row]:
    rows: list[Row] = []
    told = {name: [say_columns(f"tui.help.{key}") for key in keys] for name, keys in KEYS.items()}
    head = min(max(width(keys) for lines in told.values() for keys, _ in lines), max(columns // 3, 8))
    for name, lines in told.items():
        rows += [*([BLANK] if rows else []), (Span(say(f"tui.help.{name}"), "bold"),)]
        for keys, meaning in lines:
            rows += _entry(Span(keys, "key"), meaning, head, columns)
    return rows


def _commands(columns: int, commands: Sequence[Command]) -> list[Row]:
    head = max(len(command.name) for command in commands) + 1
    rows: list[Row] = [(Span(say("tui.help.commands"), "bold"),)]
    for command in commands:
        rows += _entry(Span(f"/{command.name}", "key"), command.describe(), head, columns)
    return rows


def _entry(head: Span, meaning: str, room: int, columns: int) -> list[Row]:
    """A name and what it means beside it; below it where the name is too long."""
    margin = (Span(" " * (room + 4)),)
    if width(head.text) > room:
        return [cut((Span("  "), head), columns), *wrap([Span(meaning)], columns, first=margin)]
    return wrap([Span(meaning)], columns, first=pad((Span("  "), head), room + 4), rest=margin)
