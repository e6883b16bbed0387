"""Which files a note speaks of, and when it no longer fits them."""

from pathlib import Path

import pytest

from overt.extensions.note_sources import find_changes, hash_sources


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/app.py").write_text("x = 1\n")
    (tmp_path / "Makefile").write_text("test:\n\tpytest\n")
    (tmp_path / "package.json").write_text("{}")
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "setup.cfg").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("The entry point is src/app.py.", ["src/app.py"]),
        ("The entry point is `./src/app.py`: call main().", ["src/app.py"]),
        ("入口是 src/app.py 文件。", ["src/app.py"]),
        ("Run make test before a commit.", ["Makefile"]),
        ("Run `make lint` before a commit.", ["Makefile"]),
        ("Make sure to make sense, and just do it.", []),
        ("Use pnpm, not npm.", ["package.json"]),
        ("pytest -x stops at the first failure", ["pyproject.toml"]),
        ("setup.cfg and src/app.py belong together", ["setup.cfg", "src/app.py"]),
        ("src/gone.py was removed, /etc/passwd and ../outside.txt are elsewhere", []),
        ("Answer in French.", []),
    ],
)
def test_files_and_commands_that_a_note_names_are_found(project: Path, text: str, files: list[str]) -> None:
    assert list(hash_sources(text, str(project))) == files


def test_a_link_out_of_the_project_is_not_read(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    secret = tmp_path_factory.mktemp("elsewhere") / "key.txt"
    secret.write_text("secret")
    (project / "key.txt").symlink_to(secret)
    assert hash_sources("key.txt holds the key", str(project)) == {}


def test_changed_and_missing_files_are_told_apart(project: Path) -> None:
    files = hash_sources("setup.cfg, src/app.py and pyproject.toml", str(project))
    assert find_changes(files, str(project)) == {}
    (project / "setup.cfg").write_text("[x]\n")
    (project / "src/app.py").unlink()
    assert find_changes(files, str(project)) == {"setup.cfg": "changed", "src/app.py": "gone"}
    (project / "setup.cfg").write_text("")
    assert find_changes(files, str(project)) == {"src/app.py": "gone"}
