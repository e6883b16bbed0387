"""Skills: folders with a `SKILL.md` that tells the model how to do a kind of work (agentskills.io).

Loading is tolerant: what is wrong with a skill is said in its `problems`, and it is used as far as it can be.
`skill_check` is strict.
"""

import os
import re
import stat
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from overt.extensions.discovery import ExtensionFolder, Scope
from overt.lib.paths import lies_in
from overt.lib.read_file import read_regular

if TYPE_CHECKING:
    from overt.lib.front_matter import FrontMatter, MatterFields

FILE_NAMES = ("SKILL.md", "skill.md")
LARGEST_FILE = 256 * 1024
LONGEST_DESCRIPTION = 1024
LONGEST_NAME = 64
MOST_SKILLS = 2000
"""Of one folder."""
MOST_FILES = 100
"""Files of a skill that are listed for the model."""
NAME = r"[^\W_]+([.-][^\W_]+)*"
"""Compiled at its first use: unchanged skills are not read again, and the first request waits for all of this."""
UNSUPPORTED = ("model", "effort", "background", "hooks", "shell")
"""Keys of other programs that this version does not use yet."""
BUILT_IN_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "built_in_skills")
BUILT_IN = ExtensionFolder(path=BUILT_IN_FOLDER, scope="built-in", where="built-in")


class Skill(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One skill. `path` is its SKILL.md, `where` how its folder is shown.

    A trigger is a phrase, or a regular expression between slashes; a prompt that holds it brings the skill along.
    `paths` are patterns of files: when one is read or edited, the skill is offered. `allowed_tools` and
    `disallowed_tools` are permission rules for the turn in which it is loaded. `size` counts the characters of its
    text. If it is not `for_model`, only the user starts it, with `/name`. With an `agent` it is not loaded but run by a
    sub-agent with this profile.
    """

    name: str
    description: str
    path: str
    where: str
    scope: Scope
    when_to_use: str = ""
    argument_hint: str = ""
    triggers: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    allowed_tools: str = ""
    disallowed_tools: str = ""
    disabled: bool = False
    for_model: bool = True
    for_user: bool = True
    agent: str = ""
    size: int = 0
    problems: tuple[str, ...] = ()

    @property
    def folder(self) -> str:
        return os.path.dirname(self.path)

    @property
    def about(self) -> str:
        """The description, with when to use it."""
        return f"{self.description} {self.when_to_use}".strip()


SkillFile = tuple[str, str, str, int, int, int]
"""A SKILL.md in a listing: the name of its folder, the real path of that folder, the name of the file, and its change
time, size and inode, which tell whether it has changed."""


class SkillFiles(Struct, frozen=True, kw_only=True):
    """The skills of several folders. Of two with one name the first counts, and the other one is `shadowed`.

    `problems` are about folders that hold no skill that could be read. `listings` are the contents of each folder when
    the skills were read; skills in an equal listing are not read again.
    """

    skills: tuple[Skill, ...] = ()
    shadowed: tuple[Skill, ...] = ()
    problems: tuple[str, ...] = ()
    listings: tuple[tuple[SkillFile, ...], ...] = ()


def read_skills(
    folders: Sequence[ExtensionFolder], *, project: str = "", stored: SkillFiles | None = None
) -> SkillFiles:
    """Read the skills of all folders. Unchanged ones are taken from `stored`, the result for the same folders.

    A skill of the project whose folder is a link must lie in a folder that the user was asked to trust.
    """
    listings = tuple(_list_skills(folder) for folder in folders)
    if stored and stored.listings == listings and not stored.problems:
        return stored
    known = _skills_by_file(folders, stored) if stored else {}
    trusted = [os.path.join(os.path.realpath(project), name) for name in (".overt", ".agents/skills", ".claude/skills")]
    skills, shadowed, problems, places = dict[str, Skill](), list[Skill](), list[str](), set[str]()
    for folder, files in zip(folders, listings, strict=True):
        for file in files:
            name, real, file_name, *_ = file
            path, where = os.path.join(folder.path, name, file_name), f"{folder.where}/{name}"
            if real in places:
                continue  # the same folder by way of a link
            places.add(real)
            if folder.scope == "project" and not any(lies_in(real, place) for place in trusted):
                problems.append(f"{where}: the folder is a link that leads out of the folders that were trusted")
                continue
            skill = known.get((path, file))
            if skill is None:
                try:
                    skill = read_skill(path, where=where, folder=folder)
                except OSError as error:
                    problems.append(f"{where}: SKILL.md cannot be read: {error.strerror}")
                    continue
            if skill.name in skills:
                shadowed.append(skill)
            else:
                skills[skill.name] = skill
    return SkillFiles(
        skills=tuple(skills.values()), shadowed=tuple(shadowed), problems=tuple(problems), listings=listings
    )


def _skills_by_file(folders: Sequence[ExtensionFolder], stored: SkillFiles) -> dict[tuple[str, SkillFile], Skill]:
    skills = {skill.path: skill for skill in (*stored.skills, *stored.shadowed)}
    return {
        (path, file): skills[path]
        for folder, files in zip(folders, stored.listings, strict=False)
        for file in files
        if (path := os.path.join(folder.path, file[0], file[2])) in skills
    }


def _list_skills(folder: ExtensionFolder) -> tuple[SkillFile, ...]:
    """List the folders that hold a SKILL.md in alphabetical order. The first request waits for this, so each skill
    costs one stat, relative to its folder, which takes half the time."""
    files: list[SkillFile] = []
    try:
        # the copies of plugins hold no links, and their folder is a real path
        above = folder.path if folder.scope == "plugin" else os.path.realpath(folder.path)
        descriptor = os.open(above, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return ()
    try:
        with os.scandir(descriptor) as entries:
            listed = sorted((entry.name, entry.is_symlink()) for entry in entries)[:MOST_SKILLS]
        for name, is_link in listed:
            if not name.startswith(".") and (file := _look_for_file(name, descriptor)):
                real = f"{above}/{name}"
                files.append((name, os.path.realpath(real) if is_link else real, *file))
    except OSError:
        pass  # what could be listed counts
    finally:
        os.close(descriptor)
    return tuple(files)


def _look_for_file(folder: str, above: int | None = None) -> tuple[str, int, int, int] | None:
    for name in FILE_NAMES:
        try:
            state = os.stat(f"{folder}/{name}", dir_fd=above)
        except OSError:
            continue
        if stat.S_ISREG(state.st_mode):
            return name, state.st_ctime_ns, state.st_size, state.st_ino
    return None


def find_skill_file(folder: str) -> str:
    """Return the path of the SKILL.md of a folder, or an empty string."""
    file = _look_for_file(folder)
    return os.path.join(folder, file[0]) if file else ""


def read_skill(path: str, *, where: str, folder: ExtensionFolder) -> Skill:
    """Read one skill. Without front matter it has the name of its folder and its first paragraph as description."""
    from overt.lib.front_matter import MatterFields  # late: 0.8 ms

    matter, problems = read_skill_file(path), list[str]()
    fields = MatterFields(matter.fields, problems)
    if matter.problem:
        problems.append(matter.problem)
    elif not matter.fields:
        problems.append("it has no front matter")
    folder_name = os.path.basename(os.path.dirname(path))
    name = fields.text("name")
    if not re.fullmatch(NAME, name) or len(name) > LONGEST_NAME:
        if name:
            problems.append("its name may have only letters, digits and hyphens; it goes by its folder's name")
        name = "-".join(re.findall(r"[^\W_]+", folder_name))[:LONGEST_NAME] or "skill"
    elif name != folder_name:
        problems.append(f"its folder is not called {name}")
    description = " ".join(fields.text("description").split())
    if not description:
        description = _first_paragraph(matter.body)
        problems.append("it has no description")
    if len(description) > LONGEST_DESCRIPTION:
        problems.append(f"its description has more than {LONGEST_DESCRIPTION} characters")
    for key in UNSUPPORTED:
        if key in matter.fields:
            problems.append(f"`{key}` is not used by this version")
    return Skill(
        name=f"{folder.namespace}:{name}" if folder.namespace else name,
        description=description,
        path=path,
        where=where,
        scope=folder.scope,
        when_to_use=" ".join((fields.text("when_to_use") or fields.text("when-to-use")).split()),
        argument_hint=" ".join((fields.text("argument-hint") or " ".join(fields.texts("arguments"))).split()),
        triggers=_usable_triggers(fields.texts("triggers"), problems),
        paths=fields.texts("paths", commas=True),
        allowed_tools=" ".join(fields.texts("allowed-tools")),
        disallowed_tools=" ".join(fields.texts("disallowed-tools")),
        disabled=fields.flag("disabled", usual=False),
        for_model=not fields.flag("disable-model-invocation", usual=False),
        for_user=fields.flag("user-invocable", usual=True),
        agent=_read_agent(fields, problems),
        size=len(matter.body.strip()),
        problems=tuple(problems),
    )


def _read_agent(fields: "MatterFields", problems: list[str]) -> str:
    """Return the profile of the sub-agent that runs the skill, or an empty string."""
    agent, run_as, context = fields.text("agent"), fields.text("runAs"), fields.text("context")
    for key, value, known in (("runAs", run_as, "subagent"), ("context", context, "fork")):
        if value not in ("", known):
            problems.append(f"`{key}` must be {known}, got {value!r}")
    if run_as == "subagent" or context == "fork":
        return agent or "general"
    if agent:
        problems.append("`agent` is used only with `runAs: subagent` or `context: fork`")
    return ""


def read_skill_file(path: str) -> "FrontMatter":
    """Read a SKILL.md as far as its first 256 KB."""
    from overt.lib.front_matter import read_front_matter  # late: 0.8 ms

    data, _ = read_regular(path, LARGEST_FILE)
    return read_front_matter(data[:LARGEST_FILE].decode("utf-8", "replace"))


def _first_paragraph(body: str) -> str:
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", body))
    text = next((each for each in paragraphs if each and not each.startswith("#")), "")
    return text[:LONGEST_DESCRIPTION]


# ── triggers and paths ───────────────────────────────────────────────────────────────────────────────────


def _usable_triggers(triggers: Iterable[str], problems: list[str]) -> tuple[str, ...]:
    usable: list[str] = []
    for trigger in filter(None, triggers):
        try:
            _trigger_pattern(trigger)
            usable.append(trigger)
        except re.error as error:
            problems.append(f"the trigger {trigger!r} is no regular expression: {error}")
    return tuple(usable)


def _trigger_pattern(trigger: str) -> re.Pattern[str]:
    if len(trigger) > 2 and trigger.startswith("/") and trigger.endswith("/"):
        return re.compile(trigger[1:-1], re.IGNORECASE)
    return re.compile(rf"(?<!\w){re.escape(trigger)}(?!\w)", re.IGNORECASE)


def triggered_by(skills: Iterable[Skill], prompt: str) -> tuple[Skill, ...]:
    """Return the skills that have a trigger in the prompt."""
    return tuple(
        skill for skill in skills if any(_trigger_pattern(trigger).search(prompt) for trigger in skill.triggers)
    )


# ── what the model is given ──────────────────────────────────────────────────────────────────────────────


def list_files(folder: str) -> tuple[str, ...]:
    """Return the paths of the files of a skill beside its SKILL.md, relative to its folder, at most 100 of them."""
    files: list[str] = []
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "__pycache__", "node_modules")))
        prefix = os.path.relpath(root, folder)
        files += [os.path.normpath(os.path.join(prefix, name)) for name in sorted(names) if not name.startswith(".")]
        if len(files) > MOST_FILES:
            break
    return tuple(file for file in files if file not in FILE_NAMES)[:MOST_FILES]


def new_skill(name: str, description: str) -> str:
    """Return the text of a SKILL.md to begin with."""
    title = name.replace("-", " ").capitalize()
    return (
        f"---\nname: {name}\ndescription: {description}\n---\n\n# {title}\n\n"
        "1. Say what to look at first.\n2. Say what to do, and with which commands.\n"
        "3. Say how to check that it worked.\n"
    )
