"""What a status line is told: read from the running conversation and git's own file."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from tests.app.test_conversation import Opener, turn
from tests.fakes.commands import slash
from tests.fakes.model_server import Turn

from overt.app.context.git_branch import Branch
from overt.app.inspect.status import read_gauges
from overt.app.options import Options
from overt.core.events import TitleSet


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opener:
    return Opener(tmp_path, monkeypatch)


def test_they_follow_the_conversation(opened: Opener, tmp_path: Path) -> None:
    reply = Turn(text="yes", usage={"prompt_tokens": 2500, "completion_tokens": 50, "total_tokens": 2550})

    async def main() -> None:
        async with opened([reply]) as (conversation, _):
            first = read_gauges(conversation)
            assert (first.model, first.mode, first.turn, first.title) == ("fake-model", "review", 0, "")
            assert (first.session_cost, first.cache, first.branch, first.jobs) == (0.0, None, "", 0)
            assert first.used > 100
            await turn(conversation, "Fix the cart\nnow")
            conversation.set_mode("plan")
            second = read_gauges(conversation)
            assert (second.mode, second.turn, second.title) == ("plan", 1, "Fix the cart")
            assert second.used > first.used
            await slash(conversation, "/rename The 购物车")
            assert read_gauges(conversation).title == "The 购物车"

    asyncio.run(main())


def test_title_of_a_person_wins_over_one_of_a_model_live_and_after_a_resume(opened: Opener, tmp_path: Path) -> None:
    by_model = TitleSet(title="By a model", model="small", provider="here")

    async def main() -> None:
        async with opened([Turn(text="yes")]) as (conversation, _):
            await turn(conversation, "one")
            conversation.record(by_model)
            assert read_gauges(conversation).title == "By a model"
            await slash(conversation, "/rename The cart")
            conversation.record(by_model)
            assert read_gauges(conversation).title == "The cart"
            id = conversation.id
        async with opened([], Options(directory=str(tmp_path), resume=id)) as (conversation, _):
            assert read_gauges(conversation).title == "The cart"

    asyncio.run(main())


def test_name_given_at_the_start_is_shown_before_anything_is_recorded(opened: Opener, tmp_path: Path) -> None:
    async def main() -> None:
        async with opened([], Options(directory=str(tmp_path), name="The cart")) as (conversation, _):
            assert (read_gauges(conversation).title, os.path.exists(conversation.path)) == ("The cart", False)

    asyncio.run(main())


# ── git ──────────────────────────────────────────────────────────────────────────────────────────────────


def git(folder: Path, *words: str) -> str:
    home = {"HOME": str(folder), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
    who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *who, *words], cwd=folder, env=home, check=True, capture_output=True).stdout.decode()


def test_the_branch_is_read_from_below_a_worktree_and_a_detached_head(tmp_path: Path) -> None:
    repo, inner, tree = tmp_path / "repo", tmp_path / "repo" / "a" / "b", tmp_path / "tree"
    inner.mkdir(parents=True)
    git(repo, "init", "-q")
    found = Branch(str(inner))
    assert found.name() == "main"
    git(repo, "commit", "-q", "--allow-empty", "-m", "x")
    git(repo, "worktree", "add", "-q", "-b", "feature/购物车", str(tree))
    assert Branch(str(tree)).name() == "feature/购物车"
    git(repo, "checkout", "-q", "-b", "other")
    assert found.name() == "other"
    git(repo, "checkout", "-q", "--detach")
    assert found.name() == git(repo, "rev-parse", "HEAD")[:8]


def test_no_repository_or_a_broken_one_has_no_branch(tmp_path: Path) -> None:
    found = Branch(str(tmp_path))
    assert found.name() == ""
    place = tmp_path / ".git"
    for content in ("gitdir: nowhere", "nonsense", "gitdir: " + "x" * 9000):
        place.write_text(content)
        assert found.name() == ""
    place.unlink()
    place.mkdir()
    for content in ("", "ref: refs/heads/.invalid", "0123", "\x1b[31m", "ref: refs/heads/" + "x" * 9000):
        (place / "HEAD").write_text(content)
        assert found.name() == ""
    (place / "HEAD").unlink()
    os.mkfifo(place / "HEAD")
    assert found.name() == ""


def test_the_file_is_read_again_only_when_it_is_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/HEAD").write_text("ref: refs/heads/main\n")
    found = Branch(str(tmp_path))
    read: list[str] = []

    def counted(head: str) -> str:
        read.append(head)
        return "main"

    monkeypatch.setattr("overt.app.context.git_branch._read", counted)
    assert [found.name() for _ in range(3)] == ["main"] * 3
    assert read == [str(tmp_path / ".git/HEAD")]
