"""After a command has run: what the sandbox refused to it, and the wider access with which it could run again."""

from collections.abc import Callable

from msgspec.structs import replace

from overt.agent.decision import CallRequest
from overt.agent.permissions import PermissionState
from overt.core.capabilities import Blocked
from overt.core.ports import Hands, Profile
from overt.core.tool import Outcome
from overt.core.views import Output
from overt.safety.policy import Verdict


def find_blocked(request: CallRequest, box: Profile, outcome: Outcome, hands: Hands) -> Blocked | None:
    """Return what the sandbox refused: as the tool reports it, or the network if a command that needs it failed."""
    if outcome.blocked or box.network or box.outside or not isinstance(outcome.view, Output):
        return outcome.blocked
    if not request.subject.reading.network or not hands.guess().boxed:
        return None
    from overt.sandbox.denial import NETWORK, OFFLINE  # late: 3 ms

    return NETWORK if outcome.view.code or OFFLINE.search(outcome.text) else None


def choose_wider(request: CallRequest, box: Profile, blocked: Blocked, permissions: PermissionState) -> Profile | None:
    """Return a profile in which the command is not blocked: with the network, with writing, or outside the sandbox.

    In plan mode only the network can be opened; None otherwise.
    """
    if blocked.kind == "network" and not box.network:
        return permissions.profile(request.subject, reading=not request.changes, network=True)
    if permissions.effective_mode == "plan":
        return None
    return replace(box, reading=False) if box.reading else replace(box, outside=True)


def describe_wider(box: Profile, wider: Profile) -> str:
    if wider.outside:
        return "outside the sandbox, with all your rights"
    return "with the network" if wider.network != box.network else "and let it write"


def ask_to_widen(blocked: Blocked, where: str, *, outside: bool, exists: Callable[[str], bool]) -> Verdict:
    """Return the verdict that asks about another run. What was refused is read from the output, so the program may have
    made it up: only a path that exists in that spelling is named, lest a sentence passes for our own words."""
    is_known = not blocked.path or exists(blocked.path)
    claim = blocked.describe() if is_known else "an access was blocked by the sandbox"
    why = f"it ran, and according to its output {claim}. Run it again {where}?"
    return Verdict(action="ask", rule="sandbox", origin="guard", by="guard", why=why, dangerous=outside)
