"""The configuration of a subcommand, read once at its entry."""

from overt.app.options import Options
from overt.app.registries import Registries
from overt.app.setting import Setting, read_setting, read_setting_or_defaults
from overt.cli.parse import Given


def read_setting_for(given: Given, registries: Registries) -> Setting:
    """Read the configuration of the folder that `-C` names, with the flags that a chat has as well."""
    return read_setting(_options_of(given, registries))


def read_setting_or_defaults_for(given: Given, registries: Registries) -> tuple[Setting, str]:
    """The same for a subcommand that works without a configuration; the text says why it could not be read."""
    return read_setting_or_defaults(_options_of(given, registries))


def _options_of(given: Given, registries: Registries) -> Options:
    return Options(
        directory=given.text("directory"),
        model=given.text("model"),
        add_dirs=given.texts("add_dirs"),
        registries=registries,
    )
