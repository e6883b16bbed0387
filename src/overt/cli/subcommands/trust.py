"""`overt trust`: vouch for the project of a folder, take it back, or see what it is about."""

from collections.abc import Iterator

from overt.app.chat.trust_question import TrustQuestion, set_trust, trust_state
from overt.app.registries import Registries
from overt.cli.output import print_lines
from overt.cli.parse import CommandLine, Flag, parse
from overt.lib.translations import say

COMMAND = CommandLine(
    name="overt trust",
    about="Let a project's .env, permission rules and endpoints be used, as they are now; a change asks again.",
    words="[folder]",
    most=1,
    flags=(
        Flag("--revoke", "trust it no longer"),
        Flag("--show", "change nothing; list its files and what they would do"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    if args.switch("show"):
        print_lines(_lines(*trust_state(args.word())))
        return 0
    project = set_trust(args.word(), trusting=not args.switch("revoke"))
    print_lines([say("trust.undone" if args.switch("revoke") else "trust.done", project=project)])
    return 0


def _lines(question: TrustQuestion, trusted: bool) -> Iterator[str]:
    yield say("trust.yes" if trusted else "trust.not", project=question.project)
    if question.changed:
        yield say("trust.changed", files=", ".join(question.changed))
    for file in question.described_files:
        yield f"  {file.name}"
        yield from (f"    {line}" for line in file.effects)
    if question.more:
        yield f"  {say('trust.more', count=question.more)}"
    if question.problem:
        yield say("trust.problem", problem=question.problem)
