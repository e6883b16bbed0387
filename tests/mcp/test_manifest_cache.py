"""What is remembered of servers between sessions."""

import os
from pathlib import Path

import pytest
from msgspec import Raw
from msgspec.structs import replace

from overt.core.settings import ServerEntry
from overt.mcp.manifest import Manifest, ServerTool
from overt.mcp.manifest_cache import KnownServers, ManifestCache, fingerprint

GITHUB = ServerEntry(name="github", command=("github-mcp",), environment={"TOKEN": "t-1234567890"})
OFFERED = Manifest(era="modern", tools=(ServerTool(name="create_issue", schema=Raw(b'{"type":"object"}')),))


def test_a_stored_manifest_is_known_in_the_next_session(tmp_path: Path) -> None:
    KnownServers((GITHUB,), str(tmp_path), "/work").learn("github", OFFERED, 120)
    known = KnownServers((GITHUB,), str(tmp_path), "/work")
    assert known.tokens(GITHUB) == 120
    assert known.cache.era(GITHUB) == "modern"
    assert known.manifest("github") == OFFERED


def test_a_changed_entry_is_another_server(tmp_path: Path) -> None:
    KnownServers((GITHUB,), str(tmp_path), "/work").learn("github", OFFERED, 120)
    changed = replace(GITHUB, command=("github-mcp", "--all"))
    known = KnownServers((changed,), str(tmp_path), "/work")
    assert (known.tokens(changed), known.manifest("github")) == (None, None)


def test_what_only_the_user_sees_does_not_make_another_server() -> None:
    assert fingerprint(replace(GITHUB, origin="x.toml:3", timeout_ms=5, read_only=True), "/w") == fingerprint(
        GITHUB, "/w"
    )


def test_the_version_counts_changes_only(tmp_path: Path) -> None:
    known = KnownServers((GITHUB,), str(tmp_path), "/work")
    known.learn("github", OFFERED, 120)
    known.learn("github", OFFERED, 120)
    assert known.version == 1


def test_damaged_files_are_as_good_as_none(tmp_path: Path) -> None:
    cache = ManifestCache(str(tmp_path), "/work")
    cache.store(GITHUB, OFFERED, 120)
    (tmp_path / "mcp" / f"{fingerprint(GITHUB, '/work')}.json").write_bytes(b"{")
    assert ManifestCache(str(tmp_path), "/work").load(GITHUB) is None
    (tmp_path / "mcp" / "index.json").write_bytes(b"\xff")
    assert ManifestCache(str(tmp_path), "/work").summary(GITHUB) is None


def test_files_are_private_and_hold_no_secret_of_the_entry(tmp_path: Path) -> None:
    ManifestCache(str(tmp_path), "/work").store(GITHUB, OFFERED, 120)
    files = list((tmp_path / "mcp").iterdir())
    assert {os.stat(path).st_mode & 0o777 for path in files} == {0o600}
    assert all(b"t-1234567890" not in path.read_bytes() for path in files)


def test_a_disk_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "mcp").write_text("a file in the way")
    ManifestCache(str(tmp_path), "/work").store(GITHUB, OFFERED, 120)
    assert ManifestCache(str(tmp_path), "/work").load(GITHUB) is None


def test_the_same_command_in_another_folder_is_another_server(tmp_path: Path) -> None:
    KnownServers((GITHUB,), str(tmp_path), "/one").learn("github", OFFERED, 120)
    assert KnownServers((GITHUB,), str(tmp_path), "/two").manifest("github") is None
    remote = ServerEntry(name="docs", kind="http", url="https://docs.example/mcp")
    assert fingerprint(remote, "/one") == fingerprint(remote, "/two")


@pytest.mark.parametrize("project", ["my.hub", "my_hub__more", "my hub"])
def test_a_server_whose_tools_could_be_taken_for_those_of_the_users_is_left_out(tmp_path: Path, project: str) -> None:
    mine = ServerEntry(name="my_hub", command=("mine",))
    theirs = ServerEntry(name=project, command=("theirs",), of_project=True)
    known = KnownServers((theirs, mine), str(tmp_path), "/work")
    assert (list(known.entries), known.clashes) == (["my_hub"], {project: "my_hub"})
