"""Run a tool that `toolsearch` has shown. Repair turns such a call into a call of that tool before it is judged."""

from typing import Annotated, Any

from msgspec import Meta, Struct

from overt.core.errors import ToolError
from overt.core.tool import Outcome, tool


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Annotated[str, Meta(description="As toolsearch shows it")]
    arguments: dict[str, Any] = {}

    def subjects(self) -> tuple[str, ...]:
        return (self.name,)


@tool(order=130, aliases="ToolCall tool_call call_tool use_mcp_tool use_tool invoke_tool", forwards=True)
async def toolcall(args: Args) -> Outcome:
    """Run a tool that toolsearch has shown."""
    raise ToolError(f"{args.name} cannot be run through toolcall; call it by its own name.", code="invalid")
