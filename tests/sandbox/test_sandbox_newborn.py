"""A repository made in a box: plain ones stay, one that would run something outside is moved away."""

import subprocess
from pathlib import Path

import pytest
from tests.sandbox.box_kit import USERS, staged

from overt.sandbox.harmful_repository import harmful, set_aside

PLAIN = "git init -q .; git config user.name n; git config user.email n@n; echo 1 > a; git add a; git commit -qm a"
HARM = {
    "hook": ("git init -q .; echo x > .git/hooks/pre-commit", "hooks/pre-commit"),
    "hook by hand": ("mkdir -p .git/hooks; echo x > .git/hooks/post-checkout", "hooks/post-checkout"),
    "program": ("git init -q .; git config core.fsmonitor ./evil", "config: core.fsmonitor"),
    "hooks elsewhere": ("git init -q .; git config core.hooksPath .husky", "config: core.hooksPath"),
    "alias": ("git init -q .; git config alias.x '!evil'", "config: alias.x"),
    "include": ("git init -q .; git config include.path ../c", "config: include.path"),
    "upload": ("git init -q .; git config remote.o.uploadpack evil", "config: remote.uploadpack"),
    "on one line": ("git init -q .; echo '[core] fsmonitor = evil' >> .git/config", "config: core.?"),
    "continued": ("git init -q .; printf '[user]\\nname = a\\\\\\n' >> .git/config", "config: user.?"),
    "commondir": ("git init -q .; echo ../x > .git/commondir", "commondir"),
    "file": ("git init -q other; echo gitdir: other/.git > .git", "a link to another repository"),
    "link": ("git init -q other; ln -s other/.git .git", "a link to another repository"),
    "hooks as a link": ("git init -q .; rm -r .git/hooks; mkdir h; echo x > h/y; ln -s ../h .git/hooks", "hooks"),
    "hooks as a link to nothing": ("git init -q .; rm -r .git/hooks; ln -s nowhere .git/hooks", "hooks"),
    "hooks as a link to an empty folder": ("git init -q .; rm -r .git/hooks; mkdir h; ln -s ../h .git/hooks", "hooks"),
    "hooks as a file": ("git init -q .; rm -r .git/hooks; echo x > .git/hooks", "hooks"),
    "config as a link": ("git init -q .; mv .git/config c; ln -s ../c .git/config", "config"),
    "config as a folder": ("git init -q .; rm .git/config; mkdir .git/config", "config"),
    "commondir as a link": ("git init -q .; echo . > c; ln -s ../c .git/commondir", "commondir"),
    "settings of one worktree": ("git init -q .; touch .git/config.worktree", "config.worktree"),
    "submodule": (
        "git init -q .; git init -q --bare .git/modules/a/b; git config -f .git/modules/a/b/config core.pager evil",
        "modules/a/b/config: core.pager",
    ),
    "submodules elsewhere": ("git init -q .; mkdir m; ln -s ../m .git/modules", "modules"),
    "submodule over the home folder": (
        "git init -q .; git init -q --bare .git/modules/a; cd .git/modules/a; git config core.worktree ../../../..",
        "modules/a/config: core.worktree",
    ),
    "worktree": (
        "git init -q .; mkdir -p .git/worktrees/w; echo ../../../x > .git/worktrees/w/commondir",
        "worktrees/w/commondir",
    ),
    "worktrees elsewhere": ("git init -q .; mkdir m; ln -s ../m .git/worktrees", "worktrees"),
}


@pytest.mark.parametrize("shape", HARM)
def test_what_would_run_is_seen(tmp_path: Path, shape: str) -> None:
    command, expected = HARM[shape]
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)

    assert harmful(str(tmp_path / ".git")) == expected


def test_a_plain_repository_is_plain(tmp_path: Path) -> None:
    subprocess.run(["sh", "-c", f"git init -q x; cd x; {PLAIN}"], cwd=tmp_path, check=True)
    subprocess.run(["git", "clone", "-q", "x", "y"], cwd=tmp_path, check=True)

    assert [harmful(str(tmp_path / name / ".git")) for name in ("x", "y", "none")] == ["", "", ""]


def test_submodules_and_worktrees_that_git_made_are_plain(tmp_path: Path) -> None:
    script = f"""set -e
        git init -q inner; cd inner; {PLAIN}; cd ..; git init -q x; cd x; {PLAIN}
        git -c protocol.file.allow=always submodule --quiet add ../inner sub; git commit -qm sub
        git worktree add -q tree -b tree; cd ..
        git -c protocol.file.allow=always clone -q --recurse-submodules x y"""
    subprocess.run(["sh", "-c", script], cwd=tmp_path, check=True, capture_output=True)

    places = ("x/.git", "x/sub/.git", "x/tree/.git", "y/.git", "y/sub/.git")
    assert {place: harmful(str(tmp_path / place)) for place in places} == dict.fromkeys(places, "")


def test_moving_aside_never_replaces_anything(tmp_path: Path) -> None:
    for name in (".git", ".git.blocked"):
        (tmp_path / name).mkdir()

    assert (set_aside(str(tmp_path / ".git")), (tmp_path / ".git.blocked-2").is_dir()) == (".git.blocked-2", True)


@USERS
def test_a_hook_in_a_repository_that_a_command_makes_is_refused_and_plain_work_goes_on(user: str) -> None:
    with staged(user) as stage:
        stage.give()

        _, planted, plain, hook = stage.run(
            "git init -q x; echo touch outside > x/.git/hooks/pre-commit",
            PLAIN,
            "echo x > .git/hooks/pre-commit",
        )

        assert (planted[0], planted[2].split(";")[0]) == (
            1,
            "write to x/.git/hooks/pre-commit was blocked by the sandbox: git's configuration and hooks can only be "
            "changed by the user",
        )
        assert (plain, hook[0], stage.git("log", "--format=%s")) == ([0, "", ""], 1, "a\n")


@pytest.mark.xfail(strict=True, reason="open: new repositories are found down to three folders, not in node_modules")
@USERS
@pytest.mark.parametrize("folder", ["a/b/c/d/e", "node_modules/x"])
def test_a_file_that_leads_to_another_repository_does_not_stay_wherever_it_lies(user: str, folder: str) -> None:
    """`git status` in that folder, by a person or an editor, would run what the other repository names."""
    with staged(user) as stage:
        stage.repository()
        bare = (
            "mkdir -p p/objects p/refs; echo ref: refs/heads/m > p/HEAD; echo '[core]\nfsmonitor = ./evil' > p/config"
        )
        stage.one(f"{bare}; mkdir -p {folder}; echo gitdir: $PWD/p > {folder}/.git; true")
        assert not (stage.workspace / folder / ".git").exists()
