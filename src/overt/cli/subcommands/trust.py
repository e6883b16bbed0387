"""`overt trust`: vouch for the project of a folder, take it back, or see what it is about."""

from overt.app.chat.trust_question import set_trust, trust_state
from overt.app.registries import Registries
from overt.cli.parse import CommandLine, Flag, parse
from overt.lib.catalogue import say
from overt.lib.text import visible

COMMAND = CommandLine(
    name="overt trust",
    about="Let a project's .env, permission rules and endpoints be used, as they are now; a change asks again.",
    words="[folder]",
    most=1,
    flags=(
        Flag(names=("--revoke",), key="revoke", help="trust it no longer"),
        Flag(names=("--show",), key="show", help="change nothing; list its files and what they would do"),
    ),
)


def run(argv: list[str], _registries: Registries) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    folder = given.words[0] if given.words else ""
    if given.switch("show"):
        return _show(folder)
    project = set_trust(folder, trusting=not given.switch("revoke"))
    print(say("trust.undone" if given.switch("revoke") else "trust.done", project=visible(project)))
    return 0


def _show(folder: str) -> int:
    question, trusted = trust_state(folder)
    print(say("trust.yes" if trusted else "trust.not", project=visible(question.project)))
    if question.changed:
        print(say("trust.changed", files=visible(", ".join(question.changed))))
    for paper in question.papers:
        print(f"  {visible(paper.name)}")
        for line in paper.says:
            print(f"    {visible(line)}")
    if question.more:
        print(f"  {say('trust.more', count=question.more)}")
    if question.problem:
        print(say("trust.problem", problem=visible(question.problem)))
    return 0
