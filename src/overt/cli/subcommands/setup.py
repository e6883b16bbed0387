"""`overt setup`: a model to work with, in a few questions."""

from overt.app.options import Options
from overt.app.registries import Registries
from overt.app.setup.run import Answers, SetupResult
from overt.cli.parse import CommandLine, Flag, parse

COMMAND = CommandLine(
    name="overt setup",
    about="Choose where the model comes from, give a key, try it with one small request, and keep the choice.\n"
    "Nothing is written before the last answer. A key goes into the system's keyring, never into a file.",
    most=0,
    flags=(
        Flag("--vendor NAME", "a provider that `overt models` lists"),
        Flag("-m, --model NAME", "one of its models"),
        Flag("-y, --yes", "ask nothing; --vendor and a key in its variable are needed then"),
        Flag("-C, --cd DIR", "as seen from this folder"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    answers = Answers(vendor=args.text("vendor"), model=args.text("model"), yes=args.switch("yes"))
    from overt.frontends.terminal_dialog import run_setup  # late: 0.5 ms

    result: SetupResult = run_setup(Options(directory=args.text("cd"), registries=registries), answers)
    if result.interrupted:
        return 130
    return 0 if result.model else 1
