"""Settings that several rooms share, already checked: where they came from is `config`'s business."""

from typing import Literal

from msgspec import Struct

Mode = Literal["review", "auto", "plan", "yolo"]
Action = Literal["allow", "ask", "deny"]


class Timeouts(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Seconds. `headers` and `between` are raised to 600 for loopback servers, which read slowly on a CPU."""

    connect: float = 10.0
    headers: float = 60.0
    between: float = 120.0
    total: float = 3600.0
    notice: float = 10.0


class ProviderEntry(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One vendor endpoint: data, never code. `api_key_env` names the variable, never the key."""

    name: str
    kind: str = "openai"
    base_url: str = ""
    model: str = ""
    models: tuple[str, ...] = ()
    default: str = ""
    api_key_env: str = ""
    context_window: int = 0
    max_tokens: int | None = None
    headers: dict[str, str] = {}
    timeouts: Timeouts = Timeouts()
    attempts: int = 4
    max_answer: int = 8 * 1024 * 1024
    max_event: int = 16 * 1024 * 1024


class Rule(Struct, frozen=True, kw_only=True):
    """`tool` or `tool(pattern)`; `origin` is the file and line, or the flag, that set it."""

    action: Action
    tool: str
    pattern: str = ""
    origin: str = "default"

    def text(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool


class Limits(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`result_bytes` and `result_tokens` bound what one call may say to the model."""

    max_steps: int = 50
    max_parallel: int = 10
    result_bytes: int = 32 * 1024
    result_tokens: int = 8000
