"""The skills of a session. They are read once, when the session begins; a text is read again when it is loaded.

Nothing is read at the start if there are only the built-in skills: their names are known.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING

from msgspec import DecodeError, json

from overt.app.setting import Setting
from overt.app.skills.folders import skill_folders
from overt.config.rules import parse_rule, resolve_rule, split_rules
from overt.core.capabilities import LoadedSkill, SkillSummary
from overt.core.errors import ConfigError, ToolError
from overt.core.settings import Action, Rule
from overt.lib.logs.log import LOG
from overt.safety.rules import Subject, matching

if TYPE_CHECKING:
    from overt.extensions.discovery import ExtensionFolder
    from overt.extensions.skill_index import SkillIndex
    from overt.extensions.skills import Skill, SkillFiles

BUILT_IN_NAMES = ("explore-codebase", "review-change", "write-tests")


class SkillLibrary:
    """`add_rules` lets permission rules hold until the turn ends; `session` is the id of the session."""

    def __init__(
        self,
        setting: Setting,
        *,
        session: str = "",
        add_rules: Callable[[Iterable[Rule]], None] = lambda _: None,
    ) -> None:
        self._setting = setting
        self._session = session
        self._add_rules = add_rules

    # ── which there are ──────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def files(self) -> "SkillFiles":
        """All skills, those that are switched off included."""
        from overt.extensions.skills import BUILT_IN, read_skills  # late: 2 ms

        folders = (*self._folders, BUILT_IN)
        path = self._cache_path(folders)
        stored = _read_stored(path)
        files = read_skills(folders, project=self._setting.roots.project, stored=stored)
        if files is not stored:
            _write_stored(path, files)
        return files

    @property
    def has_own(self) -> bool:
        """True if there is a folder with skills beside the built-in ones."""
        return bool(self._folders)

    @cached_property
    def _folders(self) -> tuple["ExtensionFolder", ...]:
        return skill_folders(self._setting)

    def _cache_path(self, folders: Sequence["ExtensionFolder"]) -> str:
        lines = ["3", self._setting.roots.project]
        lines += (text for each in folders for text in (each.path, each.where, each.scope, each.namespace))
        name = sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()
        return os.path.join(self._setting.environment.cache_dir, "skills", f"{name[:32]}.json")

    @cached_property
    def enabled(self) -> dict[str, "Skill"]:
        return {skill.name: skill for skill in self.files.skills if not self.why_off(skill)}

    def why_off(self, skill: "Skill") -> str:
        """Return why a skill is not used, or an empty string."""
        if skill.disabled:
            return "disabled in its front matter"
        return "disabled by skills.disabled" if self._is_disabled(skill.name) else ""

    def _is_disabled(self, name: str) -> bool:
        if not (patterns := self._setting.config.skills.disabled):
            return False
        from overt.extensions.skill_index import matches_any  # late: 1 ms

        return matches_any(name, patterns)

    def is_denied(self, name: str) -> bool:
        """True if a permission rule denies the skill: the model does not learn of it."""
        denials = self._denials
        return bool(denials) and matching(denials, Subject(tool="skill", values=(name,)), "deny") is not None

    @cached_property
    def _denials(self) -> tuple[Rule, ...]:
        return tuple(rule for rule in self._setting.config.permissions.rules if rule.action == "deny")

    @cached_property
    def for_model(self) -> dict[str, "Skill"]:
        """The skills that the model may load."""
        return {name: skill for name, skill in self.enabled.items() if skill.for_model and not self.is_denied(name)}

    @cached_property
    def for_user(self) -> dict[str, "Skill"]:
        """The skills that the user may run with `/name`."""
        return {name: skill for name, skill in self.enabled.items() if skill.for_user}

    @cached_property
    def is_listed(self) -> bool:
        """True if the model is sent the list of skills and the tool that loads them. It is if there is a skill beside
        the built-in ones; without any, those are found by a search, and the first request is as small as it can be."""
        if not self._folders or not self._tool_exists:
            return False
        return any(skill.scope != "built-in" for skill in self.for_model.values())

    @property
    def _tool_exists(self) -> bool:
        tools = self._setting.config.tools
        return "skill" not in tools.disabled and (tools.enabled is None or "skill" in tools.enabled)

    def searchable_names(self) -> tuple[str, ...]:
        """Return the skills that the description of `toolsearch` names, because they are not listed elsewhere."""
        if self.is_listed or not self._tool_exists:
            return ()
        return tuple(name for name in BUILT_IN_NAMES if not self._is_disabled(name) and not self.is_denied(name))

    def model_names(self) -> tuple[str, ...]:
        """Return the names of all skills that the model may load."""
        return tuple(self.for_model) if self.is_listed else self.searchable_names()

    def summaries(self) -> dict[str, SkillSummary]:
        """Return what a search shows of the skills that the model may load."""
        if not self._tool_exists:
            return {}
        return {name: SkillSummary(name=name, description=skill.about) for name, skill in self.for_model.items()}

    def index(self, cap: int) -> "SkillIndex | None":
        """Return the list of skills for the model; None if there is none."""
        if not self.is_listed:
            return None
        from overt.extensions.skill_index import arrange_skills, make_index  # late: 1 ms

        settings = self._setting.config.skills
        skills = arrange_skills(
            tuple(self.for_model.values()), include=settings.include, exclude=settings.exclude, order=settings.order
        )
        return make_index(skills, cap)

    # ── loading one ──────────────────────────────────────────────────────────────────────────────────────

    async def load(self, name: str, arguments: str) -> LoadedSkill:
        """Load a skill for the model, with its permission rules."""
        skill = self.find(name)
        loaded = self.read(skill, arguments)
        self.activate(skill)
        return loaded

    def preview(self) -> "SkillLibrary":
        """Return a library that loads skills without their permission rules."""
        return SkillLibrary(self._setting, session=self._session)

    def find(self, name: str) -> "Skill":
        """Return a skill that the model may load, or raise a ToolError that names similar ones."""
        skills = self.for_model
        wanted = name.strip().removeprefix("/")
        matches = [key for key in skills if key == wanted] or [
            key for key in skills if key.lower() == wanted.lower() or key.rpartition(":")[2] == wanted
        ]
        if len(matches) == 1:
            return skills[matches[0]]
        import difflib  # late: 0.9 ms

        near = matches or difflib.get_close_matches(wanted, skills, n=3)
        hint = f" Similar names: {', '.join(near)}." if near else " Find one with toolsearch."
        raise ToolError(f"There is no skill {wanted!r}.{hint}", code="missing")

    def read(self, skill: "Skill", arguments: str) -> LoadedSkill:
        """Read the text of a skill and fill in its arguments."""
        from overt.extensions.arguments import fill_arguments  # late: 1 ms
        from overt.extensions.skills import list_files, read_skill_file  # late: 2 ms

        try:
            body = read_skill_file(skill.path).body
        except OSError as error:
            raise ToolError(f"The skill {skill.name} cannot be read: {error.strerror}", code="missing") from None
        folder = self._show_folder(skill)
        variables = {"CLAUDE_SKILL_DIR": folder, "SKILL_DIR": folder, "CLAUDE_SESSION_ID": self._session}
        takes_arguments = bool(arguments.strip() or skill.argument_hint)
        text = fill_arguments(body, arguments, variables, positional=takes_arguments)
        return LoadedSkill(name=skill.name, text=text, folder=folder, files=list_files(skill.folder))

    def _show_folder(self, skill: "Skill") -> str:
        """Return the path of a skill, relative to the workspace if it lies in it."""
        folder, workspace = os.path.realpath(skill.folder), self._setting.roots.workspace
        return os.path.relpath(folder, workspace) if folder.startswith(f"{workspace}/") else folder

    def activate(self, skill: "Skill") -> None:
        """Let the permission rules of a skill hold until the turn ends."""
        if rules := self.rules_of(skill)[0]:
            self._add_rules(rules)

    def rules_of(self, skill: "Skill") -> tuple[tuple[Rule, ...], tuple[str, ...]]:
        """Return the permission rules of a skill, and what is wrong with those that are none."""
        rules, problems = list[Rule](), list[str]()
        fields: tuple[tuple[Action, str], ...] = (("allow", skill.allowed_tools), ("deny", skill.disallowed_tools))
        for action, texts in fields:
            for text in split_rules(texts):
                try:
                    rule = parse_rule(text, action, f"skill {skill.name}")
                    rules.append(resolve_rule(rule, lambda: self._setting.tools.rule_names, problems))
                except ConfigError as error:
                    problems.append(error.message)
        return tuple(rules), tuple(problems)


def _read_stored(path: str) -> "SkillFiles | None":
    from overt.extensions.skills import SkillFiles  # late: 2 ms

    try:
        with open(path, "rb") as file:
            return json.decode(file.read(), type=SkillFiles)
    except (OSError, DecodeError):
        return None


def _write_stored(path: str, stored: "SkillFiles") -> None:
    """Keep what was read for the next start. A full disk only means that it is read again."""
    from overt.lib.atomic import replace as replace_file  # late: 0.3 ms

    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        replace_file(path, json.encode(stored), sync=False)
    except (OSError, UnicodeEncodeError) as error:
        LOG.warning("skills", f"what was read could not be stored: {error}")
