"""What is recorded of a model and its prefix before the first request."""

from msgspec.structs import replace

from overt.agent.agent import Agent
from overt.context.assemble import fingerprint
from overt.core.events import PrefixSet
from overt.core.settings import ModelFacts, Price
from overt.providers.discover import ChosenModel, is_local

FREE = Price(input=0.0, output=0.0)


def known_facts(found: ChosenModel) -> ModelFacts:
    """What is recorded of a model, its price of that day included: what works on this machine costs nothing."""
    about = found.entry.facts(found.model)
    return replace(about, price=FREE) if about.price is None and is_local(found.entry) else about


def prefix_event(agent: Agent, found: ChosenModel) -> PrefixSet:
    return PrefixSet(
        prefix=agent.spec.prefix,
        provider=agent.runtime.provider.name,
        model=agent.spec.params.model,
        wire=agent.runtime.provider.wire.name,
        encoder=agent.runtime.provider.wire.version,
        fingerprint=fingerprint(agent.runtime.provider.wire, agent.spec.prefix, agent.spec.params),
        about=known_facts(found),
        calls=agent.spec.calls,
        tool_names=() if agent.spec.calls == "native" else tuple(agent.spec.tools),
    )
