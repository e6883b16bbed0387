"""The list of skills that every request of a session begins with: all names, and descriptions as far as they fit."""

from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from overt.extensions.skills import Skill

HEAD = "# Skills\nInstructions for certain kinds of work. If a task fits one, load it with `skill` before you begin. "
SHORTENED = "Descriptions that end in … go on; toolsearch looks through all of them."
SHORTEST, USUAL = 40, 100
"""Characters: a description that would have to be shorter is left out, so that others can have the usual length."""
MORE = "and {count} more, which toolsearch finds"


class ShownSkill(Struct, frozen=True, kw_only=True):
    """How a skill appears in the index: `shown` of the `size` characters of its description. Without `listed`, not
    even its name is in it."""

    name: str
    shown: int
    size: int
    listed: bool = True

    @property
    def shortened(self) -> bool:
        return self.shown < self.size or not self.listed


class SkillIndex(Struct, frozen=True, kw_only=True):
    """The text for the model, and what of each skill is in it."""

    text: str = ""
    skills: tuple[ShownSkill, ...] = ()

    @property
    def shortened(self) -> tuple[ShownSkill, ...]:
        return tuple(skill for skill in self.skills if skill.shortened)


def arrange_skills(
    skills: Sequence[Skill], *, include: Sequence[str] | None, exclude: Sequence[str], order: Sequence[str]
) -> tuple[Skill, ...]:
    """Return the skills of the index in their order. All three hold names or patterns; what `order` does not name
    follows as it was found."""
    if include is None and not exclude and not order:
        return tuple(skills)
    chosen = [
        skill
        for skill in skills
        if (include is None or matches_any(skill.name, include)) and not matches_any(skill.name, exclude)
    ]

    def place(skill: Skill) -> int:
        return next((index for index, name in enumerate(order) if fnmatchcase(skill.name, name)), len(order))

    return tuple(sorted(chosen, key=place))


def matches_any(name: str, patterns: Sequence[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def make_index(skills: Sequence[Skill], cap: int) -> SkillIndex:
    """Make the list of skills with at most `cap` bytes.

    All descriptions are shortened to the same length. If that would be too short, those of the first skills are kept
    at the usual length, and of the others only the names are listed.
    """
    if not skills:
        return SkillIndex()
    abouts = [(skill.name, skill.about) for skill in skills]
    left = cap - _weight(HEAD) - _weight(SHORTENED)
    length = _longest_that_fits(abouts, left)
    if length >= SHORTEST:
        return _render(abouts, len(abouts), length)
    names = [_weight(name) + 2 for name, _ in abouts]
    left -= sum(names)
    described = 0
    for (name, about), weight in zip(abouts, names, strict=True):
        left -= _weight(_line(name, _shorten(about, USUAL))) + 1 - weight
        if left < 0:
            break
        described += 1
    return _render(abouts, described, USUAL, cap=cap)


def _longest_that_fits(abouts: Sequence[tuple[str, str]], left: int) -> int:
    """Return the greatest length to which all descriptions can be shortened, 0 if even the shortest does not fit."""
    left -= sum(_weight(_line(name, "")) + 1 for name, _ in abouts)

    def fits(length: int) -> bool:
        return sum(_weight(_shorten(about, length)) for _, about in abouts) <= left

    low, high = SHORTEST, max(SHORTEST, *(len(about) for _, about in abouts))
    if not fits(low):
        return 0
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low


def _render(abouts: Sequence[tuple[str, str]], described: int, length: int, *, cap: int = 0) -> SkillIndex:
    lines: list[str] = []
    shown: list[ShownSkill] = []
    for name, about in abouts[:described]:
        text = _shorten(about, length)
        lines.append(_line(name, text))
        shown.append(ShownSkill(name=name, shown=len(text.removesuffix("…")), size=len(about)))
    names, others = list[str](), abouts[described:]
    left = cap - _weight("\n".join((HEAD, SHORTENED, *lines)))
    for name, about in others:
        left -= _weight(name) + 2
        listed = left >= 0
        names += [name] if listed else []
        shown.append(ShownSkill(name=name, shown=0, size=len(about), listed=listed))
    if missing := len(others) - len(names):
        names.append(MORE.format(count=missing))
    if names:
        lines.append(f"{'Others' if lines else 'Names'}: {', '.join(names)}")
    index = SkillIndex(skills=tuple(shown))
    head = HEAD + (SHORTENED if index.shortened else "")
    return SkillIndex(text="\n".join((head.rstrip(), *lines)), skills=index.skills)


def _line(name: str, about: str) -> str:
    return f"- {name}: {about}"


def _shorten(text: str, length: int) -> str:
    """Cut a text at a word, with a mark."""
    if len(text) <= length:
        return text
    start = text[: max(length - 1, 0)]
    word, blank, _ = start.rpartition(" ")
    return f"{(word if blank and len(word) > length // 2 else start).rstrip(' ,;:.')}…"


def _weight(text: str) -> int:
    """Return the bytes of a text: a Chinese character, which has three, takes about as many tokens as three letters."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
