"""A protected name is known in every disguise that some file system takes for it, and nothing else is."""

import pytest

from overt.lib.protected_names import AT_HOME, EVERYWHERE, Protection, fold_name, protected_name

INVISIBLE = [0x200C, 0x200D, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF, 0x00AD, 0x2060]

DISGUISES = [
    ".git",
    ".GIT",
    ".Git",
    ".git/",
    ".git/hooks/post-commit",
    ".git/config",
    "./.git/config",
    "sub/.git/config",
    "a/b/.GIT/hooks/x",
    "sub/../.git/config",
    "/abs/olute/.git/config",
    ".git ",
    ".git.",
    ".git. . .",
    ".git.../config",
    ".git ./x",
    "git~1",
    "GIT~1/config",
    "Git~2",
    "git~1. .",
    ".git:stream",
    ".git::$INDEX_ALLOCATION",
    ".git::$INDEX_ALLOCATION/config",
    ".git...:alternate-stream",
    "git~1:x",
    ".git\\config",
    ".\\.GIT\\foobar",
    "sub\\.git\\hooks\\x",
    "．git/config",
    "․git",
    ".ｇｉｔ",
    ".ⓖⓘⓣ/config",
    ".𝐠𝐢𝐭",
    ".git\u00a0",
    "\ufeff.git",
    *(f".g{chr(point)}it/config" for point in INVISIBLE),
    *(f"{chr(point)}.git" for point in INVISIBLE),
    *(f".GIT{chr(point)}" for point in INVISIBLE),
    ".g\u200c\u200d\u202eIt",
    "\udcff/.git/config",
]


@pytest.mark.parametrize("path", DISGUISES)
def test_git_is_known_in_every_disguise(path: str) -> None:
    assert protected_name(path) is Protection.GIT
    assert protected_name(path, home="elsewhere") is Protection.GIT


@pytest.mark.parametrize(
    "path",
    [
        "overt.toml",
        "Overt.TOML",
        "sub/overt.json",
        "OVERT.JSONC",
        "overt.toml.",
        "overt~1.tom",
        "OVERT~2.JSO",
        "ｏvert.toml",
        "ov\u200dert.toml",
        ".overt/hooks.json",
        ".Overt",
        "OVERT~1/commands/x.md",
        "sub/.overt./x",
        "overt.toml:stream",
    ],
)
def test_our_own_configuration_is_known_in_every_disguise(path: str) -> None:
    assert protected_name(path, home="elsewhere") is Protection.OWN


@pytest.mark.parametrize(
    "path",
    [
        ".gitignore",
        ".gitattributes",
        ".gitmodules",
        ".github/workflows/ci.yml",
        "project.git/config",
        "git/config",
        "git",
        ".git2/x",
        "x.git",
        "overt",
        "src/overt/toml.py",
        "overt.toml.example",
        "my-overt.toml",
        ".env",
        ".envrc.example",
        "envrc",
        "file~1.txt",
        "notes~",
        "~/project/README.md",
        ".config/nvim/init.lua",
        ".local/share/other",
        "docs/profile",
        "bashrc",
        "",
        ".",
        "..",
        "...",
        "数据/说明.md",
        "Größe/ﬁle.txt",
    ],
)
def test_ordinary_names_are_not_protected(path: str) -> None:
    assert [protected_name(path, home=home) for home in ("anywhere", "here", "elsewhere")] == [None, None, None]


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (".bashrc", Protection.SHELL),
        (".BASHRC", Protection.SHELL),
        (".bash_profile", Protection.SHELL),
        ("BASH_P~1", Protection.SHELL),
        (".zshenv", Protection.SHELL),
        (".profile", Protection.SHELL),
        (".config/fish/config.fish", Protection.SHELL),
        (".Config/./fish/conf.d/x.fish", Protection.SHELL),
        (".config/x/../fish/config.fish", Protection.SHELL),
        ("CONFIG~1/systemd/user/x.service", Protection.SHELL),
        ("CONFIG~1/AUTOST~1/x.desktop", Protection.SHELL),
        (".gitconfig", "git's settings"),
        (".config/git/config", "git's settings"),
        (".ssh/authorized_keys", "ssh keys and settings"),
        (".config/overt/trust.json", Protection.OWN),
        (".local/share/overt/sessions/x", "Overt's records"),
    ],
)
def test_start_files_count_in_the_home_folder_or_where_that_is_unknown(path: str, reason: str) -> None:
    assert protected_name(path, home="here") == reason
    assert protected_name(path) == reason
    assert protected_name(f"~/{path}") == reason
    assert protected_name(f"/home/somebody/{path}") == reason
    assert protected_name(path, home="elsewhere") is None
    assert protected_name(f"dotfiles/{path}", home="here") is None


def test_every_name_of_the_tables_is_found_by_its_own_short_name_and_case() -> None:
    for name, reason in EVERYWHERE.items():
        assert protected_name(f"a/{name.upper()}/b", home="elsewhere") == reason
    for parts, reason in AT_HOME.items():
        assert protected_name("/".join(parts).upper(), home="here") == reason


@pytest.mark.parametrize(
    ("path", "same"),
    [
        (".ENV", ".env"),
        ("．ｅｎｖ", ".env"),
        (".e\u200dnv", ".env"),
        ("Straße", "strasse"),
        ("ﬁle", "file"),
        ("e\u0301", "é"),
        ("K\u212a", "kk"),
        ("src/Main.py", "src/main.py"),
    ],
)
def test_spellings_of_one_name_fold_to_the_same(path: str, same: str) -> None:
    assert fold_name(path) == same
    assert fold_name(fold_name(path)) == fold_name(path)
