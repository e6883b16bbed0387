"""`overt doctor --model`: a server is asked what it can do, and the answer is kept where every later start reads it."""

from collections.abc import Callable
from time import gmtime, strftime

from msgspec import Struct
from msgspec.structs import replace

from overt.app.models.pick_model import choose_model
from overt.app.setting import Setting
from overt.config.profiles import Cache, ModelProfile, save_profile, with_profile
from overt.core.settings import Calls
from overt.lib.paths import shown
from overt.providers.discover import Found
from overt.providers.probing.probe import Probed, decide, probe, side_of
from overt.providers.registry import make

ATTEMPTS = 2
"""A trial that a server fails at is not worth more: some fail at what they do not know."""


class Tested(Struct, frozen=True, kw_only=True):
    """`found` is how the server could call tools, `calls` how it will be used; `saved` is where the profile lies."""

    provider: str
    model: str
    base_url: str
    wire: str
    rows: tuple[Probed, ...]
    found: Calls | None
    calls: Calls | None
    breaks: tuple[str, ...] = ()
    saved: str = ""

    @property
    def reached(self) -> bool:
        return any(row.name == "reachable" and row.state == "yes" for row in self.rows)

    @property
    def usable(self) -> bool:
        return self.found is not None


async def try_model(setting: Setting, reference: str, *, save: bool, tell: Callable[[str], None]) -> Tested:
    """Ask the server of a model everything there is to know of it; `tell` hears what is being tried."""
    chosen = await choose_model(setting, reference)
    entry = replace(chosen.entry, attempts=min(ATTEMPTS, chosen.entry.attempts))
    variables = setting.environment.variables
    provider = make(entry, chosen.key, chosen.model, variables)
    wire = provider.wire.name
    try:
        side = side_of(provider, entry, chosen.key, variables)
        rows = await probe(provider, chosen.model, entry=entry, side=side, tell=tell)
    finally:
        provider.close()
    found = decide(rows)
    tested = Tested(
        provider=entry.name,
        model=chosen.model,
        base_url=entry.base_url,
        wire=wire,
        rows=rows,
        found=found,
        calls=None,
        breaks=tuple(f"{row.name}: {row.broke}" for row in rows if row.broke),
    )
    if found is None:
        return tested
    profile = profile_of(chosen, found, rows)
    calls = with_profile(chosen.about, profile).calls
    saved = shown(save_profile(setting.environment.data_dir, profile), home=setting.environment.home) if save else ""
    return replace(tested, calls=calls, saved=saved)


def profile_of(chosen: Found, calls: Calls, rows: tuple[Probed, ...]) -> ModelProfile:
    known = {row.name: row for row in rows}

    def held(name: str) -> bool | None:
        return {"yes": True, "no": False}.get(known[name].state)

    return ModelProfile(
        base_url=chosen.entry.base_url,
        model=chosen.model,
        kind=chosen.entry.kind,
        probed=strftime("%Y-%m-%d", gmtime()),
        calls=calls,
        streaming=held("streaming"),
        auto=held("auto"),
        required=held("required"),
        parallel=held("parallel"),
        streamed_calls=held("streamed"),
        form=held("form"),
        reasoning=str(known["reasoning"].value or ""),
        usage=held("usage"),
        cache=Cache(
            works=held("cache"),
            tokens=known["cache"].value if type(known["cache"].value) is int else None,
            seconds=known["cache"].seconds,
        ),
        window=known["window"].value if type(known["window"].value) is int else 0,
        system=held("system"),
        developer=held("developer"),
        images=held("images"),
        breaks=tuple(f"{row.name}: {row.broke}" for row in rows if row.broke),
    )
