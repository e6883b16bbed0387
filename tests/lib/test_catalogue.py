"""Both languages say the same things."""

import ast
import json
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

import overt
from overt.lib.package_data import read_text
from overt.lib.translations import Language, language_of, load_texts, say, set_language

ENGLISH, CHINESE = load_texts("en"), load_texts("zh")


@pytest.fixture(autouse=True)
def english_again() -> Iterator[None]:
    yield
    set_language("en")


def placeholders(text: str) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(text) if name is not None)


def test_every_key_stands_in_both_tables() -> None:
    assert list(CHINESE) == list(ENGLISH)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_file_has_each_key_once_on_a_line_of_its_own_in_alphabetical_order(language: Language) -> None:
    content = read_text("overt.lib", f"strings/{language}.json")
    pairs = json.loads(content, object_pairs_hook=list)
    keys = [key for key, _ in pairs]

    assert keys == sorted(set(keys))
    assert content == json.dumps(dict(pairs), ensure_ascii=False, indent=2) + "\n"


@pytest.mark.parametrize("key", ENGLISH)
def test_a_text_has_the_same_placeholders_in_both_tables(key: str) -> None:
    assert placeholders(CHINESE[key]) == placeholders(ENGLISH[key])
    assert all(name.isidentifier() for name in placeholders(ENGLISH[key]))


def test_whatever_the_program_says_exists_and_has_its_placeholders_filled() -> None:
    wrong = []
    for path in Path(overt.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            match node:
                case ast.Call(func=ast.Name(id="say"), args=[ast.Constant(value=str(key))], keywords=given):
                    filled = {keyword.arg for keyword in given}
                    if key not in ENGLISH or not filled >= set(placeholders(ENGLISH[key])):
                        wrong.append((path.name, node.lineno, key))
                case _:
                    pass
    assert wrong == []


def test_the_language_can_be_switched_and_a_missing_key_is_an_error() -> None:
    assert say("prefix.error", text="{x}") == "error: {x}"
    set_language("zh")
    assert say("prefix.error", text="x") == "错误：x"
    with pytest.raises(KeyError):
        say("no.such.key")


@pytest.mark.parametrize(
    ("setting", "variables", "expected"),
    [
        ("zh", {"LANG": "en_US.UTF-8"}, "zh"),
        ("en", {"LANG": "zh_CN.UTF-8"}, "en"),
        ("auto", {"LANG": "zh_CN.UTF-8"}, "zh"),
        ("auto", {"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"),
        ("auto", {"LC_ALL": "", "LC_MESSAGES": "zh_TW"}, "zh"),
        ("", {}, "en"),
    ],
)
def test_the_setting_decides_and_then_the_locale(setting: str, variables: dict[str, str], expected: str) -> None:
    assert language_of(setting, variables) == expected
