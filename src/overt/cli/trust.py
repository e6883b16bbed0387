"""`overt trust`: vouch for the project of a folder, or take it back."""

from overt.app.queries import set_trust
from overt.cli.flags import Parser
from overt.lib.catalogue import say
from overt.lib.text import visible


def run(argv: list[str]) -> int:
    parser = Parser(prog="overt trust", description="Let this project's .env, permission rules and endpoints be used.")
    parser.add_argument("directory", nargs="?", default="")
    parser.add_argument("--revoke", action="store_true", help="trust it no longer")
    given = parser.parse_args(argv)
    project = set_trust(given.directory, trusting=not given.revoke)
    print(say("trust.undone" if given.revoke else "trust.done", project=visible(project)))
    return 0
