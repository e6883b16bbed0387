"""`overt models`: the model that would be used, and what else is there."""

import sys
from collections.abc import Iterator, Sequence

from overt.app.diagnostics.event_loop import run_async
from overt.app.models.model_list import Listing, ModelRow, list_models
from overt.app.registries import Registries
from overt.cli.parse import CommandLine, Flag, parse
from overt.cli.setting import read_setting_for
from overt.core.codec import printable
from overt.core.settings import Price
from overt.lib.catalogue import say
from overt.lib.text import visible, wide

COMMAND = CommandLine(
    name="overt models",
    about="List the models there are: configured, on this machine, and known; * is the one in use.\n"
    "`overt models fetch` gets the embedded model.",
    words="[provider]",
    most=1,
    flags=(
        Flag(names=("-C", "--cd"), key="directory", value="DIR", help="of the project of this folder"),
        Flag(names=("--json",), key="json", help="machine-readable"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    if argv[:1] == ["fetch"]:
        from overt.cli.subcommands import _models_fetch as models_fetch  # late: 10 ms

        return models_fetch.run(argv[1:], registries)
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    found = run_async(list_models(read_setting_for(given, registries), given.words[0] if given.words else ""))
    if given.switch("json"):
        print(printable(found.rows))
    else:
        for line in _lines(found):
            print(visible(line))
    for line in f"overt: {found.problem}".splitlines() if found.problem else ():
        print(visible(line), file=sys.stderr)
    return 0


def _lines(found: Listing) -> Iterator[str]:
    head = ("  " + say("models.model"), say("models.window"), say("models.price"), say("models.can"), "")
    rows = [head, *map(_cells, found.rows)]
    widths = [max(map(wide, column)) for column in zip(*rows, strict=True)]
    for cells in rows:
        padded = (cell + " " * (width - wide(cell)) for cell, width in zip(cells, widths, strict=True))
        yield "  ".join(padded).rstrip()
    for row in found.rows:
        if row.balance:
            yield say("models.balance", provider=row.provider, left=row.balance)
    if not found.fetched:
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
    """For a million tokens in and out. What nobody told is not zero."""
    if local:
        return say("models.local")
    if price is None or price.input is None or price.output is None:
        return say("models.unknown")
    return f"${_dollars(price.input)} / ${_dollars(price.output)}"


def _dollars(amount: float) -> str:
    return f"{amount:.2f}" if round(amount, 2) == amount else f"{amount:.6f}".rstrip("0")


def _abilities(row: ModelRow) -> str:
    named: Sequence[tuple[str, bool | None]] = (
        ("tools", row.tools),
        ("images", row.images),
        ("reasoning", row.reasoning),
    )
    able = [say(f"models.{name}") for name, can in named if can]
    return ", ".join(able) or say("models.unknown")
