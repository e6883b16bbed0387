"""Undo beside a person who edits files while a command runs: their work stays, in every sandbox, for every user."""

from collections.abc import Sequence

import pytest
from tests.sandbox.box_kit import USERS, staged
from tests.workspace.undo_kit import command, lost_marks, play, random_round

SANDBOXES = pytest.mark.parametrize("mode", ["bubblewrap", "landlock"])
FILES = {"mine.txt": "old\n", "its.txt": "old\n"}
WORK = "echo made > out.txt; echo new > its.txt; until test -s mynew.txt; do sleep 0.02; done; echo more >> its.txt"
PERSON_AT_WORK = [
    [0, "until", "its.txt", "new"],
    [0, "save", "mine.txt", "mine\n"],
    [0, "create", "mynew.txt", "mine\n"],
]
"""The person works between two writes of `WORK`, which waits for the last thing they do."""


@USERS
@SANDBOXES
@pytest.mark.parametrize("save", ["append", "save"])
def test_edits_of_a_person_during_a_command_stay(user: str, mode: str, save: str) -> None:
    until, (_, _, *edit), create = PERSON_AT_WORK
    person = [until, [0, save, *edit], create]
    with staged(user) as stage:
        kind, (result,) = play(stage, mode, [{"files": FILES, "person": person, "command": WORK}])
    assert (kind, result["tracked"], result["complete"]) == (mode, True, True)
    assert result["after"] == {"mine.txt": "old\nmine\n", "mynew.txt": "mine\n", "its.txt": "old\n"}
    assert result["lines"] == ["Put back as before turn 1: its.txt, out.txt (removed)"]


@SANDBOXES
@pytest.mark.parametrize("writes", [0, 1, 2])
@pytest.mark.parametrize("save", ["append", "save"])
def test_a_file_that_both_changed_is_left_and_named(mode: str, writes: int, save: str) -> None:
    """Before the command touches it (the snapshot is taken first), between two of its writes, after the last."""
    steps = [[0, "append", "its.txt", "1\n"], [0, "append", "its.txt", "2\n"]]
    steps[writes:writes] = [[0, "write", "out.txt", "x"], [0, "until", "its.txt", "mine"]]
    person = [[0, "until", "out.txt", "x"], [0, save, "its.txt", "mine\n"]]
    with staged("root") as stage:
        _, (result,) = play(stage, mode, [{"files": FILES, "person": person, "command": command(steps)}])
    assert result["after"] == {"mine.txt": "old\n", "its.txt": result["before"]["its.txt"]}
    assert "mine\n" in result["after"]["its.txt"]
    assert result["lines"][0] == "Put back as before turn 1: out.txt (removed)"
    assert result["lines"][1].startswith("Not put back, changed by both `python3")
    assert (result["lines"][1].endswith("and someone else: its.txt"), result["complete"]) == (True, False)


def test_without_tracking_undo_asks_and_takes_everything_back_when_told_to() -> None:
    # Root may track outside of a sandbox, too; an ordinary user may not without giving up `sudo`.
    with staged("nobody") as stage:
        turn = {"files": FILES, "person": PERSON_AT_WORK, "command": WORK}
        _, (asked, told) = play(stage, "outside", [turn, turn | {"yes": True}])
    assert (asked["tracked"], asked["after"] == asked["before"], asked["complete"]) == (False, True, False)
    assert asked["lines"] == [
        "No file was put back for turn 1.",
        f"Not put back, changed while `{WORK[:59]}…` ran and possibly by you: its.txt, mine.txt, mynew.txt, out.txt",
        "`/undo --yes` puts these back too.",
    ]
    assert told["lines"] == ["Put back as before turn 2: its.txt, mine.txt, mynew.txt (removed), out.txt (removed)"]


def until_true(test: str) -> str:
    """A shell loop that waits until a command succeeds."""
    return f"until {test}; do sleep 0.02; done"


def until(path: str) -> str:
    """A shell loop that waits for a file."""
    return until_true(f"test -e {path}")


STOP_TRACKER = (
    "pid=$(grep -lsaz '[:] tracked' /proc/[0-9]*/cmdline | sort -V | sed -n '1s/[^0-9]//gp');"
    " tracker=$(sed -n 's/PPid:\\s*//p' /proc/$pid/status); kill -STOP $tracker"
)
"""Stop the process that tracks the command with `: tracked` in its text: the one that started its shell."""
WAITING = "grep -qsazx '0[.]021' /proc/[0-9]*/cmdline"
"""Whether the command has come to its `sleep 0.021`."""


LET = f"touch up; {until('go')}"
"""The command lets the person work; `go` is the last thing that they create."""
UP = until("up")
BESIDE = {
    "a save by rename, where mv has tried to rename twice": (
        f"{UP}; echo P > .t; mv .t its.txt",
        f"echo C > n; mv n its.txt; {LET}",
    ),
    "a save by rename while the command has the file open": (
        f"{UP}; echo P > .t; mv .t its.txt",
        f"exec 3>> its.txt; echo C >&3; {LET}; echo D >&3; exec 3>&-; sleep .3",
    ),
    "a program that keeps the file open": (
        f"exec 3>> its.txt; touch open; {UP}; echo P >&3; touch go; {until('$ENDED')}",
        f"{until('open')}; echo C >> its.txt; {LET}; echo D >> its.txt",
    ),
    "a write after the command has closed the file twice at once": (
        f"{UP}; echo P >> its.txt",
        f"(sleep .2; echo C) > its.txt 2> its.txt; {LET}",
    ),
    "a write after the command could not open the file": (
        f"{UP}; echo P >> its.txt",
        f"chmod 444 its.txt; (echo a > its.txt) || chmod 644 its.txt; chmod 644 its.txt; {LET}; echo C >> its.txt",
    ),
    "a write right after the command closed the file, on a machine too busy to notice": (
        f"{until_true('! test -s its.txt')}; {STOP_TRACKER}; touch closing; {until_true(WAITING)}; echo P >> its.txt;"
        " kill -CONT $tracker",
        f": tracked; exec 3> its.txt; {until('closing')}; echo C >&3; exec 3>&-;"
        " until test -e go; do sleep 0.021; done",
    ),
    "a folder that was put in the place of another": (
        f"mkdir ../sn; echo P > ../sn/c; {UP}; mv sub ../so; mv ../sn sub",
        f"echo C >> sub/c; {LET}; echo d > new",
    ),
    "a folder that was renamed before the command wrote to it": (
        f"{UP}; mv sub so; mv sub3 sub",
        f"{LET}; echo C >> sub/c",
    ),
    "a link where the command had removed one": (f"{UP}; ln -s P link", f"rm -f link; {LET}; echo n > new"),
    "a write after the command failed to rename the folder": (
        f"{UP}; echo P >> sub/c",
        f"echo a >> sub/c; mv -T sub sub3 || {{ {LET}; }}",
    ),
}
"""What a person does with the shell, and the command that runs at the same time."""


@pytest.mark.parametrize("case", BESIDE)
def test_what_a_person_writes_beside_a_command_stays(case: str) -> None:
    person, shell = BESIDE[case]
    files = FILES | {"sub/c": "old\n", "sub3/c": "P\n" if "renamed before" in case else "old\n"}
    user = "nobody" if "could not open" in case else "root"
    with staged(user) as stage:
        turn = {"files": files, "person": [[0, "shell", "", f"{person}; touch go"]], "command": shell}
        _, (result,) = play(stage, "bubblewrap", [turn])
    assert any("P" in text for text in result["before"].values())
    kept = {path: text for path, text in result["before"].items() if "P" in text}
    assert kept.items() <= result["after"].items()


ALONE = {
    "a file written through a link outside": "ln -s $PWD/its.txt ${TMPDIR:-/tmp}/l; echo x > ${TMPDIR:-/tmp}/l",
    "a path through /proc": "mkdir s; cd s; echo C >> /proc/self/cwd/c",
    "calls with bad pointers": (
        "python3 -c 'import ctypes as c; l = c.CDLL(None); l.unlink(c.c_void_p(2**64-1)); l.unlink(None)';"
        "echo x > its.txt"
    ),
    "a file that is created and not opened for writing": "flock made.lock true",
    "a folder that is built and then renamed": "mkdir t; echo x > t/f; mv t dist",
    "a folder that is renamed there and back": "mv sub o; echo D >> o/c; mv o sub",
    "a folder that replaces another": "mkdir t; echo x > t/c; rm -r sub; mv t sub",
    "a file that comes from outside": "t=$(mktemp); echo C > $t; mv $t its.txt; mv mine.txt $(mktemp -d)/",
}


def test_a_command_alone_is_undone_whatever_calls_it_makes() -> None:
    files = FILES | {"sub/c": "old\n"}
    with staged("root") as stage:
        turns = [{"files": files, "person": [], "command": shell} for shell in ALONE.values()]
        _, results = play(stage, "landlock", turns)
    outcomes = {case: (result["after"], result["complete"]) for case, result in zip(ALONE, results, strict=True)}
    assert outcomes == dict.fromkeys(ALONE, (files, True))


@SANDBOXES
def test_what_a_command_did_alone_is_put_back_whatever_it_was(mode: str) -> None:
    files = {"a": "a", "b": "b", "sub/c": "c", "sub/deep/d": "d"}
    shell = (
        "mv sub other; echo e > other/e; echo x >> other/c; mv a a2; ln -s b l; echo through > l; rm b; mkdir -p n/m"
    )
    shell += "; python3 -c \"open('/dev/stdout', 'w').write('hi')\" > out; cp out out2; mv out2 out3; truncate -s 0 out"
    with staged("root") as stage:
        _, (result,) = play(stage, mode, [{"files": files, "person": [], "command": shell}])
    assert (result["after"], result["complete"]) == (files, True), result["lines"]


def check_rounds(user: str, mode: str, seeds: Sequence[int]) -> None:
    with staged(user) as stage:
        _, results = play(stage, mode, [random_round(seed) for seed in seeds])
    assert [(seed, lost) for seed, result in zip(seeds, results, strict=True) if (lost := lost_marks(result))] == []


def test_no_random_interleaving_loses_anything_of_the_person() -> None:
    check_rounds("root", "bubblewrap", (187, 237, 270, *range(9)))  # the first three once did


@pytest.mark.soak
@USERS
@SANDBOXES
def test_two_hundred_random_interleavings_lose_nothing_of_the_person(user: str, mode: str) -> None:
    check_rounds(user, mode, range(100, 300))
