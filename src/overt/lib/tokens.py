"""Tokens without a tokenizer: what a text is made of, weighed by figures for each family of vocabularies.

A text is weighed twice. The whole of it is counted roughly, by searches and translations of bytes, which run at
memory speed; what is counted falls into five classes, because vocabularies differ by class: one that is thrifty with
Chinese may be wasteful with digits, and whoever learns from a server's reports learns by class. Then its words, or
those of samples, are weighed finely, by every three letters in a row and by the word itself, and what that finds
more or less than the rough count corrects all classes.
"""

from array import array
from collections.abc import Sequence
from functools import cache

from overt.lib.package_data import read_bytes

CLASSES = ("words", "numbers", "marks", "scripts", "east")

_LOWER, _UPPER, _DIGITS = bytes(range(97, 123)), bytes(range(65, 91)), b"0123456789"
_HIGH, _NO_LEAD = bytes(range(128, 256)), bytes(range(0xC0))


def _mapped(groups: Sequence[tuple[bytes, bytes]], other: bytes) -> bytes:
    table = bytearray(other * 256)
    for members, code in groups:
        for byte in members:
            table[byte] = code[0]
    return bytes(table)


_RUNS = _mapped([(_LOWER + _UPPER, b"a")], b" ")
_NUMBERS = _mapped([(_DIGITS, b"0")], b" ")
_KINDS = _mapped(
    [(_LOWER, b"a"), (_UPPER, b"A"), (_DIGITS, b"0"), (b" \t\r", b" "), (b"\n", b"\n"), (_HIGH, b"~")], b"."
)
_ENDS = _mapped([(b"aio", b"a"), (b"e", b"e"), (b"nrt", b"n"), (b" ", b" ")], b".")
_SAMPLE, _SLICES = 16384, 4
_RARE = b"jkqvwxzJKQVWXZ"
"""Letters that English uses little, and its neighbours more."""


_WORDS = bytes(ord(chr(byte).lower()) if chr(byte).isalpha() else 32 for byte in range(128)) + _HIGH
_ALONE = 0x900
"""From here on a letter says much by itself: India's, Thai, kana, Han, Hangul."""
_KEPT, _LONGEST = 20_000, 40
_FINE_LENGTH, _FINE_SLICES = 8192, 17
_FLOOR, _LEAST, _MOST = 0.9, 0.6, 1.8
"""What a word takes at least, and how far the fine weighing may move the rough one."""


def _leads(*ranges: tuple[int, int]) -> bytes:
    return bytes(byte for low, high in ranges for byte in range(low, high + 1))


_SCRIPTS = (
    _leads((0xE2, 0xE2)),  # dashes, quotes, arrows, boxes
    _leads((0xC2, 0xC2)),
    _leads((0xC3, 0xC3)),  # letters of western Europe
    _leads((0xC4, 0xCD)),  # of its east
    _leads((0xCE, 0xCF)),  # Greek
    _leads((0xD0, 0xD1)),  # Cyrillic
    _leads((0xD2, 0xD3)),  # Cyrillic of central Asia
    _leads((0xD4, 0xD6)),  # Armenian
    _leads((0xD7, 0xD7)),  # Hebrew
    _leads((0xD8, 0xD9)),  # Arabic
    _leads((0xDA, 0xDF)),  # letters of Persian, Urdu and others
    _leads((0xE0, 0xE0)),
    _leads((0xE1, 0xE1)),
    _leads((0xF0, 0xF4)),  # emoji, rare characters
    _leads((0xE3, 0xE3)),  # kana, marks of the east
    _leads((0xE4, 0xE9)),  # Han
    _leads((0xEA, 0xED)),  # Hangul
    _leads((0xEE, 0xEF)),  # wide forms
)
"""Lead bytes of UTF-8."""


# Figures are tokens for one of what a row counts. They are least-squares fits to the counts that the vocabulary of
# each family gave for 1 651 pieces of up to 4 000 characters: English prose, Chinese (news, reviews, manuals),
# Python, JavaScript, TypeScript, C, shell, HTML, JSON, diffs, logs, listings, 86 more languages, and base64, hashes,
# tables, emoji. Vocabularies measured, as published: qwen, Qwen2.5; gpt, o200k_base; deepseek, V4; llama, Llama 3;
# mistral, Tekken of Nemo; gemma, Gemma 3. claude was measured with the only vocabulary that its vendor published,
# an old one: newer models count otherwise, which reports put right. default is fitted to the mean of qwen, gpt,
# deepseek, llama and mistral. What `_NAMES` sends to another family is derived, not measured: glm, kimi and
# minimax, whose vocabularies are made for Chinese too, are counted as deepseek, and mimo as qwen.
FAMILIES = ("default", "qwen", "gpt", "claude", "deepseek", "llama", "mistral", "gemma")
_FIGURES: tuple[tuple[tuple[float, ...], ...], ...] = (
    (  # words
        (0.54, 0.40, 0.62, 0.51, 0.71, 0.48, 0.54, 0.58),  # words
        (0.34, 0.48, 0.31, 0.29, 0.20, 0.35, 0.36, 0.32),  # four letters in a row
        (0.17, 0.00, 0.36, 0.12, 0.50, 0.07, 0.13, 0.29),  # a capital after a small letter
        (0.18, 0.17, 0.15, 0.23, 0.16, 0.25, 0.12, 0.00),  # capital letters
        (-0.15, -0.24, -0.17, -0.27, 0.06, -0.40, 0.15, 0.19),  # two capitals
        (0.61, 0.72, 0.48, 1.17, 0.45, 0.75, 0.69, 0.76),  # letters that are rare in English
        (0.89, 1.03, 0.58, 1.41, 0.85, 1.20, 0.74, 0.28),  # words that end in a, i or o
        (1.78, 2.25, 0.94, 2.19, 1.92, 2.45, 1.30, 0.82),  # words that end in en, er or et
    ),
    (  # numbers
        (0.00, 0.11, 0.00, 0.00, 0.00, 0.00, 0.00, 0.31),  # digits
        (1.84, 2.02, 1.64, 1.48, 1.55, 1.72, 2.09, 1.53),  # numbers
        (0.73, 1.72, 0.00, 0.45, 0.00, 0.00, 1.81, 1.55),  # three digits in a row
        (1.66, 1.72, 1.80, 0.43, 0.95, 1.70, 2.14, 1.27),  # digits after a space
    ),
    (  # marks
        (0.44, 0.35, 0.39, 0.61, 0.53, 0.33, 0.45, 0.61),  # marks
        (0.00, 0.15, 0.12, 0.00, 0.00, 0.25, 0.00, 0.00),  # two marks in a row
        (-3.37, -3.25, -3.45, -4.73, -4.09, -3.49, -3.00, -4.73),  # eight marks in a row, which cost next to nothing
        (0.74, 0.87, 0.72, 0.75, 0.50, 0.82, 0.77, 0.84),  # backslashes
        (0.43, 0.49, 0.38, 0.00, 0.26, 0.45, 0.53, 0.45),  # indented lines
        (1.69, 1.69, 1.74, 1.62, 1.63, 1.80, 1.64, 2.13),  # lines
        (-0.77, -0.84, -0.65, -1.02, -0.92, -1.11, -0.17, -1.54),  # empty lines
    ),
    (  # scripts
        (0.56, 0.50, 0.56, 0.68, 0.52, 0.60, 0.59, 0.31),  # symbols
        (1.50, 1.70, 1.35, 2.41, 1.45, 2.36, 0.87, 1.50),  # signs of Latin-1
        (0.44, 0.76, 0.08, 1.26, 0.67, 0.31, 0.23, 0.34),  # letters of western Europe
        (0.91, 0.95, 0.76, 1.83, 1.38, 0.40, 0.73, 0.18),  # letters of its east
        (0.57, 1.01, 0.41, 1.32, 0.54, 0.44, 0.45, 0.42),  # greek
        (0.30, 0.34, 0.26, 0.56, 0.30, 0.31, 0.30, 0.25),  # cyrillic
        (3.33, 3.47, 1.77, 3.97, 3.68, 4.58, 2.90, 2.77),  # Cyrillic of central Asia
        (0.88, 1.06, 0.38, 2.08, 0.68, 1.82, 0.44, 0.60),  # armenian
        (0.60, 0.42, 0.42, 1.02, 0.53, 1.13, 0.50, 0.49),  # hebrew
        (0.39, 0.45, 0.35, 1.13, 0.43, 0.43, 0.32, 0.38),  # arabic
        (0.79, 1.87, 0.49, 1.67, 0.67, 0.14, 0.57, 0.27),  # letters of Persian and Urdu
        (2.05, 3.38, 1.61, 1.97, 2.65, 0.78, 1.72, 1.29),  # ukrainian
        (0.61, 1.03, 0.37, 1.33, 0.66, 0.55, 0.45, 0.29),  # hindi
        (0.45, 0.55, 0.37, 1.79, 0.39, 0.43, 0.49, 0.31),  # thai
        (0.96, 1.35, 0.45, 2.23, 0.72, 1.66, 0.57, 0.36),  # other scripts of India
        (0.00, 0.00, 0.00, 2.38, 0.00, 0.00, 0.00, 0.00),  # vietnamese
        (0.92, 1.02, 0.34, 1.39, 0.78, 2.01, 0.47, 0.42),  # georgian
        (1.50, 1.16, 0.61, 3.00, 1.20, 1.57, 2.98, 0.48),  # other scripts of that block
        (2.34, 1.05, 1.72, 2.49, 1.85, 2.83, 4.26, 1.03),  # emoji
    ),
    (  # east
        (0.65, 0.63, 0.69, 1.02, 0.65, 0.64, 0.63, 0.43),  # kana
        (0.72, 0.64, 0.72, 0.91, 0.57, 0.73, 0.92, 0.57),  # han
        (0.74, 0.81, 0.69, 1.35, 0.82, 0.72, 0.67, 0.62),  # hangul
        (1.18, 0.73, 1.17, 4.45, 0.91, 1.71, 1.39, 1.82),  # wide forms
    ),
)

_NAMES = (
    ("distill-qwen", "qwen"),
    ("distill-llama", "llama"),
    ("deepseek", "deepseek"),
    ("claude", "claude"),
    ("gpt", "gpt"),
    ("codex", "gpt"),
    ("/o1", "gpt"),
    ("/o3", "gpt"),
    ("/o4", "gpt"),
    ("qwen", "qwen"),
    ("qwq", "qwen"),
    ("mimo", "qwen"),
    ("glm", "deepseek"),
    ("kimi", "deepseek"),
    ("moonshot", "deepseek"),
    ("minimax", "deepseek"),
    ("stral", "mistral"),
    ("mixtral", "mistral"),
    ("llama", "llama"),
    ("gemma", "gemma"),
    ("gemini", "gemma"),
)
"""What a name holds, and the family it speaks of; the first that fits."""


@cache
def _weights(family: str) -> tuple[tuple[float, ...], ...]:
    column = FAMILIES.index(family) if family in FAMILIES else 0
    return tuple(tuple(row[column] for row in rows) for rows in _FIGURES)


def family_of(model: str) -> str:
    """The family of vocabularies that a model's name speaks of; "default" where it says nothing."""
    name = f"/{model.lower()}"
    return next((family for mark, family in _NAMES if mark in name), "default")


def measure(text: str, family: str = "default") -> tuple[float, ...]:
    """Estimated tokens of a text by class, in the order of `CLASSES`."""
    found = _found(text)
    part, counts = text, found
    if len(text) > _FINE_LENGTH:
        step, piece = len(text) // _FINE_SLICES, _FINE_LENGTH // _FINE_SLICES
        part = "\n".join(text[at * step : at * step + piece] for at in range(_FINE_SLICES))
        counts = _found(part)
    rough = sum(_sums(counts, "qwen"))
    moved = min(_MOST, max(_LEAST, _fine(part, counts) / rough)) if rough > 0 else 1.0
    share = 1 + _FOLLOWS[family if family in FAMILIES else "default"] * (moved - 1)
    return tuple(share * each for each in _sums(found, family))


def _found(text: str) -> tuple[tuple[float, ...], ...]:
    data = text.encode("utf-8", "surrogatepass")
    return _plain(data) if text.isascii() else (*_plain(data), *_beyond(data))


def _sums(found: tuple[tuple[float, ...], ...], family: str) -> tuple[float, ...]:
    sums = [max(0.0, _sum(weights, counts)) for weights, counts in zip(_weights(family), found, strict=False)]
    return (*sums, 0.0, 0.0) if len(found) == 3 else tuple(sums)


def _sum(weights: tuple[float, ...], counts: tuple[float, ...]) -> float:
    return sum(weight * count for weight, count in zip(weights, counts, strict=True))


def estimate(text: str, family: str = "default") -> int:
    """Estimated tokens of a text; at least one, unless it is empty."""
    return max(1, int(sum(measure(text, family)) + 0.999)) if text else 0


# The fine figures are fits to 16 000 texts and 380 000 words and pieces of them in 90 languages, as the vocabulary
# of qwen counts them. Other families follow them as far as `_FOLLOWS` says, fitted likewise.
_FINE = (
    -0.19,  # a capital after a small letter
    0.22,  # capital letters
    -0.41,  # two capitals
    0.86,  # digits
    0.47,  # numbers
    0.23,  # three digits in a row
    1.50,  # digits after a space
    0.74,  # marks
    -0.65,  # two marks in a row
    -3.11,  # eight marks in a row
    0.37,  # backslashes
    0.21,  # indented lines
    0.95,  # lines
    -1.18,  # empty lines
    -0.46,  # marks before a small letter
    -0.35,  # marks before a capital
    0.47,  # marks after a space
    0.53,  # marks after other letters
)
_FOLLOWS = {
    "default": 0.95,
    "qwen": 1.0,
    "gpt": 0.85,
    "claude": 0.6,
    "deepseek": 0.85,
    "llama": 1.1,
    "mistral": 0.7,
    "gemma": 0.9,
}


def _fine(text: str, found: tuple[tuple[float, ...], ...]) -> float:
    """Tokens of a text by its words, its marks and its numbers, in the vocabulary of qwen."""
    data = text.encode("utf-8", "surrogatepass")
    kinds = data.translate(_KINDS)
    places = (kinds.count(b".a"), kinds.count(b".A"), kinds.count(b" ."), kinds.count(b"~."))
    words, numbers, marks = found[:3]
    total = _sum(_FINE, (*words[2:5], *numbers, *marks, *places))
    if len(found) > 3:
        scripts = found[3]
        total += 0.5 * scripts[0] + 1.7 * scripts[1] + 1.05 * scripts[-1]
    costs = _costs()
    if len(costs) > _KEPT:
        costs.clear()
    spoken = data.translate(_WORDS).decode("utf-8", "replace").lower().split()
    return max(total + sum(map(costs.__getitem__, spoken)), _FLOOR * len(spoken))


class _Costs(dict[str, float]):
    """Tokens of words, each worked out when it is first met."""

    def __init__(self, grams: Sequence[int]) -> None:
        super().__init__()
        self._grams = grams

    def __missing__(self, word: str) -> float:
        total, letters = 0, list[int]()
        for code in (*map(ord, word), 0):
            if 97 <= code <= 122 or 0xC0 <= code < 0x2000 or 0x2E80 <= code < 0xFFF0:
                letters.append(code)
            elif letters:
                total += self._run(letters)
                letters = []
        if len(word) <= _LONGEST:
            self[word] = total / 64
        return total / 64

    def _run(self, letters: list[int]) -> int:
        grams, size = self._grams, len(self._grams)
        total, before, here, whole = 0, 1, 1, 7
        for after in (*letters, 2):
            if here >= _ALONE:
                before = 0
                total += grams[(here * 30011) % 1048573 % size]
            total += grams[((before * 40503) ^ (here * 30011) ^ (after * 2654435)) % 1048573 % size]
            before, here, whole = here, after, (whole * 131 + after) % 1048573
        return total + grams[whole % size] if letters[0] < _ALONE else total


@cache
def _costs() -> _Costs:
    """The figures lie beside this file: a signed byte each, in parts of 64 of a token, found by the letters' hash."""
    return _Costs(array("b", read_bytes("overt.lib", "tokens.grams")))


def _plain(data: bytes) -> tuple[tuple[float, ...], ...]:
    runs, numbers, kinds = data.translate(_RUNS), data.translate(_NUMBERS), data.translate(_KINDS)
    words = (
        runs.count(b" a") + runs.startswith(b"a"),
        runs.count(b"aaaa"),
        kinds.count(b"aA"),
        kinds.count(b"A"),
        kinds.count(b"AA"),
        *_tongue(data),
    )
    digits = (
        numbers.count(b"0"),
        numbers.count(b" 0") + numbers.startswith(b"0"),
        numbers.count(b"000"),
        kinds.count(b" 0"),
    )
    marks = (
        kinds.count(b"."),
        kinds.count(b".."),
        kinds.count(b"........"),
        data.count(b"\\"),
        kinds.count(b"\n  "),
        kinds.count(b"\n"),
        kinds.count(b"\n\n"),
    )
    return words, digits, marks


def _tongue(data: bytes) -> tuple[float, ...]:
    """Signs of another language than English; a long text is known by samples."""
    size = len(data)
    if size > _SAMPLE:
        step, piece = size // _SLICES, _SAMPLE // _SLICES
        data = b"".join(data[at * step : at * step + piece] for at in range(_SLICES))
    ends = data.translate(_ENDS)
    found = (
        len(data) - len(data.translate(None, _RARE)),
        max(0, ends.count(b"a ") - data.count(b" to ")),
        ends.count(b"en "),
    )
    share = size / len(data) if data else 1.0
    return tuple(share * count for count in found)


def _beyond(data: bytes) -> tuple[tuple[int, ...], tuple[int, ...]]:
    leads, count = data.translate(None, _NO_LEAD), data.count
    size = len(leads)
    found = [size - len(leads.translate(None, each)) for each in _SCRIPTS]
    *others, indic, far, emoji, kana, han, hangul, forms = found
    ukrainian = count(b"\xd1\x96") + count(b"\xd1\x97") + count(b"\xd1\x9e") if found[5] else 0
    hindi, thai = (
        (count(b"\xe0\xa4") + count(b"\xe0\xa5"), count(b"\xe0\xb8") + count(b"\xe0\xb9")) if indic else (0, 0)
    )
    vietnamese, georgian = (count(b"\xe1\xba") + count(b"\xe1\xbb"), count(b"\xe1\x83")) if far else (0, 0)
    scripts = (
        *(*others, ukrainian, hindi, thai, indic - hindi - thai),
        *(vietnamese, georgian, far - vietnamese - georgian, emoji),
    )
    return scripts, (kana, han, hangul, forms)
