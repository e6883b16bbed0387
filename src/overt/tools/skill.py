"""Load a skill: instructions for a kind of work, with references and scripts that are read and run by path."""

from typing import Annotated

from msgspec import Meta, Struct

from overt.core.capabilities import LoadSkills
from overt.core.tool import Outcome, tool
from overt.core.views import Plain


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    arguments: Annotated[str, Meta(description="Only if the skill takes some")] = ""

    def subjects(self) -> tuple[str, ...]:
        return (self.name,)


@tool(
    order=118,
    aliases="Skill load_skill use_skill activate_skill read_skill get_skill invoke_skill run_skill",
    rare=True,
)
async def skill(args: Args, skills: LoadSkills) -> Outcome:
    """Load the instructions of a skill by its name."""
    loaded = await skills.load(args.name, args.arguments)
    return Outcome(text=loaded.for_model(), view=Plain(text=f"{loaded.name}: {loaded.folder}"))
