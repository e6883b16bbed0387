"""How MCP servers are doing and what they offer, as lines for `/mcp` and `overt mcp inspect`."""

from collections.abc import Iterable, Iterator, Sequence

from overt.app.mcp.prompts import command_name
from overt.config.describe_files import server_target
from overt.lib.text import cut_line, first_line
from overt.lib.translations import say
from overt.mcp.manifest import Manifest
from overt.mcp.server_tools import tool_name
from overt.mcp.servers import ServerState

WIDEST = 160
REMEDIES = {"failed": "mcp.remedy_failed", "needs login": "mcp.remedy_login"}


def state_lines(states: Sequence[ServerState], problems: dict[str, str]) -> Iterator[str]:
    """Describe each server in a line, with what is wrong and what to do about it below."""
    if not states:
        yield say("mcp.none")
        return
    width = max(len(state.entry.name) for state in states)
    for state in states:
        name = state.entry.name
        phase = say(f"mcp.phase.{state.phase.replace(' ', '_')}")
        offers = _count(state.manifest) if state.manifest else ""
        yield cut_line("  ".join(filter(None, (name.ljust(width), phase, offers, server_target(state.entry)))), WIDEST)
        problem = state.problem or problems.get(name, "")
        if problem:
            yield f"  {problem}"
        yield from (f"  | {line}" for line in state.error_lines[-5:])
        if state.phase in REMEDIES:
            yield "  " + say(REMEDIES[state.phase], name=name)


def _count(manifest: Manifest) -> str:
    counts = {"tools": manifest.tools, "prompts": manifest.prompts, "resources": manifest.resources}
    return ", ".join(say(f"mcp.{kind}", count=len(items)) for kind, items in counts.items() if items)


def manifest_lines(server: str, manifest: Manifest) -> Iterator[str]:
    """List what a server offers, under the names that models and people use."""
    version = f"{manifest.server_name} {manifest.server_version}".strip()
    yield say("mcp.speaks", server=version or server, era=say(f"mcp.era.{manifest.era or 'legacy'}"))
    tools = ((tool_name(server, tool.name), tool.description) for tool in manifest.tools)
    prompts = ((f"/{command_name(server, prompt.name)}", prompt.description) for prompt in manifest.prompts)
    resources = ((f"@{server}:{each.uri}", each.name or each.description) for each in manifest.resources)
    for kind, rows in (("tools", tools), ("prompts", prompts), ("resources", resources)):
        yield from _section(say(f"mcp.head.{kind}"), rows)
    yield from (say("mcp.problem", problem=problem) for problem in manifest.problems)


def _section(head: str, rows: Iterable[tuple[str, str]]) -> Iterator[str]:
    listed = list(rows)
    if listed:
        yield head
    for name, description in listed:
        yield cut_line(f"  {name}  {first_line(description, WIDEST)}".rstrip(), WIDEST)
