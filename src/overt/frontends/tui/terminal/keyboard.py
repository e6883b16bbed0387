"""Bytes of a terminal become keys: what xterm, kitty, rxvt, tmux and the Linux console send, however it is cut.

A sequence is taken by its shape first and by its meaning second, so that one nobody knows is swallowed whole and
never becomes text. Only a lone ESC cannot be told from the beginning of a sequence: it waits (`pending`) until more
comes or `flush` says that nothing will.
"""

from typing import NamedTuple

from overt.frontends.tui.terminal.key_names import (
    ALT,
    CONTROLS,
    CTRL,
    FINALS,
    LINUX,
    RXVT,
    SHIFT,
    SS3,
    TILDES,
    UNICODE_KEYS,
    key_name,
    prefix,
)

PASTE, PASTE_END = b"\x1b[200~", b"\x1b[201~"
STRINGS = b"]PX^_"
"""What opens a string that ends with ST: OSC, DCS, SOS, PM, APC."""
LONGEST = 64
"""Bytes of a CSI sequence; more is no sequence."""
LONGEST_STRING = 4096


class Key(NamedTuple):
    """`name` says which; `text` what was typed, pasted or answered."""

    name: str
    text: str = ""


class KeyDecoder:
    def __init__(self) -> None:
        self._held = b""
        self._pasted: bytearray | None = None
        self._searched = 0

    @property
    def pending(self) -> bool:
        """Whether bytes wait that are keys by themselves if nothing follows soon. A sequence or a character that has
        begun is none of these: over a slow line its rest may come late, and would be text without it."""
        held = self._held
        if self._pasted is not None or held[:1] != b"\x1b" or len(held) > 2:
            return False
        return len(held) == 1 or held[1] == 0x1B or 0x20 <= held[1] < 0x7F

    def feed(self, data: bytes) -> list[Key]:
        keys: list[Key] = []
        data, self._held = self._held + data, b""
        at = 0
        while at < len(data) or self._pasted is not None:
            if self._pasted is not None:
                rest = self._paste(data[at:], keys)
                if rest is None:
                    return keys
                data, at = rest, 0
                continue
            if data[at] == 0x1B:
                taken = self._escape(data, at, keys)
                if not taken:
                    break
                at += taken
                continue
            end = data.find(b"\x1b", at)
            text, kept = _whole(data[at : end if end >= 0 else len(data)], last=end < 0)
            _typed(text, keys)
            at = end if end >= 0 else len(data) - kept
            if kept:
                break
        self._held = data[at:]
        return keys

    def flush(self) -> list[Key]:
        """Nothing more came: what waits is what it is."""
        if not self.pending:
            return []
        data, self._held = self._held, b""
        return [Key("esc")] * len(data) if data[-1] == 0x1B else [_with_alt(Key("text", chr(data[1])))]

    def _paste(self, data: bytes, keys: list[Key]) -> bytes | None:
        """What follows the paste, or None if its end has not come. Every byte is searched once."""
        held = self._pasted
        assert held is not None
        held += data
        end = held.find(PASTE_END, max(self._searched - len(PASTE_END), 0))
        self._searched = len(held)
        if end < 0:
            return None
        keys.append(Key("paste", _lines(bytes(held[:end]))))
        self._pasted = None
        return bytes(held[end + len(PASTE_END) :])

    def _escape(self, data: bytes, at: int, keys: list[Key]) -> int:
        """The length of the sequence at `at`, or 0 if it is not complete."""
        if at + 1 >= len(data):
            return 0
        second = data[at + 1]
        if second == 0x5B:
            return self._csi(data, at, keys)
        if second in STRINGS:
            return _string(data, at, keys)
        if second == 0x4F:
            return _ss3(data, at, keys)
        if second == 0x1B:
            return self._doubled(data, at, keys)
        size = _length(second)
        if at + 1 + size > len(data) and _cut(data[at + 1 :]):
            return 0
        text = data[at + 1 : at + 1 + size].decode("utf-8", "replace")
        inner: list[Key] = []
        _typed(text[:1], inner)
        size = len(text[:1].encode()) if text[:1] != "\ufffd" else 1
        keys += map(_with_alt, inner)
        return 1 + size

    def _doubled(self, data: bytes, at: int, keys: list[Key]) -> int:
        """ESC before a sequence is Alt with that key; before anything else it is a key of its own."""
        if at + 2 >= len(data):
            return 0
        if data[at + 2] not in b"[O":
            keys.append(Key("esc"))
            return 1
        inner: list[Key] = []
        taken = self._escape(data, at + 1, inner)
        if not taken:
            return 0
        if inner and inner[0].name in _PLAIN:
            keys.append(Key(key_name(inner[0].name, ALT)))
        else:
            if self._pasted is not None or inner:
                keys.append(Key("esc"))
            keys += inner
        return 1 + taken

    def _csi(self, data: bytes, at: int, keys: list[Key]) -> int:
        end = at + 2
        if data[end : end + 1] == b"[":  # the Linux console: CSI [ A is F1
            if end + 1 >= len(data):
                return 0
            keys.append(Key(LINUX.get(chr(data[end + 1]), "unknown")))
            return 4
        while (
            end < len(data) and 0x20 <= data[end] <= 0x3F and not (data[end] == 0x24 and data[at + 2 : end].isdigit())
        ):
            end += 1
        if end - at > LONGEST:
            keys.append(Key("unknown"))
            return end - at
        if end >= len(data):
            return 0
        final, body = chr(data[end]), data[at + 2 : end].decode("ascii")
        if data[end] < 0x20 or data[end] > 0x7E:
            keys.append(Key("unknown"))  # broken off by a control byte, which is looked at by itself
            return end - at
        if final == "M" and not body:
            if at + 6 > len(data):
                return 0
            keys.append(Key("unknown"))  # X10 coordinates follow as three bytes, which are no text
            return 6
        if final == "~" and body == "200":
            self._pasted, self._searched = bytearray(), 0
        else:
            keys.append(_meaning(body, final))
        return end + 1 - at


_PLAIN = {*FINALS.values(), *TILDES.values(), *SS3.values()} - {"shift-tab"}


def _with_alt(key: Key) -> Key:
    """Alt is sent as ESC before the key."""
    if key.name == "text":
        return Key(key_name(key.text.lower(), ALT | (SHIFT if key.text != key.text.lower() else 0)))
    return Key(f"ctrl-alt-{key.name[5:]}" if key.name.startswith("ctrl-") else f"alt-{key.name}")


def _whole(data: bytes, *, last: bool) -> tuple[str, int]:
    """The text, and how many bytes at its end are a character that has only begun."""
    try:
        return data.decode(), 0
    except UnicodeDecodeError:
        kept = 0
        for back in range(1, min(4, len(data) + 1) if last else 0):
            if _cut(data[-back:]):
                kept = back
        return data[: len(data) - kept].decode("utf-8", "replace"), kept


def _length(first: int) -> int:
    return 1 if first < 0xC2 or first > 0xF4 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4


def _cut(data: bytes) -> bool:
    """Whether more bytes could make one character of these."""
    if not data or len(data) >= _length(data[0]):
        return False
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        return wrong.reason == "unexpected end of data"
    return False


def _typed(text: str, keys: list[Key]) -> None:
    """Printable text stays together, control characters are keys."""
    start = 0
    for at, char in enumerate(text):
        if char >= " " and not "\x7f" <= char <= "\x9f":
            continue
        if at > start:
            _text(text[start:at], keys)
        keys.append(Key(CONTROLS.get(char, "unknown")))
        start = at + 1
    if start < len(text):
        _text(text[start:], keys)


def _text(text: str, keys: list[Key]) -> None:
    if keys and keys[-1].name == "text":
        keys[-1] = Key("text", keys[-1].text + text)
    else:
        keys.append(Key("text", text))


def _lines(pasted: bytes) -> str:
    return pasted.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def _ss3(data: bytes, at: int, keys: list[Key]) -> int:
    """ESC O, a modifier in some terminals, and the key."""
    end = at + 2
    while end < len(data) and 0x30 <= data[end] <= 0x39 and end - at < 6:
        end += 1
    if end >= len(data):
        return 0
    if not 0x20 < data[end] < 0x7F:
        keys.append(_with_alt(Key("text", "O")))
        return 2
    name = SS3.get(chr(data[end]))
    held = prefix(data[at + 2 : end].decode("ascii"))
    keys.append(Key(key_name(name, held)) if name else Key("unknown"))
    return end + 1 - at


def _string(data: bytes, at: int, keys: list[Key]) -> int:
    """An answer of the terminal up to ST or BEL. Another control byte breaks it off: it is a key."""
    for end in range(at + 2, len(data)):
        byte = data[end]
        if byte >= 0x20:
            continue
        if byte == 0x1B and end + 1 == len(data):
            return 0
        size = 1 if byte == 0x07 else 2 if data[end : end + 2] == b"\x1b\\" else 0
        keys.append(Key("reply", data[at + 1 : end].decode("utf-8", "replace")) if size else Key("unknown"))
        return end + size - at
    if len(data) - at <= LONGEST_STRING:
        return 0
    keys.append(Key("unknown"))
    return len(data) - at


def _meaning(body: str, final: str) -> Key:
    if body.startswith("<") and final in "Mm":
        return _mouse(body[1:], final)
    if final in "RcntyS" and (body[:1] in "?>=" or final in "Rcnty") and not (final == "R" and body in ("", "1")):
        if final == "R" and body.startswith("1;") and body[2:] in "2345678":
            return Key(key_name("f3", prefix(body[2:])))
        return Key("reply", f"[{body}{final}")
    if not body and final in "IO":
        return Key("focus-in" if final == "I" else "focus-out")
    if final == "u":
        return Key("reply", f"[{body}u") if body.startswith("?") else _unicode(body)
    if final in "~^$@":
        return _tilde(body, final)
    parts = body.split(";")
    name = FINALS.get(final) or RXVT.get(final)
    if not name or len(parts) > 2 or not all(part.replace(":", "").isdigit() for part in parts if part):
        return Key("unknown")
    if final in RXVT:
        return Key(name)
    if final == "Z":
        return Key("shift-tab")
    return _released(parts[-1]) or Key(key_name(name, prefix(parts[-1]) if len(parts) == 2 else 0))


def _released(modifier: str) -> Key | None:
    """kitty may tell that a key was let go, which means nothing here."""
    return Key("unknown") if modifier.endswith(":3") else None


def _tilde(body: str, final: str) -> Key:
    parts = body.split(";")
    if parts[0] == "27" and len(parts) == 3:  # modifyOtherKeys: 27 ; modifier ; character
        return _unicode(f"{parts[2]};{parts[1]}")
    name = TILDES.get(parts[0])
    if not name or len(parts) > 2:
        return Key("unknown")
    held = prefix(parts[1]) if len(parts) == 2 else 0
    held |= {"~": 0, "^": CTRL, "$": SHIFT, "@": SHIFT | CTRL}[final]
    return _released(parts[-1]) or Key(key_name(name, held))


def _unicode(body: str) -> Key:
    """kitty's CSI code ; modifier u, where the code may bring its shifted form along."""
    parts = body.split(";")
    code, _, others = parts[0].partition(":")
    modifier = parts[1] if len(parts) > 1 else ""
    if not code.isdigit() or len(code) > 7 or modifier.endswith(":3"):
        return Key("unknown")
    held, number = prefix(modifier), int(code)
    name = UNICODE_KEYS.get(number)
    if name:
        return Key("shift-tab") if name == "tab" and held == SHIFT else Key(key_name(name, held))
    if number < 0x20 or 0x7F <= number < 0xA0 or 0xD800 <= number < 0xF900 or number > 0x10FFFF:
        return Key("unknown")
    char = chr(number)
    if held & (CTRL | ALT):
        return Key(key_name(char.lower(), held & ~SHIFT if char.lower() == char.upper() else held))
    shifted = others.split(":")[0]
    if held & SHIFT:
        char = chr(int(shifted)) if shifted.isdigit() and 0x20 < int(shifted) < 0xD800 else char.upper()
    return Key("text", char)


def _mouse(body: str, final: str) -> Key:
    parts = body.split(";")
    if len(parts) != 3 or not all(part.isdigit() for part in parts):
        return Key("unknown")
    button, column, line = map(int, parts)
    if button & 64:
        return Key("mouse", "scroll-down" if button & 1 else "scroll-up")
    if button & 0b1100011 == 0 and final == "M":
        return Key("mouse", f"click {line - 1} {column - 1}")
    return Key("mouse", "")
