"""Folders with skills for tests: 150 of public topics, with a probe sentence for each."""

from pathlib import Path

from msgspec import Struct

DATA = Path(__file__).parent.parent / "data" / "skills" / "skills.txt"
HABITS = (
    "Use it for {when}, even if the user does not ask for it by name. It gives the steps in order, says which "
    "questions to ask first and which mistakes are common, and ends with a check of the result. Not for general "
    "questions, nor for work that takes one line.",
    "Triggers for {when}, and when the user mentions anything like it. Asks before anything that cannot be undone, "
    "prefers tools that are installed already, and reports what was done and what is left to do afterwards, with the "
    "commands.",
    "Covers {when} from the first look to a verified result. The defaults work for most teams, and the text tells "
    "when to deviate from them. References and scripts are read only when needed. Stop when a check fails, and say "
    "why it did.",
)
"""Sentences that descriptions have in common."""


class SampleSkill(Struct, frozen=True):
    """A skill, and a sentence of a user whose task it is for."""

    name: str
    description: str
    probe: str


def sample_skills() -> list[SampleSkill]:
    """Return 150 skills whose descriptions have 80 000 characters together."""
    rows = [line.split("|") for line in DATA.read_text().splitlines()]
    return [
        SampleSkill(name, f"{what} {HABITS[number % len(HABITS)].format(when=when)} {requests}", probe)
        for number, (name, what, when, requests, probe) in enumerate(rows)
    ]


def write_skill(folder: Path, name: str, description: str, body: str = "Do it.\n", extra: str = "") -> Path:
    """Write `folder/name/SKILL.md` and return the folder of the skill."""
    skill = folder / name
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(f"---\nname: {name}\ndescription: >-\n  {description}\n{extra}---\n{body}")
    return skill
