"""Check skills strictly, and make a new one."""

import os
from collections.abc import Iterable

from overt.app.setting import Setting
from overt.core.errors import UsageError
from overt.extensions.skill_check import SkillReport, check_skill
from overt.extensions.skills import LONGEST_NAME, find_skill_file, new_skill
from overt.lib.atomic import replace as replace_file
from overt.lib.translations import say


def check_folders(folders: Iterable[str]) -> tuple[SkillReport, ...]:
    """Check each folder: a skill, or a folder that holds skills."""
    return tuple(check_skill(skill) for folder in folders for skill in _skills_in(folder))


def _skills_in(folder: str) -> list[str]:
    if find_skill_file(folder) or not os.path.isdir(folder):
        return [folder]
    inner = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
    return [path for path in inner if find_skill_file(path)] or [folder]


def create_skill(setting: Setting, name: str, *, for_user: bool, description: str) -> str:
    """Make a skill to begin with and return the path of its SKILL.md. Nothing is replaced."""
    is_valid = 0 < len(name) <= LONGEST_NAME and all(
        part.isalnum() and part == part.lower() for part in name.split("-")
    )
    if not is_valid:
        raise UsageError(say("skills.bad_name", name=name))
    base = setting.environment.config_dir if for_user else os.path.join(setting.roots.project, ".overt")
    folder = os.path.join(base, "skills", name)
    if os.path.lexists(folder):
        raise UsageError(say("skills.exists", path=folder))
    text = new_skill(name, " ".join(description.split()) or say("skills.describe_me"))
    os.makedirs(folder)
    path = os.path.join(folder, "SKILL.md")
    replace_file(path, text.encode(), mode=0o644)
    return path
