"""An event for hooks and their combined result. Cheap to import: every session with hooks imports it at the start."""

from typing import TYPE_CHECKING

from msgspec import Struct

from overt.agent.permission_decision import CallRequest

if TYPE_CHECKING:
    from overt.app.hooks.hook_process import HookRun
    from overt.extensions.hook_replies import HookReply, HookVerdict
    from overt.extensions.hooks import Hook


class Occasion(Struct, frozen=True, kw_only=True):
    """An event. Matchers are compared with `about`; `fields` are passed to the hooks.

    `request` is the call of a tool event. `within_s` limits how long hooks may run.
    """

    event: str
    about: tuple[str, ...] = ("",)
    fields: dict[str, object] = {}
    request: CallRequest | None = None
    agent: str = "main"
    within_s: float = 0.0


class Firing(Struct, frozen=True, kw_only=True):
    """The combined result of the hooks of an event: deny before ask before allow. `origin` is the deciding hook's.

    `messages` are for the user, `failures` say which hooks failed and why.
    """

    runs: "tuple[tuple[Hook, HookRun, HookReply], ...]" = ()
    verdict: "HookVerdict" = ""
    reason: str = ""
    origin: str = ""
    updated_input: dict[str, object] | None = None
    context: str = ""
    stop: str = ""
    messages: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
