"""The names of keys in the sequences that terminals send."""

FINALS = {
    "A": "up", "B": "down", "C": "right", "D": "left", "E": "begin", "F": "end", "H": "home",
    "P": "f1", "Q": "f2", "R": "f3", "S": "f4", "Z": "shift-tab",
}  # fmt: skip
RXVT = {"a": "shift-up", "b": "shift-down", "c": "shift-right", "d": "shift-left"}
TILDES = {
    "1": "home", "2": "insert", "3": "delete", "4": "end", "5": "pageup", "6": "pagedown", "7": "home", "8": "end",
    "11": "f1", "12": "f2", "13": "f3", "14": "f4", "15": "f5", "17": "f6", "18": "f7", "19": "f8", "20": "f9",
    "21": "f10", "23": "f11", "24": "f12", "25": "f13", "26": "f14", "28": "f15", "29": "f16", "31": "f17",
    "32": "f18", "33": "f19", "34": "f20",
}  # fmt: skip
SS3 = {
    **{key: FINALS[key] for key in "ABCDEFHPQRS"},
    "a": "ctrl-up", "b": "ctrl-down", "c": "ctrl-right", "d": "ctrl-left", "M": "enter", "I": "tab",
}  # fmt: skip
LINUX = {"A": "f1", "B": "f2", "C": "f3", "D": "f4", "E": "f5"}
CONTROLS = {
    **{chr(code): f"ctrl-{chr(code + 0x60)}" for code in range(1, 27)},
    "\t": "tab", "\r": "enter", "\x7f": "backspace", "\x08": "backspace", "\0": "ctrl-space",
    "\x1c": "ctrl-\\", "\x1d": "ctrl-]", "\x1e": "ctrl-^", "\x1f": "ctrl-_",
}  # fmt: skip
UNICODE_KEYS = {
    9: "tab", 13: "enter", 27: "esc", 127: "backspace", 8: "backspace", 57348: "insert", 57349: "delete",
    57350: "left", 57351: "right", 57352: "up", 57353: "down", 57354: "pageup", 57355: "pagedown", 57356: "home",
    57357: "end", 57414: "enter", 57417: "left", 57418: "right", 57419: "up", 57420: "down", 57421: "pageup",
    57422: "pagedown", 57423: "home", 57424: "end", 57425: "insert", 57426: "delete",
    **{57376 + number: f"f{13 + number}" for number in range(23)},
}  # fmt: skip
SHIFT, ALT, CTRL = 1, 2, 4


def prefix(modifier: str) -> int:
    """Return the modifier keys held down. Terminals send their sum plus one; Meta counts as Alt, locks as nothing."""
    number = modifier.partition(":")[0]
    if not number.isdigit() or len(number) > 3:
        return 0
    held = max(int(number) - 1, 0)
    return held & 7 | (ALT if held & 32 else 0)


def key_name(name: str, held: int) -> str:
    made = ("ctrl-" if held & CTRL else "") + ("alt-" if held & ALT else "") + ("shift-" if held & SHIFT else "") + name
    return {" ": "space"}.get(name, made) if not held else made.replace("- ", "-space")
