"""Find out what a server and a model can do by asking them: nothing is taken on trust.

About ten small requests through the provider's own wire, one after the other, because a server on a CPU would make
two at once wait for each other. Whatever happens becomes a row; only a server that does not answer at all ends the
probe early.
"""

from collections.abc import Callable, Sequence
from os import urandom

from msgspec.structs import replace

from overt.core.protocols import Provider, Wire
from overt.core.settings import Calls, ProviderEntry, Quirks
from overt.lib.translations import say
from overt.providers.http_provider import HttpProvider
from overt.providers.probing import probe_questions
from overt.providers.probing.probe_questions import NAMES, ProbeRow, no, unknown, yes
from overt.providers.probing.probe_request import EventWatch, ProbeQuestion, ProbeReply, ask
from overt.providers.probing.server_window import find_window
from overt.providers.transport.address import host_of, is_loopback
from overt.providers.transport.errors import clean
from overt.providers.wires import WireKind, find_wire

USUAL_TOKENS, THINKING_TOKENS = 256, 2048
"""Most tokens of a reply: of a model that answers, and of one that thinks first."""
MOST_FAILURES = 2
"""Requests in a row that failed for reasons of their own, after which the server is left in peace."""
NEAR_LINES, FAR_LINES = 12, 120
"""Length of the beginning that is sent twice. A CPU reads slowly; a vendor keeps nothing below about 1000 tokens."""

Judge = Callable[[str, ProbeReply], ProbeRow]

__all__ = ["NAMES", "ProbeRow", "decide", "probe"]


async def probe(
    provider: Provider,
    model: str,
    *,
    entry: ProviderEntry,
    tell: Callable[[str], None],
    wires: Sequence[WireKind] = (),
) -> tuple[ProbeRow, ...]:
    """Return one row for each of NAMES, in that order; `tell` is given the name of each trial as it begins."""
    return await _Probe(provider, model, entry=entry, tell=tell, wires=wires).run()


def decide(rows: tuple[ProbeRow, ...]) -> Calls | None:
    """How tools will be called; None when that could not be found out, for a profile is believed for long."""
    state = {row.name: row.state for row in rows}
    if state["reachable"] != "yes" or state["auto"] == "unknown":
        return None
    if state["auto"] == "yes":
        return "native"
    if state["form"] == "yes":
        return "schema"
    return "text" if state["form"] == "no" else None


class _Probe:
    def __init__(
        self,
        provider: Provider,
        model: str,
        *,
        entry: ProviderEntry,
        tell: Callable[[str], None],
        wires: Sequence[WireKind],
    ) -> None:
        self._provider = provider
        self._model = model
        self._entry = entry
        self._facts = entry.facts(model)
        self._tell = tell
        self._kind = find_wire(provider.wire.name, wires)
        self._watch = EventWatch()
        self._most = USUAL_TOKENS
        self._thinks = False
        self._failures = 0
        self._rows: dict[str, ProbeRow] = {}
        if isinstance(provider, HttpProvider):
            provider.watch = self._watch

    async def run(self) -> tuple[ProbeRow, ...]:
        if await self._reach():
            await self._models()
            for trial in (self._calls, self._form, self._roles, self._cache, self._images):
                if self._failures < MOST_FAILURES:
                    await trial()
            await self._window()
            self._reasoning()
        return tuple(self._rows.get(name, unknown(name, say("probe.untried"))) for name in NAMES)

    async def _ask(self, name: str, question: ProbeQuestion, wire: Wire | None = None) -> ProbeReply:
        self._tell(say(f"probe.{name}"))
        self._watch.events = 0
        question = replace(question, most=question.most or self._most)
        reply = await ask(self._provider, wire or self._provider.wire, question, self._model)
        reply.events = self._watch.events
        self._failures = self._failures + 1 if probe_questions.tells_nothing(reply.error) else 0
        self._thinks |= bool(reply.thoughts or reply.usage.reasoning)
        if self._thinks or reply.out_of_tokens:
            self._most = THINKING_TOKENS
        return reply

    def _put(self, row: ProbeRow) -> ProbeRow:
        self._rows[row.name] = row
        return row

    async def _try(
        self, name: str, question: ProbeQuestion, judge: Judge, wire: Wire | None = None
    ) -> tuple[ProbeRow, ProbeReply]:
        reply = await self._ask(name, question, wire)
        return self._put(probe_questions.failed(name, reply) or judge(name, reply)), reply

    async def _reach(self) -> bool:
        reply = await self._ask("reachable", probe_questions.COUNT)
        if reply.error is not None:
            self._put(no("reachable", clean(reply.error.message, limit=300)))
            return False
        self._put(yes("reachable", say("probe.answered", first=f"{reply.first:.2f}", last=f"{reply.last:.2f}")))
        self._put(probe_questions.streaming(reply))
        self._put(probe_questions.used(reply))
        return True

    async def _models(self) -> None:
        self._tell(say("probe.models"))
        offered = await self._provider.models()
        listed = "probe.listed" if self._model in offered else "probe.unlisted"
        words = say(listed, count=len(offered)) if offered else say("probe.no_list")
        self._put(yes("models", words, len(offered)) if offered else unknown("models", words))

    async def _calls(self) -> None:
        """Native calls as the model likes, as it must, two at once, and whether their arguments stream."""
        good: list[ProbeReply] = []
        for question in probe_questions.AUTO:
            row, reply = await self._try("auto", question, probe_questions.called)
            good += [reply] if row.state == "yes" else []
            if row.state == "yes" or row.broke or (row.state == "no" and reply.error is not None):
                break
        row, reply = await self._try("required", probe_questions.REQUIRED, probe_questions.called)
        good += [reply] if row.state == "yes" else []
        if self._rows["auto"].state == "yes":
            await self._try("parallel", probe_questions.PARALLEL, probe_questions.parallel)
        if good:
            self._put(probe_questions.streamed(good[0]))

    async def _form(self) -> None:
        row, _ = await self._try("form", probe_questions.SHAPED, probe_questions.shaped)
        if row.state == "unknown":
            await self._try("form", probe_questions.SHAPED, probe_questions.shaped)

    async def _roles(self) -> None:
        for name in ("system", "developer"):
            if name == "developer" and self._kind and not self._kind.has_system_role:
                self._put(unknown(name, say("probe.no_role")))
                continue
            facts = replace(self._facts, quirks=replace(self._facts.quirks or Quirks(), system=name))
            password = f"{_word()}-{_word()}"
            wire = self._kind.make(facts) if self._kind else None
            reply = await self._ask(name, probe_questions.ask_password(password), wire)
            self._put(probe_questions.failed(name, reply) or probe_questions.obeyed(name, reply, password))

    async def _cache(self) -> None:
        near = self._entry.kind == "local" or is_loopback(host_of(self._entry.base_url))
        question = probe_questions.long_beginning(_word(), NEAR_LINES if near else FAR_LINES)
        first = await self._ask("cache", question)
        second = await self._ask("cache", question)
        error = next((reply for reply in (first, second) if reply.error is not None), None)
        if error and (row := probe_questions.failed("cache", error)):
            self._put(row)
        else:
            seconds = (round(first.first, 2), round(second.first, 2))
            self._put(replace(probe_questions.cached(first, second), seconds=seconds))

    async def _images(self) -> None:
        wire = self._kind.make(replace(self._facts, images=True)) if self._kind else None
        await self._try("images", probe_questions.PICTURE, probe_questions.saw, wire)

    async def _window(self) -> None:
        self._tell(say("probe.window"))
        size, where = 0, ""
        if isinstance(self._provider, HttpProvider) and self._entry.base_url.startswith("http"):
            size, where = await find_window(self._provider, self._model, post=True)
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


def _word() -> str:
    """Six letters nobody can guess."""
    return "".join("bdfgklmnprst"[byte % 12] + "aeiou"[byte // 12 % 5] for byte in urandom(3))
