"""An event for hooks, and what they say to it. Cheap to import: a session with hooks begins with it."""

from typing import TYPE_CHECKING

from msgspec import Struct

from overt.agent.permission_decision import CallRequest

if TYPE_CHECKING:
    from overt.app.hooks.hook_process import HookRun
    from overt.extensions.hook_replies import HookReply, HookVerdict
    from overt.extensions.hooks import Hook


class Occasion(Struct, frozen=True, kw_only=True):
    """An event that happens. `about` is what matchers are held against, `fields` is what hooks read of it.

    `request` is the call that a tool event is about. `within_s` bounds the time that hooks have.
    """

    event: str
    about: tuple[str, ...] = ("",)
    fields: dict[str, object] = {}
    request: CallRequest | None = None
    agent: str = "main"
    within_s: float = 0.0


class Firing(Struct, frozen=True, kw_only=True):
    """What the hooks of an event say together: deny before ask before allow. `origin` is that of the deciding hook.

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
