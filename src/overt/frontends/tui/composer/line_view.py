"""Show one line of edited text. It scrolls sideways, so that the cursor is always seen."""

from overt.frontends.tui.composer.editor import EditText
from overt.frontends.tui.terminal.verbatim_text import harmless
from overt.lib.display_width import fitting_length, width


def line_view(edited: EditText, room: int) -> tuple[str, int]:
    """Return the part of a line that fits into `room` columns, and the column of the cursor in it."""
    text, cursor, near = edited.text, edited.cursor, 4 * room  # never all of it: a paste may be a megabyte
    before, after = harmless(text[max(cursor - near, 0) : cursor]), harmless(text[cursor : cursor + near])
    while width(before) > room:
        before = before[1:]
    after = after[: fitting_length(after, room - width(before))]
    return before + after, width(before)
