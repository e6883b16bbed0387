"""Panels one looks into: the context, jobs, rules, todos, changes, details, help."""

from typing import Any

from tests.fakes.commands import BUILT_IN
from tests.fakes.commands import NAMES as COMMANDS
from tests.frontends.tui.panel_kit import (
    JOBS,
    RULES,
    body,
    contents,
    filled,
    fragments,
    numbered,
    press,
    printed,
    text_of,
)

from overt.app.inspect.inspector_values import (
    Changes,
    Decisions,
    JobListing,
    PermissionRules,
    RequestBody,
    RevokedRule,
    Todos,
)
from overt.frontends.tui.panels.context import ContextPanel, bar
from overt.frontends.tui.panels.inspector import open_panel
from overt.frontends.tui.panels.jobs import JobsPanel
from overt.frontends.tui.panels.pager import CLOSE, PanelInputs, PanelRequest
from overt.frontends.tui.panels.permissions import PermissionsPanel
from overt.lib.translations import set_language

# ── context ──────────────────────────────────────────────────────────────────────────────────────────────────


def looking(number: int = 0, sent: int = 3) -> ContextPanel:
    panel = ContextPanel()
    panel.receive(PanelRequest("context", number=number), contents(number, sent))
    return panel


def test_the_head_says_how_full_it_is_and_which_request_it_is() -> None:
    assert body(looking(), 120, 12)[0] == "Context  ~8.7k / 200k (4.4 %) · the next request · fake/fake-model"
    assert body(looking(2), 120, 12)[0] == (
        "Context  8.7k / 200k (4.4 %) · request 2 of 3 · turn 2, step 1 · fake/fake-model"
    )


def test_a_fragment_is_opened_and_says_exactly_what_it_says() -> None:
    panel = ContextPanel()
    panel.receive(PanelRequest("context"), contents(pieces=fragments("first", "  if x:\n\n    世界  end")))
    assert press(panel, "down", "enter") == []
    assert text_of(panel.draw(60, 8))[1:4] == ["  if x:", "", "    世界  end"]
    assert press(panel, "q") == []
    assert body(panel, 60, 12)[0].startswith("Context")
    assert press(panel, "q") == [CLOSE]


def test_left_and_right_go_through_what_was_sent() -> None:
    panel = looking()
    assert press(panel, "right") == []
    assert press(panel, "left") == [PanelRequest("context", number=3)]
    panel.receive(PanelRequest("context", number=3), contents(3))
    assert press(panel, "left") == [PanelRequest("context", number=2)]
    panel.receive(PanelRequest("context", number=1), contents(1))
    assert press(panel, "left") == []
    panel.receive(PanelRequest("context", number=3), contents(3))
    assert press(panel, "right") == [PanelRequest("context", number=0)]
    assert press(looking(0, 0), "left") == []


def test_the_whole_request_is_asked_for_and_shown() -> None:
    panel = looking(2)
    assert press(panel, "r") == [PanelRequest("request", number=2)]
    panel.receive(PanelRequest("request", number=2), RequestBody('{\n  "model": "fake-model"\n}'))
    assert body(panel, 60, 12)[:4] == ["Request, 27 B", "{", '  "model": "fake-model"', "}"]


def test_a_request_that_cannot_be_made_again_says_why_and_the_one_before_stays() -> None:
    panel = looking()
    press(panel, "left")
    panel.failed(PanelRequest("context", number=3), "line 7 was changed")
    shown = body(panel, 80, 12)
    assert (shown[-1], shown[0][:7]) == ("line 7 was changed", "Context")
    assert "hello 世界" in "\n".join(shown)


def test_the_largest_pieces_stand_first_when_they_are_asked_for() -> None:
    panel = ContextPanel()
    panel.receive(PanelRequest("context"), contents(pieces=fragments("small", "middle", "large")))
    assert [line.split()[-2] for line in body(panel, 60, 12)[2:5]] == ["███▍", "██████▋", "██████████"]
    press(panel, "s")
    assert [line.split()[-2] for line in body(panel, 60, 12)[2:5]] == ["██████████", "██████▋", "███▍"]
    press(panel, "s")
    assert [line.split()[-2] for line in body(panel, 60, 12)[2:5]] == ["███▍", "██████▋", "██████████"]


def test_a_share_is_seen_however_small_it_is() -> None:
    assert [bar(share).rstrip() for share in (0.0, 0.0001, 0.05, 0.5, 1.0)] == ["", "▏", "▌", "█████", "██████████"]


# ── jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_jobs_are_looked_at_again_and_the_open_ones_output_too() -> None:
    panel = JobsPanel()
    assert (panel.load(), panel.load(), panel.every) == ([PanelRequest("jobs")], [PanelRequest("jobs")], 0.5)
    panel.receive(PanelRequest("jobs"), JobListing(JOBS))
    assert body(panel, 100, 12)[:2] == [
        "Jobs  1 running",
        "› job-1  running  1m 14s  2.3 KB  http://localhost:3000  npm run dev",
    ]
    assert press(panel, "enter") == [PanelRequest("job", "job-1")]
    assert panel.load() == [PanelRequest("jobs"), PanelRequest("job", "job-1")]


def test_the_output_of_a_job_is_followed_until_one_scrolls_up() -> None:
    panel = JobsPanel()
    panel.receive(PanelRequest("jobs"), JobListing(JOBS))
    press(panel, "enter")
    for count, word, last in ((30, "", "30"), (40, "up", "40"), (50, "end", "39"), (60, "", "60")):
        panel.receive(PanelRequest("job", "job-1"), printed("job-1", "\n".join(str(n) for n in range(1, count + 1))))
        assert text_of(panel.draw(80, 12))[-2] == last
        if word:
            press(panel, word)
    assert text_of(panel.draw(80, 12))[0] == "job-1  npm run dev  running · 1m 14s"
    assert press(panel, "q") == []
    panel.receive(PanelRequest("job", "job-1"), printed("job-1", "late"))
    assert body(panel, 80, 12)[0] == "Jobs  1 running"


def test_a_job_is_stopped_only_when_it_runs_and_y_is_pressed() -> None:
    panel = JobsPanel()
    panel.receive(PanelRequest("jobs"), JobListing(JOBS))
    assert press(panel, "x") == []
    assert text_of(panel.draw(80, 12))[-1] == "Stop job-1 (npm run dev)?  y yes · any other key no"
    assert press(panel, "n") == []
    assert press(panel, "x", "enter") == []
    assert press(panel, "x", "y") == [PanelRequest("stop", "job-1")]
    assert panel.receive(PanelRequest("stop", "job-1"), JOBS[0]) == [PanelRequest("jobs")]
    assert press(panel, "down", "x", "y") == []
    panel = JobsPanel()
    panel.receive(PanelRequest("jobs"), JobListing(JOBS))
    press(panel, "enter")
    panel.receive(PanelRequest("job", "job-1"), printed("job-1", ""))
    assert body(panel, 80, 12)[1] == "It has printed nothing yet."
    assert press(panel, "x", "y") == [PanelRequest("stop", "job-1")]


def test_a_job_that_is_gone_brings_the_list_back() -> None:
    panel = JobsPanel()
    panel.receive(PanelRequest("jobs"), JobListing(JOBS))
    press(panel, "enter")
    panel.failed(PanelRequest("job", "job-1"), "no job is called job-1")
    assert (body(panel, 80, 12)[0], body(panel, 80, 12)[-1]) == ("Jobs  1 running", "no job is called job-1")


# ── permissions ──────────────────────────────────────────────────────────────────────────────────────────────


def test_a_stored_rule_goes_when_y_is_pressed() -> None:
    panel: Any = filled("permissions")
    assert press(panel, "d") == []
    assert text_of(panel.draw(80, 24))[-1] == "Take back bash(npm test *)?  y yes · any other key no"
    assert press(panel, "esc") == []
    assert press(panel, "d", "y") == [PanelRequest("revoke", "bash(npm test *)")]
    assert panel.receive(PanelRequest("revoke", "x"), RevokedRule("bash(npm test *)", True)) == [
        PanelRequest("permissions")
    ]
    panel.receive(PanelRequest("permissions"), PermissionRules("review", RULES.rules[1:]))
    shown = text_of(panel.draw(80, 24))
    assert shown[-1] == "bash(npm test *) is taken back."
    assert not any(line.startswith("› allow") for line in shown)


def test_a_rule_that_still_holds_here_is_said_to() -> None:
    panel: Any = filled("permissions")
    panel.receive(PanelRequest("revoke", "x"), RevokedRule("bash(npm test *)", False))
    assert "still goes by it" in text_of(panel.draw(100, 24))[-1]


def test_a_rule_of_a_file_stays_where_it_stands() -> None:
    panel = filled("permissions")
    assert press(panel, "down", "d") == []
    assert text_of(panel.draw(80, 24))[-1] == "This rule was not saved by an answer: it is set in /p/overt.toml:12."
    assert press(panel, "y") == []


def test_modes_and_decisions_stand_beside_the_rules() -> None:
    shown = "\n".join(text_of(filled("permissions").draw(160, 24)))
    for words in ("• review", "auto", "plan", "yolo", "denied  bash rm -rf build"):
        assert words in shown
    panel = PermissionsPanel()
    panel.receive(PanelRequest("decisions"), Decisions(()))
    assert "Nothing had to be decided yet." in "\n".join(text_of(panel.draw(160, 24)))


# ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_todos_are_a_checklist_with_what_is_being_done() -> None:
    panel = filled("todos")
    shown = body(panel, 100, 12)
    assert (shown[0], shown[1], shown[3]) == ("Todos  1 of 3 done", "☑ read the code", "☐ release")
    assert shown[2].startswith("▸ 写测试")
    empty = open_panel("todos", PanelInputs())
    empty.receive(PanelRequest("todos"), Todos(()))
    assert body(empty, 100, 12)[1].startswith("There is no todo list.")


def test_details_are_read_from_their_end() -> None:
    panel = open_panel("details", PanelInputs(details=lambda columns: numbered(100, f"at {columns}:")))
    assert text_of(panel.draw(60, 12))[-2] == "at 60: 100"
    assert body(open_panel("details", PanelInputs(details=lambda columns: [])), 80, 12)[1] == (
        "Nothing was thought or run in this session yet."
    )


def test_help_names_every_command_in_both_languages() -> None:
    for language, word in (("en", "Commands"), ("zh", "命令")):
        set_language(language)  # type: ignore[arg-type]
        try:
            for width in (40, 160):
                shown = "\n".join(text_of(open_panel("help", PanelInputs(commands=BUILT_IN.listed())).draw(width, 400)))
                assert word in shown
                assert [name for name in COMMANDS if f"/{name}" not in shown] == []
        finally:
            set_language("en")


def test_the_key_that_opens_help_closes_it() -> None:
    assert press(open_panel("help", PanelInputs(commands=BUILT_IN.listed())), "?") == [CLOSE]


def test_a_session_that_changed_nothing_says_so() -> None:
    panel = open_panel("diff", PanelInputs())
    assert panel.load() == [PanelRequest("diff")]
    assert body(panel, 80, 12)[1] == "loading …"
    panel.receive(PanelRequest("diff"), Changes((), ()))
    assert body(panel, 80, 12)[1] == "This session has changed no file."
