"""`overt skills`: list, show, check, new and budget."""

import json

from tests.fakes.skill_folders import write_skill
from tests.journeys.journey_kit import Place


def test_skills_are_listed_with_origin_state_and_problems(place: Place) -> None:
    skills = place.home / ".claude" / "skills"
    write_skill(skills, "mine", "Mine")
    write_skill(skills, "old-one", "Off", extra="disabled: true\n")
    write_skill(skills, "by-hand", "By hand", extra="disable-model-invocation: true\nallowed-tools: Raed\n")
    write_skill(place.home / ".agents" / "skills", "mine", "Another")
    (place.home / ".config" / "overt").mkdir(parents=True)
    (place.home / ".config" / "overt" / "config.toml").write_text(
        '[skills]\ndisabled = ["write-*"]\nexclude = ["explore*"]\n'
    )
    rows = {(row["name"], row["where"]): row for row in json.loads(place.run("skills", "--json").out)}
    assert rows["mine", "~/.agents/skills/mine"]["state"] == "listed"
    assert rows["mine", "~/.claude/skills/mine"]["state"] == "shadowed by ~/.agents/skills/mine"
    assert rows["old-one", "~/.claude/skills/old-one"]["state"] == "disabled in its front matter"
    assert rows["write-tests", "built-in/write-tests"]["state"] == "disabled by skills.disabled"
    assert rows["explore-codebase", "built-in/explore-codebase"]["state"] == "found by search"
    by_hand = rows["by-hand", "~/.claude/skills/by-hand"]
    assert by_hand["state"] == "only as a command"
    assert by_hand["problems"] == ["skill by-hand: no tool of this version is called `Raed`"]


def test_the_strict_recipe_leaves_out_skills_of_the_user(place: Place) -> None:
    write_skill(place.home / ".claude" / "skills", "mine", "Mine")
    (place.home / ".config" / "overt").mkdir(parents=True)
    config = place.home / ".config" / "overt" / "config.toml"
    for settings in ("[context]\nstrict = true\n", "[context]\nforeign = false\n"):
        config.write_text(settings)
        assert "mine" not in place.run("skills").out
    config.write_text(f'[skills]\npaths = ["{place.home}/.claude/skills"]\n[context]\nforeign = false\n')
    assert "mine" in place.run("skills").out


def test_a_new_skill_is_made_shown_and_valid(place: Place) -> None:
    made = place.run("skills", "new", "tidy-up", "--user", "--description", "Tidy up the desk")
    assert made.code == 0 and (place.home / ".config/overt/skills/tidy-up/SKILL.md").is_file()
    assert "1. Say what to look at first." in place.run("skills", "show", "tidy-up").out
    assert place.run("skills", "new", "tidy-up", "--user").code == 2
    assert place.run("skills", "new", "Tidy Up").code == 2
    assert place.run("skills", "check").code == 0


def test_check_ends_with_1_if_a_folder_is_not_valid(place: Place) -> None:
    write_skill(place.work, "good", "Good")
    write_skill(place.work, "bad", "x" * 1025)
    assert place.run("skills", "check", "good").code == 0
    ran = place.run("skills", "check", ".")
    assert ran.code == 1
    assert "`description` has 1025 characters" in ran.out and "good: valid" in ran.out


def test_the_budget_is_what_the_model_is_sent(place: Place) -> None:
    write_skill(place.home / ".claude" / "skills", "long", "word " * 300)
    (place.home / ".config" / "overt").mkdir(parents=True)
    (place.home / ".config" / "overt" / "config.toml").write_text("[context.caps]\nskills = 600\n")
    ran = place.run("skills", "budget")
    assert len(ran.out) <= 601
    assert "  long: " in ran.err and " of 1499 characters" in ran.err
