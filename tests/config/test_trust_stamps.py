"""A trusted folder is read once; after that, a stamp of its files must notice every change of what can be obeyed."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from overt.config import project_files
from overt.config import trust as module
from overt.config.paths import Environment
from overt.config.project_files import hash_project_files
from overt.config.trust import is_trusted, trust, trusted, untrust
from overt.lib import read_file

HOOKS = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "tools/check.sh; tools/later.sh"}]}]}}'


@pytest.fixture
def where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Environment:
    """A trusted project. What its files say counts at once, although they were just written."""
    project = tmp_path / "project"
    for name, text in {
        "overt.toml": "",
        ".overt/skills/one/SKILL.md": "---\nname: one\n---\nold text",
        ".claude/settings.json": HOOKS,
        "tools/check.sh": "echo old",
        "readme.md": "text",
    }.items():
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)
    monkeypatch.setattr(read_file, "SETTLED_NS", -1)
    environment = Environment(
        home=str(tmp_path / "home"),
        config_dir=str(tmp_path / "home/.config/overt"),
        data_dir=str(tmp_path / "data/overt"),
        cache_dir=str(tmp_path / "cache"),
        cwd=str(project),
        variables={},
    )
    trust(environment, environment.cwd)
    return environment


def stamps(where: Environment) -> list[Path]:
    return list(Path(where.data_dir).glob("trust/*.json"))


def refuse_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_digest", "_below"):
        monkeypatch.setattr(project_files, name, lambda *_: pytest.fail("the project was read"))


def test_a_trusted_folder_is_not_read_again_until_it_changes(
    where: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_trusted(where, where.cwd) and len(stamps(where)) == 1
    with monkeypatch.context() as patch:
        refuse_reading(patch)
        assert is_trusted(where, where.cwd)
        (Path(where.cwd) / "readme.md").write_text("another text")
        assert is_trusted(where, where.cwd)
    (Path(where.cwd) / "overt.toml").touch()
    assert is_trusted(where, where.cwd), "the content is the same"
    refuse_reading(monkeypatch)
    assert is_trusted(where, where.cwd), "the new stamp was stored"


def change_byte(project: Path) -> None:
    """Change one byte and put the size and the time of modification back, as someone would who wants to hide it."""
    file = project / ".overt/skills/one/SKILL.md"
    before = file.stat()
    file.write_text(file.read_text().replace("old", "new"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)


def replace_file(project: Path) -> None:
    file = project / ".overt/skills/one/SKILL.md"
    before = file.stat()
    (project / "other").write_text(file.read_text().replace("old", "new"))
    os.utime(project / "other", ns=(before.st_atime_ns, before.st_mtime_ns))
    (project / "other").rename(file)


def replace_folder(project: Path) -> None:
    (project / ".overt/skills/one").rename(project / "two")
    (project / ".overt/skills/one").mkdir()
    (project / ".overt/skills/one/SKILL.md").write_text("new")


def link_folder(project: Path) -> None:
    (project / ".overt").rename(project / "elsewhere")
    (project / ".overt").symlink_to("elsewhere")


def add_skill(project: Path) -> None:
    (project / ".agents/skills/more").mkdir(parents=True)
    (project / ".agents/skills/more/SKILL.md").write_text("more")


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (change_byte, ".overt/skills/one/SKILL.md changed"),
        (replace_file, ".overt/skills/one/SKILL.md changed"),
        (replace_folder, ".overt/skills/one/SKILL.md changed"),
        (link_folder, ".overt is a link"),
        (add_skill, ".agents/skills/more/SKILL.md changed"),
        (lambda project: (project / ".overt/skills/one/run.sh").write_text("new"), ".overt/skills/one/run.sh changed"),
        (lambda project: (project / ".overt/skills/one/SKILL.md").unlink(), ".overt/skills/one/SKILL.md changed"),
        (lambda project: (project / ".mcp.json").write_text("{}"), ".mcp.json changed"),
        (lambda project: (project / "tools/check.sh").write_text("echo new"), "tools/check.sh changed"),
        (lambda project: (project / "tools/later.sh").write_text("echo new"), "tools/later.sh changed"),
    ],
)
def test_a_stamp_notices_what_would_be_obeyed(where: Environment, change: Callable[[Path], object], named: str) -> None:
    assert is_trusted(where, where.cwd) and stamps(where)
    change(Path(where.cwd))
    now = trusted(where, where.cwd)
    assert not now.has(where.cwd) and named in now.warning


def test_a_file_that_changed_only_just_before_is_read_at_the_next_start(
    where: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_file, "SETTLED_NS", 3600 * 10**9)
    assert is_trusted(where, where.cwd) and not stamps(where)


def test_links_and_unreadable_files_are_looked_at_each_time(where: Environment, tmp_path: Path) -> None:
    (tmp_path / "linked").write_text("old")
    (Path(where.cwd) / ".overt/link").symlink_to(tmp_path / "linked")
    trust(where, where.cwd)
    assert is_trusted(where, where.cwd) and not stamps(where)
    (Path(where.cwd) / ".overt/link").unlink()
    os.mkfifo(Path(where.cwd) / ".overt/pipe")
    trust(where, where.cwd)
    assert hash_project_files(where.cwd).files[".overt/pipe"] == project_files.UNREADABLE
    assert is_trusted(where, where.cwd) and not stamps(where)


def test_a_stamp_counts_only_for_the_answer_and_the_rules_it_was_made_for(
    where: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_trusted(where, where.cwd) and stamps(where)
    files = hash_project_files(where.cwd).files
    assert module.fits_stamp(where, where.cwd, files)
    assert not module.fits_stamp(where, where.cwd, {**files, "overt.toml": "0" * 64})
    with monkeypatch.context() as patch:
        patch.setattr(module, "FOLDERS", (*project_files.FOLDERS, ".later"))
        assert not module.fits_stamp(where, where.cwd, files)
    stamps(where)[0].write_text("{")
    assert not module.fits_stamp(where, where.cwd, files)
    assert is_trusted(where, where.cwd)
    untrust(where, where.cwd)
    assert not is_trusted(where, where.cwd) and not stamps(where)


def test_a_stamp_that_others_could_have_written_is_not_believed(
    where: Environment, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert is_trusted(where, where.cwd)
    files = hash_project_files(where.cwd).files
    stamps(where)[0].chmod(0o622)
    assert not module.fits_stamp(where, where.cwd, files)
