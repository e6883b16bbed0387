"""The JSON schema accepts what Overt accepts: the examples in the documents and the configurations of the tests."""

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.config.test_config_load import FULL_JSONC

from overt.config.json_schema import build_schema, value_schema
from overt.config.key_table import KEYS
from overt.config.reading.files import read_settings
from overt.config.reading.toml_lines import parse as parse_toml
from overt.core.errors import ConfigError
from overt.lib import jsonc

ROOT = Path(__file__).parent.parent.parent
SCHEMA = build_schema()
VALIDATOR = Draft202012Validator(SCHEMA)


def problems(tree: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:200]}" for error in VALIDATOR.iter_errors(tree)]


def examples() -> list[tuple[str, str]]:
    found = []
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        blocks = re.findall(r"^```toml\n(.*?)^```", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        found += [(f"{path.name}-{number}", text) for number, text in enumerate(blocks)]
    return found


def configurations_of_tests() -> list[str]:
    """Every constant text in the tests that may be a configuration."""
    texts: set[str] = set()
    for folder in ("config", "app", "cli", "journeys"):
        for path in (ROOT / "tests" / folder).glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    texts.add(node.value)
    return sorted(text for text in texts if 8 < len(text) < 10_000 and ("=" in text or text.lstrip().startswith("{")))


def test_the_schema_is_a_valid_schema() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize(("name", "text"), examples(), ids=lambda value: value if len(value) < 30 else "")
def test_the_examples_in_the_documents_fit(name: str, text: str) -> None:
    assert problems(tomllib.loads(text)) == [], name


def test_the_full_example_in_json_fits() -> None:
    assert problems(jsonc.parse(FULL_JSONC).value) == []


def test_what_overt_reads_without_a_warning_fits(tmp_path: Path) -> None:
    checked = 0
    for text in configurations_of_tests():
        path = tmp_path / ("overt.jsonc" if text.lstrip().startswith("{") else "overt.toml")
        path.write_text(text)
        try:
            settings, warnings = read_settings(str(path), path.name)
        except ConfigError:
            continue
        if settings and not any("unknown key" in each or "not used here" in each for each in warnings):
            tree = (parse_toml if path.suffix == ".toml" else jsonc.parse)(text).value
            assert problems(tree) == [], text
            checked += 1
    assert checked >= 30


@pytest.mark.parametrize("name", KEYS)
def test_the_default_of_each_setting_fits_its_schema(name: str) -> None:
    schema = value_schema(KEYS[name])
    assert schema["description"] == KEYS[name].description
    assert {"type", "enum", "anyOf"} & set(schema) or name.endswith((".allow", ".ask", ".deny", ".models", ".quirks"))
    if "default" in schema:
        Draft202012Validator(schema).validate(schema["default"])


@pytest.mark.parametrize(
    "text",
    [
        "offlin = true",
        "offline = 'yes'",
        "[agent]\nmax_steps = -1",
        "[compaction]\nthreshold = 1",
        "[permissions]\nmode = 'careful'",
        "[permissions]\nallow = 'edit'",
        "[undo]\nmax_size = '2 apples'",
        "[cache]\nmax_age = 'soon'",
        "[[providers]]\nkind = 'openai'",
        "[[providers]]\nname = 'a'\nbase_url = 'ftp://x'",
        "[[providers]]\nname = 'a'\napi_key = 'sk-something'",
        "[[providers]]\nname = 'a'\n[providers.quirks]\nsystem = 'boss'",
        "[ui]\ntheme = 'pink'",
    ],
)
def test_what_is_wrong_does_not_fit(text: str) -> None:
    assert problems(tomllib.loads(text))
