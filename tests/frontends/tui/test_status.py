"""The status line says what matters in the room there is."""

from collections.abc import Iterator

import pytest

from overt.core.status_values import PLACEHOLDERS, Gauges
from overt.frontends.tui.chat.status import PLACED, status_row
from overt.frontends.tui.terminal.rows import Span, columns, plain
from overt.lib.translations import set_language

USUAL = Gauges(
    model="fake-model",
    mode="review",
    provider="vendor",
    sandbox="bubblewrap",
    used=12_345,
    limit=200_000,
    cost=0.02,
    session_cost=0.31,
    cache=0.8,
    session_cache=0.5,
    jobs=2,
    branch="main",
    turn=3,
)


@pytest.fixture
def chinese() -> Iterator[None]:
    set_language("zh")
    yield
    set_language("en")


def style_of(gauges: Gauges, text: str) -> str:
    return next(span.style for span in status_row(gauges, 200) if text in span.text)


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (200, "fake-model · review · sandbox · 12k/200k 6% · $0.02 ($0.31) · cache 80% · 2 jobs · main · ? help"),
        (90, "fake-model · review · sandbox · 12k/200k 6% · $0.02 ($0.31) · cache 80% · 2 jobs · main"),
        (60, "fake-model · review · 12k/200k 6% · $0.02 ($0.31) · 2 jobs"),
        (40, "fake-model · review · 6% · $0.31"),
        (30, "fake-model · review · 6%"),
        (23, "fake-mod… · review · 6%"),
    ],
)
def test_the_least_important_parts_give_way_first(room: int, expected: str) -> None:
    made = status_row(USUAL, room, hint="? help")
    assert plain(made) == expected


def test_no_row_is_wider_than_its_room_or_ends_in_blanks() -> None:
    long = USUAL._replace(model="千问" * 30, branch="分支" * 20, title="标题" * 90)
    for room in range(1, 160):
        for template in ("", "{model} | {title} | {branch}"):
            made = status_row(long, room, badge="⠋ 12s", hint="? help", template=template)
            assert columns(made) <= room
            assert room < 12 or plain(made) == plain(made).rstrip()


def test_at_forty_columns_mode_and_share_stay_and_the_model_is_cut() -> None:
    made = status_row(USUAL._replace(model="a-model-with-quite-a-long-name-2026"), 40)
    assert plain(made) == "a-model-with-quite-a-long… · review · 6%"


def test_what_runs_stands_first() -> None:
    assert plain(status_row(USUAL, 200, badge="⠋ 12s")).startswith("⠋ 12s · fake-model · ")


@pytest.mark.parametrize("mode", ["review", "auto", "plan", "yolo"])
def test_each_mode_has_its_own_colour(mode: str) -> None:
    assert Span(mode, f"mode.{mode}") in status_row(USUAL._replace(mode=mode), 200)


def test_little_room_in_the_window_is_a_warning() -> None:
    assert style_of(USUAL._replace(used=150_000), "75%") == "muted"
    assert style_of(USUAL._replace(used=152_000), "76%") == "warn"


def test_a_sandbox_that_is_off_or_lacks_walls_is_a_warning_and_outlives_the_cost() -> None:
    assert style_of(USUAL._replace(sandbox="none"), "no sandbox") == "warn"
    assert style_of(USUAL._replace(sandbox="landlock", lacking=("protected files",)), "sandbox partly") == "warn"
    assert plain(status_row(USUAL._replace(sandbox="none"), 40)) == "fake-model · review · no sandbox · 6%"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"cost": 0.0, "session_cost": 0.0}, None),
        ({"cost": 0.31}, "$0.31"),
        ({"cost": 0.0}, "$0.31"),
        ({"cost": None, "session_cost": None, "unpriced": True}, "?"),
        ({"unpriced": True}, "$0.02 ($0.31+)"),
        ({"spend_limit": 5.0}, "$0.02 ($0.31/$5.00)"),
    ],
)
def test_the_cost_is_told_as_far_as_it_is_known(change: dict[str, float | bool | None], expected: str | None) -> None:
    parts = plain(status_row(USUAL._replace(**change), 200)).split(" · ")  # type: ignore[arg-type]
    assert parts[4] == (expected or "cache 80%")


@pytest.mark.parametrize(("spent", "style"), [(3.9, "muted"), (4.0, "warn"), (5.0, "error")])
def test_a_budget_that_runs_out_is_seen(spent: float, style: str) -> None:
    assert style_of(USUAL._replace(spend_limit=5.0, session_cost=spent), "$5.00") == style


def test_a_window_that_nobody_knows_is_no_share() -> None:
    assert "12k · " in plain(status_row(USUAL._replace(limit=0), 200))


def test_what_others_wrote_cannot_drive_the_terminal() -> None:
    evil = "\x1b]0;x\x07\n\t\u202e"
    made = status_row(USUAL._replace(model=evil, branch=evil, title=evil), 300, template="{model}{branch}{title}")
    assert plain(made) == "\\x1b]0;x\\x07 <U+202E>" * 3


def test_it_speaks_chinese(chinese: None) -> None:
    expected = "fake-model · review · 沙箱 · 离线 · 12k/200k 6% · $0.02 ($0.31) · 缓存 80% · 2 个任务 · main"
    assert plain(status_row(USUAL._replace(offline="set"), 200)) == expected


# ── templates ────────────────────────────────────────────────────────────────────────────────────────────


def test_every_placeholder_that_may_be_named_is_filled() -> None:
    assert tuple(sorted(PLACED)) == tuple(sorted(PLACEHOLDERS))
    full = USUAL._replace(offline="set", title="the cart", spend_limit=5.0, agents=3)
    assert {name: plain(status_row(full, 99, template=f"{{{name}}}")) for name in PLACEHOLDERS} == {
        "model": "fake-model",
        "provider": "vendor",
        "mode": "review",
        "sandbox": "sandbox",
        "used": "12k",
        "limit": "200k",
        "percent": "6%",
        "cost": "$0.02",
        "session_cost": "$0.31",
        "budget": "$5.00",
        "cache": "80%",
        "session_cache": "50%",
        "jobs": "2",
        "agents": "3",
        "branch": "main",
        "offline": "offline",
        "title": "the cart",
        "turn": "3",
    }


def test_an_empty_placeholder_takes_the_text_before_it_along() -> None:
    bare = USUAL._replace(branch="", jobs=0, limit=0)
    template = "{model} · on {branch} · jobs {jobs} · {percent} · {mode}!"
    assert plain(status_row(bare, 99, template=template)) == "fake-model · review!"
    assert plain(status_row(bare, 99, template="[{branch}] {mode}")) == "[] review"
    assert plain(status_row(USUAL, 12, template="{model} · {mode}")) == "fake-model …"
