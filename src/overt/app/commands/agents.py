"""`/agents`: list the sub-agents of this session; show, stop, steer or fork one."""

from collections.abc import Iterator, Sequence

from overt.app.chat.notices import agent_figures
from overt.app.completion.completion_facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.app.inspect.inspector_values import AgentEvents, AgentListing, Contents, ForkedAgent, RequestBody
from overt.app.slash_command import Command, CommandOutcome, Offer
from overt.app.subagents import inspect_agents
from overt.app.subagents.tree import AgentNode
from overt.core.errors import OvertError
from overt.lib.text import whole_number
from overt.lib.translations import say


async def agents(conversation: Conversation, argument: str) -> CommandOutcome:
    match argument.split(None, 2):
        case []:
            return CommandOutcome(lines=tuple(_lines(inspect_agents.list_agents(conversation))))
        case ["show", path]:
            return CommandOutcome(lines=tuple(await inspect_agents.agent_text(conversation, path)), paged=True)
        case ["stop", path]:
            node = await stop_agent(conversation, path, 0)
            return CommandOutcome(lines=(say("agents.stopping", path=node.path),))
        case ["steer", path, text]:
            node = await steer_agent(conversation, f"{path} {text}", 0)
            return CommandOutcome(lines=(say("agents.steered", path=node.path),))
        case ["fork", path, *step] if not step or whole_number(step[0]):
            number = whole_number(step[0]) if step else None
            forked = await inspect_agents.fork_agent(conversation, path, number)
            return CommandOutcome(lines=(say("agents.forked", path=forked.agent.path, session=forked.session),))
        case [name]:
            return CommandOutcome(lines=_profile_lines(conversation, name))
        case _:
            raise COMMAND.usage_error()


def _lines(listing: AgentListing) -> Iterator[str]:
    if not listing.agents:
        yield say("agents.none")
    for node in listing.agents:
        indent = "  " * (node.depth - 1)
        spent = node.spent
        figures = agent_figures(node.steps, spent.input + spent.output, spent.known_cost)
        facts = (say(f"agents.state.{node.state}"), *figures, *filter(None, (node.description, node.activity)))
        yield f"{indent}{node.path}  {' · '.join(' '.join(fact.split()) for fact in facts)}"
    if listing.profiles:
        yield say("agents.profiles")
    for profile in listing.profiles:
        yield f"  {profile.name}  {profile.description}  ({profile.origin})"


def _profile_lines(conversation: Conversation, name: str) -> tuple[str, ...]:
    """Return the definition of one agent, or with `--all` a line for each agent."""
    from overt.app.subagents.describe import agent_rows, detail_lines, row_lines  # late: 2 ms

    rows = agent_rows(inspect_agents.agent_tree(conversation).library, conversation.setting, internal=True)
    if name == "--all":
        return tuple(row_lines(rows))
    row = next((each for each in rows if each.name == name), None)
    if row is None:
        raise OvertError(say("agents.unknown", name=name))
    return tuple(detail_lines(row))


async def offers(facts: CompletionFacts, argument: str) -> Sequence[Offer]:
    nodes = tuple(facts.conversation.agents or ())
    action, space, _ = argument.partition(" ")
    if space:
        chosen = [node for node in nodes if node.is_live or action in ("show", "fork")]
        more = action == "steer"
        return [Offer(f"{action} {node.path}", node.description, node.path, more=more) for node in chosen]
    words = ("show", "stop", "steer", "fork") if any(node.is_live for node in nodes) else ("show", "fork")
    return [Offer(word, say(f"agents.action.{word}"), more=True) for word in words] if nodes else []


# ── what the inspector asks for ──────────────────────────────────────────────────────────────────────────


async def list_agents(conversation: Conversation, _text: str, _number: int) -> AgentListing:
    return inspect_agents.list_agents(conversation)


async def read_events(conversation: Conversation, path: str, start: int) -> AgentEvents:
    return await inspect_agents.read_events(conversation, path, start)


async def show_context(conversation: Conversation, path: str, number: int) -> Contents:
    return await inspect_agents.show_context(conversation, path, number)


async def show_body(conversation: Conversation, path: str, number: int) -> RequestBody:
    return await inspect_agents.show_body(conversation, path, number)


async def stop_agent(conversation: Conversation, path: str, _number: int) -> AgentNode:
    tree = inspect_agents.agent_tree(conversation)
    node = tree.resolve(path)
    tree.stop(node.path)
    return node


async def steer_agent(conversation: Conversation, text: str, _number: int) -> AgentNode:
    """The text begins with the path of the agent and a space."""
    path, _, message = text.partition(" ")
    tree = inspect_agents.agent_tree(conversation)
    node = tree.resolve(path)
    if not message.strip():
        raise OvertError(say("agents.nothing_to_say"))
    tree.steer(node.path, message.strip())
    return node


async def fork_agent(conversation: Conversation, path: str, step: int) -> ForkedAgent:
    """Fork at the end of a step, or as it is now if `step` is 0."""
    return await inspect_agents.fork_agent(conversation, path, step or None)


COMMAND = Command(
    name="agents",
    run=agents,
    usage="[NAME | --all | show PATH | stop PATH | steer PATH TEXT | fork PATH [STEP]]",
    order=165,
    anytime=True,
    panel="agents",
    complete=offers,
    queries={
        "agents": list_agents,
        "agent_events": read_events,
        "agent_context": show_context,
        "agent_request": show_body,
        "agent_stop": stop_agent,
        "agent_steer": steer_agent,
        "agent_fork": fork_agent,
    },
)
