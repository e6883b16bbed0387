"""Changes of vi that are no operator with a motion, as pure functions: None when there is nothing to change."""

from overt.faces.tui._vi_moves import first_letter
from overt.faces.tui.editor import Text, inserted, left, line_end, line_start, placed, right, swapped


def put(now: Text, piece: str, *, lines: bool, behind: bool) -> Text:
    """`lines`: it was taken as whole lines, its last line break included, and comes back as lines of its own."""
    if not lines:
        at = right(now) if behind and now.cursor < line_end(now) else now.cursor
        made = inserted(now._replace(cursor=at), piece)
        return made._replace(cursor=left(made))
    if behind:
        at = line_end(now)
        text, at = inserted(now._replace(cursor=at), "\n" + piece[:-1]).text, at + 1
    else:
        at = line_start(now)
        text = inserted(now._replace(cursor=at), piece).text
    return Text(text, first_letter(Text(text, at)))


def replaced(now: Text, letter: str, times: int) -> Text | None:
    """As many characters as there are times, none when the line has fewer; a line break replaces all of them."""
    end = now
    for _ in range(times):
        if end.cursor >= line_end(now):
            return None
        end = end._replace(cursor=right(end))
    made = swapped(now, now.cursor, end.cursor, letter if letter == "\n" else letter * times)
    return made if letter == "\n" else made._replace(cursor=left(made))


def joined(now: Text) -> Text | None:
    """The next line at the end of this one, with one space between where there is something on both sides."""
    text, end = now.text, line_end(now)
    if end == len(text):
        return None
    rest = end + 1
    while rest < len(text) and text[rest] in " \t":
        rest += 1
    bare = text[end - 1 : end] in ("", " ", "\n") or text[rest : rest + 1] in ("", "\n", ")")
    return placed(text[:end] + ("" if bare else " ") + text[rest:], end)
