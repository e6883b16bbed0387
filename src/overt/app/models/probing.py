"""`overt doctor --model`: a server is asked what it can do, and the answer is kept where every later start reads it."""

from collections.abc import Callable
from time import gmtime, strftime

from msgspec import Struct
from msgspec.structs import replace

from overt.app.models.pick_model import choose_model
from overt.app.setting import Setting
from overt.config.profiles import Cache, ModelProfile, save_profile, with_profile
from overt.core.settings import Calls
from overt.lib.paths import display_path
from overt.providers.model_choice import ChosenModel
from overt.providers.probing.probe import ProbeRow, decide, probe
from overt.providers.registry import make

ATTEMPTS = 2
"""A trial that a server fails at is not worth more: some fail at what they do not know."""


class ModelTest(Struct, frozen=True, kw_only=True):
    """`found` is how the server could call tools, `calls` how it will be used; `saved` is where the profile lies."""

    provider: str
    model: str
    base_url: str
    wire: str
    rows: tuple[ProbeRow, ...]
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


async def try_model(setting: Setting, reference: str, *, save: bool, tell: Callable[[str], None]) -> ModelTest:
    """Ask the server of a model everything there is to know of it; `tell` hears what is being tried."""
    chosen = await choose_model(setting, reference)
    wires = setting.registries.wires
    entry = replace(chosen.entry, attempts=min(ATTEMPTS, chosen.entry.attempts))
    provider = make(entry, chosen.key, chosen.model, setting.environment.variables, wires)
    wire = provider.wire.name
    try:
        rows = await probe(provider, chosen.model, entry=entry, tell=tell, wires=wires)
    finally:
        provider.close()
    calls_found = decide(rows)
    report = ModelTest(
        provider=entry.name,
        model=chosen.model,
        base_url=entry.base_url,
        wire=wire,
        rows=rows,
        found=calls_found,
        calls=None,
        breaks=tuple(f"{row.name}: {row.broke}" for row in rows if row.broke),
    )
    if calls_found is None:
        return report
    profile = profile_of(chosen, calls_found, rows)
    calls = with_profile(chosen.about, profile).calls
    saved = (
        display_path(save_profile(setting.environment.data_dir, profile), home=setting.environment.home) if save else ""
    )
    return replace(report, calls=calls, saved=saved)


def profile_of(chosen: ChosenModel, calls: Calls, rows: tuple[ProbeRow, ...]) -> ModelProfile:
    known = {row.name: row for row in rows}

    def can(name: str) -> bool | None:
        return {"yes": True, "no": False}.get(known[name].state)

    cached, window = known["cache"].value, known["window"].value
    same = ("streaming", "auto", "required", "parallel", "form", "usage", "system", "developer", "images")
    return ModelProfile(
        base_url=chosen.entry.base_url,
        model=chosen.model,
        kind=chosen.entry.kind,
        probed=strftime("%Y-%m-%d", gmtime()),
        calls=calls,
        **{name: can(name) for name in same},
        streamed_calls=can("streamed"),
        reasoning=str(known["reasoning"].value or ""),
        cache=Cache(works=can("cache"), tokens=cached if type(cached) is int else None, seconds=known["cache"].seconds),
        window=window if type(window) is int else 0,
        breaks=tuple(f"{row.name}: {row.broke}" for row in rows if row.broke),
    )
