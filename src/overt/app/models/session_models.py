"""The models of one session: which is used, its provider, how it calls tools, and how much it holds."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from msgspec.structs import replace

from overt.agent.agent import SpendLimit
from overt.app.models.context_window import WindowSeeker, budget_of
from overt.app.models.pick_model import as_before, choose_model
from overt.app.models.tool_protocol import ToolProtocol, protocol_of
from overt.app.options import Options
from overt.app.session_title import ask_title
from overt.app.setting import Setting
from overt.context.budget import Budget
from overt.core.agents.profile import AgentProfile
from overt.core.errors import OvertError, ProviderError
from overt.core.events import Emit, Event, Noticed, Replied
from overt.core.protocols import Provider
from overt.core.settings import ModelFacts, Price
from overt.lib.redaction.redact import Redactor
from overt.providers.model_choice import EMBEDDED, ChosenModel, is_local
from overt.providers.registry import make
from overt.sessions.resume import ResumedSession

FREE = Price(input=0.0, output=0.0)


def recorded_facts(chosen: ChosenModel) -> ModelFacts:
    """Return what is recorded of a model, with its price of today: what works on this machine costs nothing."""
    about = chosen.entry.facts(chosen.model)
    return replace(about, price=FREE) if about.price is None and is_local(chosen.entry) else about


class SessionModels:
    """`current` is the model in use, None before the first was chosen. `limits` apply to requests outside of
    the conversation. `notify` shows a notice to the user."""

    def __init__(
        self, options: Options, setting: Setting, redactor: Redactor, notify: Callable[[Noticed], None]
    ) -> None:
        self.current: ChosenModel | None = None
        self.limits: SpendLimit | None = None
        self._options = options
        self.setting = setting
        self._redactor = redactor
        self._notify = notify
        self._protocols: dict[tuple[str, str], ToolProtocol] = {}
        self._providers: list[Provider] = []
        self._provided: tuple[object, ...] = ()
        self._window: tuple[ChosenModel, Budget] | None = None
        self._seeker = WindowSeeker(setting.environment.variables, notify, setting.registries.wires)

    @property
    def offline(self) -> str:
        return self.current.offline if self.current else ""

    def in_use(self) -> ChosenModel:
        assert self.current is not None  # an agent was made, so its model was chosen
        return self.current

    async def find(self, reference: str) -> ChosenModel:
        """Find a model by its name; without one, the model that the configuration names or that is here."""
        chosen = await choose_model(self.setting, reference)
        self._redactor.learn(chosen.key or "")
        return chosen

    async def find_main(
        self, profile: AgentProfile | None, resumed: ResumedSession | None, notices: Callable[[str], None]
    ) -> ChosenModel:
        """Find the model of the main agent: that of its profile, unless a flag names one. A resumed session keeps the
        model that it used last, unless another is asked for."""
        is_named = profile is None or self.setting.config.origin("default_model") == "--model"
        chosen = await self.find("" if profile is None or is_named else profile.model)
        if resumed is None:
            effort = profile.effort if profile else ""
            return replace(chosen, entry=replace(chosen.entry, effort=effort or chosen.entry.effort))
        chosen = await as_before(self.setting, chosen, resumed, notices)
        self._redactor.learn(chosen.key or "")
        return chosen

    def provider(self, chosen: ChosenModel) -> Provider:
        """Return the provider of a model. The one in use is kept: a server may be behind it, and remember."""
        wanted = (chosen.entry, chosen.key, chosen.model)
        if self._provided != wanted:
            self._providers.append(self._make(chosen))
            self._provided = wanted
        return self._providers[-1]

    def _make(self, chosen: ChosenModel) -> Provider:
        setting = self.setting
        return make(chosen.entry, chosen.key, chosen.model, setting.environment.variables, setting.registries.wires)

    def protocol(self, chosen: ChosenModel, resumed: ResumedSession | None = None) -> ToolProtocol:
        """Return how a model calls tools: as its server took it before, in this process or an earlier one."""
        protocol, before = protocol_of(chosen.about), resumed.prefix if resumed else None
        if before and not chosen.about.calls and (before.provider, before.model) == (chosen.entry.name, chosen.model):
            protocol = replace(protocol, calls=before.calls)
        return self._protocols.get((chosen.entry.name, chosen.model), protocol)

    def use(self, chosen: ChosenModel, protocol: ToolProtocol) -> None:
        self.current = chosen
        self._protocols[chosen.entry.name, chosen.model] = protocol

    def fallback(self, error: ProviderError) -> ToolProtocol | None:
        """Return another way to call tools if the server refused the one in use, or None if there is none."""
        return self.protocol(self.current).after(error) if self.current else None

    def window(self, chosen: ChosenModel) -> Budget:
        """Return what fits into the window of a model; what was learnt of it stays with it."""
        before = self._window
        if before is None or (before[0].entry.name, before[0].model) != (chosen.entry.name, chosen.model):
            self._window = before = (chosen, budget_of(chosen, self.setting.config, self.setting.registries.wires))
        return before[1]

    def look_for_window(self, event: Event) -> None:
        """Ask the server for an unknown window once a reply is there."""
        if isinstance(event, Replied) and self._window and event.agent == "main":
            self._seeker.seek(*self._window)

    async def title(self, prompt: str, emit: Emit) -> None:
        """Ask for a title: `small_model`, or the model in use unless it runs on this machine and has enough to do."""
        config, current = self.setting.config, self.current
        if self._options.name or not self._options.interactive or current is None or not config.ui.titles:
            return
        if not config.small_model and is_local(current.entry):
            return
        try:
            async with self.lend_small() as (provider, about):
                # As it will be recorded: the request can be made again, and no secret goes out beside the conversation.
                await ask_title(provider, about, self._redactor.clean(prompt), emit, self.limits)
        except OvertError as error:
            self._notify(Noticed(text=self._redactor.clean(f"small_model: {error.message}"), level="warning"))

    @asynccontextmanager
    async def lend_small(self) -> AsyncIterator[tuple[Provider, ModelFacts]]:
        """Lend `small_model`, or else the model in use, for a request beside the conversation.

        The embedded model in use is not lent: it would have to be loaded a second time.
        """
        name, current = self.setting.config.small_model, self.current
        chosen = await self.find(name) if name else current
        if chosen is None or (not name and chosen.entry.kind == EMBEDDED):
            raise OvertError("set `small_model` to a model that can be asked beside the conversation")
        provider = self._make(chosen)
        try:
            yield provider, recorded_facts(chosen)
        finally:
            provider.close()

    def close_unused(self) -> None:
        while len(self._providers) > 1:
            self._providers.pop(0).close()

    async def close(self) -> None:
        for provider in self._providers:
            provider.close()
        await self._seeker.close()
