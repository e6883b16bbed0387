"""Editing keys as in readline.

Ctrl+T is left to the chat, so transposing is Alt+T (words) and Ctrl+X Ctrl+T (characters). Ctrl+_ undoes, Alt+_ does
again what was undone. Ctrl+X Ctrl+P puts the paste at the cursor into the text itself.
"""

from collections.abc import Callable
from functools import partial

from overt.frontends.tui.composer import editor
from overt.frontends.tui.composer.buffer import Buffer
from overt.frontends.tui.composer.editor import EditText, Motion

MOVES: dict[str, Motion] = {
    "left": editor.left,
    "ctrl-b": editor.left,
    "shift-left": editor.left,
    "right": editor.right,
    "ctrl-f": editor.right,
    "shift-right": editor.right,
    "home": editor.line_start,
    "ctrl-a": editor.line_start,
    "shift-home": editor.line_start,
    "end": editor.line_end,
    "ctrl-e": editor.line_end,
    "shift-end": editor.line_end,
    "ctrl-home": editor.text_start,
    "ctrl-end": editor.text_end,
    "alt-b": editor.word_left,
    "ctrl-left": editor.word_left,
    "alt-left": editor.word_left,
    "alt-f": editor.word_right,
    "ctrl-right": editor.word_right,
    "alt-right": editor.word_right,
}
ERASES: dict[str, Motion] = {
    "backspace": editor.left,
    "ctrl-h": editor.left,
    "shift-backspace": editor.left,
    "delete": editor.right,
    "ctrl-d": editor.right,
}
CUTS: dict[str, Motion] = {
    "ctrl-k": editor.end_or_break,
    "ctrl-u": editor.start_or_break,
    "ctrl-w": editor.rubout_left,
    "alt-backspace": editor.word_left,
    "ctrl-backspace": editor.word_left,
    "alt-d": editor.word_right,
    "alt-delete": editor.word_right,
    "ctrl-delete": editor.word_right,
}
CHANGES: dict[str, Callable[[EditText], EditText]] = {
    "alt-t": editor.transpose_words,
    "ctrl-x ctrl-t": editor.transpose_characters,
    "alt-u": partial(editor.change_case, way="upper"),
    "alt-l": partial(editor.change_case, way="lower"),
    "alt-c": partial(editor.change_case, way="capitalise"),
}
OTHERS: dict[str, Callable[[Buffer], None]] = {
    "ctrl-y": Buffer.yank,
    "alt-y": Buffer.yank_older,
    "ctrl-_": Buffer.undo,
    "ctrl-/": Buffer.undo,
    "ctrl-7": Buffer.undo,
    "ctrl-x ctrl-u": Buffer.undo,
    "alt-_": Buffer.redo,
    "alt-/": Buffer.redo,
}


def press(buffer: Buffer, name: str) -> bool:
    """Apply a key. Return False if it means nothing here."""
    if motion := MOVES.get(name):
        buffer.go(motion(buffer.now))
    elif motion := ERASES.get(name):
        buffer.erase(motion)
    elif motion := CUTS.get(name):
        buffer.cut(motion)
    elif change := CHANGES.get(name):
        buffer.edit(change(buffer.now))
    elif other := OTHERS.get(name):
        other(buffer)
    else:
        return False
    return True
