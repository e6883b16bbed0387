"""What a workspace may hold to harm whoever takes a snapshot of it, or whoever puts it back."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.workspace.keeping_kit import GIT, shadow

from overt.core.errors import OvertError
from overt.sandbox.profile import SandboxPlace
from overt.workspace.undo import shadow_git as _shadow_git
from overt.workspace.undo.restore import name_in_git
from overt.workspace.undo.shadow_repository import Shadow
from overt.workspace.undo.snapshot_keeper import make_keeper


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "work"
    made.mkdir()
    return made


def sh(root: Path, text: str) -> None:
    subprocess.run(["sh", "-ec", text], cwd=root, check=True, env={"PATH": os.defpath, "HOME": "/nowhere"})


def changed(it: Shadow, root: Path, command: str) -> list[str]:
    before = it.take()
    sh(root, command)
    after = it.take()
    return [each.path for each in it.changes(before.name, after.name)]


@pytest.mark.parametrize("name", [".gitignore", "deep/.gitattributes"])
def test_a_pipe_that_git_would_wait_for_is_named(
    tmp_path: Path, root: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_shadow_git, "STUCK", 0.2)
    (root / "deep").mkdir()
    (root / "deep/a").write_text("a")
    os.mkfifo(root / name)
    it = shadow(tmp_path / "s", root)
    with pytest.raises(OvertError, match=f"^{name} is not a file, and git would wait for it$"):
        it.take()
    (root / name).unlink()
    assert it.take().name


def test_a_git_that_took_long_and_is_not_held_up_is_waited_for(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_shadow_git, "STUCK", 0.0)
    for number in range(300):
        (root / f"f{number}").write_bytes(b"%d" % number * 1000)
    assert len(changed(shadow(tmp_path / "s", root), root, "for i in 1 2 3; do echo x > f$i; done; rm f9")) == 4


def test_a_killed_git_leaves_nothing_in_the_way_and_nothing_behind(tmp_path: Path, root: Path) -> None:
    (root / "a").write_text("a")
    it = shadow(tmp_path / "s", root)
    one = it.take()
    (tmp_path / "s/objects/pack").mkdir(exist_ok=True)
    for name in ("index.lock", "objects/pack/tmp_pack_x", "objects/tmp_obj_x"):
        (tmp_path / "s" / name).write_text("left")
    assert it.take().name == one.name
    assert [str(path) for path in (tmp_path / "s").rglob("*") if "tmp" in path.name or "lock" in path.suffix] == [
        str(tmp_path / "s/overt.lock")
    ]


def test_an_attempt_that_fails_does_not_lock_out_the_next(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "a").write_text("a")
    it = shadow(tmp_path / "s", root)
    real = Shadow._update_index
    times: list[int] = []

    def failing(self: Shadow, keep: list[bytes], drop: list[bytes], uncovered: dict[str, str]) -> object:
        times.append(1)
        if len(times) == 1:
            (tmp_path / "s/index.lock").write_text("")
            raise OvertError("git was killed")
        return real(self, keep, drop, uncovered)

    monkeypatch.setattr(Shadow, "_update_index", failing)
    assert it.take().name
    assert len(times) == 2


IGNORED = "mkdir -p build sub; echo s > kept.txt; echo o > build/o; echo l > sub/a.log; "


@pytest.mark.parametrize(
    ("rules", "command", "seen"),
    [
        ("kept.txt\nbuild/\n*.log\n", "rm .gitignore; echo n > new", [".gitignore", "new"]),
        ("kept.txt\nbuild/\n*.log\n", "echo > .gitignore; echo x >> kept.txt", [".gitignore"]),
        ("kept.txt\nbuild/\n*.log\n", "echo '!*.log' > sub/.gitignore", ["sub/.gitignore"]),
        ("kept.txt\nbuild/\n*.log\n", "rm .gitignore; rm kept.txt; mv build other", [".gitignore", "other", "other/o"]),
    ],
)
def test_what_was_ignored_until_now_was_not_made_by_the_command(
    tmp_path: Path, root: Path, rules: str, command: str, seen: list[str]
) -> None:
    sh(root, IGNORED)
    (root / ".gitignore").write_text(rules)
    (root / "sub/covered").write_text("c")
    it = shadow(tmp_path / "s", root)
    assert changed(it, root, command) == seen
    left = "kept.txt" if (root / "kept.txt").exists() and "*.log" not in command else "sub/a.log"
    assert changed(it, root, f"rm {left}; echo m > made") == sorted(["made", left])
    assert changed(it, root, f"echo again > {left}") == [left]


def test_what_was_too_large_or_a_repository_was_not_made_by_the_command(tmp_path: Path, root: Path) -> None:
    (root / "large").write_bytes(b"x" * 5000)
    sh(root, f"mkdir inner; cd inner; {GIT} init -q; echo a > a")
    it = shadow(tmp_path / "s", root, largest=1024)
    assert changed(it, root, "echo small > large; rm -r inner/.git; echo n > n") == ["n"]
    assert changed(it, root, "rm large inner/a") == ["inner/a", "large"]


def test_nothing_behind_a_link_is_kept(tmp_path: Path, root: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "key").write_text("PRIVATE-7731")
    (root / "sub").mkdir()
    (root / "sub/key").write_text("mine")
    it = shadow(tmp_path / "s", root)
    assert changed(it, root, f"rm -r sub; ln -s {outside} sub; ln -s {outside}/key one") == ["one", "sub", "sub/key"]
    kept = it._git.run("cat-file", "--batch-all-objects", "--batch", "--unordered")
    assert b"PRIVATE" not in kept and b"mine" in kept


@pytest.mark.parametrize("where", [".ssh", ".aws/deep", ".config/overt"])
def test_no_copy_is_kept_of_a_folder_for_secrets(tmp_path: Path, where: str) -> None:
    workspace = tmp_path / where
    workspace.mkdir(parents=True)
    keeper = make_keeper(place(tmp_path, workspace), own=(), path=os.environ["PATH"])
    assert keeper.shadow is None


def test_secrets_of_the_home_folder_in_the_workspace_are_not_kept(tmp_path: Path) -> None:
    workspace = tmp_path / ".config"
    for name in ("gh/hosts.yml", "fish/config.fish", "git/credentials", "app/settings"):
        (workspace / name).parent.mkdir(parents=True)
        (workspace / name).write_text(f"of {name}")
    keeper = make_keeper(place(tmp_path, workspace), own=(), path=os.environ["PATH"])
    assert keeper.shadow is not None
    keeper.shadow.take()
    assert keeper.shadow._git.run("ls-files") == b"app/settings\n"


def place(home: Path, workspace: Path) -> SandboxPlace:
    return SandboxPlace(
        workspace=str(workspace),
        project=str(workspace),
        home=str(home),
        config_dir=str(home / ".config/overt"),
        data_dir=str(home / ".local/share/overt"),
        cache_dir=str(home / ".cache/overt"),
    )


def test_files_that_change_all_the_time_do_not_keep_a_snapshot_from_being_taken(tmp_path: Path, root: Path) -> None:
    over = threading.Event()

    def busy() -> None:
        while not over.is_set():
            for number in range(5):
                path = root / f"busy{number}"
                path.write_bytes(b"x" * 3000)
                path.write_bytes(b"")
                path.unlink()

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        it = shadow(tmp_path / "s", root)
        for number in range(5):
            (root / "calm").write_text(str(number))
            assert it.take().name
    finally:
        over.set()
        thread.join()


@pytest.mark.parametrize("name", ["", "--output=x", "HEAD", "g" * 40, "a" * 39])
def test_git_is_asked_for_nothing_but_names_of_states(tmp_path: Path, root: Path, name: str) -> None:
    it = shadow(tmp_path / "s", root)
    one = it.take().name
    for words in ((name, one), (one, name)):
        with pytest.raises(OvertError, match="names no state"):
            it.changes(*words)


def test_what_git_refuses_to_keep_is_named(tmp_path: Path, root: Path) -> None:
    (root / "sub").mkdir()
    (root / "sub/.gitmodules").symlink_to("/etc/passwd")
    (root / "a").write_text("a")
    it = shadow(tmp_path / "s", root)
    assert it.take().uncovered == ("sub/.gitmodules (git keeps no such link)",)
    assert it._git.run("ls-files") == b"a\n"


def test_what_is_put_into_the_store_is_what_git_would_have_put_there(tmp_path: Path, root: Path) -> None:
    (root / "a").write_text("a")
    it = shadow(tmp_path / "s", root)
    name = it.take().name
    listed = it._git.run("ls-tree", name)
    assert it._git.run("mktree", feed=listed).decode().strip() == name
    assert [line.split(b"\t")[1] for line in listed.splitlines()] == [b"files", b"manifest"]
    said = subprocess.run(
        [GIT, "fsck", "--full", "--strict"], env={"GIT_DIR": str(tmp_path / "s")}, capture_output=True
    )
    assert (said.returncode, b"error" in said.stderr) == (0, False)
    assert {oct(path.stat().st_mode & 0o077) for path in (tmp_path / "s").rglob("*")} == {"0o0"}


def test_contents_come_in_parts_that_fit_into_memory(
    tmp_path: Path, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("overt.workspace.undo.shadow_git.BATCH_BYTES", 2500)
    contents = [letter * 1000 for letter in (b"a", b"b", b"c", b"d", b"e")]
    for number, raw in enumerate(contents):
        (root / str(number)).write_bytes(raw)
    it = shadow(tmp_path / "s", root)
    it.take()
    names = [name_in_git(raw) for raw in contents]
    assert list(it.contents(names)) == list(zip(names, contents, strict=True))
    assert [len(batch) for batch in it._git._batches(names)] == [2, 2, 1]
    with pytest.raises(OvertError, match="has lost"):
        list(it.contents([*names, "0" * 40]))


def test_a_folder_that_was_closed_is_named(tmp_path: Path, root: Path) -> None:
    """By somebody without the powers of root, for whom nothing is closed."""
    (root / "closed").mkdir()
    (root / "closed/a").write_text("a")
    script = (
        "import os, sys; from pathlib import Path; from tests.workspace.keeping_kit import shadow\n"
        "root = Path(sys.argv[2]); it = shadow(Path(sys.argv[1]), root); print(it.take().uncovered)\n"
        "(root / 'closed/a').write_text('b'); os.chmod(root / 'closed', 0); print(it.take().uncovered)\n"
        "os.chmod(root / 'closed', 0o755); print(it.take().uncovered)"
    )
    plain = ["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"] if os.getuid() == 0 else []
    words = [*plain, sys.executable, "-c", script, str(tmp_path / "s"), str(root)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout == "()\n('closed/ (not to be read)',)\n()\n"
