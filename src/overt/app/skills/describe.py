"""What `/skills` and `overt skills` show: each skill with its state, and the list that the model is sent."""

from collections.abc import Iterator

from msgspec import Struct

from overt.app.setting import Setting
from overt.app.skills.library import SkillLibrary
from overt.extensions.skill_index import SkillIndex, matches_any
from overt.extensions.skills import Skill
from overt.lib.text import shorten
from overt.lib.tokens import estimate
from overt.lib.translations import say

LONGEST_ABOUT = 90


class SkillRow(Struct, frozen=True, kw_only=True):
    """One skill as people are shown it. `size` counts the characters of its text."""

    name: str
    state: str
    where: str
    scope: str
    size: int
    description: str
    problems: tuple[str, ...] = ()


def skill_rows(library: SkillLibrary, setting: Setting) -> tuple[SkillRow, ...]:
    files = library.files
    rows = [_row(skill, _state(skill, library, setting), library) for skill in files.skills]
    winners = {skill.name: skill.where for skill in files.skills}
    shadowed = [_row(skill, say("skills.shadowed", where=winners[skill.name]), library) for skill in files.shadowed]
    return (*rows, *shadowed)


def _row(skill: Skill, state: str, library: SkillLibrary) -> SkillRow:
    return SkillRow(
        name=skill.name,
        state=state,
        where=skill.where,
        scope=skill.scope,
        size=skill.size,
        description=skill.about,
        problems=(*skill.problems, *library.rules_of(skill)[1]),
    )


def _state(skill: Skill, library: SkillLibrary, setting: Setting) -> str:
    settings = setting.config.skills
    if why := library.why_off(skill):
        return why
    if library.is_denied(skill.name):
        return say("skills.denied")
    if not skill.for_model:
        return say("skills.user_only")
    included = settings.include is None or matches_any(skill.name, settings.include)
    listed = library.is_listed and included and not matches_any(skill.name, settings.exclude)
    return say("skills.listed" if listed else "skills.searched")


def row_lines(library: SkillLibrary, setting: Setting) -> Iterator[str]:
    """Return a line for each skill, and one for each problem."""
    for row in skill_rows(library, setting):
        yield f"{row.name}  [{row.state}]  {row.where}, {row.size}  {shorten(row.description, LONGEST_ABOUT)}"
        yield from (f"    {problem}" for problem in row.problems)
    yield from library.files.problems


class SkillBudget(Struct, frozen=True, kw_only=True):
    """The list of skills as the model is sent it, byte for byte, and how large it is."""

    index: SkillIndex
    cap: int
    tokens: int


def skill_budget(library: SkillLibrary, setting: Setting) -> SkillBudget:
    cap = setting.config.recipe.cap("skills")
    index = library.index(cap) or SkillIndex()
    return SkillBudget(index=index, cap=cap, tokens=estimate(index.text))


def budget_lines(budget: SkillBudget) -> Iterator[str]:
    """Say how large the list is, and what of it was shortened."""
    index = budget.index
    size, cap, shortened = len(index.text), budget.cap, index.shortened
    yield say("skills.budget", count=len(index.skills), size=size, cap=cap, tokens=budget.tokens)
    if not shortened:
        yield say("skills.whole")
        return
    yield say("skills.shortened", count=len(shortened))
    for skill in shortened:
        key = "skills.part" if skill.listed else "skills.no_name"
        yield say(key, name=skill.name, shown=skill.shown, size=skill.size)
