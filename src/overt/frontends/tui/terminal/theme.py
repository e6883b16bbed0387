"""What the style names mean in a dark and in a light terminal, with many colours, sixteen, or none."""

from typing import Literal, NamedTuple

Depth = Literal[0, 16, 256]
FLAGS = {"bold": 1, "dim": 2, "italic": 3, "underline": 4, "reverse": 7, "strike": 9}
ENDS = {1: 22, 2: 22, 3: 23, 4: 24, 7: 27, 9: 29}


class TextAttributes(NamedTuple):
    """Colours as the parameters that set them (`38;5;75`), "" for the terminal's own."""

    ink: str = ""
    paper: str = ""
    flags: frozenset[int] = frozenset()


BARE = TextAttributes()

# name: (256 colours dark, 256 light, 16 dark, 16 light, flags with colours, flags without). A colour is a number or
# `ink/paper`; "" is the terminal's own. Bright black is left alone in 16 colours: some palettes draw it as black.
TABLE: dict[str, tuple[str, str, str, str, str, str]] = {
    "user": ("117", "25", "14", "4", "bold", "bold"),
    "answer": ("", "", "", "", "", ""),
    "plan": ("183", "91", "13", "5", "", ""),
    "tool": ("80", "23", "6", "6", "", ""),
    "error": ("203", "160", "9", "1", "", "bold"),
    "warn": ("215", "94", "11", "3", "", "bold"),
    "good": ("114", "22", "10", "2", "", ""),
    "accent": ("111", "26", "12", "4", "", "bold"),
    "muted": ("246", "242", "", "", "16:dim", "dim"),
    "quote": ("249", "240", "", "", "italic", "dim"),
    "link": ("75", "26", "12", "4", "underline", "underline"),
    "code": ("216", "124", "11", "1", "", ""),
    "head": ("123", "24", "14", "4", "bold", "bold"),
    "border": ("240", "250", "", "", "16:dim", "dim"),
    "add": ("114", "22", "10", "2", "", ""),
    "remove": ("210", "124", "9", "1", "", ""),
    "hunk": ("110", "25", "6", "6", "", "dim"),
    "add.word": ("194/22", "22/157", "0/2", "0/2", "", "reverse"),
    "remove.word": ("224/88", "88/224", "15/1", "15/1", "", "reverse"),
    "lineno": ("242", "246", "", "", "16:dim", "dim"),
    "cite": ("", "", "", "", "underline", "underline"),
    "cite.broken": ("203", "160", "9", "1", "strike", "strike"),
    "hazard": ("231/124", "231/160", "15/1", "15/1", "bold", "bold reverse"),
    "key": ("229", "94", "11", "3", "bold", "bold"),
    "selected": ("", "", "", "", "reverse", "reverse"),
    "mode.review": ("111", "26", "12", "4", "bold", "bold"),
    "mode.auto": ("114", "22", "10", "2", "bold", "bold"),
    "mode.plan": ("183", "91", "13", "5", "bold", "bold"),
    "mode.yolo": ("231/124", "231/160", "15/1", "15/1", "bold", "bold reverse"),
    "tok.keyword": ("176", "127", "13", "5", "", ""),
    "tok.name": ("117", "25", "14", "4", "", ""),
    "tok.string": ("150", "22", "10", "2", "", ""),
    "tok.number": ("216", "94", "11", "3", "", ""),
    "tok.comment": ("245", "241", "", "", "italic 16:dim", "dim"),
    "tok.operator": ("252", "238", "", "", "", ""),
    "tok.builtin": ("80", "23", "6", "6", "", ""),
    "tok.type": ("222", "58", "11", "3", "", ""),
    "tok.meta": ("110", "61", "6", "6", "", ""),
}
STYLES = (*FLAGS, *TABLE)


class Theme(NamedTuple):
    name: Literal["dark", "light"]
    depth: Depth
    looks: dict[str, TextAttributes]
    turns: dict[tuple[TextAttributes, TextAttributes], str]

    def look(self, style: str) -> TextAttributes:
        """What one or more names mean together; a later colour wins."""
        known = self.looks.get(style)
        if known is not None:
            return known
        made = BARE
        for name in style.split():
            part = self.looks.get(name) or _look(name, self.name, self.depth)
            made = TextAttributes(part.ink or made.ink, part.paper or made.paper, made.flags | part.flags)
        self.looks[style] = made
        return made

    def sgr(self, style: str) -> str:
        """What sets the style where none is set; "" when it means nothing."""
        return self.turn(BARE, self.look(style))

    def turn(self, old: TextAttributes, new: TextAttributes) -> str:
        """The shortest that leads from one look to the other."""
        known = self.turns.get((old, new))
        if known is None:
            known = self.turns[old, new] = _turn(old, new)
        return known


def theme(name: Literal["dark", "light"], *, depth: Depth) -> Theme:
    return Theme(name, depth, {"": BARE}, {})


def _look(name: str, shade: str, depth: Depth) -> TextAttributes:
    if name in FLAGS:
        return BARE if name == "italic" and not depth else TextAttributes(flags=frozenset((FLAGS[name],)))
    dark, light, dark16, light16, flags, bare = TABLE[name]
    if not depth:
        return TextAttributes(flags=frozenset(FLAGS[flag] for flag in bare.split()))
    colours = {(256, "dark"): dark, (256, "light"): light, (16, "dark"): dark16, (16, "light"): light16}[depth, shade]
    ink, _, paper = colours.partition("/")
    kept = [flag.removeprefix("16:") for flag in flags.split() if depth == 16 or not flag.startswith("16:")]
    return TextAttributes(_colour(ink, depth, 30), _colour(paper, depth, 40), frozenset(FLAGS[flag] for flag in kept))


def _colour(number: str, depth: Depth, ground: int) -> str:
    if not number:
        return ""
    if depth == 256:
        return f"{ground + 8};5;{number}"
    value = int(number)
    return str(ground + value if value < 8 else ground + 52 + value)


def _turn(old: TextAttributes, new: TextAttributes) -> str:
    if old == new:
        return ""
    whole = [*map(str, sorted(new.flags)), *filter(None, (new.ink, new.paper))]
    gone = old.flags - new.flags
    ended = {ENDS[flag] for flag in gone}
    kept = {flag for flag in old.flags & new.flags if ENDS[flag] not in ended}
    steps = [*map(str, sorted(ended)), *map(str, sorted(new.flags - kept))]
    if new.ink != old.ink:
        steps.append(new.ink or "39")
    if new.paper != old.paper:
        steps.append(new.paper or "49")
    if not whole:
        return "\x1b[m"
    ways = ";".join(steps), ";".join(whole) if old == BARE else ";".join(["0", *whole])
    return f"\x1b[{min(ways, key=len)}m"


def shade(reply: str) -> bool | None:
    """Whether the terminal's answer about its background (`]11;rgb:1e1e/1e1e/2e2e`) names a dark one; None if it is
    another answer."""
    code, _, colour = reply.partition(";")
    parts = colour.removeprefix("rgba:").removeprefix("rgb:").split("/")
    if code != "]11" or len(parts) < 3:
        return None
    try:
        red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in parts[:3])
    except (ValueError, ZeroDivisionError):
        return None
    return bool(0.299 * red + 0.587 * green + 0.114 * blue < 0.5)
