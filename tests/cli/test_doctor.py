"""`overt doctor`: what it finds, that it tries every wall for real, and that it leaves nothing behind."""

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator

import pytest
from tests.fakes.model_server import ModelServer
from tests.journeys.journey_kit import OVERT, Place, Ran, gone, until
from tests.sandbox.walls_kit import PACKAGE, person

from overt import __version__
from overt.sandbox import choose_sandbox
from overt.sandbox.mechanisms import landlock
from overt.sandbox.selftest.checks import NAMES

boxed = pytest.mark.skipif(not choose_sandbox.find_bubblewrap(), reason="bubblewrap is not here")
landlocked = pytest.mark.skipif(landlock.version() < 6, reason="needs a kernel with all of Landlock's walls")
root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")

ALL_HOLD = """sandbox: 12 of 12 walls hold (bubblewrap)
  ✓  1 files outside the workspace
  ✓  2 git hooks
  ✓  3 git configuration
  ✓  4 Overt's own configuration
  ✓  5 keys and credentials
  ✓  6 TCP connections
  ✓  7 UDP and name servers
  ✓  8 UNIX sockets that lead out
  ✓  9 programs outside
  ✓ 10 new privileges
  ✓ 11 number of processes
  ✓ 12 nothing outlives Overt
"""
FALL_BACK = ["sandbox: 8 of 12 walls hold (landlock)", *(f"  {'✗' if n < 5 else '✓'} {n:2}" for n in range(1, 13))]


def configured(place: Place, text: str) -> None:
    path = place.home / ".config/overt/config.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text)


def lines(done: Ran) -> list[str]:
    """The lines on the sandbox, cut to their beginning."""
    text = done.out[done.out.index("sandbox:") :]
    return [text.splitlines()[0], *re.findall(r"^  [✓✗] [ \d]\d", text, re.MULTILINE)]


@pytest.fixture
def cached(place: Place) -> Iterator[Place]:
    """A place whose cache folder is there: the stage of the self-test stands in it, and goes again."""
    (place.home / ".cache").mkdir()
    yield place
    assert sorted(path.name for path in place.home.iterdir()) in ([".cache"], [".cache", ".config"])
    assert list((place.home / ".cache").iterdir()) == []


@boxed
def test_all_is_well(cached: Place) -> None:
    done = cached.run("doctor", env={"OVERT_BASE_URL": "http://127.0.0.1:9/v1", "OVERT_MODEL": "m"})
    head, *rest = done.out.splitlines()
    system = os.uname()
    assert head.startswith(f"Overt {__version__}, Python 3.") and head.endswith(f"{system.release} {system.machine}")
    assert rest[:3] == [
        "configuration: no file, all defaults",
        f"project: {cached.work}, not trusted (overt trust vouches for it)",
        "model: environment/m at http://127.0.0.1:9/v1",
    ]
    assert "sessions: ~/.local/share/overt/sessions\n" + ALL_HOLD in done.out
    assert done.out.endswith(ALL_HOLD)
    assert (done.code, done.err) == (0, "")
    assert list(cached.work.iterdir()) == []


@boxed
def test_it_speaks_json(cached: Place) -> None:
    done = cached.run("doctor", "--json")
    said = json.loads(done.out)
    assert (done.code, said["well"], said["walls_held"]) == (0, True, 12)
    found = said["found"]
    assert [wall["name"] for wall in found["sandbox"]["checked"]["walls"]] == NAMES
    assert found["sandbox"]["state"] == {
        "kind": "bubblewrap",
        "missing": [],
        "why": "",
        "disabled": False,
        "isolated": False,
    }
    assert {program["name"] for program in found["programs"]} == {"rg", "git", "bwrap"}
    assert found["model"]["problem"].startswith("No model found.")


@boxed
def test_an_ordinary_user_has_the_same_walls() -> None:
    with person("ordinary") as one:
        no_keyring = {"PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}  # libsecret leaves folders behind
        done = one.run([one.python, "-m", "overt", "doctor"], env=no_keyring)
        assert (done.code, done.err) == (0, "")
        assert done.out.endswith(ALL_HOLD)
        assert sorted(path.name for path in one.folder.rglob("*")) == ["home", "outside", "temp", "work"]


@landlocked
def test_the_fall_back_says_what_is_missing_and_what_that_means(cached: Place) -> None:
    configured(cached, '[sandbox]\nmode = "landlock"\n')
    done = cached.run("doctor")
    assert (done.code, lines(done)) == (1, FALL_BACK)
    text = done.out[done.out.index("sandbox:") :]
    assert (
        "  ✗  1 files outside the workspace\n       commands can touch what lies outside the workspace\n"
        "       went through: change permissions\n"
        "  ✗  2 git hooks\n       commands can leave programs behind that git runs later, outside of every wall\n"
        "       went through: create a hook, change a hook, move the hooks away, move .git away\n"
    ) in text
    assert f"  ! this kind of sandbox does not hold: {', '.join(landlock.NEVER_HELD)}\n" in text
    assert text.endswith("  → sandbox.mode is landlock\n")


@landlocked
@root_only
def test_where_bubblewrap_is_hidden_the_fall_back_stands(cached: Place) -> None:
    hide = 'for path in /usr/bin/bwrap /bin/bwrap; do [ -e $path ] && mount --bind /dev/null $path; done; exec "$@"'
    done = cached.run("doctor", under=("unshare", "--mount", "sh", "-c", hide, "sh"))
    assert (done.code, lines(done)) == (1, FALL_BACK)
    assert "  ! bwrap: not there\n" in done.out
    assert "  → bubblewrap is not there: install bubblewrap (apt-get install bubblewrap" in done.out


@landlocked
@boxed
def test_where_namespaces_are_refused_the_fall_back_stands_and_the_remedy_is_named() -> None:
    script = (
        f"import os, sys; sys.path.insert(0, {PACKAGE!r})\n"
        "from overt.sandbox.mechanisms.seccomp import install\n"
        "install(True)\n"
        "os.execv(sys.executable, [sys.executable, '-m', 'overt', 'doctor'])\n"
    )
    with person("ordinary") as one:
        done = one.run([one.python, "-c", script])
        assert (done.code, done.err) == (1, "")
        assert lines(Ran(*done)) == FALL_BACK
        assert "bubblewrap could not make its namespaces" in done.out
        assert "kernel.unprivileged_userns_clone=1" in done.out


def test_a_sandbox_that_is_switched_off_is_told_and_nothing_is_tried(cached: Place) -> None:
    configured(cached, '[sandbox]\nmode = "none"\n')
    under = ("strace", "-f", "-qq", "-e", "trace=execve,mount", "-o", str(cached.work / "trace"))
    done = cached.run("doctor", under=under)
    assert (done.code, lines(done)) == (
        1,
        ["sandbox: 0 of 12 walls hold (none)", *(f"  ✗ {n:2}" for n in range(1, 13))],
    )
    assert done.out.endswith("  → sandbox.mode is none\n")
    assert "attempts.py" not in (cached.work / "trace").read_text()


@boxed
def test_a_network_that_was_allowed_is_told(cached: Place) -> None:
    configured(cached, "[sandbox]\nnetwork = true\n")
    done = cached.run("doctor")
    assert done.code == 0
    assert "  ! commands may use the network, as ~/.config/overt/config.toml:2 says; the walls" in done.out


@boxed
def test_a_broken_configuration_is_named_and_the_rest_is_still_looked_at(cached: Place) -> None:
    configured(cached, "[agent]\nmax_steps = 'many'\n")
    done = cached.run("doctor")
    assert (done.code, done.err) == (1, "")
    assert re.search(r"^  ✗ ~/.config/overt/config.toml:2: .*max_steps", done.out, re.MULTILINE)
    assert done.out.endswith(ALL_HOLD)


def test_sessions_that_cannot_be_kept_are_an_illness(cached: Place) -> None:
    (cached.work / "file").write_text("")
    done = cached.run("doctor", env={"OVERT_DATA": str(cached.work / "file")})
    assert done.code == 1
    assert "  ✗ the folder cannot be written, so no session can be kept\n" in done.out


def test_a_folder_that_is_not_there_is_told(place: Place) -> None:
    assert place.run("doctor", "-C", "nowhere") == Ran(
        1, "", "overt: -C: nowhere is not a folder; give one that exists\n"
    )


def test_a_server_on_this_machine_is_asked_and_one_beyond_it_is_not(place: Place) -> None:
    configured(place, '[sandbox]\nmode = "none"\n')
    with ModelServer([], models=("first", "second")) as server:
        done = place.run("doctor", server=server, env={"OVERT_MODEL": ""})
        assert f"model: environment/first at {server.url}\n" in done.out
    trace = place.work / "trace"
    done = place.run(
        "doctor",
        env={"OVERT_BASE_URL": "http://203.0.113.7/v1"},
        under=("strace", "-f", "-qq", "-e", "trace=connect,sendto,sendmsg", "-o", str(trace)),
    )
    assert "model: environment is at http://203.0.113.7/v1\n" in done.out
    assert "203.0.113.7" not in trace.read_text()


def test_it_speaks_chinese(place: Place) -> None:
    done = place.run("doctor", env={"LANG": "zh_CN.UTF-8"})
    assert "模型：尚未设置\n" in done.out and "沙箱：12 道防线中有 " in done.out


def test_it_has_help(place: Place) -> None:
    done = place.run("doctor", "--help")
    assert (done.code, done.out.splitlines()[0], done.err) == (0, "usage: overt doctor [flags]", "")


def test_interrupted_it_leaves_nothing_behind(cached: Place) -> None:
    cache = cached.home / ".cache"
    with subprocess.Popen(
        [OVERT, "doctor"],
        cwd=cached.work,
        env=cached.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        try:
            until(lambda: list(cache.glob("overt-self-test-*/workspace/allowed")))
            running.send_signal(signal.SIGINT)
            out, err = running.communicate(timeout=60)
        finally:
            running.kill()
    assert (running.returncode, out, err) == (130, b"", b"")
    assert gone(cached.alive) == []
