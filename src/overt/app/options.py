"""What the command line asked for, before configuration is read."""

from typing import Literal

from msgspec import Struct

from overt.app.registries import Registries

OutputFormat = Literal["text", "json", "stream-json"]


class Options(Struct, frozen=True, kw_only=True):
    """The flags of a prompt. None and empty mean that a flag was not given: configuration or the default decides."""

    directory: str = ""
    add_dirs: tuple[str, ...] = ()
    model: str = ""
    mode: str = ""
    sandbox: str = ""
    network: bool = False
    allowed: tuple[str, ...] = ()
    disallowed: tuple[str, ...] = ()
    system_prompt: str | None = None
    system_prompt_origin: str = ""
    append_system_prompt: str = ""
    max_steps: int | None = None
    budget_usd: float | None = None
    agent: str = ""
    agents: str = ""
    """The JSON of `--agents`."""
    mcp_configs: tuple[str, ...] = ()
    strict_mcp_config: bool = False
    resume: str = ""
    continue_last: bool = False
    fork: bool = False
    previous: str = ""
    """The session that this one follows in the same chat."""
    name: str = ""
    session_id: str = ""
    persist: bool = True
    interactive: bool = False
    verbose: bool = False
    output: OutputFormat = "text"
    registries: Registries = Registries()


CLAUDE_MODES = {
    "default": "review",
    "manual": "review",
    "acceptEdits": "auto",
    "auto": "auto",
    "plan": "plan",
    "bypassPermissions": "yolo",
    "dontAsk": "review",
    "review": "review",
    "yolo": "yolo",
}
"""Every name of a mode that is accepted → ours. `dontAsk` also denies what would be asked."""

TO_CLAUDE = {"review": "default", "auto": "acceptEdits", "plan": "plan", "yolo": "bypassPermissions"}

SANDBOX_FLAG: dict[str, dict[str, str | bool]] = {
    "read-only": {"sandbox.mode": "auto", "sandbox.write": False},
    "workspace-write": {"sandbox.mode": "auto", "sandbox.write": True},
    "danger-full-access": {"sandbox.mode": "none", "sandbox.write": True},
}
"""What `--sandbox` takes, as users of codex know it → the settings it stands for."""
