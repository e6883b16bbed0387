"""`/agents`: the sub-agents of this session, and the agents that there are with their origin."""

from collections.abc import Sequence

from overt.app.completion.completion_facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.app.slash_command import Command, CommandOutcome, Offer
from overt.app.subagents.tree import AgentNode
from overt.core.errors import OvertError
from overt.lib.text import first_line
from overt.lib.translations import say


async def agents(conversation: Conversation, argument: str) -> CommandOutcome:
    from overt.app.subagents.describe import agent_rows, detail_lines, row_lines  # late: 2 ms

    tree = conversation.agents
    if tree is None:
        return CommandOutcome(lines=(say("agents.none"),))
    rows = agent_rows(tree.library, conversation.setting, internal=argument != "")
    if argument in ("", "--all"):
        return CommandOutcome(lines=(*map(_line, tree), *row_lines(rows)))
    row = next((each for each in rows if each.name == argument), None)
    if row is None:
        raise OvertError(say("agents.unknown", name=argument))
    return CommandOutcome(lines=tuple(detail_lines(row)))


def _line(node: AgentNode) -> str:
    about = f"  {node.description}" if node.description else ""
    state = say(f"agents.{node.state}")
    return f"{'  ' * (node.depth - 1)}{node.path}  [{state}]  {say('agents.steps', steps=node.steps)}{about}"


async def offers(facts: CompletionFacts, _argument: str) -> Sequence[Offer]:
    tree = facts.conversation.agents
    profiles = tree.library.profiles.values() if tree else ()
    return [Offer("--all"), *(Offer(each.name, first_line(each.description)) for each in profiles)]


COMMAND = Command(
    name="agents", run=agents, usage="[NAME | --all]", order=257, anytime=True, panel="lines", complete=offers
)
