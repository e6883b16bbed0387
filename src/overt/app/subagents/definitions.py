"""Read the definition of an agent from a Markdown file, a table of the configuration or `--agents`.

Fields of Claude Code and opencode are mapped to ours. Reading is tolerant: each field that cannot be used becomes a
warning of the profile, and the rest is used.
"""

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from msgspec.structs import replace

from overt.app.setting import Setting
from overt.config.rules import (
    ACTIONS,
    did_you_mean,
    nearest,
    our_name,
    parse_rule,
    printable,
    resolve_rule,
    split_rules,
)
from overt.core.agents.profile import AgentMode, AgentProfile
from overt.core.capabilities import AVAILABLE
from overt.core.errors import ConfigError
from overt.core.settings import Rule
from overt.lib.front_matter import MatterFields

SAME = {
    "disallowedTools": "disallowed_tools",
    "disallowed-tools": "disallowed_tools",
    "maxTurns": "max_steps",
    "maxSteps": "max_steps",
    "steps": "max_steps",
    "topP": "top_p",
    "disable": "disabled",
    "permissions": "permission",
    "permissionMode": "permission_mode",
}
"""Other programs' names of fields → ours."""
FIELDS = (
    *("name", "description", "prompt", "mode", "model", "effort", "tools", "disallowed_tools", "permission", "effects"),
    *("permission_mode", "max_steps", "temperature", "top_p", "isolation", "hidden", "disabled"),
)
NOT_USED = ("skills", "mcpServers", "hooks", "memory", "background", "color", "initialPrompt")
"""Fields of other programs that this version does not use."""
VENDOR_ALIASES = ("sonnet", "opus", "haiku", "fable")
"""Claude Code's short model names. Each stands for a configured model with the word in its name."""
SAME_MODEL = ("", "inherit", "default")
LOOSER_MODES = ("default", "manual", "acceptEdits", "auto", "dontAsk", "bypassPermissions")


def read_profile(profile: AgentProfile, fields: Mapping[str, object], setting: Setting) -> AgentProfile:
    """Return the profile with the fields applied. Problems are added to its warnings."""
    return _Reader(fields, profile, setting).read()


class _Reader:
    def __init__(self, fields: Mapping[str, object], profile: AgentProfile, setting: Setting) -> None:
        self._warnings = list(profile.warnings)
        self._values = {SAME.get(name, name): value for name, value in fields.items()}
        self._fields = MatterFields(self._values, self._warnings)
        self._profile = profile
        self._setting = setting
        self._rules: list[Rule] = list(profile.rules)

    def read(self) -> AgentProfile:
        before, texts = self._profile, self._fields
        self._warn_of_unknown_fields()
        mode = self._choice("mode", get_args(AgentMode)) or before.mode
        isolation = self._values.get("isolation")
        if isolation not in (None, True, False, "worktree", "none"):
            self._warnings.append(f"`isolation` {_shown(isolation)} is unknown; the agent does not work in a copy")
        planning = before.planning or self._is_planning()
        changes: dict[str, Any] = {
            "description": " ".join(texts.text("description").split()) or before.description,
            "mode": mode,
            "prompt": self._prompt() or before.prompt,
            "model": self._model() if "model" in self._values else before.model,
            "effort": texts.text("effort") or before.effort,
            "disallowed_tools": (*before.disallowed_tools, *self._disallowed()),
            "effects": self._effects(),
            "planning": planning,
            "max_steps": self._whole("max_steps") or before.max_steps,
            "temperature": self._number("temperature", 2.0, before.temperature),
            "top_p": self._number("top_p", 1.0, before.top_p),
            "isolated": before.isolated if isolation is None else isolation in (True, "worktree"),
            "hidden": texts.flag("hidden", usual=before.hidden),
            "disabled": texts.flag("disabled", usual=before.disabled),
            **self._listed_tools(),
        }
        self._read_rules(self._values.get("permission"))
        return replace(before, **changes, rules=tuple(self._rules), warnings=tuple(self._warnings))

    def _warn_of_unknown_fields(self) -> None:
        for name in self._values:
            if name in NOT_USED:
                self._warnings.append(f"`{name}` is not used by this version")
            elif name not in FIELDS:
                near = did_you_mean(nearest(name, (*FIELDS, *SAME)))
                self._warnings.append(f"`{printable(name)}` is not a field of an agent{near}")

    def _prompt(self) -> str | None:
        text = self._fields.text("prompt") if "prompt" in self._values else ""
        if text.startswith("{file:"):
            self._warnings.append("`prompt` must be the text itself; write a Markdown file in .overt/agents instead")
        return text or None

    # ── model and numbers ────────────────────────────────────────────────────────────────────────────────

    def _model(self) -> str:
        """Return the model, or an empty string for that of the parent."""
        name = self._fields.text("model")
        if name.lower() in SAME_MODEL:
            return ""
        if name.lower() not in VENDOR_ALIASES:
            return name
        model = next((each for each in _configured_models(self._setting) if name.lower() in each.lower()), "")
        if not model:
            self._warnings.append(
                f"no configured provider has the model `{name}`; it uses the model of the agent that starts it "
                "(`agent.subagent_models` can name another)"
            )
        return model

    def _is_planning(self) -> bool:
        mode = self._fields.text("permission_mode") if "permission_mode" in self._values else ""
        if mode and mode != "plan":
            known = mode in LOOSER_MODES
            why = "an agent has the mode of the session" if known else "only `plan` is supported"
            self._warnings.append(f"`permissionMode` {printable(mode)!r} is not used: {why}")
        return mode == "plan"

    def _choice(self, name: str, choices: Iterable[str]) -> str:
        value = self._fields.text(name) if name in self._values else ""
        if value and value not in choices:
            self._warnings.append(f"`{name}` must be one of {', '.join(choices)}, got {printable(value)!r}")
            return ""
        return value

    def _whole(self, name: str) -> int | None:
        value = self._values.get(name)
        number = int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
        if isinstance(number, int) and not isinstance(number, bool) and 0 < number < 10**6:
            return number
        if value is not None:
            self._warnings.append(f"`{name}` must be a whole number above 0, got {_shown(value)}")
        return None

    def _number(self, name: str, most: float, usual: float | None) -> float | None:
        value = self._values.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= most:
            return float(value)
        if value is not None:
            self._warnings.append(f"`{name}` must be a number from 0 to {most:g}, got {_shown(value)}")
        return usual

    # ── tools and rules ──────────────────────────────────────────────────────────────────────────────────

    def _effects(self) -> Any:
        if "effects" not in self._values:
            return self._profile.effects
        names = {*_entries(self._values["effects"])}
        for name in sorted(names - AVAILABLE):
            near = did_you_mean(nearest(name, tuple(AVAILABLE)))
            self._warnings.append(f"`effects` holds {printable(name)!r}, which is no effect{near}")
        effects = frozenset(names & AVAILABLE)
        return effects if self._profile.effects is None else effects & self._profile.effects

    def _listed_tools(self) -> dict[str, Any]:
        """Return the tools of `tools`, and the agents in `Agent(name)`. opencode's table only removes tools."""
        value, before = self._values.get("tools"), self._profile
        if value is None:
            return {}
        switches = value if isinstance(value, dict) else {}
        entries = [str(name) for name, on in switches.items() if on is True] if switches else _entries(value)
        off = [str(name) for name, on in switches.items() if on is False]
        if switches and "*" not in off:
            names = self._tool_names(off, "tools")
            return {"disallowed_tools": (*before.disallowed_tools, *self._disallowed(), *names)}
        if "*" in entries:
            return {"tools": None}
        agents: list[str] = []
        tools: list[str] = []
        for entry in entries:
            name, bracket, inner = entry.partition("(")
            if bracket and our_name(name, self._tools) == "task":
                agents += [each.strip() for each in inner.removesuffix(")").split(",")]
            elif bracket:
                self._warnings.append(
                    f"`tools` holds {printable(entry)!r}: the agent has the whole tool {name}, without the pattern; "
                    "put it under `permission`"
                )
            tools += self._tool_names([name], "tools")
        return {"tools": tuple(dict.fromkeys(tools)), **({"agents": tuple(agents)} if agents else {})}

    def _disallowed(self) -> tuple[str, ...]:
        """Return the tools that are removed. `Bash(rm *)` becomes a rule that denies these calls."""
        names: list[str] = []
        for entry in _entries(self._values.get("disallowed_tools")):
            name, bracket, inner = entry.partition("(")
            if bracket and inner.strip("*) "):
                self._add_rule(entry, "deny")
            else:
                names += self._tool_names([name], "disallowed_tools")
        return tuple(names)

    def _tool_names(self, names: Iterable[str], field: str) -> list[str]:
        """Return our names for tools. Unknown names are left out with a warning."""
        known: list[str] = []
        for name in names:
            ours = our_name(name, self._tools)
            if ours in self._setting.tools.by_name or ours.startswith("mcp__") or ours == "*":
                known.append(ours)
            else:
                near = did_you_mean(nearest(name.lower(), tuple(self._tools())))
                self._warnings.append(f"`{field}` names {printable(name)!r}, which no tool here is called{near}")
        return known

    def _tools(self) -> Mapping[str, str]:
        return self._setting.tools.rule_names

    def _read_rules(self, value: object) -> None:
        """Read rules as the configuration has them: an action, lists of rules, or a table of tools and patterns."""
        table = {"*": value} if isinstance(value, str) else value
        if table is not None and not isinstance(table, dict):
            self._warnings.append(f"`permission` must be a table or an action, got {_shown(value)}")
            return
        for key, item in (table or {}).items():
            patterns = item.items() if isinstance(item, dict) else ()
            if key in ACTIONS:
                for text in item if isinstance(item, list) else [item]:
                    self._add_rule(str(text), key)
            elif isinstance(item, dict):
                for pattern, action in patterns:
                    self._add_rule(f"{key}({pattern})", action)
            else:
                self._add_rule(str(key), item)

    def _add_rule(self, text: str, action: object) -> None:
        if action not in ACTIONS:
            self._warnings.append(f"`permission`: {printable(text)!r} must be allow, ask or deny, got {_shown(action)}")
            return
        try:
            rule = parse_rule(text, action, self._profile.origin)
            rule = resolve_rule(rule, self._tools, self._warnings)
        except ConfigError as error:
            self._warnings.append(error.message)
            return
        self._rules.append(replace(rule, of_project=True))  # it can never allow a final command


def _entries(value: object) -> list[str]:
    """Return the entries of a list, or of a text separated by commas or blanks."""
    texts = value if isinstance(value, list | tuple) else [value]
    return [entry for text in texts if isinstance(text, str) for entry in split_rules(text)]


def _configured_models(setting: Setting) -> Iterable[str]:
    config = setting.config
    yield from filter(None, (config.default_model, config.small_model))
    for entry in config.providers:
        names = (entry.model, entry.default, *entry.models, *(facts.name for facts in entry.known))
        yield from (f"{entry.name}/{name}" for name in names if name)


def _shown(value: object) -> str:
    return printable(repr(value))
