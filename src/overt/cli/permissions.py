"""`overt permissions`: the rules that were answered with always, and taking one back."""

from overt.app.queries import always_rules, revoke
from overt.cli.parse import Command, Flag, parse
from overt.core.errors import UsageError
from overt.lib.text import visible

COMMAND = Command(
    name="overt permissions",
    about="List what was answered with always in this project, or take a rule back.",
    words="[list | revoke RULE]",
    most=2,
    flags=(Flag(names=("-C", "--cd"), key="directory", value="DIR", help="of the project of this folder"),),
)


def run(argv: list[str]) -> int:
    given = parse(COMMAND, argv)
    if given is None:
        return 0
    directory = given.text("directory")
    match given.words:
        case () | ("list",):
            for rule in always_rules(directory):
                print(visible(f"{rule.action}  {rule.text()}"))
        case ("revoke", text):
            print(f"revoked {visible(revoke(directory, text))}")
        case _:
            raise UsageError("overt permissions takes: list, or revoke RULE as it is listed")
    return 0
