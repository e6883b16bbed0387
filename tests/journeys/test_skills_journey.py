"""Skills used by the whole program: listed, searched, loaded, run as a command, and denied."""

import json
import shutil
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.fakes.skill_folders import sample_skills, write_skill
from tests.journeys.journey_kit import Place, call, calls, messages, results

from overt.lib.tokens import estimate

EXAMPLE = Path(__file__).parent.parent.parent / "examples" / "skill" / "changelog-entry"
CHANGELOG = "# Changelog\n\n## [Unreleased]\n### Added\n- A dark theme.\n\n## [1.0.0]\n- First release.\n"


def tool_names(server: ModelServer) -> list[str]:
    return [each["function"]["name"] for each in server.posts[0].json()["tools"]]


def system_text(server: ModelServer, post: int = 0) -> str:
    content = server.posts[post].json()["messages"][0]["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def user_skills(place: Place) -> Path:
    return place.home / ".config" / "overt" / "skills"


def test_without_skills_the_tool_is_not_listed_and_the_built_in_ones_are_found(place: Place) -> None:
    turns = [
        calls(call("toolsearch", query="review my changes")),
        calls(call("toolcall", name="skill", arguments={"name": "review-change"})),
        Turn(text="ok"),
    ]
    with ModelServer(turns) as server:
        ran = place.run("run", "review", server=server)
        assert ran.code == 0, ran.err
        assert "skill" not in tool_names(server)
        assert "# Skills" not in system_text(server)
        matches, text = results(server)
        assert json.loads(matches.splitlines()[0])["skill"] == "review-change"
        assert text.startswith("Skill review-change, from the folder /")
        assert "# Review a change" in text


def test_the_example_is_installed_found_loaded_read_and_run(place: Place) -> None:
    """The skill is copied as a user would, the folder is trusted, and the model does what its text says."""
    shutil.copytree(EXAMPLE, place.work / ".overt" / "skills" / "changelog-entry")
    (place.work / "CHANGELOG.md").write_text(CHANGELOG)
    folder = ".overt/skills/changelog-entry"
    turns = [
        calls(call("toolsearch", query="write a line for the changelog")),
        calls(call("skill", name="changelog-entry", arguments="light theme")),
        calls(call("read", path=f"{folder}/references/categories.md")),
        calls(call("bash", command=f"sh {folder}/scripts/unreleased.sh CHANGELOG.md")),
        Turn(text="done"),
    ]
    assert place.run("trust").code == 0
    with ModelServer(turns) as server:
        ran = place.run("run", "note it", server=server)
        assert ran.code == 0, ran.err
        assert "skill" in tool_names(server)
        assert "- changelog-entry: Add an entry to CHANGELOG.md" in system_text(server)
        matches, text, reference, output = results(server)
        assert json.loads(matches.splitlines()[0])["skill"] == "changelog-entry"
        assert "What to write: light theme" in text
        assert "- scripts/unreleased.sh" in text and f"sh {folder}/scripts" in text
        assert "**Fixed**" in reference
        assert "- A dark theme." in output and "First release" not in output
        assert {system_text(server, post) for post in range(5)} == {system_text(server)}


def test_nothing_of_a_project_that_is_not_trusted_is_used(place: Place) -> None:
    shutil.copytree(EXAMPLE, place.work / ".claude" / "skills" / "changelog-entry")
    with ModelServer([Turn(text="ok")]) as server:
        assert place.run("run", "hello", server=server).code == 0
        assert "changelog-entry" not in server.posts[0].body.decode()


def test_a_changed_skill_makes_the_folder_untrusted(place: Place) -> None:
    skill = place.work / ".claude" / "skills" / "changelog-entry"
    shutil.copytree(EXAMPLE, skill)
    assert place.run("trust").code == 0
    assert "changelog-entry" in place.run("skills").out
    (skill / "scripts" / "unreleased.sh").write_text("echo changed\n")
    ran = place.run("skills")
    assert "changelog-entry" not in ran.out


def test_a_skill_in_the_home_is_read_and_run_inside_the_sandbox(place: Place) -> None:
    skill = write_skill(user_skills(place), "greet", "Greet people", "Read names.txt, run hello.sh in ${SKILL_DIR}.\n")
    (skill / "names.txt").write_text("Ada\n")
    (skill / "hello.sh").write_text("echo hello from the skill\n")
    turns = [
        calls(call("skill", name="greet")),
        calls(call("read", path=str(skill / "names.txt"))),
        calls(call("bash", command=f"sh {skill}/hello.sh")),
        Turn(text="done"),
    ]
    with ModelServer(turns) as server:
        ran = place.run("run", "greet", server=server)
        assert ran.code == 0, ran.err
        text, names, output = results(server)
        assert f"run hello.sh in {skill}" in text
        assert "Ada" in names and "hello from the skill" in output


@pytest.mark.parametrize(("rule", "hidden"), [("skill(secret-*)", True), ("skill", True), ("skill(other)", False)])
def test_a_denied_skill_is_hidden_and_refused(place: Place, rule: str, hidden: bool) -> None:
    write_skill(user_skills(place), "secret-plan", "Plans that are secret")
    write_skill(user_skills(place), "open-plan", "Plans that are public")
    turns = [calls(call("toolcall", name="skill", arguments={"name": "secret-plan"})), Turn(text="ok")]
    with ModelServer(turns) as server:
        place.run("run", "plan", "--disallowedTools", rule, server=server)
        assert ("secret-plan" not in server.posts[0].body.decode()) == hidden
        assert ("Do it." not in results(server)[0]) == hidden


def test_a_skill_runs_as_a_command_without_a_terminal(place: Place) -> None:
    write_skill(user_skills(place), "shout", "Shout a word", "Print $1 in capitals.\n", "argument-hint: WORD\n")
    with ModelServer([Turn(text="HELLO")]) as server:
        ran = place.run("run", "/shout hello", server=server)
        assert (ran.code, ran.out) == (0, "HELLO\n"), ran.err
        prompt = messages(server)[-1]["content"]
        assert "Print hello in capitals." in prompt
        assert prompt.endswith("The user ran /shout hello")


def test_a_path_that_begins_with_a_slash_stays_a_prompt(place: Place) -> None:
    with ModelServer([Turn(text="ok")]) as server:
        assert place.run("run", "/etc/hosts is what?", server=server).code == 0
        assert messages(server)[-1]["content"] == "/etc/hosts is what?"


def test_a_trigger_brings_a_skill_along_once(place: Place) -> None:
    write_skill(
        user_skills(place), "deploy", "Deploy it", "Use the blue button.\n", 'triggers: [ship it, "/roll(ing)? out/"]\n'
    )
    with ModelServer([Turn(text="a"), Turn(text="b")]) as server:
        assert place.run("run", "Please SHIP IT today", server=server).code == 0
        assert place.run("run", "--continue", "and rolling out tomorrow?", server=server).code == 0
        first, second = server.posts[0].body.decode(), server.posts[1].body.decode()
        assert first.count("Use the blue button.") == 1
        assert second.count("Use the blue button.") == 1
    with ModelServer([Turn(text="c")]) as server:
        assert place.run("run", "shipping items", server=server).code == 0
        assert "Use the blue button." not in server.posts[0].body.decode()


def test_a_skill_is_offered_once_when_a_file_that_it_is_for_was_read(place: Place) -> None:
    write_skill(user_skills(place), "styles", "Write styles", extra="paths: ['**/*.css', themes/]\n")
    (place.work / "a.css").write_text("a {}\n")
    (place.work / "b.css").write_text("b {}\n")
    turns = [calls(call("read", path="a.css")), calls(call("read", path="b.css")), Turn(text="ok")]
    with ModelServer(turns) as server:
        assert place.run("run", "look", server=server).code == 0
        hint = "[overt] The skill styles is for files such as a.css."
        assert hint not in server.posts[0].body.decode()
        assert server.posts[1].body.decode().count(hint) == 1
        assert server.posts[2].body.decode().count("[overt] The skill styles") == 1


def test_allowed_tools_hold_in_the_turn_of_the_skill_and_not_past_a_denial(place: Place) -> None:
    extra = "allowed-tools: Bash(touch *), Bash(mkdir *)\ndisallowed-tools: Grep\n"
    write_skill(user_skills(place), "make-files", "Make files", extra=extra)
    (place.home / ".config" / "overt" / "config.toml").write_text(
        '[permissions]\nfallback = "deny"\ndeny = ["bash(mkdir *)"]\n'
    )
    touch, mkdir = call("bash", command="touch new.txt"), call("bash", command="mkdir folder")
    turns = [
        calls(touch),
        calls(call("skill", name="make-files")),
        calls(touch),
        calls(mkdir),
        calls(call("grep", pattern="y")),
        Turn(text="ok"),
        calls(call("bash", command="touch later.txt")),
        Turn(text="ok"),
    ]
    with ModelServer(turns) as server:
        place.run("run", "go", server=server)
        place.run("run", "--continue", "again", server=server)
        before, _, allowed, denied, taken = results(server)[:5]
        assert "denied" in before.lower() or "no rule" in before
        assert (place.work / "new.txt").exists(), allowed
        assert "denied by the rule bash(mkdir *)" in denied and not (place.work / "folder").exists()
        assert "denied by the rule grep" in taken
        assert not (place.work / "later.txt").exists()


def test_150_skills_take_at_most_1500_tokens_and_the_same_bytes_in_every_request(place: Place) -> None:
    skills = sample_skills()
    for skill in skills:
        write_skill(user_skills(place), skill.name, skill.description)
    budget = place.run("skills", "budget")
    with ModelServer([calls(call("toolsearch", query=skills[70].probe)), Turn(text="ok")]) as server:
        assert place.run("run", "hello", server=server).code == 0
        assert budget.out.rstrip("\n") in system_text(server)
        assert system_text(server, 0) == system_text(server, 1)
        assert estimate(budget.out) <= 1500
        assert all(skill.name in budget.out for skill in skills)
        assert skills[70].name in results(server)[0]
    assert "descriptions" in budget.err and skills[0].name in budget.err
