"""`overt models`: the model that would be used, and what else is there."""

from collections.abc import Iterator

from overt.app.diagnostics.event_loop import run_async
from overt.app.models.model_list import ModelListing, ModelRow, list_models
from overt.app.registries import Registries
from overt.cli.output import print_result, setting_of, table, warn
from overt.cli.parse import FOLDER, JSON, CommandLine, parse
from overt.core.settings import Price
from overt.lib.text import visible
from overt.lib.translations import say

COMMAND = CommandLine(
    name="overt models",
    about="List the models there are: configured, on this machine, and known; * is the one in use.\n"
    "`overt models fetch` gets the embedded model.",
    words="[provider]",
    most=1,
    flags=(
        FOLDER,
        JSON,
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    if argv[:1] == ["fetch"]:
        from overt.cli.subcommands import _models_fetch as models_fetch  # late: 8 ms

        return models_fetch.run(argv[1:], registries)
    args = parse(COMMAND, argv, registries)
    models = run_async(list_models(setting_of(args), args.word()))
    print_result(args, models.rows, _lines(models))
    if models.problem:
        warn(models.problem)
    return 0


def _lines(models: ModelListing) -> Iterator[str]:
    head = ("  " + say("models.model"), say("models.window"), say("models.price"), say("models.can"), "")
    yield from table([head, *map(_cells, models.rows)], left=len(head))
    for row in models.rows:
        if row.balance:
            yield say("models.balance", provider=row.provider, left=row.balance)
    if not models.fetched:
        yield say("models.not_fetched")


def _cells(row: ModelRow) -> tuple[str, str, str, str, str]:
    name = f"{'*' if row.chosen else ' '} {row.provider}/{row.model}"
    state = say("models.wants", variable=row.wants) if row.wants else say(f"models.{row.source}")
    return visible(name), _window(row.window), _price(row.price, local=row.local), _abilities(row), state


def _window(tokens: int) -> str:
    if not tokens:
        return say("models.unknown")
    if tokens < 1_000_000:
        return f"{round(tokens / 1000)}k"
    return f"{tokens / 1_000_000:.2f}".rstrip("0").rstrip(".") + "M"


def _price(price: Price | None, *, local: bool) -> str:
    """Write the price of a million tokens in and out. An unknown price is not zero."""
    if local:
        return say("models.local")
    if price is None or price.input is None or price.output is None:
        return say("models.unknown")
    return f"${_dollars(price.input)} / ${_dollars(price.output)}"


def _dollars(amount: float) -> str:
    return f"{amount:.2f}" if round(amount, 2) == amount else f"{amount:.6f}".rstrip("0")


def _abilities(row: ModelRow) -> str:
    names = [name for name in ("tools", "images", "reasoning") if getattr(row, name)]
    return ", ".join(say(f"models.{name}") for name in names) or say("models.unknown")
