"""Skills that run as a sub-agent (`runAs: subagent`, `context: fork`): only the answer reaches the caller."""

from typing import TYPE_CHECKING

from overt.app.skills.library import SkillLibrary
from overt.core.capabilities import LoadedSkill

if TYPE_CHECKING:
    from overt.app.subagents.delegation import CallDelegation


class SkillRunner:
    """LoadSkills for one call of an agent that may start sub-agents."""

    def __init__(self, library: SkillLibrary, agents: "CallDelegation") -> None:
        self._library = library
        self._agents = agents

    async def load(self, name: str, arguments: str) -> LoadedSkill:
        skill = self._library.find(name)
        if not skill.agent:
            return await self._library.load(name, arguments)
        loaded, rules = self._library.read(skill, arguments), self._library.rules_of(skill)[0]
        result = await self._agents.run(skill.agent, loaded.for_model(), f"/{skill.name}", rules=rules)
        run_by = f"{result.path} (session {result.session})"
        return LoadedSkill(name=skill.name, text=result.text, folder=loaded.folder, run_by=run_by)
