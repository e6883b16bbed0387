"""What is permitted at this moment: the mode, the rules and the network."""

from collections.abc import Callable, Iterable

from msgspec import Struct
from msgspec.structs import replace

from overt.core.capabilities import Effect
from overt.core.errors import OvertError
from overt.core.protocols import Profile
from overt.core.settings import Action, DangerousPolicy, Mode, Rule
from overt.safety.rules import ALWAYS, Subject, opens_network

IN_COPY: frozenset[Effect] = frozenset({"read", "write", "run"})
"""Effects of calls that change only the copy of an isolated agent, as long as they have no network."""


class Terms(Struct, frozen=True, kw_only=True):
    """`fallback` holds where no rule speaks (None: the mode decides); `dont_ask` denies whatever would be asked.

    `bare`: a person has said that no sandbox is wanted. `write` and `network` are what every box lets through.
    `dangerous_policy` says which dangerous commands are final.
    """

    rules: tuple[Rule, ...]
    dangerous_policy: DangerousPolicy = "reach"
    fallback: Action | None = None
    dont_ask: bool = False
    bare: bool = False
    write: bool = True
    network: bool = False


class PermissionState:
    """The only part of the gate that changes: the user switches the mode, answers add rules or open the network, and
    stored rules are taken back, all of it also while a turn runs. `remember` stores a rule for later sessions.

    The state of a sub-agent (`for_agent`) follows that of its `parent` and adds rules of its own; what the user answers
    to a sub-agent holds for all agents.
    """

    def __init__(
        self, terms: Terms, *, mode: Mode, remember: Callable[[Rule], None], parent: "PermissionState | None" = None
    ) -> None:
        self.turn_rules: tuple[Rule, ...] = ()
        self._mode = mode
        self._terms = terms
        self._remember = remember
        self._parent = parent
        self._own_rules: tuple[Rule, ...] = ()
        self._isolated = False

    def for_agent(
        self, rules: Iterable[Rule] = (), *, planning: bool = False, isolated: bool = False
    ) -> "PermissionState":
        """Return the permissions of a sub-agent. Its rules deny or ask about more; if it is `planning`, it may not
        write whatever the mode of the session. If it is `isolated`, the user reviews its result and not each change."""
        state = PermissionState(
            self.terms, mode="plan" if planning else self.mode, remember=self._remember, parent=self
        )
        state._own_rules = tuple(rules)
        state._isolated = isolated
        return state

    @property
    def mode(self) -> Mode:
        return self._mode if self._parent is None or self._mode == "plan" else self._parent.mode

    @mode.setter
    def mode(self, mode: Mode) -> None:
        if self._parent is not None:
            self._parent.mode = mode
        else:
            self._mode = mode

    @property
    def terms(self) -> Terms:
        if self._parent is None:
            return self._terms
        terms = self._parent.terms
        return replace(terms, rules=(*terms.rules, *self._parent.turn_denials, *self._own_rules))

    @property
    def turn_denials(self) -> tuple[Rule, ...]:
        """What a skill or a command takes away until the turn ends; it holds for sub-agents too."""
        return tuple(rule for rule in self.turn_rules if rule.action == "deny")

    @property
    def rules(self) -> tuple[Rule, ...]:
        """All rules, with those that hold until the turn ends."""
        return (*self.terms.rules, *self.turn_rules)

    def add_turn_rules(self, rules: Iterable[Rule]) -> None:
        """Let the rules of a skill or a command hold until the turn ends. They cannot allow what is final, nor what
        another rule denies or asks about."""
        added = (replace(rule, of_project=True) for rule in rules)
        self.turn_rules = tuple(dict.fromkeys((*self.turn_rules, *added)))

    def end_turn(self) -> None:
        self.turn_rules = ()

    @property
    def effective_mode(self) -> Mode:
        """The mode that holds: plan if the sandbox is read-only."""
        return self.mode if self.terms.write else "plan"

    def mode_for(self, subject: Subject, effects: frozenset[Effect]) -> Mode:
        """Return the mode that a call is judged by. In review mode it is auto for a call that cannot reach outside of
        the copy of an isolated agent: an edit, or a command without the network."""
        mode, stays = self.effective_mode, effects <= IN_COPY
        if not self._isolated or mode != "review" or not stays or ("run" in effects and self.has_network(subject)):
            return mode
        return "auto"

    def has_network(self, subject: Subject) -> bool:
        """True if the settings, an answer or a rule open the network to a call."""
        return self.terms.network or opens_network(self.terms.rules, subject)

    def profile(self, subject: Subject, *, reading: bool, network: bool = False) -> Profile:
        """Return the sandbox of a call. `network`: the user has opened it to this call; `reading`: it was read as
        harmless, so it is kept from writing, unless the user has seen it."""
        return Profile(
            write=self.effective_mode != "plan",
            network=network or self.has_network(subject),
            reading=reading and not network,
        )

    def open_network(self) -> None:
        """Open the network to every command for the rest of the session."""
        if self._parent is not None:
            self._parent.open_network()
        else:
            self._terms = replace(self._terms, network=True)

    def add_rules(self, rules: Iterable[Rule]) -> str:
        """Let rules hold from now on and store them. Return why they could not be stored, or an empty string."""
        if self._parent is not None:
            return self._parent.add_rules(rules)
        rules = tuple(rules)
        self._terms = replace(self._terms, rules=(*self._terms.rules, *rules))
        problem = ""
        for rule in rules:
            try:
                self._remember(rule)
            except OvertError as error:
                problem = error.message
        return problem

    def forget(self, rule: str) -> bool:
        """Drop a rule that was stored by an answer. Return False if none reads like this."""
        before = self._terms.rules
        rules = tuple(each for each in before if each.origin != ALWAYS or rule not in (each.text(), each.shown()))
        self._terms = replace(self._terms, rules=rules)
        return len(rules) < len(before)
