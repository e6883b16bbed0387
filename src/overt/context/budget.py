"""How much of the window a request takes: estimated before it goes out, corrected by what the server reports.

A report is used twice. It is an anchor: what that request held is known from then on, and only what comes after is
estimated. And it teaches: the part that is new since the report before has a known size, from which the scale of each
class of text is learnt (words, numbers, marks, scripts, the east, what a server adds around messages, and the head
with the tools), weighted by how uncertain each scale still is. So Chinese that comes late does not inherit what was
learnt from code, and a vocabulary that is thrifty with digits is soon known to be. A report that cannot be true
changes nothing.
"""

from collections.abc import Sequence
from operator import add, sub

from msgspec import Struct

from overt.core.messages import Call, Document, Image, Message, Part, Reasoning, Result, Text
from overt.core.requests import Prefix
from overt.core.spending.usage import Usage
from overt.lib.tokens import CLASSES, measure

Sizes = tuple[float, ...]
"""Estimated tokens by class; after the texts' own what stands around them or is none, and the head of the request."""

NOTHING: Sizes = (0.0,) * (len(CLASSES) + 2)
MESSAGE, CALL, RESULT, TOOL, TOOLS = 5.0, 18.0, 6.0, 26.0, 110.0
"""Tokens around one of these in the templates of servers; measured on Qwen's, others are near it."""

IMAGE_PIXELS, IMAGE_LEAST, IMAGE_MOST, IMAGE_UNKNOWN = 750, 64, 1600, 1200
PAGE = 1800
"""Tokens for a page of a document, and pixels for a token of an image, as Anthropic describes them."""

DOUBT = (0.15, 0.35, 0.3, 0.35, 0.3, 0.5, 0.3)
"""How far off the scale of a class may be at first: the spread between the measured vocabularies."""
MARGIN = 0.35
"""The share by which an estimate may be too low: the doubt of most classes."""
ALIKE = 0.4
"""How much the head, which is words for the most part, errs together with other words."""

DRIFT, NOISE, FLOOR, ADDED = 0.01, 0.03, 15.0, 300.0
"""What blurs a report: slow change, a share of it, a few tokens, and for the first one what servers add unseen."""
BELIEVED = (0.5, 2.5)
"""A report beyond these shares of the estimate was counted by other rules; so was an increment beyond thrice."""


REMEMBERED = 16


class _Anchor(Struct, frozen=True, kw_only=True):
    """What the server said of the request with these messages, which had these sizes."""

    messages: tuple[Message, ...]
    sizes: Sizes
    tokens: int


class Budget:
    """The window of one model and what of it is used. `window` 0: it is not known, and nothing is ever due.

    `unknown`: its size is not configured either, so its server may be asked.
    `cap` is the most that a request may take, so that the reply has room: `reserve`, or a share of the window.
    `due_above` 0: nothing is ever due. `reasoning`: what the model thought goes back to it, and counts.
    """

    def __init__(
        self,
        *,
        window: int,
        threshold: float = 0.8,
        prune: bool = True,
        reserve: int = 0,
        family: str = "default",
        reasoning: bool = True,
    ) -> None:
        self.family = family or "default"
        self.reasoning = reasoning
        self.threshold, self.reserve = threshold, reserve
        self.prune = prune
        self.counted = 0
        """What was counted last."""
        self._reported = 0
        """The part of `counted` that a server has reported."""
        self._doubtful: tuple[float, int] | None = None
        """Our count and the server's report for the last request, if they differ too much to learn from."""
        self.resize(window)
        self.unknown = window == 0
        self._prefix: tuple[Prefix, Sizes] | None = None
        self._messages: tuple[Message, ...] = ()
        self._sums: list[Sizes] = [NOTHING]
        self._anchors: list[_Anchor] = []
        self._kept: dict[int, tuple[Message, Sizes]] = {}
        self._learner = _Learner()

    def resize(self, window: int) -> None:
        """Another window, as when a server has told its own; what was learnt stays."""
        self.window, self.unknown = window, False
        room = min(self.reserve, window // 2) if self.reserve > 0 else min(8192, window // 8)
        self.cap = max(0, window - room)
        self.due_above = min(int(window * self.threshold), self.cap) if self.threshold > 0 else 0

    def count(self, prefix: Prefix, messages: Sequence[Message]) -> int:
        """Estimated tokens of a request with these messages; the work is what the messages add to the last count."""
        messages = tuple(messages)
        fixed = self._fixed(prefix)
        self._follow(messages)
        sizes = _plus(fixed, self._sums[-1])
        last = next((each for each in self._anchors if each.messages == messages[: len(each.messages)]), None)
        if last is None:
            self._reported, self.counted = 0, round(self._learner.tokens(sizes) * self._learner.share)
        else:
            self._reported = last.tokens
            self.counted = round(last.tokens + self._learner.tokens(_minus(sizes, last.sizes)))
        return self.counted

    def most(self) -> int:
        """Return the most tokens that the last counted request can take: estimates may be too low.

        Reports that differ much from our count are used here too, because the server bills by them.
        """
        estimated = max(0, self.counted - self._reported)
        most = self.counted + MARGIN * estimated + (FLOOR if self._reported else ADDED)
        if self._doubtful:
            counted, reported = self._doubtful
            growth = max(0.0, self.counted - counted)
            most += max(0.0, reported - counted + growth * (reported / max(1.0, counted) - 1))
        return round(most)

    def message(self, message: Message) -> int:
        """Estimated tokens of one message by itself."""
        return round(self._learner.tokens(self._sizes(message)))

    def observe(self, prefix: Prefix, messages: Sequence[Message], usage: Usage) -> None:
        """What the server says a request with these messages really took; whatever was counted since."""
        messages = tuple(messages)
        fixed = self._fixed(prefix)
        self._follow(messages)
        sizes = _plus(fixed, self._sums[-1])
        if usage.input <= 0 or not BELIEVED[0] <= usage.input / max(1.0, sum(sizes)) <= BELIEVED[1]:
            self._doubtful = (self._learner.tokens(sizes) * self._learner.share, usage.input) if usage.input else None
            return
        self._doubtful = None
        now = _Anchor(messages=messages, sizes=sizes, tokens=usage.input)
        before = self._anchors[0] if self._anchors else _Anchor(messages=(), sizes=NOTHING, tokens=0)
        grown = before.messages == now.messages[: len(before.messages)]
        if grown and len(before.messages) < len(now.messages):
            unseen = FLOOR if self._anchors else ADDED
            self._learner.learn(_minus(sizes, before.sizes), now.tokens - before.tokens, unseen=unseen)
        self._learner.settle(sizes, usage.input)
        size = len(now.messages)
        others = [each for each in self._anchors if len(each.messages) != size or each.messages != now.messages]
        self._anchors = [now, *others[: REMEMBERED - 1]]

    def _follow(self, messages: tuple[Message, ...]) -> None:
        """Stand where these messages do: sums are kept for every length, so that a history may also grow shorter."""
        known = len(self._messages)
        if messages[:known] != self._messages:
            pairs = zip(self._messages, messages, strict=False)
            known = next((at for at, (one, other) in enumerate(pairs) if one != other), min(known, len(messages)))
            del self._sums[known + 1 :]
        if len(self._kept) > 2 * len(messages) + 256:
            self._kept = {id(each): self._kept[id(each)] for each in messages if id(each) in self._kept}
        for message in messages[known:]:
            self._sums.append(_plus(self._sums[-1], self._sizes(message)))
        self._messages = messages

    def _fixed(self, prefix: Prefix) -> Sizes:
        if self._prefix is None or self._prefix[0] is not prefix:
            head = MESSAGE + sum(measure(prefix.system_text(), self.family))
            for tool in prefix.tools:
                text = f"{tool.name}\n{tool.description}\n{bytes(tool.schema).decode('utf-8', 'replace')}"
                head += TOOL + sum(measure(text, self.family))
            head += TOOLS if prefix.tools else 0.0
            sizes = (*NOTHING[:-1], head)
            for shot in prefix.shots:
                sizes = _plus(sizes, self._sizes(shot))
            if self._prefix is None or self._prefix[0] != prefix:
                self._anchors = []
            self._prefix = (prefix, sizes)
        return self._prefix[1]

    def _sizes(self, message: Message) -> Sizes:
        known = self._kept.get(id(message))
        if known is None:
            sizes = _around(MESSAGE)
            for part in message.parts:
                sizes = _plus(sizes, self._part(part))
            known = self._kept[id(message)] = (message, sizes)
        return known[1]

    def _part(self, part: Part) -> Sizes:
        match part:
            case Text(text=text):
                return self._text(text)
            case Reasoning(text=text, opaque=opaque):
                return self._text(text, around=len(opaque) / 5) if self.reasoning else NOTHING
            case Call(name=name, arguments=arguments):
                return self._text(f"{name}\n{arguments}", around=CALL)
            case Result(parts=parts):
                sizes = _around(RESULT)
                for each in parts:
                    sizes = _plus(sizes, self._part(each))
                return sizes
            case Image(data=data):
                return _around(image_tokens(data))
            case Document(media=media, data=data):
                if media.startswith("text/"):
                    return self._text(data.decode("utf-8", "replace"))
                pages = data.count(b"/Type /Page") + data.count(b"/Type/Page")
                pages -= data.count(b"/Type /Pages") + data.count(b"/Type/Pages")
                return _around(float(PAGE * max(1, pages)))

    def _text(self, text: str, *, around: float = 0.0) -> Sizes:
        return (*measure(text, self.family), around, 0.0)


class _Learner:
    """The scale of each class, and how sure of it one is: a Kalman filter whose state hardly moves."""

    def __init__(self) -> None:
        self._scales = [1.0] * len(DOUBT)
        classes = range(len(DOUBT))
        self._doubts = [[DOUBT[row] ** 2 if row == column else 0.0 for column in classes] for row in classes]
        self._doubts[0][-1] = self._doubts[-1][0] = ALIKE * DOUBT[0] * DOUBT[-1]
        self.share = 1.0
        """What the last report was of the sum of its classes: for histories that no report was about."""

    def tokens(self, sizes: Sizes) -> float:
        return sum(scale * size for scale, size in zip(self._scales, sizes, strict=True))

    def settle(self, sizes: Sizes, tokens: int) -> None:
        self.share = min(1.25, max(0.8, tokens / max(1.0, self.tokens(sizes))))

    def learn(self, sizes: Sizes, tokens: int, *, unseen: float) -> None:
        """A piece of these sizes took so many tokens, give or take what is unseen; what cannot be teaches nothing."""
        guess = self.tokens(sizes)
        if not 0.33 * guess <= tokens <= 3 * guess + 10 * unseen:
            return
        classes = range(len(DOUBT))
        for each in classes:
            self._doubts[each][each] += DRIFT**2
        pull = [sum(self._doubts[row][column] * sizes[column] for column in classes) for row in classes]
        spread = sum(pull[each] * sizes[each] for each in classes) + (NOISE * tokens) ** 2 + unseen**2
        off = tokens - guess
        for row in classes:
            scale = self._scales[row] + pull[row] * off / spread
            self._scales[row] = min(BELIEVED[1], max(BELIEVED[0], scale))
        self._doubts = [
            [self._doubts[row][column] - pull[row] * pull[column] / spread for column in classes] for row in classes
        ]


def image_tokens(data: bytes) -> float:
    """What an image takes, by its size in pixels."""
    width, height = _pixels(data)
    if not width or not height:
        return float(IMAGE_UNKNOWN)
    return float(min(IMAGE_MOST, max(IMAGE_LEAST, width * height / IMAGE_PIXELS)))


def _pixels(data: bytes) -> tuple[int, int]:
    if data[:8] == b"\x89PNG\r\n\x1a\n":
        return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if data[:6] in (b"GIF87a", b"GIF89a"):
        return int.from_bytes(data[6:8], "little"), int.from_bytes(data[8:10], "little")
    return _jpeg_pixels(data) if data[:2] == b"\xff\xd8" else (0, 0)


def _jpeg_pixels(data: bytes) -> tuple[int, int]:
    """From the first header of a frame; segments before it are stepped over."""
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        if 0xC0 <= data[at + 1] <= 0xCF and data[at + 1] not in (0xC4, 0xC8, 0xCC):
            return int.from_bytes(data[at + 7 : at + 9], "big"), int.from_bytes(data[at + 5 : at + 7], "big")
        at += 2 + max(2, int.from_bytes(data[at + 2 : at + 4], "big"))
    return 0, 0


def _around(tokens: float) -> Sizes:
    return (*NOTHING[:-2], tokens, 0.0)


def _plus(one: Sizes, other: Sizes) -> Sizes:
    return tuple(map(add, one, other))


def _minus(one: Sizes, other: Sizes) -> Sizes:
    return tuple(map(sub, one, other))
