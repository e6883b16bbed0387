"""`overt trust`: vouch for the project of a folder, or take it back."""

from overt.app.queries import set_trust
from overt.cli.parse import Command, Flag, parse
from overt.lib.catalogue import say
from overt.lib.text import visible

COMMAND = Command(
    name="overt trust",
    about="Let a project's .env, permission rules and endpoints be used.",
    words="[folder]",
    most=1,
    flags=(Flag(names=("--revoke",), key="revoke", help="trust it no longer"),),
)


def run(argv: list[str]) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    project = set_trust(given.words[0] if given.words else "", trusting=not given.switch("revoke"))
    print(say("trust.undone" if given.switch("revoke") else "trust.done", project=visible(project)))
    return 0
