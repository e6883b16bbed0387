"""What people do all day works inside a box, with the files where they belong."""

import shutil

import pytest
from tests.sandbox.box_kit import USERS, staged

GIT = """set -e
echo 1 > a; git add a; git commit -qm one; git branch side; echo 2 >> a; git stash -q; git stash pop -q
git commit -qam two; git checkout -q side; git merge -q main; git tag v1; git worktree add -q ../linked 2>&1 || true
git worktree add -q inner -b inner; git -C inner commit -q --allow-empty -m inner
git gc -q; git fsck; git log --oneline | wc -l; git status --short; git rebase -q main; git reset -q --hard
git clone -q . copy; git -C copy log --oneline | wc -l"""
LOOPBACK = """python3 -c '
import http.server, threading, urllib.request
server = http.server.HTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/").status)
server.shutdown()
' 2> /dev/null"""
SMALL = """set -e
ps -e | grep -c . > /dev/null; echo x > /tmp/x; cat /tmp/x; test -d "$TMPDIR"; test -f "$(mktemp)"
python3 -c 'import multiprocessing as m; m.Lock(); print(open("/dev/shm/x", "w").write("x"))'
echo y > "${PIP_CACHE_DIR:?}.y"; printf 'all:\\n\\techo made\\n' > Makefile; make -s; test -w /dev/null
echo z > /dev/null; diff <(echo a) <(echo a); python3 -c 'import pty, os; print(pty.spawn(["true"]))'"""
VENV = """set -e
python3 -m venv --without-pip v; cat > wheel.py <<'END'
import zipfile
with zipfile.ZipFile("small-1-py3-none-any.whl", "w") as wheel:
    wheel.writestr("small.py", "x = 1")
    wheel.writestr("small-1.dist-info/METADATA", "Metadata-Version: 2.1\\nName: small\\nVersion: 1\\n")
    wheel.writestr("small-1.dist-info/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
    wheel.writestr("small-1.dist-info/RECORD", "")
END
python3 wheel.py; v/bin/python -c 'import sys; print(sys.prefix != sys.base_prefix)'
base=$(v/bin/python -c 'import sys; print(sys._base_executable)')
$base -m pip install -q --no-index --root-user-action=ignore --target "$(echo v/lib/*/site-packages)" ./small-*.whl
v/bin/python -c 'import small; print(small.x)'"""
JS = """npm init -y > /dev/null && npm pkg set scripts.go='node -p 6*7' && npm run -s go"""
C = """echo 'int main(void) { return 0; }' > a.c && gcc a.c -o a && ./a && echo built"""


@USERS
def test_git_works(user: str) -> None:
    with staged(user) as stage:
        stage.repository()

        code, text, _ = stage.one(GIT)

        assert (code, text.split()[-4:], stage.left()) == (0, ["2", "??", "inner/", "2"], [])


@USERS
def test_a_server_and_its_client_meet_inside(user: str) -> None:
    with staged(user) as stage:
        stage.give()

        assert stage.one(LOOPBACK) == [0, "200\n", ""]


@USERS
def test_small_things_work(user: str) -> None:
    with staged(user) as stage:
        stage.give()

        assert stage.one(SMALL) == [0, "x\n1\nmade\n0\n", ""]


@pytest.mark.skipif(shutil.which("npm") is None, reason="no npm here")
def test_package_scripts_run() -> None:
    with staged("root") as stage:
        assert stage.one(JS) == [0, "42\n", ""]


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc here")
@USERS
def test_programs_are_built(user: str) -> None:
    with staged(user) as stage:
        stage.give()

        assert stage.one(C) == [0, "built\n", ""]


def test_a_virtual_environment_and_a_local_package_are_made() -> None:
    with staged("root") as stage:
        code, text, _ = stage.one(VENV, timeout=100_000)

        assert (code, text) == (0, "True\n1\n")


def test_files_of_others_are_worked_on_by_root() -> None:
    with staged("root") as stage:
        theirs = stage.workspace / "theirs"
        theirs.mkdir()
        shutil.chown(theirs, 1234, 1234)
        theirs.chmod(0o700)

        ran = stage.one("echo x > theirs/a && chown 1234:1234 theirs/a && stat -c %u theirs/a")

        assert ran == [0, "1234\n", ""]


@USERS
def test_git_init_works_and_its_hooks_are_kept_from_the_next_command_on(user: str) -> None:
    with staged(user) as stage:
        stage.give()

        _, made, hook, commit = stage.run(
            "git init -q . && echo fine",
            "echo x > .git/hooks/pre-commit; echo $?; mv .git/hooks .git/h; echo $?; echo x >> .git/config; echo $?",
            "touch a; git add a; git commit -qm one && git log --oneline | wc -l",
        )

        assert (made[:2], [word for word in hook[1].split() if word.isdigit() and word != "1:"]) == (
            [0, "fine\n"],
            ["1", "1", "1"],
        )
        assert (commit[:2], stage.left()) == ([0, "1\n"], [])


def test_a_linked_worktree_can_commit_and_its_shared_hooks_are_kept() -> None:
    with staged("root") as stage:
        stage.repository()
        stage.git("commit", "-q", "--allow-empty", "-m", "one")
        stage.git("worktree", "add", "-q", str(stage.folder / "linked"))
        (stage.workspace / "file").write_text("not mine")

        ran = stage.one(
            "git commit -q --allow-empty -m two && git log --oneline | wc -l; "
            f"echo x > {stage.workspace}/.git/hooks/x; echo $?; echo x > {stage.workspace}/file; "
            "echo gitdir: x > .git; echo $?",
            workspace=stage.folder / "linked",
        )

        assert [line for line in ran[1].splitlines() if not line.startswith("bash:")] == ["2", "1", "1"]
        assert (stage.workspace / "file").read_text() == "not mine"


def test_a_git_file_that_names_a_folder_which_does_not_name_it_opens_nothing() -> None:
    with staged("root") as stage:
        other = stage.folder / "other" / ".git" / "worktrees" / "w"
        other.mkdir(parents=True)
        (other / "commondir").write_text("../..\n")
        (other / "gitdir").write_text(f"{stage.folder}/elsewhere/.git\n")
        (stage.workspace / ".git").write_text(f"gitdir: {other}\n")

        assert stage.one(f"touch {other}/x; echo $?")[1].splitlines()[-1] == "1"
