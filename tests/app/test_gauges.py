"""What a status line is told: read from the running conversation, the ledger and git's own file."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest
from tests.app.test_conversation import Opener, turn
from tests.fakes.model_server import Turn

from overt.app.branch import Branch
from overt.app.gauges import gauges
from overt.app.options import Options
from overt.app.slash import slash
from overt.app.spending import Spending, Spent, cached_share, known_cost
from overt.core.spend import Totals
from overt.sessions.ledger import Booked, Ledger
from overt.sessions.tail import Tail


@pytest.fixture
def opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Opener:
    return Opener(tmp_path, monkeypatch)


def test_they_follow_the_conversation(opened: Opener, tmp_path: Path) -> None:
    reply = Turn(text="yes", usage={"prompt_tokens": 2500, "completion_tokens": 50, "total_tokens": 2550})

    async def main() -> None:
        async with opened([reply]) as (conversation, _):
            first = gauges(conversation)
            assert (first.model, first.mode, first.turn, first.title) == ("fake-model", "review", 0, "")
            assert (first.session_cost, first.cache, first.branch, first.jobs) == (0.0, None, "", 0)
            assert first.used > 100
            await turn(conversation, "Fix the cart\nnow")
            conversation.set_mode("plan")
            second = gauges(conversation)
            assert (second.mode, second.turn, second.title) == ("plan", 1, "Fix the cart")
            assert second.used > first.used
            await slash(conversation, "/rename The 购物车")
            assert gauges(conversation).title == "The 购物车"

    asyncio.run(main())


def test_what_earlier_runs_cost_is_there_after_a_resume(
    opened: Opener, tmp_path: Path, a_home_of_its_own: Path
) -> None:
    def booked(session: str, turn: int, cost: float | None) -> Booked:
        return Booked(ts=1.0, session=session, project="p", turn=turn, input=1000, cached=600, output=5, cost=cost)

    data = str(a_home_of_its_own / ".local/share/overt")

    async def main() -> None:
        async with opened([Turn(text="yes")]) as (conversation, _):
            await turn(conversation, "one")
            id = conversation.id
            gauges(conversation)
            for line in (booked("someone", 9, 5.0), booked(id, 1, 0.25), booked(id, 2, 0.5), booked(id, 2, None)):
                Ledger(data).book(line)
            now = gauges(conversation)
            assert (now.session_cost, now.unpriced) == (0.75, True)
        async with opened([Turn(text="yes")], Options(directory=str(tmp_path), resume=id)) as (conversation, _):
            again = gauges(conversation)
            assert (again.session_cost, again.turn, again.title) == (0.75, 1, "one")
            await turn(conversation, "two")
            assert gauges(conversation).cost == 0.5  # what runs on this machine costs nothing more

    asyncio.run(main())


# ── spending ─────────────────────────────────────────────────────────────────────────────────────────────


def line(session: str = "s", turn: int = 1, **more: float | None) -> Booked:
    return Booked(ts=1.0, session=session, project="p", turn=turn, **more)  # type: ignore[arg-type]


def test_only_what_was_added_is_read_and_only_of_this_session(tmp_path: Path) -> None:
    data, ledger = str(tmp_path), Ledger(str(tmp_path))
    ledger.book(line(cost=1.0, input=10))
    fresh, whole = Spending(data, "s", fresh=True), Spending(data, "s")
    assert fresh.read(1) == Spent(session=Totals(), turn=Totals())
    assert whole.read(1).session == Totals(requests=1, input=10, cost=1.0)
    ledger.book(line("other", cost=7.0))
    ledger.book(line(turn=2, cost=0.5, saved=0.1, cached=5, input=10))
    with open(ledger.path, "ab") as file:
        file.write(b'{"session":"s", torn\n{"session":"s","ts":1.0,"project":"p","cost":9.0')  # the last has no end yet
    second = Totals(requests=1, input=10, cached=5, cost=0.5, saved=0.1)
    assert fresh.read(2) == Spent(session=second, turn=second)
    assert whole.read(2) == Spent(session=Totals(requests=2, input=20, cached=5, cost=1.5, saved=0.1), turn=second)
    assert whole.read(3).turn == Totals()
    with open(ledger.path, "ab") as file:
        file.write(b',"turn":3}\n')
    assert (whole.read(3).turn.cost, whole.read(3).session.cost) == (9.0, 10.5)


def test_a_cost_that_nobody_knows_is_not_nothing() -> None:
    assert known_cost(Totals()) == 0.0
    assert known_cost(Totals(requests=2, unpriced=2)) is None
    assert known_cost(Totals(requests=2, unpriced=1, cost=0.5)) == 0.5
    assert (cached_share(Totals()), cached_share(Totals(input=10, cached=5))) == (None, 0.5)


def test_a_tail_follows_a_file_that_comes_grows_and_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "x"
    tail = Tail(str(path), b"!")
    assert tail.fresh() == []
    path.write_bytes(b"a!\nb\nc!\nd!")
    assert tail.fresh() == [b"a!", b"c!"]
    assert tail.fresh() == []
    with path.open("ab") as file:
        file.write(b"d\n" + b"x" * 3_000_000 + b"!\n")
    assert [len(found) for found in tail.fresh()] == [3, 3_000_001]
    path.write_bytes(b"new!\n")
    assert tail.fresh() == [b"new!"]
    assert Tail(str(tmp_path), b"!").fresh() == []


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

    monkeypatch.setattr("overt.app.branch._read", counted)
    assert [found.name() for _ in range(3)] == ["main"] * 3
    assert read == [str(tmp_path / ".git/HEAD")]
