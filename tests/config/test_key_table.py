"""Every setting explains itself: a type, a default and one sentence, in the table and in the documents."""

from pathlib import Path

import pytest
from bench.settings_page import PAGE, SCHEMA, page

from overt.app.inspect.settings import schema_text
from overt.app.registries import Registries
from overt.config.key_table import DESCRIPTIONS, KEYS, TABLES, find_key, nearest_key, show_value
from overt.config.reading.keys import FACTS, PROVIDER, SETTINGS

ROOT = Path(__file__).parent.parent.parent


def test_settings_and_sentences_are_the_same_set() -> None:
    assert sorted(set(KEYS) - set(DESCRIPTIONS)) == [], "add a sentence to config/descriptions.toml"
    assert sorted(set(DESCRIPTIONS) - set(KEYS)) == [], "these settings do not exist"


def test_every_key_that_a_file_may_hold_is_in_the_table() -> None:
    assert set(SETTINGS) <= set(KEYS)
    assert {f"providers.NAME.{name}" for name in PROVIDER} <= set(KEYS)
    assert {f"providers.NAME.models.MODEL.{name}" for name in FACTS} <= set(KEYS)


@pytest.mark.parametrize("name", KEYS)
def test_each_setting_has_a_type_and_one_sentence(name: str) -> None:
    key = KEYS[name]
    assert key.type
    assert key.description.endswith(".") and ". " not in key.description
    assert 10 < len(key.description) < 180
    assert key.section in TABLES or key.section == "providers.NAME"


def test_the_reference_and_the_schema_in_docs_are_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run `make docs`"
    assert SCHEMA.read_text() == schema_text(Registries()), "run `make docs`"


def test_each_setting_appears_in_a_document() -> None:
    documents = "".join(path.read_text() for path in (ROOT / "docs").glob("*.md"))
    assert [name for name in KEYS if f"`{name}`" not in documents] == []


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("undo.max_size", "undo.max_size"),
        ("providers.mine.kind", "providers.NAME.kind"),
        ("providers.mine.quirks.extra.top_k", "providers.NAME.quirks.extra"),
        ("providers.mine.headers.x.y", "providers.NAME.headers"),
        ("mcp.my.db.environment.KEY", "mcp.NAME.environment"),
        ("mcp.db.oauth.client_id", "mcp.NAME.oauth.client_id"),
        ("providers.mine.known.gpt-4.1", "providers.NAME.models"),
    ],
)
def test_a_setting_is_found_by_the_name_that_overt_config_shows(name: str, found: str) -> None:
    key = find_key(name)
    assert key is not None and key.key == found


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("undo.max_sizes", "undo.max_size"),
        ("max_file", "undo.max_file"),
        ("provider", "providers"),
        ("compactoin", "compaction"),
        ("xyzzy", ""),
    ],
)
def test_a_slip_of_the_pen_has_a_nearest_name(name: str, near: str) -> None:
    assert nearest_key(name) == near


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("undo.max_size", 2 * 1024**3, '"2 GB"'),
        ("undo.max_size", 1536, "1536"),
        ("undo.max_age", 1.0, '"1 day"'),
        ("cache.models_max_age", 0.0, "0"),
        ("offline", False, "false"),
        ("tools.enabled", None, "not set"),
        ("ui.status", 'a "b"\n', '"a \\"b\\"\\n"'),
        ("tools.disabled", ("bash", "edit"), '["bash", "edit"]'),
        ("limits.max_parallel", 10, "10"),
        ("compaction.threshold", 0.8, "0.8"),
    ],
)
def test_values_are_shown_as_one_would_write_them(name: str, value: object, text: str) -> None:
    assert show_value(value, KEYS[name]) == text
