"""Places that file tools never change, whatever the rules say, by whichever name or link they are reached."""

import os
import subprocess
from pathlib import Path

import pytest
from tests.workspace.files_kit import done, files, names, put, refused

from overt.core.capabilities import Change
from overt.workspace.read_file import digest


def refusal(root: Path, path: str, *, own: tuple[str, ...] = ()) -> str:
    """The code of the refusal to make or change a file; the folder holds the same afterwards."""
    before = sorted(os.walk(root))
    code = refused(files(root, own=own).change([Change(path=path, content="x", base="absent")])).code
    assert sorted(os.walk(root)) == before
    return code


@pytest.mark.parametrize(
    "path",
    [
        ".git/hooks/post-commit",
        ".git",
        "sub/.git/config",
        ".GIT/config",
        "．git/config",
        ".g\u200dit/config",
        ".git\\x20/config",
        "GIT~1/config",
        ".git::$INDEX_ALLOCATION/config",
        "sub/../.git/config",
        "overt.toml",
        "Overt.TOML",
        "sub/overt.jsonc",
        ".overt/hooks.json",
        "deep/er/.overt/x",
        ".envrc",
        "sub/.ENVRC",
    ],
)
def test_protected_names_are_refused_also_where_nothing_is_yet(tmp_path: Path, path: str) -> None:
    assert refusal(tmp_path, path) == "protected"


def test_what_stands_there_is_neither_changed_nor_deleted_nor_moved_nor_replaced_by_a_move(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git/config").write_text("[core]")
    (tmp_path / "overt.toml").write_text("")
    (tmp_path / "own").write_text("mine")
    for change in (
        Change(path=".git/config", content="x", base=digest(b"[core]")),
        Change(path=".git/config", content=None, base=digest(b"[core]")),
        Change(path=".git/config", content=None, base=digest(b"[core]"), move_to="config"),
        Change(path="own", content=None, base=digest(b"mine"), move_to=".git/hooks/post-commit"),
        Change(path="own", content=None, base=digest(b"mine"), move_to=".OVERT/x"),
        Change(path="overt.toml", content=None, base=digest(b"")),
    ):
        assert refused(files(tmp_path).change([change])).code == "protected"
        assert refused(files(tmp_path, preview=True).change([change])).code == "protected"
    assert (names(tmp_path), names(tmp_path / ".git")) == ([".git", "overt.toml", "own"], ["config"])
    assert done(files(tmp_path).text(".git/config")).text == "[core]"


def test_a_link_that_leads_to_a_protected_place_is_as_protected(tmp_path: Path) -> None:
    (tmp_path / ".git/hooks").mkdir(parents=True)
    (tmp_path / "scripts").symlink_to(".git/hooks")
    (tmp_path / "absolute").symlink_to(tmp_path / ".git")
    (tmp_path / "settings.toml").symlink_to("overt.toml")
    for path in ("scripts/post-commit", "absolute/config", "absolute/hooks/../config", "settings.toml"):
        assert refusal(tmp_path, path) == "protected"


def test_the_target_of_a_protected_link_is_protected_under_every_name(tmp_path: Path) -> None:
    for name in ("gitdata", "conf", "plain"):
        (tmp_path / name).mkdir()
    (tmp_path / ".git").symlink_to("gitdata")
    (tmp_path / "overt.toml").symlink_to("conf/overt-settings")
    (tmp_path / ".overt").symlink_to("conf/missing")
    for path in (".git/config", "gitdata/config", "gitdata/hooks/x", "overt.toml", "conf/overt-settings"):
        assert refusal(tmp_path, path) == "protected"
    assert refusal(tmp_path, "conf/missing/hooks.json") == "protected"
    assert put(files(tmp_path), "conf/other", "x", base="absent").change == "created"


def test_a_protected_name_on_the_way_counts_even_if_it_is_a_link_to_a_plain_folder(tmp_path: Path) -> None:
    (tmp_path / "module/data").mkdir(parents=True)
    (tmp_path / "module/.git").symlink_to("data")
    (tmp_path / "module/.envrc").symlink_to("data/commands")
    for path in ("module/.git/config", "module/.git/hooks/x", "module/.envrc"):
        assert refusal(tmp_path, path) == "protected"


def test_the_folder_that_a_git_file_names_is_gits_own(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / ".git").write_text("gitdir: data\n")
    assert refusal(tmp_path, "data/hooks/post-commit") == "protected"
    (tmp_path / ".git").unlink()
    os.mkfifo(tmp_path / ".git")
    assert put(files(tmp_path), "data/hooks/post-commit", "x", base="absent").change == "created"


def test_an_extra_root_frees_nothing(tmp_path: Path) -> None:
    (tmp_path / "repo/.git").mkdir(parents=True)
    root = tmp_path / "repo"
    place = str(root / ".git")
    assert refused(files(root, write=(place,)).change([Change(path=f"{place}/x", content="", base="absent")])).code == (
        "protected"
    )
    inner = root / "inner"
    inner.mkdir()
    hands = files(inner, write=(str(root),))
    for path in (f"{place}/x", "../.git/x", "../overt.toml"):
        assert refused(hands.change([Change(path=path, content="", base="absent")])).code == "protected"
    assert names(root / ".git") == []


def test_a_folder_that_a_person_opened_is_not_protected_by_what_stands_above_it(tmp_path: Path) -> None:
    root = tmp_path / ".git" / "worktree"
    root.mkdir(parents=True)
    assert put(files(root), "a", "x", base="absent").change == "created"


START_FILES = [
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".profile",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".kshrc",
    ".config/fish/config.fish",
    ".gitconfig",
    ".config/git/config",
    ".ssh/authorized_keys",
    ".config/overt/config.toml",
    ".BASHRC",
]


@pytest.mark.parametrize("path", START_FILES)
def test_start_files_are_protected_when_the_home_folder_is_the_workspace_or_lies_in_it(
    tmp_path: Path, path: str
) -> None:
    home = tmp_path / "home" / "me"
    (home / "dotfiles").mkdir(parents=True)
    change = [Change(path=path, content="x", base="absent")]
    assert refused(files(home, home=str(home)).change(change)).code == "protected"
    above = [Change(path=f"home/me/{path}", content="x", base="absent")]
    assert refused(files(tmp_path, home=str(home)).change(above)).code == "protected"
    extra = [Change(path=f"{home}/{path}", content="x", base="absent")]
    assert refused(files(home / "dotfiles", home=str(home), write=(str(home),)).change(extra)).code == "protected"
    (home / "dotfiles/link").symlink_to("..")
    assert refused(
        files(home, home=str(home)).change([Change(path=f"dotfiles/link/{path}", content="x", base="absent")])
    )
    assert names(home) == ["dotfiles"]
    assert done(files(home / "dotfiles", home=str(home)).change(change))[0].change == "created"


def test_our_own_folders_are_protected_wherever_they_are(tmp_path: Path) -> None:
    (tmp_path / "state/sessions").mkdir(parents=True)
    own = (str(tmp_path / "state"), str(tmp_path / "later"))
    for path in ("state/sessions/x.jsonl", "state/trust.json", "STATE/x", "later/x"):
        assert refusal(tmp_path, path, own=own) == "protected"
    assert put(files(tmp_path, own=own), "statement", "x", base="absent").change == "created"


def test_a_link_that_a_command_made_is_not_followed_out_by_an_edit(tmp_path: Path) -> None:
    # A sandboxed command may create any link inside the workspace, also to places it cannot reach itself.
    # The file tools run outside of the box, so for them that link would be a way around its walls.
    root, home = tmp_path / "root", tmp_path / "home"
    root.mkdir()
    home.mkdir()
    (home / "rc").write_text("mine")
    script = f"ln -s {home}/rc notes.txt; ln -s {home} folder; ln -s {home}/new fresh.txt; ln -s .git/hooks hooks"
    subprocess.run(["sh", "-c", script], cwd=root, check=True, timeout=30)
    hands = files(root)
    codes = [
        refused(hands.change([Change(path=path, content="x", base=base)])).code
        for path in ("notes.txt", "folder/rc", "folder/new", "fresh.txt", "hooks/post-commit")
        for base in ("absent", "seen", digest(b"mine"))
    ]
    assert codes == ["outside"] * 12 + ["protected"] * 3
    assert (names(home), (home / "rc").read_text()) == (["rc"], "mine")


def test_the_refusal_says_who_may_change_it(tmp_path: Path) -> None:
    messages = [
        refused(files(tmp_path).change([Change(path=path, content="x", base="absent")])).message
        for path in (".git/config", ".overt/hooks.json", ".envrc")
    ]
    assert messages == [
        ".git/config belongs to git's own data, which file tools never change; use git commands through bash.",
        ".overt/hooks.json is protected (Overt's configuration): only the user changes it; tell them what to write.",
        ".envrc is protected (direnv start file): only the user changes it; tell them what to write.",
    ]


def test_what_gits_settings_name_in_the_work_tree_is_the_users(tmp_path: Path) -> None:
    root = tmp_path / "work"
    for name in (".git", ".husky", "conf"):
        (root / name).mkdir(parents=True)
    settings = '[core]\n\thooksPath = .husky # husky\n[include]\n\tpath = "../conf/git.inc"\n'
    (root / ".git" / "config").write_text(settings)
    (root / "conf" / "git.inc").write_text("[core] attributesFile = attributes\n")

    codes = [
        refused(files(root).change([Change(path=path, content="x", base="absent")])).code
        for path in (".husky/pre-commit", "attributes", ".HUSKY/x")
    ]

    assert codes == ["protected"] * 3
    assert refused(files(root).change([Change(path="conf/git.inc", content="x", base="seen")])).code == "protected"
    assert put(files(root), "conf/other", "x", base="absent").change == "created"
