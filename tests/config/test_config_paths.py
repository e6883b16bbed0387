"""Folders and roots, from the environment of a real process."""

import subprocess
import sys
from pathlib import Path

import pytest

from overt.config.paths import Environment, Roots, roots
from overt.core.codec import decode
from overt.core.errors import ConfigError

SHOW = """
from overt.config.paths import read_environment
from overt.core.codec import compact
e = read_environment()
print(compact([e.home, e.config_dir, e.data_dir, e.cache_dir, e.cwd]))
"""


def seen(cwd: Path, **variables: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", SHOW], cwd=cwd, env=variables, capture_output=True, check=True, timeout=30
    )
    found: list[str] = decode(done.stdout, type=list[str])
    return found


def test_folders_follow_xdg_and_the_home_folder(tmp_path: Path) -> None:
    cwd = str(tmp_path)
    assert seen(tmp_path, HOME="/h") == [
        "/h",
        "/h/.config/overt",
        "/h/.local/share/overt",
        "/h/.cache/overt",
        cwd,
    ]
    assert seen(tmp_path, HOME="/h", XDG_CONFIG_HOME="/c", XDG_DATA_HOME="/d", XDG_CACHE_HOME="relative") == [
        "/h",
        "/c/overt",
        "/d/overt",
        "/h/.cache/overt",
        cwd,
    ]
    assert seen(tmp_path, HOME="/h", OVERT_DATA="/mine", OVERT_CACHE="near", XDG_DATA_HOME="/d")[2:4] == [
        "/mine",
        f"{cwd}/near",
    ]


def environment(home: Path, cwd: Path, **variables: str) -> Environment:
    return Environment(home=str(home), config_dir="", data_dir="", cache_dir="", cwd=str(cwd), variables=variables)


@pytest.mark.parametrize("marker", ["overt.toml", ".overt", ".git", "overt.jsonc"])
def test_the_project_is_the_nearest_ancestor_with_a_marker_that_holds_something(tmp_path: Path, marker: str) -> None:
    inner = tmp_path / "home/outer/project/src/deep"
    inner.mkdir(parents=True)
    (tmp_path / "home/outer/.git").mkdir()
    (tmp_path / "home/outer/.git/HEAD").write_text("ref: refs/heads/main")
    where = environment(tmp_path / "home", inner)
    place = tmp_path / "home/outer/project" / marker
    (place / "nothing/at/all").mkdir(parents=True)
    assert roots(where) == Roots(workspace=str(inner), project=str(tmp_path / "home/outer"))
    (place / "file").write_text("")
    assert roots(where) == Roots(workspace=str(inner), project=str(inner.parent.parent))


def test_the_home_folder_is_no_project_of_what_lies_below_it(tmp_path: Path) -> None:
    inner = tmp_path / "home/code"
    inner.mkdir(parents=True)
    (tmp_path / "home/.git").mkdir()
    where = environment(tmp_path / "home", inner)
    assert roots(where) == Roots(workspace=str(inner), project=str(inner))


def test_a_folder_given_by_flag_is_resolved_and_must_exist(tmp_path: Path) -> None:
    (tmp_path / "real/.git").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    where = environment(tmp_path / "home", tmp_path)
    assert roots(where, "link") == Roots(workspace=str(tmp_path / "real"), project=str(tmp_path / "real"))
    with pytest.raises(ConfigError, match=r"^-C: nowhere is not a folder; give one that exists$"):
        roots(where, "nowhere")


def test_an_environment_never_shows_its_variables(tmp_path: Path) -> None:
    where = environment(tmp_path, tmp_path, OPENAI_API_KEY="hunter2", TEAM_KEY="sesame")
    assert "hunter2" not in repr(where)
    assert where.secrets(("TEAM_KEY",)) == ("hunter2", "sesame")
