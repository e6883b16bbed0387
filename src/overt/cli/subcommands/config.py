"""`overt config`: every setting with its value and where it was set; with KEY, what the setting means."""

from overt.app.inspect.settings import explain_all, explain_setting, schema_text, setting_lines, value_text
from overt.app.registries import Registries
from overt.cli.output import print_result, setting_of, warn
from overt.cli.parse import FOLDER, CommandLine, Flag, parse
from overt.core.errors import UsageError

COMMAND = CommandLine(
    name="overt config",
    about="Show every setting with the file and line it came from. With KEY, a setting such as compaction.auto or a\n"
    "table such as providers, show its type, its default and what it does as well.",
    words="[KEY]",
    most=1,
    flags=(
        FOLDER,
        Flag("--json", "machine-readable: key, value, origin, type, default, description"),
        Flag("--schema", "print the JSON schema of configuration files"),
    ),
)


def run(argv: list[str], registries: Registries) -> int:
    args = parse(COMMAND, argv, registries)
    name = args.word()
    if args.switch("schema"):
        if name:
            raise UsageError("--schema takes no KEY. Try: overt config --schema")
        print(schema_text(registries), end="")
        return 0
    setting = setting_of(args)
    settings, warnings = explain_setting(setting, name) if name else explain_all(setting)
    texts = [(each.key, value_text(each), each.origin) for each in settings]
    key_width, value_width = (max(len(text[column]) for text in texts) for column in (0, 1))
    rows = (f"{key:{key_width}}  {value:{min(value_width, 40)}}  {origin}" for key, value, origin in texts)
    print_result(args, settings, setting_lines(settings) if name else rows)
    for warning in warnings:
        warn(warning)
    return 0
