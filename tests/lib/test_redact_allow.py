"""`redact.allow`: what may be shown although it looks like a secret."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overt.lib.redaction.allow import AllowedSecrets
from overt.lib.redaction.redact import HIDDEN, Redactor

AWS_ID = "AKIAIOSFODNN7EXAMPLE"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MjQyNDI0MiJ9.s3cr3tS1gnatur3s3cr3tS1gnatur3"
OTHER_ID = "AKIAZ7Q2M4X6P8R0T2V4"
PEM = (
    "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSj\nAgEAAoIBAQC7aaaabbbbcccc\n"
    "-----END PRIVATE KEY-----"
)


def redactor(*entries: str, project: Path | str = "/project", secrets: tuple[str, ...] = ()) -> Redactor:
    allowed = AllowedSecrets(entries, project=str(project), workspace=str(project), home="/home/me")
    return Redactor(secrets, allowed=allowed)


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (AWS_ID, f"id = {AWS_ID}"),
        ("*EXAMPLE", f"id = {AWS_ID}"),
        (AWS_SECRET, f"aws_secret_access_key = {AWS_SECRET}"),
        ("eyJhbGciOiJIUzI1NiJ9.*", f"Authorization: Bearer {JWT}"),
        ("s3cretpassw0rd", "postgres://app:s3cretpassw0rd@localhost/db"),
        ("-----BEGIN PRIVATE KEY-----*MIIEvQ*", PEM),
    ],
)
def test_text_that_an_entry_matches_is_shown(entry: str, text: str) -> None:
    assert HIDDEN in Redactor().clean(text)
    assert redactor(entry).clean(text) == text


def test_an_entry_uncovers_only_whole_matches() -> None:
    assert redactor("AKIAIOSF*").clean(f"{AWS_ID} {OTHER_ID}") == f"{AWS_ID} {HIDDEN}"
    assert redactor(JWT[:30]).clean(JWT) == HIDDEN


def test_a_known_key_is_redacted_whatever_is_allowed(tmp_path: Path) -> None:
    clean = redactor("AKIA*", "*.txt", project=tmp_path, secrets=(AWS_ID,))
    assert clean.observer is not None
    clean.observer("a.txt", f"{AWS_ID} {OTHER_ID}")
    assert clean.clean(f"{AWS_ID} {OTHER_ID}") == f"{HIDDEN} {OTHER_ID}"


@pytest.mark.parametrize("entry", ["tests/data", "tests/data/", "./tests/data/*", "tests/**", "keys.txt", "*.txt"])
def test_what_an_allowed_file_holds_is_shown_everywhere(tmp_path: Path, entry: str) -> None:
    clean = redactor(entry, project=tmp_path)
    assert clean.observer is not None
    clean.observer("other/keys.md", JWT)
    assert clean.clean(JWT) == HIDDEN
    clean.observer("tests/data/keys.txt", f"{JWT}\n{PEM}\naws_secret_access_key={AWS_SECRET}\n")
    for text in (JWT, f"Bearer {JWT}", PEM, f"aws_secret_access_key: {AWS_SECRET}"):
        assert clean.clean(text) == text
    assert clean.clean(OTHER_ID) == HIDDEN


def test_an_allowed_private_key_is_shown_with_line_numbers_and_as_json(tmp_path: Path) -> None:
    clean = redactor("*.pem", project=tmp_path)
    assert clean.observer is not None
    clean.observer("key.pem", PEM)
    numbered = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(PEM.splitlines(), 1))
    for text in (numbered, PEM.replace("\n", "\\n")):
        assert clean.clean(text) == text
    assert clean.clean(PEM.replace("MIIEvQ", "MIIEvR")) == HIDDEN


def test_a_link_out_of_an_allowed_folder_is_not_allowed(tmp_path: Path) -> None:
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "secret.txt").write_text(JWT)
    (tmp_path / "fixtures" / "link.txt").symlink_to(tmp_path / "secret.txt")
    clean = redactor("fixtures", project=tmp_path)
    assert clean.observer is not None
    clean.observer("fixtures/link.txt", JWT)
    assert clean.clean(JWT) == HIDDEN


def test_absolute_paths_and_the_home_folder_can_be_named() -> None:
    allowed = AllowedSecrets(("/srv/data", "~/fixtures"), project="/p", workspace="/p", home="/home/me")
    assert allowed.covers_path("/srv/data/a.txt") and allowed.covers_path("/home/me/fixtures/a.txt")
    assert not allowed.covers_path("/srv/database") and not allowed.covers_path("srv/data/a.txt")


@given(st.lists(st.integers(1, 9), min_size=1, max_size=40))
def test_an_allowed_text_comes_through_a_stream_whole(sizes: list[int]) -> None:
    text = f"use {AWS_ID} and Bearer {JWT} but not {OTHER_ID}."
    flow, out, at = redactor("*EXAMPLE", "eyJ*").flow(), "", 0
    for size in sizes:
        out += flow.feed(text[at : at + size])
        at += size
    out += flow.feed(text[at:]) + flow.end()
    assert out.replace(f"AK{HIDDEN}", HIDDEN).replace(f"A{HIDDEN}", HIDDEN) == text.replace(OTHER_ID, HIDDEN)
