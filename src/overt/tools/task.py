"""Give a task to a sub-agent, which works in a context of its own and returns its result."""

from typing import Annotated

from msgspec import Meta, Struct

from overt.core.capabilities import Delegate
from overt.core.tool import Outcome, tool
from overt.core.views import Plain


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    prompt: Annotated[str, Meta(description="All it needs to know")]
    description: Annotated[str, Meta(description="3-5 words")] = ""
    agent: Annotated[str, Meta(description="general, explore (only reads), worker (in a copy)")] = "general"

    def subjects(self) -> tuple[str, ...]:
        return (self.agent,)

    def headline(self) -> str:
        return f"{self.agent}: {' '.join((self.description or self.prompt).split())}"


@tool(order=119, aliases="Task Agent agent delegate spawn_agent run_subagent subagent dispatch_agent", harmless=("*",))
async def task(args: Args, agents: Delegate) -> Outcome:
    """Give a self-contained task to a sub-agent and get its result. Several calls in one reply run at once."""
    result = await agents.run(args.agent, args.prompt, args.description)
    text = f"{result.text}\n[{result.path}, session {result.session}]"
    return Outcome(text=text, view=Plain(text=text))
