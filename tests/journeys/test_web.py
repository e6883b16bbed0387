"""The program reads the web: a page on a public address, inside of a network namespace."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place, call, calls, results
from tests.providers.web_kit import PageServer, html

ROOT = Path(__file__).parent.parent.parent
UNSHARE = ["unshare", *(() if os.geteuid() == 0 else ("--map-root-user",)), "--net", "--mount"]


def why_no_namespace() -> str:
    """Return why a network namespace cannot be set up here, or an empty string."""
    if not shutil.which("unshare") or not shutil.which("ip", path=f"{os.environ['PATH']}:/usr/sbin:/sbin"):
        return "unshare (util-linux) and ip (iproute2) are needed"
    attempt = subprocess.run([*UNSHARE, "ip", "link", "set", "lo", "up"], capture_output=True, text=True, check=False)
    return f"no namespaces here: {attempt.stderr.strip()}" if attempt.returncode else ""


def test_a_page_on_a_public_address_is_fetched_answered_cached_and_shown_as_outside(tmp_path: Path) -> None:
    if why := why_no_namespace():
        pytest.skip(why)
    command = [*UNSHARE, sys.executable, "-m", "tests.journeys.web_namespace", str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout.splitlines()[-1])
    assert (facts["code"], facts["out"]) == (0, "done\n"), facts["err"]
    first, again, inward, trap = facts["results"]
    assert "Three: `retries = 3`." in first and "The guide" in first and "from the cache" not in first
    assert "Three: `retries = 3`." in again and "from the cache" in again
    assert facts["requests"] == [["/guide", "docs.example.org"], ["/inward", "docs.example.org"]]
    assert "http://trap.example.org:8099/secret on another host" in inward
    assert "trap.example.org (127.0.0.1) was refused" in trap and facts["trapped"] == []
    assert "outside http://docs.example.org/guide" in facts["context"]
    assert facts["posts"] == 6


def fetch_on_localhost(place: Place, *flags: str, config: str = "", project: str = "") -> tuple[str, list[str]]:
    """Run the program with a page on localhost. Return the result that the model got, and the paths that were asked."""
    folder = place.home / ".config" / "overt"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text(f'offline = false\n[tools]\nenabled = ["webfetch"]\n{config}')
    if project:
        (place.work / "overt.toml").write_text(project)
        place.run("trust")
    with PageServer({"/": html("from inside")}) as site:
        script = [calls(call("WebFetch", url=f"http://localhost:{site.port}/")), Turn(text="done")]
        with ModelServer(script) as server:
            place.run("run", "go", *flags, server=server)
    return results(server)[0], site.paths


def test_a_rule_of_the_user_opens_localhost(place: Place) -> None:
    rule = "webfetch(domain:localhost)"
    assert "from inside" in fetch_on_localhost(place, "--allowedTools", "WebFetch(domain:localhost)")[0]
    assert "from inside" in fetch_on_localhost(place, config=f'[permissions]\nallow = ["{rule}"]\n')[0]


@pytest.mark.parametrize(
    "flags", [("--yolo",), ("--allowedTools", "webfetch"), ("--allowedTools", "webfetch(domain:*)")]
)
def test_a_wider_permission_does_not_open_localhost(place: Place, flags: tuple[str, ...]) -> None:
    result, paths = fetch_on_localhost(place, *flags)
    assert "only public addresses are fetched" in result and paths == []


def test_a_rule_of_a_trusted_project_does_not_open_localhost(place: Place) -> None:
    project = '[permissions]\nallow = ["webfetch(domain:localhost)"]\n'
    result, paths = fetch_on_localhost(place, project=project)
    assert "only public addresses are fetched" in result and paths == []


def test_without_a_rule_a_run_is_denied_and_names_the_flag(place: Place) -> None:
    result, paths = fetch_on_localhost(place)
    assert "--allowedTools 'webfetch(domain:localhost)'" in result and paths == []
