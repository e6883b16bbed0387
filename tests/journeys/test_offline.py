"""Offline means offline: every connection of a whole run, as the kernel saw it."""

import re
import subprocess

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place, call, calls
from tests.providers.proxy_kit import FakeProxy

INET = re.compile(r"sa_family=AF_INET6?, .*?(?:inet_addr\(\"([^\"]+)\"\)|inet_pton\(AF_INET6, \"([^\"]+)\")")
NAMES = re.compile(r"htons\(53\)|systemd/resolve")


def traced(place: Place, *words: str, **env: str) -> tuple[int, str, str]:
    """Run under strace: the exit code, what was said, and every line about a connection or a packet to an address."""
    trace = place.home.parent / "trace"
    watch = ["strace", "-f", "-qq", "-s", "200", "-e", "trace=connect,sendto,sendmsg,sendmmsg", "-o", str(trace)]
    done = place.run(*words, env=env, under=watch)
    lines = [line for line in trace.read_text(errors="replace").splitlines() if "sa_family" in line]
    return done.code, done.out + done.err, "\n".join(lines)


def hosts(trace: str) -> set[str]:
    return {found[1] or found[2] for line in trace.splitlines() if (found := INET.search(line))}


def assert_nothing_left(trace: str) -> None:
    assert {host for host in hosts(trace) if not (host.startswith("127.") or host == "::1")} == set()
    assert NAMES.search(trace) is None, trace


@pytest.mark.parametrize("stated", [True, False])
def test_a_whole_run_speaks_to_this_machine_only_and_asks_no_name_server(place: Place, stated: bool) -> None:
    script = [
        calls(call("bash", command="echo hi > made.txt"), call("write", path="new.txt", content="x")),
        Turn(text="done"),
    ]
    far = "http://proxy.example.test:3128"
    with ModelServer(script) as server:
        environ = {
            "OVERT_BASE_URL": server.url.replace("127.0.0.1", "localhost"),
            "OVERT_MODEL": "fake-model",
            "HTTP_PROXY": far,
            "HTTPS_PROXY": far,
            "ALL_PROXY": far,
            **({"OVERT_OFFLINE": "1"} if stated else {}),
        }
        code, said, trace = traced(place, "run", "go", "--yolo", **environ)
        assert len(server.posts) == 2, said
    assert code == 0, said
    assert (place.work / "made.txt").read_text() == "hi\n"
    assert "127.0.0.1" in hosts(trace)
    assert_nothing_left(trace)


def test_a_server_elsewhere_is_refused_before_anything_leaves(place: Place) -> None:
    environ = {"OVERT_BASE_URL": "https://api.example.test/v1", "OVERT_MODEL": "m", "OVERT_OFFLINE": "1"}
    code, said, trace = traced(place, "run", "go", **environ)
    assert code == 1 and "offline" in said and "OVERT_OFFLINE" in said
    assert hosts(trace) == set()


@pytest.mark.parametrize("words", [("run", "go"), ("models",)])
def test_a_search_for_models_asks_this_machine_only(place: Place, words: tuple[str, ...]) -> None:
    _, _, trace = traced(place, *words, OVERT_OFFLINE="1", OVERT_API_KEY="", OPENAI_API_KEY="sk-unused-0123456789")
    assert_nothing_left(trace)


@pytest.mark.parametrize("up", [True, False])
def test_one_vendor_is_listed_from_the_catalogue_when_only_this_machine_is_configured(place: Place, up: bool) -> None:
    """Also when the server that is configured does not answer, so that no model is in use."""
    lying = {"DEEPSEEK_API_KEY": "sk-unused-0123456789"}
    with ModelServer() as server:
        base = server.url if up else "http://127.0.0.1:9/v1"
        _, said, trace = traced(place, "models", "deepseek", OVERT_BASE_URL=base, OVERT_API_KEY="", **lying)
    assert "deepseek/deepseek-v4-pro" in said
    assert "deepseek was not asked: only servers on this machine are configured" in said
    assert_nothing_left(trace)


def test_no_network_at_all_is_said_in_words(place: Place) -> None:
    alone = ["unshare", "--map-root-user", "--net"]
    if subprocess.run([*alone, "true"], capture_output=True, check=False, timeout=20).returncode:
        pytest.skip("this machine gives no network of its own to a program")
    config = place.home / ".config/overt/config.toml"
    config.parent.mkdir(parents=True)
    for url, words in (
        ("https://api.example.test/v1", ("api.example.test", "name")),
        ("http://192.0.2.1/v1", ("192.0.2.1", "no network that leads to it")),
    ):
        config.write_text(f'[[providers]]\nname = "far"\nbase_url = "{url}"\nmodel = "m"\nattempts = 1\n')
        done = place.run("run", "go", under=alone)
        assert done.code == 1
        assert [word for word in words if word not in done.err] == [], done.err


def test_a_proxy_of_the_environment_is_used_for_a_server_elsewhere(place: Place) -> None:
    """The other side of it: where requests may leave, they leave the way the environment names."""
    with ModelServer([Turn(text="through")]) as server, FakeProxy(server.port) as proxy:
        environ = {
            "OVERT_BASE_URL": "http://api.example.test/v1",
            "OVERT_MODEL": "m",
            "HTTP_PROXY": f"http://127.0.0.1:{proxy.port}",
        }
        done = place.run("run", "go", env=environ)
        assert (done.code, done.out) == (0, "through\n"), done.err
        assert proxy.asked == ["POST http://api.example.test/v1/chat/completions"]
