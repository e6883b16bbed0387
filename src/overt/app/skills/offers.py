"""Skills that join without being asked for: by a trigger in the prompt, or by a file that was read or edited."""

from typing import TYPE_CHECKING

from overt.app.skills.library import SkillLibrary
from overt.core.errors import ToolError
from overt.core.history import History
from overt.core.messages import Message, own_message, said
from overt.core.settings import Rule
from overt.core.text_fragments import LABEL, Origin
from overt.safety.rules import Subject, speaks_of

if TYPE_CHECKING:
    from overt.extensions.skills import Skill

MOST_TRIGGERED = 3
"""Skills that one prompt brings along at most."""
HINT = "The skill {name} is for files such as {path}. Load it with `skill` if it fits what you are doing."


TRIGGERED_HINT = "The prompt that follows holds a trigger of the skill {name}. A sub-agent runs it: call `skill`."


class SkillOffers:
    def __init__(self, library: SkillLibrary) -> None:
        self._library = library
        self._hinted: set[str] = set()
        self._looked: set[str] = set()

    def triggered(self, prompt: str, history: History) -> tuple[Message, ...]:
        """Return the skills whose triggers are in the prompt, unless they are in the history already."""
        from overt.extensions.skills import triggered_by  # late: 2 ms

        present = {message.origin.where for message in history.messages if message.origin.kind == "file"}
        skills = triggered_by((skill for skill in self._usable() if skill.triggers), prompt)
        messages: list[Message] = []
        for skill in [skill for skill in skills if self._where(skill) not in present][:MOST_TRIGGERED]:
            if skill.agent:
                messages.append(own_message(TRIGGERED_HINT.format(name=skill.name), "skill"))
                continue
            try:
                loaded = self._library.read(skill, "")
            except ToolError:
                continue  # the file has gone since the session began
            self._library.activate(skill)
            head = f"{LABEL}The prompt that follows holds a trigger of this skill.\n"
            origin = Origin(kind="file", where=self._where(skill), label=len(head))
            messages.append(said(head + loaded.for_model(), origin=origin))
        return tuple(messages)

    def for_files(self, history: History) -> tuple[Message, ...]:
        """Return a hint for each skill whose `paths` match a file that was read or edited since the last request."""
        fresh = sorted(history.seen.keys() - self._looked)
        self._looked.update(fresh)
        messages: list[Message] = []
        for skill in self._usable() if fresh else ():
            if not skill.paths or skill.name in self._hinted:
                continue
            if path := next((path for path in fresh if matches_path(path, skill.paths)), ""):
                self._hinted.add(skill.name)
                messages.append(own_message(HINT.format(name=skill.name, path=path), "skill"))
        return tuple(messages)

    def _usable(self) -> tuple["Skill", ...]:
        return tuple(self._library.for_model.values()) if self._library.has_own else ()

    def _where(self, skill: "Skill") -> str:
        return f"{skill.where}/SKILL.md"


def matches_path(path: str, patterns: tuple[str, ...]) -> bool:
    """True if a path fits a pattern as in .gitignore: `**` are any folders, `*.py` is a name anywhere."""
    subject = Subject(tool="read", values=(path,))
    return any(speaks_of(Rule(action="ask", tool="read", pattern=pattern), subject) for pattern in patterns)
