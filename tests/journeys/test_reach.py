"""Commands judged by their reach: everyday work runs without a person, what cannot be taken back does not."""

import random
import shlex
import subprocess

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place, call, calls, results

FILES = {
    "src/app.py": "VALUE = 1\n\n\ndef double(x):\n    return 2 * x\n",
    "src/old.py": "OLD = 1\n",
    "notes.txt": "one\ntwo\n",
    "run.sh": "#!/bin/sh\necho ran\n",
    "docs/a.md": "# A\n",
    "Makefile": "all:\n\techo built\n",
}
IGNORED = {".env": "SECRET=1\n", "node_modules/x/index.js": "x\n", "build/app.o": "o\n", "src/__pycache__/a.pyc": "c"}


def git(place: Place, *words: str) -> str:
    identity = ("-c", "user.name=n", "-c", "user.email=n@x")
    done = subprocess.run(["git", *identity, *words], cwd=place.work, check=True, capture_output=True, text=True)
    return done.stdout


@pytest.fixture
def repository(place: Place) -> Place:
    for name, text in (FILES | IGNORED).items():
        (place.work / name).parent.mkdir(parents=True, exist_ok=True)
        (place.work / name).write_text(text)
    (place.work / ".gitignore").write_text(".env\nnode_modules/\nbuild/\n__pycache__/\n")
    git(place, "init", "-q", "-b", "main")
    git(place, "config", "user.name", "n")
    git(place, "config", "user.email", "n@x")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "first")
    (place.home / "x").mkdir()
    (place.home / "x" / "letter.txt").write_text("dear\n")
    return place


def work(place: Place, *commands: str, flags: tuple[str, ...] = ("--permission-mode", "auto")) -> list[str]:
    """Run these commands one after the other, without a person; what the model was told of each."""
    turns = [*(calls(call("bash", command=command)) for command in commands), Turn(text="done")]
    with ModelServer(turns) as server:
        place.run("run", "go", *flags, server=server)
        return results(server)


def content(place: Place) -> dict[str, str]:
    paths = [*FILES, *IGNORED, ".gitignore"]
    return {name: (place.work / name).read_text() for name in paths if (place.work / name).exists()}


EVERYDAY = (
    "rm docs/a.md && rmdir docs",
    "mv notes.txt src/notes.txt",
    "sed -i 's/VALUE = 1/VALUE = 2/' src/app.py",
    "perl -pi -e 's/VALUE = 2/VALUE = 3/' src/app.py",
    "chmod +x run.sh && ./run.sh",
    "git mv src/old.py src/older.py",
    "git rm --cached -q run.sh",
    "cd src && python3 - <<'E'\nimport app\nassert app.double(2) == 4\nprint(app.VALUE)\nE",
    "cd src && python3 -c 'import app; print(app.double(21))'",
    "sleep 60 & kill $!; wait; echo ended",
    "sleep 60 & pkill -P $$ sleep; echo ended",
    "rm -rf node_modules build src/__pycache__",
    "echo first > /tmp/out.log; echo again > /tmp/out.log; rm /tmp/out.log",
    "for f in app older; do wc -l src/$f.py > /tmp/before_$f.log; done; cat /tmp/before_app.log",
    "D=$(mktemp -d); touch \"$D/a\"; rm -rf \"$D\"; echo gone",
    "echo new > run.sh",
    "printf '%s\\n' 'one' > src/notes.txt",
    "grep -rl VALUE src | xargs sed -i 's/VALUE/SIZE/'",
    "find . -name '*.pyc' -delete",
    "PATH=\"$PWD/bin:$PATH\" make -s all",
    "git checkout -q -- Makefile",
    "git restore src/app.py",
    "git add -A && git commit -qm second && git commit -q --amend -m third",
    "git reset -q --hard HEAD~1",
    "echo x > loose.txt && git clean -fdq loose.txt",
    "git branch topic && git branch -D topic",
    "tar cf /tmp/a.tar Makefile && tar xf /tmp/a.tar -C /tmp",
    "git diff > /tmp/x.patch; git stash -q || true",
    "eval 'echo evaluated'",
    "install -m 755 run.sh copy.sh",
    "cp run.sh Makefile",
)  # fmt: skip


def test_everyday_commands_run_without_a_person_and_undo_brings_every_covered_file_back(repository: Place) -> None:
    before = content(repository)
    answers = work(repository, *EVERYDAY)
    refused = {command: answer for command, answer in zip(EVERYDAY, answers, strict=True) if "Denied" in answer}
    failed = {command: answer for command, answer in zip(EVERYDAY, answers, strict=True) if "exit code" in answer}
    assert (refused, failed) == ({}, {})
    assert answers[0].endswith("[overt] /undo brings this back")
    assert answers[11].endswith("node_modules, build, src/__pycache__ can be rebuilt")
    undone = repository.run("undo", "--yes").out
    after = content(repository)
    lost = {"node_modules/x/index.js", "build/app.o", "src/__pycache__/a.pyc"}
    assert {name: text for name, text in before.items() if name not in lost} == after
    assert "node_modules" in undone and "build" in undone and "/tmp/ (outside the workspace)" in undone


def test_files_left_in_the_temporary_folder_are_named_and_undo_still_succeeds(repository: Place) -> None:
    work(repository, "echo kept > /tmp/kept.txt; echo gone > /tmp/gone.txt; rm /tmp/gone.txt; rm notes.txt")
    undone = repository.run("undo")
    assert (undone.code, (repository.work / "notes.txt").read_text()) == (0, FILES["notes.txt"])
    assert "/tmp/ (outside the workspace)" in undone.out
    work(repository, "echo gone > /tmp/gone.txt; rm /tmp/gone.txt; rm notes.txt")
    assert "/tmp" not in repository.run("undo").out


PATCH = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"
MORE = (
    f"cat > fix.patch <<'E'\n{PATCH}E",
    "patch -p1 < fix.patch",
    "git checkout -q notes.txt && git apply fix.patch",
    "tar cf /tmp/all.tar src notes.txt && tar xf /tmp/all.tar",
    "zip -qr /tmp/docs.zip docs 2>/dev/null && unzip -qo /tmp/docs.zip; true",
    "git add -A && git commit -qm second && git branch base HEAD~1 && git rebase -q base",
    "git reset -q --soft HEAD~1 && git restore --staged .",
    "for f in src/*.py; do sed -i 's/1/7/' \"$f\"; done",
    "for f in $(git ls-files '*.md'); do mv \"$f\" \"${f%.md}.rst\"; done",
    "git ls-files '*.txt' | while read f; do cp \"$f\" \"$f.bak\"; done",
    "rm -rf $(find . -name __pycache__)",
    "cargo clean 2>/dev/null; node -e 'console.log(1)' 2>/dev/null; rsync -a src/ copy/ 2>/dev/null; true",
    "git checkout -q HEAD -- . && git clean -fdq",
)  # fmt: skip


def test_archives_patches_rebases_and_loops_run_where_nothing_ignored_can_be_lost(repository: Place) -> None:
    (repository.work / ".env").unlink()
    before = content(repository)
    answers = work(repository, *MORE)
    trouble = {
        command: answer
        for command, answer in zip(MORE, answers, strict=True)
        if "Denied" in answer or "exit code" in answer
    }
    assert "\n".join(f"{key}: {value}" for key, value in trouble.items()) == ""
    repository.run("undo", "--yes")
    after = content(repository)
    assert {name: text for name, text in before.items() if "__pycache__" not in name} == after


def test_a_stash_with_untracked_files_comes_back(repository: Place) -> None:
    (repository.work / "loose.txt").write_text("loose\n")
    stashed, popped = work(repository, "git stash -u", "git stash pop")
    assert "Saved working directory" in stashed and "Dropped refs/stash" in popped
    assert (repository.work / "loose.txt").read_text() == "loose\n"


def test_cleaning_the_whole_work_tree_works(repository: Place) -> None:
    _, answer = work(repository, "echo x > loose.txt", "git clean -fd")
    assert "Removing loose.txt" in answer and "exit code" not in answer


FINAL = {
    "rm -rf ~/x": "--allowedTools 'bash(rm *)'",
    "rm .env": "--allowedTools 'bash(rm *)'",
    "git push --force origin main": "--allowedTools 'bash(git push --force *)'",
    "curl -s https://example.com": "--network",
    "rm -rf .git": "--allowedTools 'bash(rm *)'",
    "mv .env ~/env": "--allowedTools 'bash(mv *)'",
    "git clean -fdx": "--allowedTools 'bash(git clean *)'",
    "echo x > .env": "chat",
    "git reflog expire --expire=now --all": "--allowedTools 'bash(git reflog expire *)'",
    "sudo rm notes.txt": "--allowedTools",
}


@pytest.mark.parametrize("mode", ["auto", "yolo"])
def test_what_cannot_be_taken_back_is_refused_with_a_way_forward(repository: Place, mode: str) -> None:
    before = content(repository)
    answers = work(repository, *FINAL, flags=("--permission-mode", mode))
    for (command, way), answer in zip(FINAL.items(), answers, strict=True):
        assert answer.startswith("[overt] Denied"), command
        assert "the run is non-interactive" in answer and way in answer, command
    assert content(repository) == before
    assert (repository.home / "x" / "letter.txt").exists()


@pytest.mark.parametrize(
    "settings",
    ["[undo]\nenabled = false\n", "[undo]\nmax_file = '1 KB'\n", "[permissions]\ndangerous_policy='always'\n"],
)
def test_losing_a_file_is_final_where_undo_does_not_cover_it(repository: Place, settings: str) -> None:
    file = repository.home / ".config" / "overt" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(settings)
    (repository.work / "notes.txt").write_text("x" * 2000)
    (answer,) = work(repository, "rm notes.txt", flags=("--yolo",))
    assert answer.startswith("[overt] Denied (final, guard)")
    assert (repository.work / "notes.txt").exists()


@pytest.mark.parametrize("flags", [(), ("--permission-mode", "auto")])
def test_a_sandbox_that_lacks_walls_approves_no_command(repository: Place, flags: tuple[str, ...]) -> None:
    file = repository.home / ".config" / "overt" / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("[sandbox]\nmode = 'landlock'\n")
    plant = "open('.git/hooks/post-commit', 'w').write('x'); open('overt.toml', 'w').write('x')"
    commands = (f'python3 -c "{plant}"', "rm notes.txt", "cat notes.txt")
    planted, removed, shown = work(repository, *commands, flags=flags)
    assert planted.startswith("[overt] Denied") and "no complete sandbox" in planted
    assert removed.startswith("[overt] Denied") and "the sandbox lacks walls" in removed
    assert shown.startswith("one\ntwo")
    assert not (repository.work / "overt.toml").exists() and (repository.work / "notes.txt").exists()


TEN_FINAL = ("rm -rf ~/x", "rm .env", "mv .env gone", "rm -rf .git", "git push --force", "git clean -fdx",
             "echo > .env", "truncate -s0 .env", "find . -delete", "git reflog expire --expire=now --all")  # fmt: skip
WRAPPINGS = (
    "env A=1 {}", "nice -n 5 {}", "timeout -k 1 5 {}", "command {}", "( {} )", "{{ {}; }}", "true && {}",
    "false || {}", "ls; {}", "if true; then {}; fi", "for i in 1; do {}; done", "f() {{ {}; }}; f", "echo $({})",
    "echo \"$({})\"", "x=$({})", "A=b {}", "bash -c {q}", "sh -c {q}", "eval {q}", "trap {q} EXIT", "bash <<< {q}",
    "sh <<'EOF'\n{}\nEOF", "env -S {q}", "bash -lc {q}", "echo {q} | sh", "x={q}; eval \"$x\"", "x={q}; $x",
    "bash -c \"$(printf %s {q})\"", "find . -maxdepth 0 -exec sh -c {q} ';'", "echo a | xargs -I_ sh -c {q}",
)  # fmt: skip


def wrap(command: str, rng: random.Random) -> str:
    for _ in range(rng.randint(1, 3)):
        chosen = rng.choice(WRAPPINGS)
        if "EOF" in command or (chosen.endswith("; $x") and not command.replace(" ", "").replace("-", "").isalnum()):
            chosen = "bash -c {q}"  # a variable is only cut into words
        command = chosen.format(command, q=shlex.quote(command))
    return command


def check_wrappings(repository: Place, count: int, seed: int, mode: str) -> None:
    rng = random.Random(seed)
    commands = [wrap(rng.choice(TEN_FINAL), rng) for _ in range(count)]
    before = content(repository)
    answers = work(repository, *commands, flags=("--permission-mode", mode, "--max-turns", str(count + 5)))
    ran = [
        command for command, answer in zip(commands, answers, strict=True) if not answer.startswith("[overt] Denied")
    ]
    assert ran == []
    assert content(repository) == before
    assert (repository.home / "x" / "letter.txt").exists() and git(repository, "rev-parse", "HEAD")


def test_no_wrapping_of_a_final_command_runs(repository: Place) -> None:
    check_wrappings(repository, 15, 4, "yolo")


@pytest.mark.soak
@pytest.mark.parametrize("mode", ["auto", "yolo", "review"])
def test_none_of_two_hundred_wrappings_of_a_final_command_runs(repository: Place, mode: str) -> None:
    for part in range(5):
        check_wrappings(repository, 40, 100 + part, mode)


DETOURS = (
    "git checkout old -- .env",
    "git checkout old -- .",
    "git checkout -f old",
    "git restore --source=old .env",
    "git reset --hard old",
    "git read-tree -u --reset old",
    "git stash --all; git stash drop",
    "git config -f .env user.name x",
    "rm .gitignore && git clean -fd",
    "echo > .gitignore; git clean -fd",
    "git clean -fd -e '!.env'",
    "git ls-files -o | xargs rm",
    "git ls-files --others --ignored --exclude-standard | xargs rm",
    "git ls-tree -r --name-only old | xargs rm -f",
    "git diff --name-only old | xargs rm -f",
    "ls -d .e* | xargs rm",
    "ls .env | xargs rm",
    "ls -A tpl | xargs rm",
    "grep -l -eSECRET .env notes.txt | xargs rm",
    "grep -Rl key keys | xargs rm",
    "find keys/ -type f -delete",
    "find keys -follow -type f -delete",
    "cd keys && find . -delete",
    "rm -r keys/",
    "rm link/../local.env",
    "cd link && rm ../local.env",
    "echo x > link/../local.env",
)
"""Ways to lose a file that undo does not cover without naming it."""


@pytest.mark.parametrize("mode", ["auto", "yolo"])
def test_no_detour_loses_what_undo_does_not_cover(repository: Place, mode: str) -> None:
    precious = {".env": "SECRET=1\n", "secrets/key.txt": "key\n", "src/local.env": "SECRET=2\n"}
    git(repository, "checkout", "-q", "-b", "old")
    (repository.work / ".env").write_text("OLD=1\n")
    git(repository, "add", "-f", ".env")
    git(repository, "commit", "-qm", "holds what is ignored later")
    git(repository, "checkout", "-q", "main")
    (repository.work / ".gitignore").write_text("*.env\nsecrets/\nnode_modules/\nbuild/\n__pycache__/\n!tpl/.env\n")
    for name, text in {**precious, "tpl/.env": "", "src/deep/a.txt": ""}.items():
        (repository.work / name).parent.mkdir(parents=True, exist_ok=True)
        (repository.work / name).write_text(text)
    (repository.work / "keys").symlink_to("secrets")
    (repository.work / "link").symlink_to("src/deep")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "second")
    answers = work(repository, *DETOURS, flags=("--permission-mode", mode))
    ran = [command for command, answer in zip(DETOURS, answers, strict=True) if not answer.startswith("[overt] Denied")]
    assert ran == []
    assert {name: (repository.work / name).read_text() for name in precious} == precious


def test_a_staged_file_that_is_ignored_is_not_lost_with_the_index(repository: Place) -> None:
    added, reset = work(repository, "git add -f .env", "git reset --hard")
    assert "Denied" not in added and reset.startswith("[overt] Denied")
    assert (repository.work / ".env").read_text() == IGNORED[".env"]


@pytest.mark.xfail(
    strict=True, reason="open: which files a patch names is not read, so undo is promised for an ignored one"
)
@pytest.mark.parametrize("command", ["git apply fix.patch", "patch -p1 < fix.patch", "patch -p1 -i fix.patch"])
def test_a_patch_does_not_change_an_ignored_file(repository: Place, command: str) -> None:
    (repository.work / "fix.patch").write_text("--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-SECRET=1\n+SECRET=2\n")
    work(repository, command)
    assert (repository.work / ".env").read_text() == IGNORED[".env"]


@pytest.mark.xfail(strict=True, reason="open: going to a commit that holds a file which is ignored now is not judged")
@pytest.mark.parametrize("command", ["git checkout old", "git switch old", "git cherry-pick old"])
def test_another_branch_does_not_replace_an_ignored_file(repository: Place, command: str) -> None:
    git(repository, "checkout", "-q", "-b", "old")
    (repository.work / ".env").write_text("OLD=1\n")
    git(repository, "add", "-f", ".env")
    git(repository, "commit", "-qm", "holds what is ignored later")
    git(repository, "checkout", "-q", "main")
    (repository.work / ".env").write_text(IGNORED[".env"])
    work(repository, command)
    assert (repository.work / ".env").read_text() == IGNORED[".env"]


@pytest.mark.parametrize(
    "command", ["ln -s .env x && echo a > x", "ln .env x; echo a > x", "ln -s . here; rm here/.env"]
)
def test_a_link_made_by_the_same_line_does_not_hide_what_it_leads_to(repository: Place, command: str) -> None:
    work(repository, command)
    assert (repository.work / ".env").read_text() == IGNORED[".env"]


@pytest.mark.parametrize(
    "command",
    [
        "zip -m z.zip .env",
        pytest.param(
            "git add -f .env && git reset --hard",
            marks=pytest.mark.xfail(strict=True, reason="open: the index is looked at before the line runs"),
        ),
    ],
)
def test_an_ignored_file_is_not_taken_away_by_another_name_for_deleting(repository: Place, command: str) -> None:
    work(repository, command)
    assert (repository.work / ".env").read_text() == IGNORED[".env"]
