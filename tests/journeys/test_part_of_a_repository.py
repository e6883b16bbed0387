"""Working in a sub-folder of a repository: its git folder can be written, the rest of it only seen."""

import subprocess

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place, call, calls, results


def git(place: Place, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=n@example.com", *words],
        cwd=place.work,
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(place.home)},
    )
    return done.stdout


@pytest.fixture
def part(place: Place) -> Place:
    (place.work / "src").mkdir()
    (place.work / "top.txt").write_text("top\n")
    (place.work / "src" / "a.txt").write_text("a\n")
    git(place, "init", "-q")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "first")
    git(place, "config", "user.name", "n")
    git(place, "config", "user.email", "n@example.com")
    place.work = place.work / "src"
    return place


def test_a_commit_from_a_part_leaves_the_rest_as_it_is(part: Place) -> None:
    command = "echo new > n.txt; git add -A; git commit -qm second; git status --short; cat ../top.txt"
    with ModelServer([calls(call("bash", command=command)), Turn(text="done")]) as server:
        part.run("run", "go", "--yolo", server=server)
    assert results(server) == ["top"]
    assert git(part, "show", "--stat", "--format=", "HEAD").split()[:1] == ["src/n.txt"]


@pytest.mark.parametrize("place_to_write", ["../top.txt", "../new.txt", "../.git/hooks/post-commit", "../.git/config"])
def test_what_lies_beside_the_part_is_not_written(part: Place, place_to_write: str) -> None:
    script = f"open({place_to_write!r}, 'w').write('x')"
    (part.work / "w.py").write_text(script)
    before = sorted(str(path) for path in part.work.parent.rglob("*") if "objects" not in path.parts)
    with ModelServer([calls(call("bash", command="python3 w.py")), Turn(text="done")]) as server:
        part.run("run", "go", "--yolo", server=server)
    assert "blocked by the sandbox" in results(server)[0]
    assert sorted(str(path) for path in part.work.parent.rglob("*") if "objects" not in path.parts) == before
    assert (part.work.parent / "top.txt").read_text() == "top\n"
