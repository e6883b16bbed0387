"""Weights for the embedded model: what a person is told before, whether they are needed, and the fetch itself."""

from collections.abc import Callable

from msgspec import Struct

from overt.app.models.fetch_bar import Bar
from overt.app.models.pick_model import choose_model
from overt.app.setting import Setting
from overt.core.errors import ConfigError, OvertError, ProviderError
from overt.lib.text import visible
from overt.lib.translations import say
from overt.providers.embedded.provider import is_runnable
from overt.providers.embedded.weight_sources import FetchJob, WeightsSource, fetch, is_fetched, sources
from overt.providers.embedded.weights import find_weights


class Plan(Struct, frozen=True, kw_only=True):
    """What would be fetched: `told` names source, size, licence and place."""

    name: str
    told: str
    place: str


def plan(setting: Setting, name: str, given: str = "") -> Plan:
    """What a person should know before the answer; an unknown name is an error."""
    job = _job(setting, name, Bar(lambda text: None, terminal=False), given)
    weights = job.weights
    told = [say("fetch.what", title=weights.title, size=f"{weights.size / 1e9:.2f}", licence=weights.licence)]
    told += [f"  {number}. {_source(each)}" for number, each in enumerate(sources(job), start=1)]
    told += [say("fetch.place", place=visible(job.path))]
    return Plan(name=weights.name, told="\n".join(told), place=job.path)


def _source(source: WeightsSource) -> str:
    return say(f"fetch.from_{source.kind}", where=visible(source.where))


async def has_weights(setting: Setting, name: str, bar: Bar) -> bool:
    """Whether the weights are there already; all of them is read to be sure."""
    return await is_fetched(_job(setting, name, bar))


async def fetch_model(setting: Setting, name: str, bar: Bar, *, given: str = "") -> str:
    """The path of the weights once they are there. Offline, only a file that is here already is taken."""
    if not given:
        _refuse_offline(setting)
    try:
        return await fetch(_job(setting, name, bar, given))
    finally:
        bar.end()


def _refuse_offline(setting: Setting) -> None:
    if setting.config.offline:
        raise ConfigError(say("fetch.offline", origin=setting.config.origin("offline")))


def _job(setting: Setting, name: str, bar: Bar, given: str = "") -> FetchJob:
    return FetchJob(
        weights=find_weights(name),
        cache_dir=setting.environment.cache_dir,
        variables=setting.environment.variables,
        report=bar.report,
        tell=lambda line: bar.tell(visible(line)),
        given=given,
    )


async def name_configured_model(setting: Setting) -> str:
    """`provider/model` when something already gives a model, whether it answers or not; empty when nothing does."""
    config = setting.config
    if config.providers or config.base_url:
        return config.providers[0].name if config.providers else visible(config.base_url)
    try:
        found = await choose_model(setting, "")
    except ProviderError as error:
        return error.message
    except OvertError:
        return ""
    return f"{found.entry.name}/{found.model}"


async def offer(setting: Setting, ask: Callable[[str], bool], bar: Bar) -> bool:
    """Offer the embedded model to a person who has none. True: it is here now, look for a model again.

    `ask` shows a text that ends in a question and gives the answer. An OvertError says why a fetch failed.
    """
    if setting.config.offline or not is_runnable():
        return False
    about = plan(setting, "")
    if not ask("\n".join((say("fetch.none"), about.told, say("fetch.limits"), say("fetch.question")))):
        return False
    await fetch_model(setting, about.name, bar)
    return True
