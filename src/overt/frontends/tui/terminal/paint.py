"""Turn one row into bytes for the terminal: short style changes, links, and no foreign control characters."""

from overt.frontends.tui.terminal.rows import Row
from overt.frontends.tui.terminal.theme import BARE, Theme

LINK = "\x1b]8;;{}\x1b\\"
HARMLESS = set(map(chr, range(0x20, 0x7F))) | set(
    "…·•●○◌◐◑◒◓›‹»«→←↑↓✓✗✔✘│─┌┐└┘├┤┬┴┼╭╮╰╯▌█░▏▎—–“”‘’。，、：；！？（）「」『』【】《》"
)
"""Characters known to draw themselves and nothing else; `harmless` adds to them."""


def paint(row: Row, theme: Theme, *, links: bool) -> str:
    made: list[str] = []
    worn = BARE
    for span in row:
        if not span.text:
            continue
        look = theme.look(span.style) if span.style else BARE
        if look != worn:
            made.append(theme.turn(worn, look))
            worn = look
        text = harmless(span.text)
        if links and span.link:
            made += (LINK.format(address(span.link)), text, LINK.format(""))
        else:
            made.append(text)
    if worn != BARE:
        made.append("\x1b[m")
    return "".join(made)


def harmless(text: str) -> str:
    """The last guard: make control characters visible that a caller forgot, so that a row stays one row."""
    if HARMLESS.issuperset(text):
        return text
    for char in set(text) - HARMLESS:
        if not _draws_itself(char):
            from overt.lib.text import visible  # late: 0.8 ms

            return str(visible(text)).replace("\n", "\\x0a").replace("\t", " ")
        HARMLESS.add(char)
    return text


def address(link: str) -> str:
    """Return an address with only the characters that a terminal link may contain."""
    if all("!" <= char <= "~" for char in link):
        return link
    return "".join(
        char if "!" <= char <= "~" else "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "replace"))
        for char in link
    )


def _draws_itself(char: str) -> bool:
    if "\u3400" <= char <= "\u9fff" or "\u3041" <= char <= "\u30ff" or "\uac00" <= char <= "\ud7a3":
        return char.isprintable()
    if char in "\n\t":
        return False
    from overt.lib.text import visible  # late: 0.8 ms

    return visible(char) == char
