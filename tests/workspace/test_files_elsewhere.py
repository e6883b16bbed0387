"""What file tools read outside the workspace: what a command in the sandbox could, and nothing that it hides."""

import os
from pathlib import Path

import pytest
from tests.workspace.files_kit import RG, done, put, refused

from overt.core.capabilities import Change, Query
from overt.core.errors import ToolError
from overt.core.protocols import Journal
from overt.sandbox.profile import SandboxPlace
from overt.workspace.contained_path import Forbid, open_path
from overt.workspace.files import Files, FileServices, Workspace
from overt.workspace.readable_paths import Readable


class World:
    """A home with secrets, a workspace, Overt's own folders, a private temporary folder, and the rest of the disk."""

    def __init__(self, folder: Path) -> None:
        self.home, self.work, self.temp = folder / "home", folder / "home/work", folder / "box"
        self.library = folder / "library"
        self.private = {str(folder / "tmp"): str(self.temp)}
        for path, text in {
            "home/work/a.txt": "in the workspace",
            "home/.ssh/id_rsa": "secret",
            "home/.netrc": "secret",
            "home/dotfiles/aws/credentials": "secret",
            "home/notes.txt": "notes",
            "home/.config/overt/config.toml": "secret",
            "home/.local/share/overt/sessions/s.jsonl": "secret",
            "home/.local/share/overt/output/s1/1.txt": "printed",
            "home/.local/share/overt/output/s2/1.txt": "secret",
            "library/include/x.h": "int x;",
            "box/made.txt": "made by a command",
            "tmp/made.txt": "of somebody else",
        }.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(f"{text}\n")
        (self.home / ".aws").symlink_to("dotfiles/aws")
        (self.work / "out").symlink_to(folder)
        self.folder = folder

    def files(self, *, forbid: Forbid | None = None) -> Files:
        home = str(self.home)
        place = SandboxPlace(
            workspace=str(self.work),
            project=str(self.work),
            home=home,
            config_dir=f"{home}/.config/overt",
            data_dir=f"{home}/.local/share/overt",
            cache_dir=f"{home}/.cache/overt",
        )
        own = (f"{home}/.local/share/overt/output/s1",)
        elsewhere = Readable(place, private=lambda: self.private, also=own)
        workspace = Workspace(root=str(self.work), home=home, forbid=forbid, elsewhere=elsewhere)
        return Files(FileServices(workspace=workspace, rg=RG), call_id="c1", journal=Journal(), seen={})

    def text(self, path: str) -> str:
        return done(self.files().text(path)).text.strip()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(Path(os.path.realpath(tmp_path)))


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("{0}/library/include/x.h", "int x;"),
        ("out/library/include/x.h", "int x;"),
        ("../notes.txt", "notes"),
        ("{0}/home/work/../notes.txt", "notes"),
        ("{0}/home/work/a.txt", "in the workspace"),
        ("{0}/home/.local/share/overt/output/s1/1.txt", "printed"),
        ("{0}/tmp/made.txt", "made by a command"),
        ("{0}/library/../tmp/made.txt", "made by a command"),
        ("out/tmp/made.txt", "made by a command"),
        ("/usr/../{0}/tmp/made.txt", "made by a command"),
    ],
)
def test_files_outside_are_read_as_a_command_would_see_them(world: World, path: str, text: str) -> None:
    assert world.text(path.format(world.folder)) == text


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("{0}/home/.ssh/id_rsa", "may hold credentials"),
        ("out/home/.ssh/id_rsa", "may hold credentials"),
        ("{0}/home/.ssh", "may hold credentials"),
        ("../.netrc", "may hold credentials"),
        ("{0}/home/.aws/credentials", "may hold credentials"),
        ("{0}/home/dotfiles/aws/credentials", "may hold credentials"),
        ("{0}/home/.kube/config", "may hold credentials"),
        ("{0}/home/.config/overt/config.toml", "Overt's own settings and records"),
        ("{0}/home/.local/share/overt/sessions/s.jsonl", "Overt's own settings and records"),
        ("{0}/home/.local/share/overt/output/s2/1.txt", "Overt's own settings and records"),
        ("/proc/self/environ", "differs inside the sandbox"),
        ("/dev/zero", "differs inside the sandbox"),
    ],
)
def test_hidden_places_are_refused_with_the_reason(world: World, path: str, why: str) -> None:
    hands = world.files()
    path = path.format(world.folder)
    refusals = (
        refused(hands.text(path)),
        refused(hands.lines(path, offset=1, limit=1)),
        refused(hands.blob(path)),
        refused(hands.list(path, depth=1, limit=10)),
        refused(hands.search(Query(pattern="secret", path=path))),
    )
    assert [(error.code, why in error.message) for error in refusals] == [("hidden", True)] * 5


def test_a_home_of_another_user_is_refused(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("overt.workspace.readable_paths.HOMES", (str(world.folder),))
    assert world.text(f"{world.folder}/library/include/x.h") == "int x;"
    monkeypatch.setattr("os.geteuid", lambda: world.folder.stat().st_uid + 1)
    error = refused(world.files().text(f"{world.folder}/library/include/x.h"))
    assert (error.code, "home of another user" in error.message) == ("hidden", True)
    assert world.text("../notes.txt") == "notes"


def test_searching_passes_over_what_is_hidden(world: World) -> None:
    hands = world.files()
    found = done(hands.search(Query(pattern="secret|notes|printed", path=str(world.home), mode="files"))).text
    assert found.splitlines() == [
        f"{world.home}/.local/share/overt/output/s1/1.txt",
        f"{world.home}/notes.txt",
    ]
    assert done(hands.find("*", path=str(world.home / ".local"), limit=9)).paths == (
        f"{world.home}/.local/share/overt/output/s1/1.txt",
    )
    assert done(hands.find(f"{world.library}/**/*.h", path=".", limit=9)).paths == (f"{world.library}/include/x.h",)


def test_a_list_shows_hidden_names_and_nothing_below_them(world: World) -> None:
    entries, _ = done(world.files().list(str(world.home), depth=3, limit=100))
    shown = {entry.path.removeprefix(f"{world.home}/") for entry in entries}
    assert {".ssh", ".netrc", "dotfiles/aws", ".config/overt"} <= shown
    assert not {".ssh/id_rsa", "dotfiles/aws/credentials", ".config/overt/config.toml"} & shown


def test_the_private_folder_is_searched_and_listed_under_the_name_that_commands_use(world: World) -> None:
    hands, folder = world.files(), str(world.folder / "tmp")
    assert done(hands.search(Query(pattern="made", path=folder))).text == f"{folder}/made.txt:1:made by a command"
    assert [entry.path for entry in done(hands.list(folder, depth=1, limit=9))[0]] == [f"{folder}/made.txt"]


def test_a_file_of_the_real_temporary_folder_is_out_of_reach_and_says_so(world: World) -> None:
    (world.folder / "tmp/real.txt").write_text("x")
    error = refused(world.files().text(f"{world.folder}/tmp/real.txt"))
    assert error.code == "missing" and f"--add-dir {world.folder}/tmp" in error.message


def test_before_the_first_command_there_is_no_private_folder(world: World) -> None:
    world.private = dict.fromkeys(world.private, "")
    assert refused(world.files().text(f"{world.folder}/tmp/made.txt")).code == "missing"


def test_denials_hold_outside_the_workspace(world: World) -> None:
    denied = str(world.library / "include/x.h")
    hands = world.files(forbid=lambda effect, path: "read(//…)" if path == denied else "")
    assert refused(hands.text("out/library/include/x.h")).code == "denied"


def test_writing_stays_inside(world: World) -> None:
    hands = world.files()
    for path in (f"{world.library}/include/x.h", "out/library/include/x.h", f"{world.folder}/tmp/made.txt", "../n"):
        assert refused(hands.change([Change(path=path, content="x", base="seen")])).code == "outside"
    with pytest.raises(ToolError):
        put(hands, "../notes.txt", "changed")
    assert (world.home / "notes.txt").read_text() == "notes\n"


def test_no_swap_of_a_folder_for_a_link_shows_what_is_hidden(world: World) -> None:
    """What was walked is checked, not what the path says: a link that comes in between leads to a refusal."""
    hands, turning = world.files(), world.work / "turning"
    for _ in range(20):
        turning.symlink_to(world.home / ".ssh")
        with pytest.raises(ToolError) as caught:
            open_path(hands.workspace, "turning/id_rsa")
        assert caught.value.code == "hidden"
        turning.unlink()
        turning.mkdir()
        with open_path(hands.workspace, "turning/id_rsa") as spot:
            turning.rmdir()
            turning.symlink_to(world.home / ".ssh")
            assert spot.stat is None
            with pytest.raises(OSError):
                os.open(spot.name, os.O_RDONLY, dir_fd=spot.fd)
        turning.unlink()
