"""`overt sessions` and its neighbours as a person meets them: nothing there, no room, and words for all of it."""

import json
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place, Ran, call, calls

from overt.cli import subcommands
from overt.lib.module_discovery import find_module, module_names

CLEAN = {"PYTHONDONTWRITEBYTECODE": "1"}


def id_of(path: Path) -> str:
    return path.stem.partition("-")[2]


def within(path: Path) -> tuple[str, ...]:
    """Before a program: no file may grow beyond the size of this one, which is what a full disk is to it."""
    return ("bash", "-c", f'ulimit -f {path.stat().st_size // 1024}; exec "$@"', "-")


def test_where_there_is_no_session_yet_this_is_said(place: Place) -> None:
    assert place.run("sessions") == Ran(
        0, "", "overt: there is no session yet in this project (--all looks at every one)\n"
    )
    assert place.run("sessions", "--all") == Ran(0, "", "overt: there is no session yet\n")
    assert place.run("sessions", "search", "a", "b") == Ran(
        1, "", "overt: no session of this project (--all looks at every one) has a line with all of: a b\n"
    )
    for words in (("context",), ("undo",), ("run", "-c", "go on")):
        assert place.run(*words) == Ran(1, "", f"overt: There is no session in {place.work} yet.\n"), words


def test_a_broken_configuration_hides_no_session(place: Place) -> None:
    with ModelServer([Turn(text="fine")]) as server:
        place.run("run", "hello", server=server)
    id = id_of(place.session())
    (place.work / "overt.toml").write_text("[permissions\n")
    assert id in place.run("sessions").out
    assert place.run("sessions", "show", id).out == "\n› hello\nfine\n"
    assert place.run("sessions", "-C", "missing").err == "overt: -C: missing is not a folder; give one that exists\n"
    for words in (("stats",), ("sessions", "rename", id, "other")):
        refused = place.run(*words)
        assert (refused.code, refused.err[:20]) == (1, "overt: overt.toml:1:"), words


def test_a_session_is_shown_with_what_went_along_and_what_the_program_did(place: Place) -> None:
    (place.work / "a.txt").write_text("one\n")
    (place.work / "sub").mkdir()
    (place.work / "sub/b.txt").write_text("two\n")
    (place.work / "sub/AGENTS.md").write_text("Use tabs.\n")
    edit = call("edit", path="a.txt", old_string="one", new_string="three")
    with ModelServer([calls(edit), Turn(text="done")]) as server:
        place.run("run", "look at @a.txt and @sub/b.txt", server=server)
    undone = place.run("undo")
    assert undone == Ran(0, "Put back as before turn 1: a.txt\n", "")
    shown = place.run("sessions", "show", id_of(place.session())).out
    assert shown.startswith(
        "  + a.txt:1\n  + sub/b.txt:1\n  + sub/AGENTS.md (rules)\n\n› look at @a.txt and @sub/b.txt\n● edit a.txt\n"
    )
    assert "(Files put back (undo): a.txt)\n[overt] The user put files back." in shown
    found = place.run("sessions", "search", "two").out.splitlines()
    assert [line.split()[2] for line in found[1:]] == ["file"]


def test_what_a_server_had_from_another_session_counts_as_cached(place: Place) -> None:
    with ModelServer([Turn(text="ok")], after="repeat") as server:
        place.run("run", "hi", server=server)
        place.run("run", "hello", server=server)
    spans = json.loads(place.run("context", "--json").out)["spans"]
    marks = [(span["key"], span["cached"]) for span in spans if span["key"] in ("tool:read", "system")]
    assert marks == [("tool:read", "yes"), ("system", "yes")]


def test_a_name_that_could_not_be_written_is_not_said_to_be_there(place: Place) -> None:
    with ModelServer([Turn(text="ok")]) as server:
        place.run("run", "hi", server=server)
    path = place.session()
    before = path.read_bytes()
    done = place.run("sessions", "rename", id_of(path), "x" * 900, under=within(path), env=CLEAN)
    assert done == Ran(
        1, "", f"overt: {path} cannot be written, so the session keeps its name. Make room on its disk.\n"
    )
    assert path.read_bytes() == before


def test_an_undo_from_a_damaged_record_says_so(place: Place) -> None:
    (place.work / "a.txt").write_text("one\n")
    edit = call("edit", path="a.txt", old_string="one", new_string="two")
    with ModelServer([calls(call("read", path="a.txt"), edit), Turn(text="done")]) as server:
        place.run("run", "change it", server=server)
    path = place.session()
    lines = path.read_bytes().split(b"\n")
    (at,) = [number for number, line in enumerate(lines) if b'"type":"user"' in line]
    lines[at] = lines[at].replace(b"change", b"chance")
    path.write_bytes(b"\n".join(lines))
    told = "The record of this session is damaged, so some changes may be unknown here: "
    told += f"line {at + 1}: entry {at + 1} was changed (its sum does not fit) and was left out"
    assert place.run("undo", "--list").out.splitlines()[-1] == told
    assert place.run("undo") == Ran(0, f"Put back as before turn 1: a.txt\n{told}\n", "")
    path.unlink()  # else the place would find it damaged


def test_an_undo_that_could_not_be_recorded_says_so(place: Place) -> None:
    (place.work / "a.txt").write_text("one\n")
    edit = call("edit", path="a.txt", old_string="one", new_string="two")
    with ModelServer([calls(call("read", path="a.txt"), edit), Turn(text="done")]) as server:
        place.run("run", "change it", server=server)
    path = place.session()
    done = place.run("undo", under=within(path), env=CLEAN)
    assert (done.code, (place.work / "a.txt").read_text()) == (0, "one\n")
    assert done.out.splitlines() == [
        "Put back as before turn 1: a.txt",
        f"This could not be recorded, so --redo cannot take it back: {path} cannot be written.",
    ]


@pytest.mark.parametrize("words", [("tools",), ("config",), ("--help",)])
def test_output_that_cannot_be_written_is_no_internal_error(place: Place, words: tuple[str, ...]) -> None:
    told = "overt: the output could not be written: No space left on device\n"
    assert place.run(*words, closed=">/dev/full") == Ran(1, "", told)


def test_the_help_names_every_command(place: Place) -> None:
    names = module_names(subcommands)
    assert all(callable(vars(find_module("overt.cli.subcommands", name))["run"]) for name in names)
    told = place.run("--help").out
    assert [name for name in names if f" {name} " not in told.replace("\n", " ")] == []


SLOW = call("bash", id="slow", command="sleep 0.1; echo slow")
PARALLEL = calls(SLOW, call("read", id="quick", path="a.txt"), call("read", id="gone", path="b.txt"))


def test_results_of_parallel_calls_are_shown_below_their_calls(place: Place) -> None:
    (place.work / "a.txt").write_text("".join(f"line {number}\n" for number in range(1, 10)))
    with ModelServer([PARALLEL, Turn(text="done")]) as server:
        told = place.run("run", "--verbose", "look", server=server)
    shown = place.run("sessions", "show", id_of(place.session())).out
    assert shown.endswith(
        "\n● bash sleep 0.1; echo slow\n  slow\n"
        "● read a.txt\n       1\tline 1\n       2\tline 2\n       3\tline 3\n"
        "       4\tline 4\n       5\tline 5\n       6\tline 6\n  … 3 more lines\n"
        "● read b.txt\n  ✗ failed\n  b.txt does not exist. Did you mean a.txt?\ndone\n"
    )
    lines = told.err.splitlines()
    assert lines[:3] == ["→ bash sleep 0.1; echo slow", "→ read a.txt", "→ read b.txt"]
    assert lines[lines.index("← bash sleep 0.1; echo slow") + 1] == "  ✓ slow"
    assert lines[lines.index("← read a.txt") + 1].startswith("  ✓      1\tline 1")
