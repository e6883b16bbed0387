"""Where skills, commands and agents are looked for."""

from pathlib import Path

from msgspec.structs import replace

from overt.extensions.discovery import ExtensionFolder, ExtensionPlaces, extension_folders


def places(folder: Path) -> ExtensionPlaces:
    for name in (".overt", ".agents", ".claude"):
        (folder / "project" / name / "skills").mkdir(parents=True)
        (folder / "home" / name / "skills").mkdir(parents=True)
    (folder / "config" / "skills").mkdir(parents=True)
    (folder / "plugin" / "skills").mkdir(parents=True)
    plugin = ExtensionFolder(path=str(folder / "plugin"), scope="plugin", where="plugin tidy", namespace="tidy")
    return ExtensionPlaces(
        project=str(folder / "project"),
        trusted=True,
        config_dir=str(folder / "config"),
        home=str(folder / "home"),
        plugins=(plugin,),
    )


def shown(where: ExtensionPlaces) -> list[str]:
    return [folder.where for folder in extension_folders(where, "skills")]


def test_the_project_comes_before_the_user_and_ours_before_others(tmp_path: Path) -> None:
    assert shown(places(tmp_path)) == [
        ".overt/skills",
        ".agents/skills",
        ".claude/skills",
        "~/.config/overt/skills",
        "~/.agents/skills",
        "~/.claude/skills",
        "plugin tidy/skills",
    ]


def test_nothing_of_an_untrusted_project_counts(tmp_path: Path) -> None:
    assert all(
        each.scope != "project" for each in extension_folders(replace(places(tmp_path), trusted=False), "skills")
    )


def test_strict_leaves_out_what_is_not_of_the_project(tmp_path: Path) -> None:
    assert shown(replace(places(tmp_path), strict=True)) == [".overt/skills", ".agents/skills", ".claude/skills"]


def test_without_foreign_layouts_only_ours_are_read(tmp_path: Path) -> None:
    assert shown(replace(places(tmp_path), foreign=False)) == [
        ".overt/skills",
        "~/.config/overt/skills",
        "plugin tidy/skills",
    ]


def test_a_linked_folder_counts_once(tmp_path: Path) -> None:
    where = places(tmp_path)
    (tmp_path / "project" / ".claude" / "skills").rmdir()
    (tmp_path / "project" / ".claude" / "skills").symlink_to("../.overt/skills")
    assert ".claude/skills" not in shown(where)
