"""Nothing of Overt's is in the workspace: `ls` and git behave in the sandbox as they do outside, in repositories of
every shape."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.sandbox.box_kit import Stage, staged

DATES = "export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'"
START = f"set -e; {DATES}; git init -q -b main {{0}}; cd {{0}}; printf 'a\\n' > a; git add a; git commit -qm first; "
REPOSITORIES = {
    "empty": "git init -q -b main work",
    "untracked and ignored files": START.format("work")
    + "echo b >> a; echo n > new; mkdir -p deep/er build; echo n > deep/er/n; echo '*.log' > .gitignore; touch x.log "
    "build/out.log; git add .gitignore; mkdir empty",
    "protected files that are tracked": START.format("work")
    + "echo x > overt.toml; echo x > .envrc; mkdir .overt; echo x > .overt/c; git add -A; git commit -qm two; "
    "echo b > a; touch new",
    "protected files that are ignored": START.format("work")
    + "echo x > overt.json; echo x > .envrc; mkdir .overt; echo x > .overt/c; "
    "printf '.envrc\\n.overt\\novert.json\\n' > .git/info/exclude; echo b > a; touch new",
    "a linked worktree": START.format("main")
    + "git worktree add -q ../work -b other; cd ../work; echo b > a; touch new; mkdir -p d; touch d/e",
    "a submodule": START.format("inner")
    + "cd ..; git init -q -b main work; cd work; git -c protocol.file.allow=always submodule --quiet add ../inner sub; "
    "git commit -qm sub; echo b > c; git add c; git commit -qm c; echo d > c; touch new",
    "a folder below the top": START.format("whole")
    + "mkdir -p part/of; echo p > part/p; git add -A; git commit -qm part; echo q > part/p; touch part/of/new; "
    "ln -s whole/part ../work",
    "no repository": "mkdir work; cd work; touch a; mkdir b",
}
ASKED = [
    "ls -A", "ls -AR . | head -50", "git status --ignored", "git status --porcelain --ignored", "git clean -nd",
    "git clean -ndx", "git stash -u", "ls -A", "git status --short", "git stash show --include-untracked --name-only",
    "git stash pop", "ls -A", "git status --short", "git add -A", "git commit -m all", "git clean -fd", "ls -A",
]  # fmt: skip


def shell(command: str, stage: Stage, cwd: Path) -> tuple[int, str]:
    variables = {"PATH": os.environ["PATH"], "HOME": str(stage.home), "LANG": "C.UTF-8"}
    done = subprocess.run(
        ["bash", "-c", command], cwd=cwd, env=variables, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("shape", REPOSITORIES)
def test_git_and_ls_behave_in_the_sandbox_as_outside(shape: str) -> None:
    with staged("root") as stage:
        stage.workspace.rmdir()
        outside = stage.folder / "outside"
        for folder in (outside, stage.folder):
            folder.mkdir(exist_ok=True)
            assert shell(REPOSITORIES[shape], stage, folder) == (0, "")
        asked = [f"{DATES}; {command} 2>&1" for command in ASKED]
        whole = stage.folder / "whole" if shape == "a folder below the top" else ""

        state, *ran = stage.run(*asked, workspace=os.path.realpath(stage.workspace), project=whole)

        assert state == ["bubblewrap", [], ""]
        expected = [shell(command, stage, outside / "work") for command in asked]
        assert {command: (code, text) for command, (code, text, _) in zip(ASKED, ran, strict=True)} == dict(
            zip(ASKED, expected, strict=True)
        )
        assert [(code, text) for code, text, _ in ran] == expected
