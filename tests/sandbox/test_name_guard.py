"""Names that do not exist yet: every way to create one from inside the sandbox is refused or undone, and nothing stands
in their place meanwhile."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from tests.sandbox.box_kit import USERS, Stage, end, staged
from tests.workspace.programs_kit import gone

from overt.sandbox.tracking.file_checks import resolve_for_process
from overt.sandbox.tracking.name_guard import NameGuard, RefusedError, fold_path
from overt.sandbox.tracking.write_tracker import IN_FLIGHT_S

TRY = """
import ctypes, errno, json, os, sys
libc = ctypes.CDLL(None, use_errno=True)
here = os.getcwd()
outcomes = {}
def attempt(name):
    def run(action):
        os.chdir(here)
        try:
            action()
            outcomes[name] = "done"
        except OSError as error:
            outcomes[name] = errno.errorcode[error.errno]
    return run
def put(path, text="x\\n", **more):
    with open(path, "w", **more) as file:
        file.write(text)
def system(name, *words):
    if getattr(libc, name)(*words) == -1:
        raise OSError(ctypes.get_errno(), name)
def exchange(one, other):
    system("renameat2", -100, one.encode(), -100, other.encode(), 2)
root = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
os.makedirs("sub/deep", exist_ok=True)
put("ready")
"""
NAMES = (
    TRY
    + """
for name in ("overt.toml", "overt.json", ".envrc"):
    attempt(f"open {name}")(lambda: put(name))
attempt("exclusive")(lambda: os.open("overt.toml", os.O_CREAT | os.O_EXCL | os.O_RDONLY))
attempt("absolute")(lambda: put(here + "/overt.toml"))
attempt("descriptor")(lambda: os.open("overt.toml", os.O_CREAT | os.O_WRONLY, dir_fd=root))
attempt("up and down")(lambda: put("sub/../sub/deep/../../overt.toml"))
attempt("slashes")(lambda: put(".//.///overt.toml"))
os.symlink(here, "sub/way"); os.symlink("../overt.toml", "sub/dangling"); os.symlink(f"/proc/self/fd/{root}", "sub/fd")
os.symlink("/proc/self/cwd", "sub/cwd"); os.symlink("/proc/thread-self/root" + here, "sub/root")
for way in ("way", "fd", "cwd", "root"):
    attempt(f"through the link {way}")(lambda: put(f"sub/{way}/overt.toml"))
os.symlink("/proc/self/cwd/..", "sub/up")
attempt("above the current folder")(lambda: (os.chdir("sub"), put(here + "/sub/up/overt.toml")))
attempt("dangling link")(lambda: put("sub/dangling"))
attempt("proc cwd")(lambda: put("/proc/self/cwd/overt.toml"))
attempt("proc fd")(lambda: put(f"/proc/self/fd/{root}/overt.toml"))
attempt("dev fd")(lambda: put(f"/dev/fd/{root}/overt.toml"))
attempt("from below")(lambda: (os.chdir("sub/deep"), put("../../overt.toml")))
attempt("folder")(lambda: os.mkdir(".overt"))
attempt("folder with a slash")(lambda: os.mkdir("overt.toml/"))
attempt("pipe")(lambda: os.mkfifo("overt.toml"))
attempt("link")(lambda: os.symlink("ready", "overt.toml"))
attempt("hard link")(lambda: os.link("ready", "overt.toml"))
attempt("rename")(lambda: os.rename("ready", "overt.toml"))
attempt("rename a folder")(lambda: os.rename("sub/deep", ".overt"))
attempt("rename without replacing")(lambda: system("renameat2", -100, b"ready", root, b"overt.toml", 1))
def nameless():
    fd = os.open(".", os.O_TMPFILE | os.O_WRONLY)
    os.link(f"/proc/self/fd/{fd}", "overt.toml", follow_symlinks=True)
attempt("nameless file")(nameless)
attempt("openat2")(lambda: system("syscall", 437, -100, b"overt.toml", (ctypes.c_uint64 * 3)(0o101, 0o644, 0), 24))
for spelled in ("OVERT.toml", "Overt.Json", ".ENVRC", "\\uff4fvert.toml", "ove\\u200brt.toml", "overt.toml.",
    ".overT/x"):
    attempt(f"spelled {ascii(spelled)}")(lambda: os.mkdir(".overT") if "/" in spelled else put(spelled))
def hidden():
    libc.prctl(4, 0)
    put("overt.toml")
attempt("hidden memory")(hidden)
print(json.dumps(outcomes))
"""
)
OF_GIT = (
    TRY
    + """
git = here + "/.git"
attempt("commondir")(lambda: put(".git/commondir"))
attempt("worktree settings")(lambda: put(".git/config.worktree"))
attempt("commondir by rename")(lambda: os.rename("ready", ".git/commondir"))
attempt("commondir by exchange")(lambda: exchange("ready", ".git/commondir"))
attempt("COMMONDIR")(lambda: put(".git/COMMONDIR"))
attempt("hook")(lambda: put(".git/hooks/pre-commit"))
attempt("hook from below")(lambda: (os.chdir(".git/hooks"), put("post-checkout")))
attempt("hooks away")(lambda: os.rename(".git/hooks", ".git/h"))
attempt("git away")(lambda: os.rename(".git", "git"))
attempt("config")(lambda: put(".git/config"))
attempt("config by rename")(lambda: (put("c", "[core]\\nfsmonitor = x\\n"), os.rename("c", ".git/config")))
attempt("config by exchange")(lambda: exchange("c", ".git/config"))
attempt("config gone")(lambda: os.unlink(".git/config"))
attempt("config cut")(lambda: os.truncate(".git/config", 0))
attempt("link to config")(lambda: os.link(".git/config", "linked"))
attempt("modules as a link")(lambda: os.symlink("../sub", ".git/modules"))
os.makedirs("m/hooks"); os.mkdir(".git/modules")
attempt("module from elsewhere")(lambda: os.rename("m", ".git/modules/m"))
attempt("hook of a module")(lambda: (os.makedirs(".git/modules/a/hooks"), put(".git/modules/a/hooks/pre-commit")))
print(json.dumps(outcomes))
"""
)
YOUNG = (
    TRY
    + """
evil = "[core]\\nfsmonitor = touch ../ran; false\\n"
os.makedirs("evil/hooks"); put("evil/config", evil); put("evil/HEAD", "ref: refs/heads/main\\n")
attempt("rename")(lambda: os.rename("evil", ".git"))
attempt("link")(lambda: os.symlink("evil", ".git"))
attempt("file")(lambda: put(".git", "gitdir: evil\\n"))
attempt("file, moved")(lambda: (put("file", "gitdir: evil\\n"), os.rename("file", ".git")))
os.system("git init -q .; git config user.name n")
attempt("exchange")(lambda: exchange("evil", ".git"))
attempt("hook")(lambda: put(".git/hooks/pre-commit"))
attempt("hook, moved")(lambda: os.rename(".git/hooks/pre-commit.sample", ".git/hooks/pre-commit"))
os.rename(".git/hooks", ".git/h"); put(".git/h/pre-commit")
attempt("hooks, moved")(lambda: os.rename(".git/h", ".git/hooks"))
attempt("config")(lambda: put(".git/config", evil))
attempt("config, moved")(lambda: os.rename("evil/config", ".git/config"))
attempt("config, exchanged")(lambda: exchange("evil/config", ".git/config"))
attempt("config, linked")(lambda: (os.link(".git/config", "second"), put("second", evil)))
inode = os.open(".git/config", os.O_PATH)
attempt("config, nameless link")(lambda: (system("linkat", inode, b"", -100, b"third", 0x1000), put("third", evil)))
def keep_open():
    with open("plain", "w") as file:
        os.rename("plain", ".git/config")
        file.write(evil)
attempt("config, still open")(keep_open)
def keep_link():
    put("plain2", ""); os.link("plain2", "other"); os.rename("plain2", ".git/config"); put("other", evil)
attempt("config, two names")(keep_link)
attempt("settings of git")(lambda: os.system("git config core.fsmonitor x 2> /dev/null") and put(".git/config"))
print(json.dumps(outcomes))
"""
)
REFUSALS = {"EROFS", "EBUSY", "ENOENT", "EXDEV", "ENOSYS", "EEXIST", "EPERM"}


def attempt_all(stage: Stage, script: str) -> dict[str, str]:
    """What each attempt came to; the script reaches the sandbox through its command line."""
    _, ran = stage.run(f"{stage.python} -I -S - <<'END'\n{script}\nEND")
    outcomes: dict[str, str] = json.loads(ran[1])
    return outcomes


def listing(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@USERS
def test_every_way_to_create_an_absent_name_is_refused(user: str) -> None:
    with staged(user) as stage:
        stage.repository()

        outcomes = attempt_all(stage, NAMES)

        assert {name: outcome for name, outcome in outcomes.items() if outcome not in REFUSALS} == {}
        assert (len(outcomes), listing(stage.workspace)) == (36, {".git", "sub", "ready"})


@USERS
def test_every_way_to_gits_own_files_is_refused(user: str) -> None:
    with staged(user) as stage:
        stage.repository()
        before = (stage.workspace / ".git" / "config").read_bytes()

        outcomes = attempt_all(stage, OF_GIT)

        assert {name: outcome for name, outcome in outcomes.items() if outcome not in REFUSALS} == {}
        git = stage.workspace / ".git"
        assert ((git / "config").read_bytes(), {"commondir", "config.worktree", "COMMONDIR"} & listing(git)) == (
            before,
            set(),
        )
        assert [str(path) for path in git.glob("**/hooks/*") if not path.name.endswith(".sample")] == []


@USERS
def test_every_way_to_a_hostile_repository_is_refused_and_a_plain_one_is_made(user: str) -> None:
    with staged(user) as stage:
        stage.give()

        outcomes = attempt_all(stage, YOUNG)

        assert {name: outcome for name, outcome in outcomes.items() if outcome not in REFUSALS} == {}
        assert (stage.git("config", "user.name"), stage.git("status", "--short").splitlines()[:1]) == (
            "n\n",
            ["?? evil/"],
        )
        assert (stage.folder / "ran").exists() is False


FLICKER = """
import os, time
os.makedirs("evil/hooks")
with open("evil/config", "w") as file:
    file.write("[core]\\n\\trepositoryformatversion = 0\\n\\tfsmonitor = touch RAN; false\\n")
with open("evil/HEAD", "w") as file:
    file.write("ref: refs/heads/main\\n")
os.makedirs("evil/objects"); os.makedirs("evil/refs")
open("up", "w").close()
while True:
    for name in ("evil", ".git.blocked"):
        try:
            os.rename(name, ".git")
            time.sleep(0.2)
            os.rename(".git", name)
        except OSError:
            pass
    time.sleep(0.01)
"""


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 30
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def ask_for_status(stage: Stage) -> bool:
    """True if the person's `git status` starts what a command left."""
    subprocess.run(
        ["git", "-C", str(stage.workspace), "-c", "safe.directory=*", "status"],
        capture_output=True,
        env={"PATH": os.environ["PATH"], "HOME": str(stage.home)},
    )
    return (stage.folder / "ran").exists()


@USERS
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_hostile_repository_never_shows_up_in_a_folder_that_is_none(user: str, is_killed: bool) -> None:
    with staged(user) as stage:
        stage.folder.chmod(0o777)
        (stage.workspace / "flicker.py").write_text(FLICKER.replace("RAN", f"{stage.folder}/ran"))
        stage.give()
        process = stage.start(f"{stage.python} -I -S flicker.py")
        try:
            wait_for(stage.workspace / "up")
            ran = []
            for _ in range(0 if is_killed else 8):
                ran.append(ask_for_status(stage))
                time.sleep(0.07)
        finally:
            end(process, signal.SIGKILL)

        assert (any(ran), gone(stage.left), ask_for_status(stage)) == (False, [], False)
        assert listing(stage.workspace) == {"evil", "flicker.py", "up"}


def test_what_got_around_the_refusals_is_moved_away_after_overt_was_killed() -> None:
    with staged("root") as stage:
        process = stage.start("touch up; sleep 60")
        wait_for(stage.workspace / "up")
        process.send_signal(signal.SIGSTOP)
        subprocess.run(["git", "init", "-q", str(stage.workspace)], check=True)
        hook = stage.workspace / ".git" / "hooks" / "pre-commit"
        hook.write_text("x")
        (stage.workspace / ".envrc").write_text("x")
        end(process, signal.SIGKILL)

        assert (gone(stage.left), gone(lambda: [str(path) for path in (hook,) if path.exists()])) == ([], [])
        assert listing(stage.workspace) == {".envrc.blocked", ".git.blocked", "up"}


RACE = """
import ctypes, os, threading
libc = ctypes.CDLL(None)
name, other = b"overt.toml", b"aaaaaaaaaa"
buffer = ctypes.create_string_buffer(name)
def flip():
    while True:
        for text in (other, name, other):
            ctypes.memmove(buffer, text, len(text))
threading.Thread(target=flip, daemon=True).start()
for _ in range(20000):
    libc.close(libc.open(buffer, os.O_CREAT | os.O_WRONLY, 0o644))
    libc.unlink(other)
"""


@USERS
def test_a_name_created_by_a_race_is_moved_away_and_the_command_ended(user: str) -> None:
    with staged(user) as stage:
        (stage.workspace / "race.py").write_text(RACE)
        stage.give()

        _, ran = stage.run(f"{stage.python} -I -S race.py", timeout=8000)

        assert (stage.workspace / "overt.toml").exists() is False
        is_won = (stage.workspace / "overt.toml.blocked").exists()
        assert (ran[0] == 137, "appeared although the sandbox refuses to create it" in ran[2]) == (is_won, is_won)


def test_a_name_that_a_person_creates_while_a_job_is_idle_stays_and_is_kept_from_it() -> None:
    command = "until [ -e go ]; do sleep 0.1; done; touch a; echo mine >> overt.toml; rm -f overt.toml; mv a overt.toml"
    with staged("root") as stage:
        process = stage.start(f"touch up; {command}")
        wait_for(stage.workspace / "up")
        time.sleep(IN_FLIGHT_S + 0.2)
        (stage.workspace / "overt.toml").write_text("the person's\n")
        (stage.workspace / "go").touch()
        out, _ = process.communicate(timeout=60)

        assert (json.loads(out)[1][0], (stage.workspace / "overt.toml").read_text()) == (1, "the person's\n")


def test_without_its_keeper_a_command_creates_nothing() -> None:
    script = "kill -9 $PPID; sleep 0.2; echo x > overt.toml; echo x > other"
    with staged("root") as stage:
        ran = stage.run(f"setsid bash -c {script!r}; sleep 1", "ls -A")

        assert (listing(stage.workspace), ran[2][1]) == (set(), "")


def test_a_setuid_program_cannot_be_made() -> None:
    script = """
import os
open("plain", "w").close()
fd = os.open("plain", os.O_WRONLY)
for make in (
    lambda: os.chmod("plain", 0o4755), lambda: os.fchmod(fd, 0o4755), lambda: os.chmod("plain", 0o2755),
    lambda: os.chmod("plain", 0o4755, dir_fd=os.open(".", os.O_RDONLY)), lambda: os.open("new", os.O_CREAT, 0o4755),
    lambda: os.mknod("node", 0o104755),
):
    try:
        make()
        print("done")
    except PermissionError:
        pass
os.mkdir("shared")
os.chmod("shared", 0o2775)
os.chmod("plain", 0o755)
"""
    with staged("root") as stage:
        assert stage.one(f"{stage.python} -I -S - <<'END'\n{script}\nEND")[:2] == [0, ""]
        assert [oct((stage.workspace / name).stat().st_mode) for name in ("plain", "shared")] == ["0o100755", "0o42775"]


HOOKS = {
    "husky": ("core.hooksPath", ".husky", [".husky/pre-commit"]),
    "husky 9": ("core.hooksPath", ".husky/_", [".husky/pre-commit", ".husky/_/h"]),
    "hooks that do not exist yet": ("core.hooksPath", "tools/git/hooks", []),
    "included settings": ("include.path", "../.gitconfig-shared", [".gitconfig-shared"]),
    "settings included for a branch": ("includeIf.onbranch:main.path", "../conf/git.inc", ["conf/git.inc"]),
    "attributes": ("core.attributesFile", "conf/attributes", ["conf/attributes"]),
}


@pytest.mark.parametrize("shape", HOOKS)
def test_what_gits_settings_name_in_the_work_tree_is_protected(shape: str) -> None:
    key, value, files = HOOKS[shape]
    with staged("root") as stage:
        stage.repository()
        stage.git("config", key, value)
        for name in (*files, "own"):
            (stage.workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (stage.workspace / name).write_text("as it was\n")
        stage.give()
        goals = files or ["tools/git/hooks/pre-commit"]
        tries = "".join(
            f"mkdir -p $(dirname {name}); echo x >> {name}; mv own {name}; rm -f {name}; " for name in goals
        )

        stage.run(f"{tries} mkdir -p fake/git/hooks; touch fake/git/hooks/pre-commit; mv -T fake tools; echo x >> own")

        assert [(stage.workspace / name).read_text() for name in files] == ["as it was\n"] * len(files)
        assert (stage.workspace / "tools" / "git" / "hooks" / "pre-commit").exists() is (
            shape != "hooks that do not exist yet"
        )
        assert (stage.workspace / "own").read_text() == "as it was\nx\n"


def test_a_path_is_folded_as_a_file_system_may_fold_it() -> None:
    spelled = ["/W/.GIT", "/w/.git.", "/w/.ｇit", "/w/.g\u200bit", "/w/.git/", "/w/.gıt"]

    assert [fold_path(name.encode()).rstrip(b"/") == b"/w/.git" for name in spelled] == [True] * 5 + [False]


def test_branches_and_objects_may_have_any_name() -> None:
    guard = NameGuard([b"/w"], [])
    for path in (b"refs/heads/config", b"logs/refs/heads/hooks", b"modules/sub/refs/heads/commondir", b"index.lock",
                 b"hooks/pre-commit.sample", b"config.lock", b"worktrees/one/commondir"):  # fmt: skip
        guard.require_open(b"/w/.git/" + path, os.O_CREAT)
    for path in (b"hooks/pre-commit", b"commondir", b"config", b"modules/sub/config", b"modules/a/b/hooks/x"):
        with pytest.raises(RefusedError):
            guard.require_open(b"/w/.git/" + path, os.O_CREAT)


def test_a_path_is_resolved_as_its_process_sees_it(tmp_path: Path) -> None:
    child = subprocess.Popen(["sleep", "60"], cwd=tmp_path)
    (tmp_path / "way").symlink_to("/proc/self/cwd")
    try:
        resolved = [
            resolve_for_process(os.fsencode(path), child.pid, follow=True)
            for path in (f"{tmp_path}/way/x", "/proc/self/cwd/x", f"/proc/thread-self/root{tmp_path}/./y/../x")
        ]
    finally:
        child.kill()
        child.wait()

    assert resolved == [os.fsencode(tmp_path.resolve() / "x")] * 3
