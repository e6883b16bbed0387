"""A command that was read as harmless is harmless: it cannot write, whatever it really does."""

import pytest
from tests.sandbox.box_kit import USERS, Stage, staged

WRITERS = [
    "echo x > new.txt",
    "echo x >> kept.txt",
    ": > kept.txt",
    "rm kept.txt",
    "mv kept.txt other.txt",
    "mkdir folder",
    "rmdir empty",
    "ln -s kept.txt link",
    "ln kept.txt hard",
    "cp kept.txt copy.txt",
    "truncate -s 0 kept.txt",
    "find . -name kept.txt -delete",
    "sed -i s/k/x/ kept.txt",
    "(setsid sh -c 'echo x > late.txt' &) ; sleep 0.1; false",
    "python3 -c \"open('kept.txt', 'w')\"",
]
READERS = """set -e
cat kept.txt; ls > /dev/null; grep -c kept kept.txt; sort kept.txt | uniq -c | wc -l
diff <(echo a) <(echo a); test -f "$(mktemp)"; cat <<END
$(git log --oneline | wc -l)
END
git status --short > /dev/null; git diff --stat
awk '{ print NF }' kept.txt; echo err >&2; python3 --version > /dev/null"""


def state(stage: Stage) -> list[tuple[str, int, bytes]]:
    paths = sorted(path for path in stage.workspace.rglob("*") if ".git" not in path.parts)
    return [(path.name, path.lstat().st_mode, path.read_bytes() if path.is_file() else b"") for path in paths]


@USERS
@pytest.mark.parametrize("mode", ["bubblewrap", "landlock"])
def test_nothing_is_changed_by_what_only_reads(user: str, mode: str) -> None:
    with staged(user) as stage:
        stage.repository()
        (stage.workspace / "kept.txt").write_text("kept\n")
        (stage.workspace / "empty").mkdir()
        stage.give()
        before = state(stage)

        _, *results = stage.run(*WRITERS, mode=mode, reading=True)

        assert [command for command, (code, *_) in zip(WRITERS, results, strict=True) if code == 0] == []
        assert state(stage) == before
        assert results[0][2] == "write to new.txt was blocked by the sandbox"


@USERS
def test_readers_read(user: str) -> None:
    with staged(user) as stage:
        stage.repository()
        (stage.workspace / "kept.txt").write_text("kept\n")
        stage.give()

        _, made, read = stage.run("git add . && git commit -qm kept", READERS, reading=False)
        assert made[0] == 0
        code, text, _ = stage.one(READERS, reading=True)

        assert (code, text) == (0, read[1])
        assert text.split() == ["kept", "1", "1", "1", "1", "err"]
