"""Tables `[agent.NAME]` of a configuration file: an agent, or changes to a built-in one."""

from overt.config.reading.key_types import (
    STRING,
    STRINGS,
    KeyType,
    Unfit,
    choice,
    number,
    read_flag,
    read_texts,
    whole_number,
)
from overt.config.reading.key_types import read_text as read_plain
from overt.config.rules import did_you_mean, nearest, printable, split_rules
from overt.core.capabilities import AVAILABLE

LONGEST_NAME = 64
RESERVED = ("permissions", "permission", "subagent_models")
"""Tables below [agent] that do not define an agent."""
AGENT_ALIASES = {
    "disallowedTools": "disallowed_tools",
    "maxTurns": "max_steps",
    "steps": "max_steps",
    "disable": "disabled",
    "system_prompt": "prompt",
}


def read_tools(value: object) -> tuple[str, ...]:
    """Read a list of tools, or a text with commas between them."""
    return split_rules(value) if isinstance(value, str) else read_texts(value)


def read_effects(value: object) -> tuple[str, ...]:
    names = read_tools(value)
    for name in names:
        if name not in AVAILABLE:
            near = did_you_mean(nearest(name, tuple(AVAILABLE)))
            raise Unfit(f"holds {printable(name)!r}, which is no effect{near}; they are {', '.join(sorted(AVAILABLE))}")
    return names


def read_isolation(value: object) -> bool:
    return True if value == "worktree" else read_flag(value)


def read_models(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError
    return {name: read_plain(model) for name, model in value.items()}


def number_up_to(most: float) -> KeyType:
    schema = {"type": "number", "minimum": 0, "maximum": most}
    return number(f"a number from 0 to {most:g}", lambda value: 0 <= value <= most, schema)


TEXT = KeyType("a text", read_plain, STRING)
FLAG = KeyType("true or false", read_flag, {"type": "boolean"})
TOOLS = KeyType("a list of tools, or a text with commas between them", read_tools, {"anyOf": [STRING, STRINGS]})
TEMPERATURE, TOP_P = number_up_to(2.0), number_up_to(1.0)
MODELS = KeyType(
    "a table of agents and the names of their models", read_models, {"type": "object", "additionalProperties": STRING}
)
AGENT: dict[str, KeyType] = {
    "description": TEXT,
    "prompt": TEXT,
    "mode": choice("primary", "subagent", "all"),
    "model": TEXT,
    "effort": TEXT,
    "tools": TOOLS,
    "disallowed_tools": TOOLS,
    "effects": KeyType("a list of effects", read_effects, {"anyOf": [STRING, STRINGS]}),
    "max_steps": whole_number("a whole number above 0", 1),
    "temperature": TEMPERATURE,
    "top_p": TOP_P,
    "isolation": KeyType("true, false or 'worktree'", read_isolation, {"enum": [True, False, "worktree"]}),
    "hidden": FLAG,
    "disabled": FLAG,
}
"""Keys of `[agent.NAME]` in the order in which `overt config` shows them; `permission` holds rules."""


def is_agent_name(name: str) -> bool:
    return len(name) <= LONGEST_NAME and name.replace("-", "").replace("_", "").isalnum()
