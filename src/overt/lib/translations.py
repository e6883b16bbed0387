"""What the program says to people, in the language they chose.

The texts of a language are one file, `strings/en.json` or `strings/zh.json`, read when the first of them is said.
To add a text, put the same key with the same placeholders into each file, in alphabetical order; tests compare them.
"""

from collections.abc import Mapping
from functools import cache
from typing import Literal

from overt.lib.package_data import read_bytes

Language = Literal["en", "zh"]

_language: Language = "en"


def language_of(setting: str, variables: Mapping[str, str]) -> Language:
    """Return the language of the setting; for `auto` or nothing, that of the first locale variable that is set."""
    if setting in ("", "auto"):
        names = ("LC_ALL", "LC_MESSAGES", "LANG")
        setting = next((variables[name] for name in names if variables.get(name)), "")
    return "zh" if setting.lower().startswith("zh") else "en"


def set_language(language: Language) -> None:
    global _language
    _language = language


@cache
def load_texts(language: Language) -> dict[str, str]:
    from msgspec import json  # late: 14 ms

    return json.decode(read_bytes("overt.lib", f"strings/{language}.json"), type=dict[str, str])


def say(key: str, **values: object) -> str:
    """Return the text for a key with its placeholders filled. A missing key is a bug."""
    text = load_texts(_language)[key]
    return text.format(**values) if values else text


def say_columns(key: str) -> list[str]:
    """Return the texts of a key that stands for several, as the heads of a table."""
    return say(key).split("|")
