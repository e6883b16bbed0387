"""Secrets out of text before it is shown, recorded or sent.

Two kinds are known: values (keys in use, variables whose names say so) and the forms that vendors give their
keys. Both are taken out of everything, what tools read included. That costs something: a model that is not
shown a key cannot name the line it stands in, so `edit` cannot match that line; it can change what is around
it, and a change that carries the mark is refused before it could overwrite the key (see agent/settle). The
other way, forms left in what is read, would put every key that lies in a file into the session and on the
wire. So that ordinary code stays editable byte for byte, only forms that are keys and nothing else are here:
a vendor's prefix, a length, a digit. There is no rule for `password = …` or for a long random word.
Test data that has such a form can be let through by `redact.allow` (see lib/redaction/allow.py).
"""

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Protocol

HIDDEN = "[redacted" + " secret]"
"""Unlike anything a file would say of itself, this one included: a call that writes it is refused."""

SHORTEST, TELLING = 6, 3
SHORTEST_FORM = 14
"""An address with a password of eight characters and no name; every other form is longer."""
REMEMBERED = 1024
"""Texts longer than this are remembered once they are cleaned; shorter ones would only push them out."""
LONGEST = 8 * 1024
"""No key is longer; text that is held back because it may become one is let go of at this size."""

TOKEN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./+=~:@%!$&*,;^#")
"""What a key, or an address with a password in it, is made of."""
KEY_STUFF = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/=\r\n"

ADDRESS = "://"
DIGIT = r"(?=[A-Za-z_-]{0,64}\d)"
WIDE, NARROW = "[A-Za-z0-9_-]", "[A-Za-z0-9]"
FORMS: dict[str, str] = {
    **dict.fromkeys(("sk-",), rf"{DIGIT}{WIDE}{{16,}}"),
    **dict.fromkeys(("sk_live_", "sk_test_", "rk_live_", "rk_test_"), rf"{NARROW}{{16,}}"),
    **dict.fromkeys(("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), rf"{NARROW}{{20,}}"),
    **dict.fromkeys(("glpat-", "gldt-", "glrt-", "glptt-"), rf"{DIGIT}{WIDE}{{20,}}"),
    **dict.fromkeys(("AKIA", "ASIA"), r"[0-9A-Z]{16}(?![0-9A-Za-z])"),
    **dict.fromkeys(("xoxa-", "xoxb-", "xoxe-", "xoxp-", "xoxr-", "xoxs-"), r"[A-Za-z0-9-]{10,}"),
    **dict.fromkeys(("npm_", "hf_", "gsk_", "r8_"), rf"{NARROW}{{30,}}"),
    **dict.fromkeys(("pypi-", "xai-", "nvapi-"), rf"{DIGIT}{WIDE}{{40,}}"),
    **dict.fromkeys(("GOCSPX-", "dckr_pat_"), rf"{WIDE}{{20,}}"),
    **dict.fromkeys(("AIza", "ya29."), rf"{WIDE}{{30,}}"),
    "github_pat_": r"[A-Za-z0-9_]{20,}",
    "whsec_": rf"{NARROW}{{20,}}[+/=A-Za-z0-9]*",
    "xapp-": r"\d-[A-Za-z0-9-]{16,}",
    "eyJ": rf"{WIDE}{{8,4096}}\.eyJ{WIDE}{{8,8192}}\.{WIDE}{{16,}}",
    "SG.": rf"{WIDE}{{16,64}}\.{WIDE}{{32,}}",
    "dop_v1_": r"[a-f0-9]{64}",
    "shpat_": r"[a-fA-F0-9]{32}",
    "AGE-SECRET-KEY-1": r"[0-9A-Z]{50,}",
}
"""How a vendor's key begins → what follows. It begins a word."""

BEGIN = "-----BEGIN"
PROSE = "[a-z]{2,} [a-z]{2,} "
BODY = rf"(?:(?!-----|{PROSE})[\s\S]){{0,8000}}+"
"""Between its two ends a key may be numbered, quoted, or behind the names of files; only sentences are not in it."""
STRICT = rf"(?:(?!{PROSE})[A-Za-z0-9+/=:,\s]|\\[nrt]|-(?!----))*+"
PEM = rf"{BEGIN} (?:[A-Z0-9]+ ){{0,4}}PRIVATE KEY(?: BLOCK)?-----"
PEM_END = r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
PEM_WHOLE = rf"{PEM}(?:{BODY}{PEM_END}|(?:\s|\\[nrt])*(?:\d+\t)?[A-Za-z0-9+/=]{{16,}}{STRICT})"
PEM_OPEN = (
    rf"{BEGIN}(?: [A-Z0-9 ]{{0,60}})?-{{0,4}}"
    rf"|{PEM}{BODY}(?:-{{1,5}}|-----E(?:N(?:D[A-Z0-9 ]{{0,60}}-{{0,4}})?)?)?"
)
"""A private key that has begun and not ended yet."""

START = r"(?<![A-Za-z0-9])"
BEARER = rf"({START}(?:bearer|Bearer|BEARER)[ \t]+)(?=[A-Za-z._~+/=-]{{0,64}}\d)[A-Za-z0-9._~+/=-]{{12,}}"
AWS = (
    rf"({START}(?:aws_secret_access_key|AWS_SECRET_ACCESS_KEY|(?:aws)?[sS]ecretAccessKey|awsSecretKey)"
    r"[ \t\"'=:]+)[A-Za-z0-9/+]{40}(?![A-Za-z0-9/+])"
)
# A password in an address: with a letter and a digit, or it is the `user:password` of every manual.
PASSWORD = (
    r"((?<=[A-Za-z0-9])://[A-Za-z0-9._~%+-]{0,64}:)"
    r"(?=[^@\d]{0,64}\d)(?=[^@A-Za-z]{0,64}[A-Za-z])[A-Za-z0-9._~!$&*+,;=%^#-]{8,128}(?=@)"
)
LED: dict[str, str] = {
    "earer": BEARER,
    "EARER": BEARER,
    **dict.fromkeys(("ecret_access_key", "ECRET_ACCESS_KEY", "ecretAccessKey", "wsSecretKey"), AWS),
    ADDRESS: PASSWORD,
}
"""A text without the word has no such key."""

LEADERS = ("bearer", "aws_secret_access_key", "awssecretaccesskey", "secretaccesskey", "awssecretkey")
"""Words that say that a key comes next, in small letters."""
BETWEEN = " \t\"'=:"
"""What may stand between a leader and its key."""

RUN = b"a" * 15
MARKS = bytes(97 if byte in b"_-" or (chr(byte).isalnum() and byte < 128) else 32 for byte in range(256))
"""Every form has so many letters, digits, `_` and `-` in a row; in bytes that is found at once."""


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compiled at the first text that may hold such a key, which most runs never see."""
    return re.compile(pattern)


def _form(prefix: str) -> re.Pattern[str]:
    """With the literal first, `re` skips to it; the look behind comes after."""
    literal = re.escape(prefix)
    return _compiled(rf"{literal}(?<![A-Za-z0-9]{literal}){FORMS[prefix]}")


class Allowed(Protocol):
    """What may be shown although it has the form of a key (`redact.allow`)."""

    def covers(self, text: str) -> bool: ...
    def covers_path(self, path: str) -> bool: ...
    def observe(self, path: str, text: str) -> None: ...
    def remember(self, text: str) -> None: ...


class Redactor:
    """Takes out the values it has learned, and well-known forms of keys unless `allowed` covers them."""

    def __init__(self, secrets: Iterable[str] = (), *, allowed: Allowed | None = None) -> None:
        self.allowed = allowed
        self._secrets: tuple[str, ...] = ()
        self._beginning: dict[str, tuple[str, ...]] = {}
        self._done: deque[str] = deque(maxlen=8)
        self.learn(*secrets)

    @property
    def observer(self) -> Callable[[str, str], None] | None:
        """To be called with the path and the text of files that are read or written; None without `redact.allow`."""
        return self.allowed.observe if self.allowed else None

    def learn(self, *secrets: str) -> None:
        """Values to hide from now on, also as they stand inside JSON."""
        usable = {secret.strip() for secret in secrets} | set(self._secrets)
        usable |= {form for secret in usable for form in _in_json(secret)}
        # The longest first, so that a secret that contains another is hidden whole.
        self._secrets = tuple(sorted((each for each in usable if len(each) >= SHORTEST), key=len, reverse=True))
        self._beginning = _by_first(self._secrets)
        self._done.clear()

    @property
    def longest(self) -> int:
        """No secret that is known is longer, in characters."""
        return max(LONGEST, len(self._secrets[0]) if self._secrets else 0)

    def copy(self) -> "Redactor":
        """A redactor of the same secrets for another thread."""
        twin = Redactor(allowed=self.allowed)
        twin._secrets, twin._beginning = self._secrets, self._beginning
        return twin

    def clean(self, text: str) -> str:
        """The text without secrets. Plain searching decides for nearly every text that there is nothing to do."""
        if len(text) < SHORTEST:
            return text
        if len(text) > REMEMBERED and any(text is done for done in self._done):
            return text  # the record asks again for what a result was already
        for secret in self._secrets:
            if secret in text:
                text = text.replace(secret, HIDDEN)
        if len(text) < SHORTEST_FORM:
            return text
        for prefix in _prefixes_in(text):
            text = _form(prefix).sub(self._mark, text)
        if BEGIN in text:
            text = _compiled(PEM_WHOLE).sub(self._mark, text)
        done_with = ""
        for word, pattern in LED.items():
            if word in text and pattern != done_with:
                done_with = pattern
                text = _compiled(pattern).sub(self._mark, text)
        if len(text) > REMEMBERED:
            self._done.append(text)
        return text

    def _mark(self, match: re.Match[str]) -> str:
        """What to write for a form of a key; the leader before it, if the pattern has one, stays."""
        leader: str = match[1] if match.re.groups else ""
        if self.allowed is not None and self.allowed.covers(match[0][len(leader) :]):
            return match[0]
        return leader + HIDDEN

    def flow(self) -> "Flow":
        """The same for a text that comes in pieces."""
        return Flow(self)

    def unfinished(self, text: str) -> int:
        """Where the last stretch of the text begins that may yet become a secret; its length when there is none."""
        return min(self._value_begins(text), _open(text, self._secrets))

    def begun(self, text: str) -> int:
        """Where a value that the text breaks off in begins, once enough of it is there to tell."""
        at = self._value_begins(text)
        return at if len(text) - at >= SHORTEST else len(text)

    def _value_begins(self, text: str) -> int:
        """Where the longest end of the text begins that is a beginning of a value, but not all of it."""
        longest = len(self._secrets[0]) if self._secrets else 0
        for at in range(max(len(text) - longest + 1, 0), len(text)):
            begin = self._beginning.get(text[at])
            if begin and any(len(value) > len(text) - at and value.startswith(text[at:]) for value in begin):
                return at
        return len(text)

    def __repr__(self) -> str:
        return f"Redactor({len(self._secrets)} secrets)"


class Flow:
    """One stream of text. What may be the beginning of a secret waits for the next piece, all else passes at once.

    However a text is cut into pieces, what comes out is what `clean` makes of the whole; only the first two
    characters of a secret may stand before its mark, because waiting for them would hold up every other word.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""
        self._out = 0  # so much of what is held has been let out
        self._before = ""
        self._endless = False

    def feed(self, text: str) -> str:
        if self._endless:
            text = text.lstrip(KEY_STUFF)
            self._endless = not text
        waiting = self._held + text
        cut = self._cut(waiting)
        passed, self._held = self._cleaned(waiting[:cut]), waiting[cut:]
        self._endless = self._endless or (cut > LONGEST and passed.endswith(HIDDEN))
        shown = self._fresh(passed, waiting[:cut])
        if len(self._held) < TELLING:
            shown += self._held[self._out :]
            self._out = len(self._held)
        return shown

    def end(self, *, broken: bool = False) -> str:
        """What still waited. With `broken` the stream was cut off, perhaps in the middle of a value."""
        text, self._held = self._held, ""
        passed = self._cleaned(text)
        if broken and (at := self._redactor.begun(passed)) < len(passed):
            passed = passed[:at] + HIDDEN
        shown = self._fresh(passed, text)
        self._before, self._endless = "", False
        return shown

    def _fresh(self, passed: str, text: str) -> str:
        """Without what was let out of it before, unless that has become part of a secret."""
        out = min(self._out, len(text))
        self._out -= out
        return passed[out:] if passed.startswith(text[:out]) else passed

    def _cut(self, waiting: str) -> int:
        """How much may pass: all that comes out the same with and without what follows."""
        cut = max(self._redactor.unfinished(self._before + waiting) - len(self._before), 0)
        if cut == len(waiting):
            return cut
        clean = self._redactor.clean
        if cut and clean(waiting[:cut]) + clean(waiting[cut:]) != clean(waiting):
            cut = 0  # it would cut a secret in two
        return cut if len(waiting) - cut <= LONGEST else len(waiting)

    def _cleaned(self, text: str) -> str:
        """Whether a word begins here depends on the character before it."""
        if not text:
            return ""
        before = "0" if _in_word(self._before) else ""  # no form begins so
        shown = self._redactor.clean(before + text)[len(before) :]
        self._before = shown[-1:]
        return shown


def find_forms(text: str) -> Iterator[str]:
    """Every piece of a text that has the form of a key."""
    for prefix in _prefixes_in(text):
        yield from (match[0] for match in _form(prefix).finditer(text))
    if BEGIN in text:
        yield from (match[0] for match in _compiled(PEM_WHOLE).finditer(text))
    for pattern in dict.fromkeys(pattern for word, pattern in LED.items() if word in text):
        yield from (match[0][len(match[1]) :] for match in _compiled(pattern).finditer(text))


def _in_json(secret: str) -> tuple[str, ...]:
    """How JSON writes it, where that differs."""
    escaped = "".join(_ESCAPES.get(char) or (char if char >= " " else f"\\u{ord(char):04x}") for char in secret)
    ascii_only = "".join(char if char.isascii() else _utf16(char) for char in escaped)
    return tuple({escaped, ascii_only, escaped.replace("/", "\\/")} - {secret})


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _utf16(char: str) -> str:
    raw = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{raw[at] << 8 | raw[at + 1]:04x}" for at in range(0, len(raw), 2))


def _prefixes_in(text: str) -> list[str]:
    words = _long_words(text)
    return [prefix for prefix in FORMS if prefix in words] if words else []


def _long_words(text: str) -> str:
    marks = text.encode("ascii", "replace").translate(MARKS)
    found = []
    at = marks.find(RUN)
    while at >= 0:
        end = marks.find(b" ", at + len(RUN))
        # With what stands before it: `SG.`, `ya29.` and the parts of a JWT are joined by dots.
        found.append(text[max(at - 128, 0) : end if end >= 0 else None])
        at = marks.find(RUN, end) if end >= 0 else -1
    return " ".join(found)


def _by_first(hints: Iterable[str]) -> dict[str, tuple[str, ...]]:
    firsts = {hint[0] for hint in hints}
    return {first: tuple(hint for hint in hints if hint[0] == first) for first in firsts}


_PREFIXES = _by_first(FORMS)
_LEADERS = _by_first(LEADERS)
LONGEST_WORD = 1 + max(len(word) for word in (*FORMS, *LEADERS))


def _open(text: str, values: tuple[str, ...]) -> int:
    """Where a form begins that the end of the text may still complete."""
    found = min(_led(text), _pem(text))
    run = len(text)
    while run and text[run - 1] in TOKEN:
        run -= 1
    return next((at for at in range(run, found) if _may_begin(text, at, values)), found)


def _may_begin(text: str, at: int, values: tuple[str, ...]) -> bool:
    """Behind a letter or a digit no form begins, unless that is the end of a value, which will not stay."""
    first = text[at]
    if first == ":":
        return at > 0 and _in_word(text[at - 1]) and _address_open(text[at:])
    if first == "-":
        return text.startswith(BEGIN, at) or BEGIN.startswith(text[at : at + len(BEGIN)])
    prefixes, leaders = _PREFIXES.get(first, ()), _LEADERS.get(first.lower(), ())
    rest = text[at : at + LONGEST_WORD]
    if not any(rest.startswith(prefix) or prefix.startswith(rest) for prefix in prefixes) and not any(
        leader.startswith(rest.lower()) for leader in leaders
    ):
        return False
    return at == 0 or not _in_word(text[at - 1]) or text.endswith(values, 0, at)


def _in_word(char: str) -> bool:
    return char.isascii() and char.isalnum()


def _address_open(rest: str) -> bool:
    if len(rest) < len(ADDRESS):
        return ADDRESS.startswith(rest)
    return rest.startswith(ADDRESS) and not set("/@") & set(rest[len(ADDRESS) :])


def _led(text: str) -> int:
    """A leader whose key has not come to its end."""
    line = text[text.rfind("\n") + 1 :]
    folded = line.lower()
    found = len(line)
    for leader in LEADERS:
        at = folded.find(leader)
        while at >= 0:
            if all(char in TOKEN for char in line[at + len(leader) :].lstrip(BETWEEN)):
                found = min(found, at)
                break
            at = folded.find(leader, at + 1)
    return len(text) - len(line) + found


def _pem(text: str) -> int:
    at = text.rfind(BEGIN)
    return at if at >= 0 and _compiled(PEM_OPEN).fullmatch(text, at) else len(text)
