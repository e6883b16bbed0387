"""What a server and a model can really do, found out by asking them: nothing is taken on trust.

About ten small requests through the provider's own wire, one after the other, because a server on a CPU would make
two at once wait for each other. Whatever happens becomes a row; only a server that does not answer at all ends the
matter early.
"""

from collections.abc import Callable, Mapping
from os import urandom

from msgspec.structs import replace

from overt.core.ports import Provider, Wire
from overt.core.settings import Calls, ModelFacts, ProviderEntry, Quirks
from overt.lib.catalogue import say
from overt.providers.http_provider import HttpProvider
from overt.providers.probing import trials
from overt.providers.probing.ask import Heard, Question, Watch, WatchedWire, ask
from overt.providers.probing.server_window import Side
from overt.providers.probing.trials import NAMES, Probed, no, unknown, yes
from overt.providers.transport.address import host_of, is_loopback
from overt.providers.transport.errors import clean
from overt.providers.wires.registry import make_wire

MODEST, THOUGHTFUL = 256, 2048
"""Most tokens of a reply: of a model that answers, and of one that thinks first."""
ENOUGH = 2
"""Requests in a row that failed for reasons of their own, after which the server is left in peace."""
NEAR_LINES, FAR_LINES = 12, 120
"""Length of the beginning that is sent twice. A CPU reads slowly; a vendor keeps nothing below about 1000 tokens."""

__all__ = ["NAMES", "Probed", "decide", "probe", "side_of"]


async def probe(
    provider: Provider, model: str, *, entry: ProviderEntry, side: Side | None = None, tell: Callable[[str], None]
) -> tuple[Probed, ...]:
    """One row for each of NAMES, in that order; `tell` is given the name of each trial as it begins.

    `side` is where the server is asked for what no reply of a model tells.
    """
    return await _Probing(provider, model, entry=entry, tell=tell).run(side)


def side_of(provider: Provider, entry: ProviderEntry, key: str | None, environ: Mapping[str, str]) -> Side | None:
    """None for a provider that is no server of its own."""
    if not isinstance(provider, HttpProvider) or not entry.base_url.startswith("http"):
        return None
    return Side(entry, provider.wire, key=key, environ=environ)


def decide(rows: tuple[Probed, ...]) -> Calls | None:
    """How tools will be called; None when that could not be found out, for a profile is believed for long."""
    state = {row.name: row.state for row in rows}
    if state["reachable"] != "yes" or state["auto"] == "unknown":
        return None
    if state["auto"] == "yes":
        return "native"
    if state["form"] == "yes":
        return "schema"
    return "text" if state["form"] == "no" else None


class _Probing:
    def __init__(self, provider: Provider, model: str, *, entry: ProviderEntry, tell: Callable[[str], None]) -> None:
        self._provider = provider
        self._model = model
        self._entry = entry
        self._facts = entry.facts(model)
        self._tell = tell
        self._watch = Watch()
        self._most = MODEST
        self._thinks = False
        self._lost = 0
        self._rows: dict[str, Probed] = {}
        self._plain = provider.wire
        if isinstance(provider, HttpProvider):
            provider.wire = WatchedWire(provider.wire, self._watch)

    async def run(self, side: Side | None) -> tuple[Probed, ...]:
        if await self._reach():
            await self._models()
            for trial in (self._calls, self._form, self._roles, self._cache, self._images):
                if self._lost < ENOUGH:
                    await trial()
            await self._window(side)
            self._reasoning()
        missing = say("probe.untried")
        return tuple(self._rows.get(name, unknown(name, missing)) for name in NAMES)

    async def _ask(self, name: str, question: Question, wire: Wire | None = None) -> Heard:
        self._tell(say(f"probe.{name}"))
        self._watch.restart()
        question = replace(question, most=question.most or self._most)
        heard = await ask(self._provider, wire or self._plain, question, self._model)
        self._lost = self._lost + 1 if trials.tells_nothing(heard.error) else 0
        if heard.thoughts or heard.usage.reasoning:
            self._thinks = True
        if self._thinks or heard.cut:
            self._most = THOUGHTFUL
        return heard

    def _put(self, row: Probed) -> Probed:
        self._rows[row.name] = row
        return row

    async def _reach(self) -> bool:
        heard = await self._ask("reachable", trials.COUNT)
        if heard.error is not None:
            self._put(no("reachable", clean(heard.error.message, limit=300)))
            return False
        self._put(yes("reachable", say("probe.answered", first=f"{heard.first:.2f}", last=f"{heard.last:.2f}")))
        self._put(trials.streaming(heard, self._watch.events))
        self._put(trials.used(heard))
        return True

    async def _models(self) -> None:
        self._tell(say("probe.models"))
        offered = await self._provider.models()
        if not offered:
            self._put(unknown("models", say("probe.no_list")))
            return
        listed = "probe.listed" if self._model in offered else "probe.unlisted"
        self._put(yes("models", say(listed, count=len(offered)), len(offered)))

    async def _calls(self) -> None:
        """Native calls as the model likes, as it must, two at once, and whether their arguments stream."""
        best: tuple[Heard, int] | None = None
        for question in trials.AUTO:
            heard = await self._ask("auto", question)
            row = self._put(trials.called("auto", heard))
            best = (heard, self._watch.events) if row.state == "yes" else None
            if row.state == "yes" or row.broke or (row.state == "no" and heard.error is not None):
                break
        heard = await self._ask("required", trials.REQUIRED)
        row = self._put(trials.called("required", heard))
        best = best or ((heard, self._watch.events) if row.state == "yes" else None)
        if self._rows["auto"].state == "yes":
            self._put(trials.parallel(await self._ask("parallel", trials.PARALLEL)))
        if best:
            self._put(trials.streamed(*best))

    async def _form(self) -> None:
        row = trials.shaped(await self._ask("form", trials.SHAPED))
        if row.state == "unknown":
            row = trials.shaped(await self._ask("form", trials.SHAPED))
        self._put(row)

    async def _roles(self) -> None:
        quirks = self._facts.quirks or Quirks()
        for name in ("system", "developer"):
            if name == "developer" and self._plain.name == "anthropic":
                self._put(unknown(name, say("probe.no_role")))
                continue
            wire = self._wire(replace(quirks, system=name))
            word = f"{_word()}-{_word()}"
            heard = await self._ask(name, trials.spelled(word), wire)
            self._put(trials.obeyed(name, heard, word))

    async def _cache(self) -> None:
        near = self._entry.kind == "local" or is_loopback(host_of(self._entry.base_url))
        question = trials.lengthy(_word(), NEAR_LINES if near else FAR_LINES)
        first = await self._ask("cache", question)
        second = await self._ask("cache", question)
        self._put(trials.kept(first, second, self._watch.kept))

    async def _images(self) -> None:
        heard = await self._ask("images", trials.picture(), self._wire(self._facts.quirks, images=True))
        self._put(trials.saw(heard))

    async def _window(self, side: Side | None) -> None:
        self._tell(say("probe.window"))
        size, where = await side.window(self._model) if side else (0, "")
        if size:
            self._put(yes("window", say("probe.size", size=size, where=where), size))
        elif self._facts.window:
            self._put(yes("window", say("probe.known_size", size=self._facts.window), self._facts.window))
        else:
            self._put(unknown("window", say("probe.no_size")))

    def _reasoning(self) -> None:
        field = self._watch.reasoning
        if field or self._thinks:
            words = say("probe.field", field=field) if field else say("probe.hidden")
            self._put(yes("reasoning", words, field or "hidden"))
        else:
            self._put(no("reasoning", say("probe.no_reasoning")))

    def _wire(self, quirks: Quirks | None, *, images: bool | None = None) -> Wire:
        """A wire of the same kind that speaks otherwise, for one question."""
        facts: ModelFacts = replace(self._facts, quirks=quirks)
        if images:
            facts = replace(facts, images=True)
        return make_wire(self._plain.name, facts)


def _word() -> str:
    """Six letters nobody can guess."""
    return "".join("bdfgklmnprst"[byte % 12] + "aeiou"[byte // 12 % 5] for byte in urandom(3))
