"""What the program says to people, in the language they chose.

English is at hand; any other table is loaded when it is first chosen, and what is rarely said when it is first said.
To add a text, put the same key with the same placeholders into the tables of each language; a test compares them.
"""

from collections.abc import Mapping
from typing import Literal

from overt.lib.strings_en import ENGLISH

Language = Literal["en", "zh"]

_table: dict[str, str] = ENGLISH
_language: Language = "en"


def language_of(setting: str, variables: Mapping[str, str]) -> Language:
    """The setting decides; with `auto` or nothing, the first locale variable that is set."""
    if setting in ("", "auto"):
        names = ("LC_ALL", "LC_MESSAGES", "LANG")
        setting = next((variables[name] for name in names if variables.get(name)), "")
    return "zh" if setting.lower().startswith("zh") else "en"


def set_language(language: Language) -> None:
    global _table, _language
    _table, _language = ENGLISH, language
    if language == "zh":
        from overt.lib.strings_zh import CHINESE  # late: 0.8 ms

        _table = CHINESE


def say(key: str, **values: object) -> str:
    """The text for a key, its placeholders filled; a key nobody wrote is a mistake in the program."""
    text = _table.get(key) or _further_table(_language, tui=key.startswith("tui."))[key]
    return text.format(**values) if values else text


def say_columns(key: str) -> list[str]:
    """Return the texts of a key that stands for several, as the heads of a table."""
    return say(key).split("|")


def _further_table(language: Language, *, tui: bool) -> dict[str, str]:
    """Texts of the terminal chat, or those that are rarely needed."""
    match language, tui:
        case "en", True:
            from overt.lib.strings_en_tui import ENGLISH as table  # late: 1.0 ms
        case "en", False:
            from overt.lib.strings_en_rare import ENGLISH as table  # late: 2 ms
        case _, True:
            from overt.lib.strings_zh_tui import CHINESE as table  # late: 1.0 ms
        case _:
            from overt.lib.strings_zh_rare import CHINESE as table  # late: 2 ms
    return table
