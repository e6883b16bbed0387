"""What the program says to people, in the language they chose.

English is at hand; any other table is loaded when it is first chosen, and what is rarely said when it is first said.
To add a text, put the same key with the same placeholders into the tables of each language; a test compares them.
"""

from collections.abc import Mapping
from typing import Literal

from overt.core.late import late
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
    _table, _language = late("strings.zh") if language == "zh" else ENGLISH, language


def say(key: str, **values: object) -> str:
    """The text for a key, its placeholders filled; a key nobody wrote is a mistake in the program."""
    text = _table.get(key) or late(f"strings.{_language}.{'tui' if key.startswith('tui.') else 'rare'}")[key]
    return text.format(**values) if values else text
