"""Skills are read tolerantly, each with its origin and what is wrong with it."""

from pathlib import Path

import pytest
from tests.fakes.skill_folders import sample_skills, write_skill

from overt.app.skills.library import BUILT_IN_NAMES
from overt.extensions.discovery import ExtensionFolder, ExtensionPlaces, extension_folders
from overt.extensions.skill_index import arrange_skills, make_index
from overt.extensions.skills import BUILT_IN, Skill, list_files, read_skills, triggered_by
from overt.lib.text_search import rank
from overt.lib.tokens import estimate


def folder_of(path: Path, **more: str) -> ExtensionFolder:
    return ExtensionFolder(path=str(path), scope="user", where=path.name, namespace=more.get("namespace", ""))


def only_skill(folder: Path) -> Skill:
    (skill,) = read_skills([folder_of(folder)]).skills
    return skill


def write_text(folder: Path, name: str, text: str) -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(text)
    return folder


def test_all_keys_are_read(tmp_path: Path) -> None:
    text = """---
name: deploy-app
description: Deploy the app.
when_to_use: Before a release.
argument-hint: "[stage]"
triggers:
  - ship it
  - /roll(ing)? out/
paths: "src/**, *.yml"
allowed-tools: Read Bash(git *)
disallowed-tools: [Write, WebFetch]
disable-model-invocation: true
user-invocable: false
disabled: "true"
---
# Deploy
"""
    skill = only_skill(write_text(tmp_path, "deploy-app", text))
    assert skill.about == "Deploy the app. Before a release."
    assert skill.argument_hint == "[stage]"
    assert skill.triggers == ("ship it", "/roll(ing)? out/")
    assert skill.paths == ("src/**", "*.yml")
    assert (skill.allowed_tools, skill.disallowed_tools) == ("Read Bash(git *)", "Write WebFetch")
    assert (skill.for_model, skill.for_user, skill.disabled) == (False, False, True)
    assert skill.problems == ()


@pytest.mark.parametrize(
    ("text", "name", "description", "problem"),
    [
        ("# Title\n\nFirst words\nhere.\n\nMore.", "my-skill", "First words here.", "it has no front matter"),
        ("---\nname: my-skill\n---\nBody.", "my-skill", "Body.", "it has no description"),
        ("---\nname: Bad Name!\ndescription: x\n---\n", "my-skill", "x", "it goes by its folder's name"),
        ("---\nname: other\ndescription: x\n---\n", "other", "x", "its folder is not called other"),
        ("---\nname: my-skill\ndescription: Use: with colons\n---\n", "my-skill", "Use: with colons", "line 3"),
        ("---\nname: off\ndescription: x\n---\n", "my-skill", "x", "`name` must be a text"),
        ("---\nname: my-skill\ndescription: [a]\n---\nText.", "my-skill", "Text.", "`description` must be a text"),
        ("---\nname: my-skill\ndescription: x\ntriggers: ['/(/']\n---\n", "my-skill", "x", "no regular expression"),
        ("---\nname: my-skill\ndescription: x\nmodel: opus\n---\n", "my-skill", "x", "`model` is not used"),
        (f"---\nname: my-skill\ndescription: {'x' * 1025}\n---\n", "my-skill", "x" * 1025, "more than 1024"),
    ],
)
def test_a_faulty_skill_is_used_and_its_fault_is_named(
    tmp_path: Path, text: str, name: str, description: str, problem: str
) -> None:
    skill = only_skill(write_text(tmp_path, "my-skill", text))
    assert (skill.name, skill.description) == (name, description)
    assert any(problem in each for each in skill.problems), skill.problems


def test_the_first_of_two_with_one_name_counts_and_the_other_is_shadowed(tmp_path: Path) -> None:
    write_skill(tmp_path / "ours", "same", "Ours")
    write_skill(tmp_path / "theirs", "same", "Theirs")
    files = read_skills([folder_of(tmp_path / "ours"), folder_of(tmp_path / "theirs")])
    assert [skill.description for skill in files.skills] == ["Ours"]
    assert [skill.where for skill in files.shadowed] == ["theirs/same"]


def test_a_linked_folder_counts_once_and_a_plugin_has_a_namespace(tmp_path: Path) -> None:
    skill = write_skill(tmp_path / "real", "one", "One")
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "again").symlink_to(skill)
    files = read_skills([folder_of(tmp_path / "real", namespace="tools"), folder_of(tmp_path / "links")])
    assert [each.name for each in files.skills] == ["tools:one"]
    assert files.shadowed == ()


def test_a_project_skill_that_lies_elsewhere_is_not_read(tmp_path: Path) -> None:
    elsewhere = write_skill(tmp_path / "elsewhere", "evil", "Not reviewed")
    project = tmp_path / "project"
    inside = write_skill(project / ".agents" / "skills", "good", "Reviewed")
    claude = project / ".claude" / "skills"
    claude.mkdir(parents=True)
    (claude / "evil").symlink_to(elsewhere)
    (claude / "also-good").symlink_to(inside)
    places = ExtensionPlaces(project=str(project), trusted=True, config_dir=str(tmp_path / "c"), home=str(tmp_path))
    files = read_skills(extension_folders(places, "skills"), project=str(project))
    assert [skill.name for skill in files.skills] == ["good"]
    assert files.problems == (
        ".claude/skills/evil: the folder is a link that leads out of the folders that were trusted",
    )


def test_what_has_not_changed_is_not_read_again(tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "one", "Before")
    folders = [folder_of(tmp_path)]
    first = read_skills(folders)
    assert read_skills(folders, stored=first).skills[0] is first.skills[0]
    (skill / "SKILL.md").write_text("---\nname: one\ndescription: After it\n---\n")
    assert read_skills(folders, stored=first).skills[0].description == "After it"


def test_triggers_are_whole_phrases_or_expressions(tmp_path: Path) -> None:
    skill = Skill(name="a", description="", path="", where="", scope="user", triggers=("ship it", "/v\\d+/"))
    assert triggered_by([skill], "Ship it!") == (skill,)
    assert triggered_by([skill], "release V12") == (skill,)
    assert triggered_by([skill], "friendship items") == ()


def test_files_are_listed_without_the_text_and_hidden_ones(tmp_path: Path) -> None:
    skill = write_skill(tmp_path, "one", "One")
    for name in ("scripts/run.py", "references/a.md", ".git/config"):
        (skill / name).parent.mkdir(exist_ok=True)
        (skill / name).write_text("")
    assert list_files(str(skill)) == ("references/a.md", "scripts/run.py")


def test_the_built_in_skills_are_valid_and_their_names_are_known() -> None:
    files = read_skills([BUILT_IN])
    assert tuple(skill.name for skill in files.skills) == BUILT_IN_NAMES
    assert [skill.problems for skill in files.skills] == [()] * 3


# ── the list for the model ───────────────────────────────────────────────────────────────────────────────


def made(name: str, description: str) -> Skill:
    return Skill(name=name, description=description, path="", where="", scope="user")


def test_short_lists_are_shown_whole() -> None:
    index = make_index([made("a", "First."), made("b", "Second.")], 5000)
    assert index.text.splitlines()[2:] == ["- a: First.", "- b: Second."]
    assert index.shortened == ()
    assert "…" not in index.text


def test_long_descriptions_are_shortened_to_the_same_length_at_a_word() -> None:
    index = make_index([made("a", "word " * 100), made("b", "other " * 100), made("c", "Short.")], 700)
    shown = {skill.name: skill.shown for skill in index.skills}
    assert len(index.text) <= 700 and "- c: Short." in index.text
    assert [skill.name for skill in index.shortened] == ["a", "b"]
    assert abs(shown["a"] - shown["b"]) <= 6


@pytest.mark.parametrize("cap", [300, 1000, 2000, 5000, 20_000, 200_000])
def test_the_cap_holds_and_what_is_missing_is_known(cap: int) -> None:
    skills = [made(each.name, each.description) for each in sample_skills()]
    index = make_index(skills, cap)
    assert len(index.text) <= cap + 60  # the words that say how many are not listed
    assert index == make_index(skills, cap)
    assert [skill.name for skill in index.skills] == [skill.name for skill in skills]
    for skill, shown in zip(skills, index.skills, strict=True):
        assert (f"- {skill.name}:" in index.text or skill.name in index.text.split(": ")[-1]) or not shown.listed
        assert skill.description[: shown.shown] in index.text
        assert shown.shortened == (skill.description not in index.text)


def test_150_skills_with_80_000_characters_take_at_most_1500_tokens() -> None:
    samples = sample_skills()
    assert (len(samples), sum(len(each.description) for each in samples) >= 80_000) == (150, True)
    index = make_index([made(each.name, each.description) for each in samples], 5000)
    assert estimate(index.text) <= 1500
    assert all(each.name in index.text for each in samples)


def test_a_list_in_chinese_has_as_many_tokens() -> None:
    index = make_index([made(f"技能{number}", "整理表格并检查公式，" * 30) for number in range(60)], 5000)
    assert estimate(index.text) <= 1500


def test_settings_order_include_and_exclude() -> None:
    skills = [made(name, "x") for name in ("a-one", "b-one", "b-two", "c")]

    Names = tuple[str, ...]

    def names(include: Names | None = None, exclude: Names = (), order: Names = ()) -> list[str]:
        return [skill.name for skill in arrange_skills(skills, include=include, exclude=exclude, order=order)]

    assert names(order=("c", "b-*")) == ["c", "b-one", "b-two", "a-one"]
    assert names(include=("b-*",)) == ["b-one", "b-two"]
    assert names(exclude=("*-one",)) == ["b-two", "c"]


def test_the_right_skill_is_among_the_first_three_for_95_percent_of_the_probes() -> None:
    samples = sample_skills()
    texts = {each.name: f"{each.name} {each.name} {each.description}" for each in samples}
    missed = [each.name for each in samples if each.name not in rank(each.probe, texts, 3)]
    assert len(missed) <= 0.05 * len(samples), missed
