"""Paths as people read them."""

import pytest

from overt.lib.paths import display_path, slug


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/home/me/code/a.py", "a.py"),
        ("/home/me/code", "."),
        ("/home/me/codex/a.py", "~/codex/a.py"),
        ("/home/me", "~"),
        ("/home/meg/a.py", "/home/meg/a.py"),
        ("/etc/hosts", "/etc/hosts"),
    ],
)
def test_a_path_is_shown_in_its_shortest_honest_form(path: str, expected: str) -> None:
    assert display_path(path, "/home/me/code", "/home/me") == expected


def test_without_root_and_home_a_path_is_shown_whole() -> None:
    assert display_path("/a/b") == "/a/b"


@pytest.mark.parametrize("path", ["/", "/home/me/code", "/x/名字 and space", "/x/\udcff", "/a/" + "b" * 300, "/a/..b"])
def test_a_slug_is_a_safe_folder_name(path: str) -> None:
    name = slug(path)
    assert name.isascii() and len(name) <= 80 and "/" not in name and not name.startswith(".")
    assert name == slug(path)


def test_paths_that_read_alike_have_different_slugs() -> None:
    assert slug("/home/me/code").startswith("me-code-")
    assert len({slug("/a/b c"), slug("/a/b-c"), slug("/z/a/b-c"), slug("/a/b\udcff")}) == 4
