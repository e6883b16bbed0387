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
        Flag(names=("--vendor",), key="vendor", value="NAME", help="a provider that `overt models` lists"),
        Flag(names=("-m", "--model"), key="model", value="NAME", help="one of its models"),
        Flag(names=("-y", "--yes"), key="yes", help="ask nothing; --vendor and a key in its variable are needed then"),
        Flag(names=("-C", "--cd"), key="directory", value="DIR", help="as seen from this folder"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    answers = Answers(vendor=given.text("vendor"), model=given.text("model"), yes=given.switch("yes"))
    from overt.frontends.asking import run_setup  # late: 0.5 ms

    result: SetupResult = run_setup(Options(directory=given.text("directory"), registries=registries), answers)
    if result.interrupted:
        return 130
    return 0 if result.model else 1
