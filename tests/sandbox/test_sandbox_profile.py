"""What of a machine a box opens, keeps and hides: read from real folders."""

import os
from pathlib import Path

from tests.sandbox.box_kit import staged

from overt.core.protocols import Profile
from overt.sandbox.mechanisms import bubblewrap
from overt.sandbox.private_folder import make_private, remove_private
from overt.sandbox.profile import AccessRules, RuleSource, SandboxPlace, cache_folders

TOP = (".overt", "overt.toml", "overt.json", "overt.jsonc", ".envrc")


def machine(folder: Path, *below_home: str, **given: object) -> SandboxPlace:
    home, work = folder / "home", folder / "work"
    for path in (home, work, *(home / name for name in below_home)):
        path.mkdir(parents=True, exist_ok=True)
    own = {name: f"{folder}/own/{name}" for name in ("config_dir", "data_dir", "cache_dir")}
    usual = {"workspace": str(work), "project": str(work), "home": str(home), "temp": str(folder)}
    return SandboxPlace(**{**usual, **own, **given})  # type: ignore[arg-type]


def test_the_workspace_is_written_and_secrets_are_hidden(tmp_path: Path) -> None:
    place = machine(tmp_path, ".ssh", ".aws", ".config/gh")
    (tmp_path / "home" / ".netrc").write_text("")

    found = RuleSource(Profile(), place).now()

    home = place.home
    assert (found.write, found.protected) == ((place.workspace,), ())
    assert found.absent == tuple(f"{place.workspace}/{name}" for name in TOP)
    assert found.hidden[:4] == (f"{home}/.aws", f"{home}/.config/gh", f"{home}/.netrc", f"{home}/.ssh")


def test_without_writing_there_is_nothing_to_keep(tmp_path: Path) -> None:
    found = RuleSource(Profile(write=False), machine(tmp_path)).now()

    assert (found.write, found.protected, found.absent) == ((), (), ())


def test_a_read_root_shows_what_is_hidden_otherwise(tmp_path: Path) -> None:
    place = machine(tmp_path, ".aws", ".ssh", read=(f"{tmp_path}/home/.aws",))

    found = RuleSource(Profile(), place).now()

    assert [path for path in found.hidden if path.startswith(place.home)] == [f"{place.home}/.ssh"]


def test_the_home_folder_as_workspace_is_opened_by_its_folders_and_nothing_new_beside_them(tmp_path: Path) -> None:
    place = machine(tmp_path, "code/.git", "bin", ".config", workspace=str(tmp_path / "home"))
    (tmp_path / "home" / "notes.txt").write_text("")
    for name in ("overt.toml", ".bashrc"):
        (tmp_path / "home" / name).write_text("")
    for name in ("HEAD", "config"):
        (tmp_path / "home" / "code" / ".git" / name).write_text("")
    (tmp_path / "home" / "code" / ".envrc").write_text("")

    found = RuleSource(Profile(), place).now()

    assert found.write == (f"{place.home}/code", f"{place.home}/notes.txt")
    assert (found.protected, found.absent) == ((f"{place.home}/code/.envrc",), ())


def test_a_home_workspace_cannot_get_new_start_files() -> None:
    with staged("root") as stage:
        (stage.home / "code").mkdir()

        ran = stage.one(
            "echo x > ~/.zshenv; echo $?; echo x > ~/overt.toml; echo $?; echo x > ~/code/a; echo $?",
            workspace=stage.home,
        )

        assert [word for word in ran[1].split() if word in "01"] == ["1", "1", "0"]


def test_overts_own_folders_are_hidden_or_kept(tmp_path: Path) -> None:
    own = {name: f"{tmp_path}/home/.cache/{name}" for name in ("config_dir", "data_dir", "cache_dir")}
    place = machine(tmp_path, ".cache", caches=(f"{tmp_path}/home/.cache",), **own)

    found = RuleSource(Profile(network=True), place).now()

    assert found.protected == (own["cache_dir"],)
    assert set(found.hidden) >= {own["config_dir"], own["data_dir"]}


def test_folders_of_tools_are_found_but_never_those_with_programs(tmp_path: Path) -> None:
    home = tmp_path / "home"
    for name in (
        ".cache/pip",
        ".cache/zsh",
        ".sbt/boot",
        ".sbt/1.0/plugins",
        ".cargo/bin",
        ".cargo/registry",
        ".local/bin",
        "go/pkg",
        "go/bin",
    ):
        (home / name).mkdir(parents=True)
    (tmp_path / "crates" / "git").mkdir(parents=True)

    found = cache_folders(str(home), {"CARGO_HOME": str(tmp_path / "crates"), "GOCACHE": "/", "UV_CACHE_DIR": "rel"})

    assert found == (
        str(tmp_path / "crates" / "git"),
        *(f"{home}/{name}" for name in (".cache/pip", ".cargo/registry", "go/pkg")),
    )


def test_a_repository_above_forbids_one_in_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "above" / ".git").mkdir(parents=True)
    (tmp_path / "above" / "sub").mkdir()
    place = machine(tmp_path, workspace=f"{tmp_path}/above/sub")

    assert f"{tmp_path}/above/sub/.git" in RuleSource(Profile(), place).now().absent


def test_modules_and_worktrees_are_kept_too(tmp_path: Path) -> None:
    place = machine(tmp_path)
    git = tmp_path / "work" / ".git"
    for folder in (git, git / "modules" / "a", git / "modules" / "deep" / "b"):
        (folder / "hooks").mkdir(parents=True)
        (folder / "HEAD").write_text("")
        (folder / "config").write_text("")
    (git / "worktrees" / "w").mkdir(parents=True)
    (git / "worktrees" / "w" / "commondir").write_text("../..")

    found = RuleSource(Profile(), place).now()

    kept = (
        "hooks config worktrees/w/commondir modules/a/hooks modules/a/config modules/deep/b/hooks modules/deep/b/config"
    )
    assert set(found.protected) == {f"{git}/{name}" for name in kept.split()}
    assert f"{git}/commondir" in found.absent


def test_a_link_is_followed_to_what_it_names(tmp_path: Path) -> None:
    place = machine(tmp_path)
    (tmp_path / "work" / "real.toml").write_text("")
    (tmp_path / "work" / "overt.toml").symlink_to("real.toml")
    (tmp_path / "work" / ".envrc").symlink_to("/etc/passwd")

    assert RuleSource(Profile(), place).now().protected == (f"{place.workspace}/real.toml",)


def test_a_git_that_is_a_pipe_does_not_hang(tmp_path: Path) -> None:
    place = machine(tmp_path)
    os.mkfifo(tmp_path / "work" / ".git")

    assert RuleSource(Profile(), place).now().protected == (f"{place.workspace}/.git",)


def test_mounts_are_laid_from_the_top_down_and_every_folder_on_the_way_is_one() -> None:
    walls = AccessRules(
        write=("/w",), protected=("/w/.git/modules/a/config",), absent=("/w/.overt",), hidden=("/h",), read=("/h/p",),
        temp="/t",
    )  # fmt: skip

    found = bubblewrap.words(walls, program="bwrap", root=False)

    start = found.index("/var/tmp") + 1
    assert found[start : found.index("--cap-drop")] == (
        *("--ro-bind-try", "/t/empty", "/h", "--ro-bind-try", "/h/p", "/h/p", "--bind-try", "/w", "/w"),
        *("--bind-try", "/w/.git", "/w/.git", "--bind-try", "/w/.git/modules", "/w/.git/modules"),
        *("--bind-try", "/w/.git/modules/a", "/w/.git/modules/a"),
        *("--ro-bind-try", "/w/.git/modules/a/config", "/w/.git/modules/a/config"),
    )
    assert ("--unshare-user" in found, "--unshare-net" in found, "--cap-add" in found) == (True, True, False)


def test_the_deepest_says_what_a_path_is() -> None:
    with staged("root") as stage:
        inner = stage.home / ".aws" / "code"
        (inner / "vault" / ".ssh").mkdir(parents=True)
        (stage.home / ".aws" / "key").write_text("KEY")

        ran = stage.one("echo x > a && cat a; cat ../key; ls ..", workspace=inner)

        assert ([line for line in ran[1].splitlines() if "No such" not in line], ran[0]) == (["x", "code"], 0)


def test_folders_of_boxes_long_gone_are_removed_with_the_next(tmp_path: Path) -> None:
    old = make_private(str(tmp_path))
    deep = Path(old) / "tmp"
    for _ in range(50):
        deep = deep / "d"
        deep.mkdir()

    new = make_private(str(tmp_path))
    modes = [os.stat(new).st_mode & 0o7777, os.stat(f"{new}/tmp").st_mode & 0o7777]
    removed = remove_private(new)

    assert (os.path.exists(old), modes, removed, list(tmp_path.iterdir())) == (False, [0o700, 0o1777], True, [])
