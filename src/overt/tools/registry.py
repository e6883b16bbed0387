"""Every built-in tool, in the order the model is told of them."""

from overt.core.capabilities import Effect
from overt.core.tool import Tool
from overt.tools.bash import bash
from overt.tools.edit import edit
from overt.tools.glob import glob
from overt.tools.grep import grep
from overt.tools.jobs import jobs
from overt.tools.list import list_
from overt.tools.multiedit import multiedit
from overt.tools.patch import patch
from overt.tools.read import read
from overt.tools.todowrite import todowrite
from overt.tools.write import write

BUILT_IN: tuple[Tool, ...] = (
    read,
    write,
    edit,
    multiedit,
    patch,
    list_,
    glob,
    grep,
    bash,
    jobs,
    todowrite,
)


def tools_for(effects: frozenset[Effect], *, without: frozenset[str] = frozenset()) -> dict[str, Tool]:
    """The tools an agent with these effects has; a tool that needs more does not exist for it."""
    return {tool.name: tool for tool in BUILT_IN if tool.effects <= effects and tool.name not in without}
