"""`overt doctor --model`: the table, the decision, the profile it leaves, and how it ends."""

import json
import re
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.odd_server import Odd, OddServer
from tests.journeys.journey_kit import KEY, OVERT, Place, Ran, Terminal, checked
from tests.providers.local_kit import SMALL, cache, needs_small

from overt.config.profiles import ModelProfile, load_profile
from overt.providers.probing.probe import NAMES

TABLE = """environment/odd-model at {url}, asked through the wire openai
  ✓ reachable               first words after # s, whole after # s
  ✓ list of models          1, this one among them
  ✓ streaming               in # pieces
  ✗ native tools: auto      leaked as text: <tool_call> {{"name": "get_weather", "arguments": {{"city": "…
  ✗ native tools: required  ignored, it answered in words: Hello!
  ? native tools: parallel  not tried
  ? native tools: streamed  not tried
  ✓ JSON schema             {{"tool":"read","path":"notes.txt","lines":5}}
  ✗ reasoning channel       none seen
  ✓ usage                   320 tokens in, 9 out
  ✓ prefix cache            300 of 320 tokens kept; first words after # s, then # s
  ✓ context length          4096 tokens (/props)
  ✓ system role             obeyed
  ✗ developer role          unknown role developer.
  ✗ image input             image input is not supported.
what breaks: native tools: auto
Overt will call tools through: schema
"""
LEAKY = Odd(
    tools="leaks",
    required=False,
    developer="refused",
    images="crash",
    key=KEY,
    window={"/props": {"default_generation_settings": {"n_ctx": 4096}}},
)


def doctor(place: Place, server: OddServer, *words: str, **variables: str) -> Ran:
    return place.run("doctor", "--model", "odd-model", *words, env={"OVERT_BASE_URL": server.url, **variables})


def steady(text: str) -> str:
    """Times and counts of pieces vary."""
    return re.sub(r"\d+(?:\.\d+)?(?= s\b| pieces)", "#", text)


def kept(place: Place, server: OddServer) -> ModelProfile | None:
    return load_profile(str(place.home / ".local/share/overt"), server.url, "odd-model")


def test_it_prints_a_table_says_what_follows_and_keeps_it(place: Place) -> None:
    with OddServer(LEAKY) as server:
        done = doctor(place, server)
        *table, saved = done.out.splitlines(keepends=True)
        assert steady("".join(table)) == TABLE.format(url=server.url)
        assert done.code == 0
        assert re.fullmatch(r"profile: ~/\.local/share/overt/profiles/odd-model-[0-9a-f]{12}\.json\n", saved)
        path = place.home / saved.removeprefix("profile: ~/").strip()
        assert path.stat().st_mode & 0o777 == 0o600
        found = kept(place, server)
        assert found is not None
        assert (found.calls, found.auto, found.form, found.window, found.images) == ("schema", False, True, 4096, False)
        assert (found.cache.works, found.cache.tokens, len(found.cache.seconds)) == (True, 300, 2)
        assert [each.partition(":")[0] for each in found.breaks] == ["auto"]
    assert done.err.splitlines()[:3] == [
        "trying: reachable …",
        "trying: list of models …",
        "trying: native tools: auto …",
    ]


def test_without_saving_nothing_is_left_behind(place: Place) -> None:
    with OddServer(Odd()) as server:
        done = doctor(place, server, "--no-save")
    assert (done.code, done.out.splitlines()[-2:]) == (
        0,
        ["Overt will call tools through: native", "profile: not written (--no-save)"],
    )
    assert list(place.home.rglob("*.json")) == []


@pytest.mark.parametrize("kind", ["openai", "responses", "anthropic"])
def test_it_speaks_json_on_every_wire(place: Place, kind: str) -> None:
    with OddServer(Odd()) as server:
        done = doctor(place, server, "--json", OVERT_KIND=kind)
    said: dict[str, Any] = json.loads(done.out)
    tested = said["tested"]
    assert (done.code, said["usable"], tested["wire"], tested["calls"]) == (0, True, kind, "native")
    assert [row["name"] for row in tested["rows"]] == list(NAMES)
    assert Path(tested["saved"].replace("~", str(place.home))).exists()


def test_a_server_that_does_not_answer_is_told_and_nothing_is_kept(place: Place) -> None:
    with OddServer(Odd()) as server:
        pass
    done = doctor(place, server)
    first = done.out.splitlines()[1]
    assert first.startswith(f"  ✗ reachable               No answer from {server.url.removesuffix('/v1')}: ")
    assert done.out.endswith("Overt cannot use this model before it answers.\n")
    assert (done.code, kept(place, server)) == (1, None)


def test_a_server_that_gives_up_half_way_leaves_no_profile(place: Place) -> None:
    with OddServer(Odd(lasts=1)) as server:
        done = doctor(place, server)
        assert done.out.endswith("How it calls tools could not be found out, so nothing was kept. Try again.\n")
        assert (done.code, kept(place, server)) == (1, None)


def test_a_wrong_key_is_told_and_never_shown(place: Place) -> None:
    with OddServer(Odd(key="another")) as server:
        done = doctor(place, server)
    assert (done.code, "rejected the API key. Check OVERT_API_KEY." in done.out) == (1, True)


def test_what_a_person_set_is_how_it_will_be_used(place: Place) -> None:
    with OddServer(Odd()) as server:
        config = place.home / ".config/overt/config.toml"
        config.parent.mkdir(parents=True)
        config.write_text(f'[[providers]]\nname = "mine"\nbase_url = "{server.url}"\ncalls = "text"\n')
        done = place.run("doctor", "-m", "mine/odd-model")
    assert done.out.splitlines()[-3:-1] == [
        "Overt will call tools through: text",
        "(native would be what was found; text is set for this model)",
    ]


def test_plain_doctor_says_whether_there_is_a_profile(place: Place) -> None:
    config = place.home / ".config/overt/config.toml"
    config.parent.mkdir(parents=True)
    config.write_text('[sandbox]\nmode = "none"\n')
    with OddServer(LEAKY) as server:
        env = {"OVERT_BASE_URL": server.url, "OVERT_MODEL": "odd-model"}
        before = place.run("doctor", env=env)
        assert "profile: none yet (overt doctor --model odd-model makes one)\n" in before.out
        doctor(place, server)
        after = place.run("doctor", env=env)
        assert re.search(
            r"^profile: calls tools through schema, found out on \d{4}-\d\d-\d\d$", after.out, re.MULTILINE
        )


def test_it_speaks_chinese_in_columns(place: Place) -> None:
    with OddServer(LEAKY) as server:
        done = doctor(place, server, LANG="zh_CN.UTF-8")
    lines = done.out.splitlines()
    assert "  ✗ developer 角色      unknown role developer." in lines
    assert "  ? 原生工具：并行      未尝试" in lines
    assert "Overt 调用工具的方式：schema" in lines


def test_on_a_terminal_the_progress_is_one_line_that_goes_away(place: Place) -> None:
    with OddServer(Odd()) as server:
        env = place.environment(more={"OVERT_BASE_URL": server.url, "TERM": "xterm"})
        terminal = Terminal([OVERT, "doctor", "--model", "odd-model", "--no-save"], cwd=place.work, env=env)
        try:
            terminal.expect("(--no-save)")
        finally:
            terminal.close()
    shown = terminal.raw.decode()
    assert "\r\x1b[Ktrying: image input …" in shown
    assert "…\n" not in shown.replace("\r\n", "\n")


def test_interrupted_it_ends_at_once_and_keeps_nothing(place: Place) -> None:
    with OddServer(Odd()) as server:
        with subprocess.Popen(
            [OVERT, "doctor", "--model", "odd-model"],
            cwd=place.work,
            env=place.environment(more={"OVERT_BASE_URL": server.url}),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as running:
            try:
                assert running.stderr is not None
                assert running.stderr.readline() == "trying: reachable …\n".encode()
                running.send_signal(signal.SIGINT)
                out, _ = running.communicate(timeout=60)
            finally:
                running.kill()
        assert (running.returncode, out, kept(place, server)) == (130, b"", None)


@needs_small
@pytest.mark.timeout(400)
def test_the_embedded_model_is_tried_for_real(place: Place, tmp_path: Path) -> None:
    """A small model may answer a single question oddly; what the server does for it is always the same."""
    done = subprocess.run(
        [OVERT, "doctor", "--model", f"local/{SMALL}"],
        cwd=place.work,
        env=place.environment(more={"OVERT_CACHE": cache(tmp_path / "cache")}),
        capture_output=True,
        timeout=360,
        check=False,
    )
    code, out, _ = checked(done.returncode, done.stdout, done.stderr)
    head, *table = out.splitlines()
    assert head == f"local/{SMALL} at this machine, asked through the wire openai"
    begun = {line[:26].rstrip() for line in table}
    assert begun >= {
        "  ✓ reachable",
        "  ✓ list of models",
        "  ✓ streaming",
        "  ✓ native tools: required",
        "  ✓ JSON schema",
        "  ✗ reasoning channel",
        "  ✓ usage",
        "  ✓ prefix cache",
        "  ✓ context length",
        "  ✗ image input",
    }
    kept_tokens = re.search(r"prefix cache +(\d+) of (\d+) tokens kept", out)
    assert kept_tokens and int(kept_tokens[1]) >= int(kept_tokens[2]) - 2 > 100
    assert (code, "Overt will call tools through: schema" in table) == (0, True)


def test_flags_that_do_not_go_together_are_refused(place: Place) -> None:
    assert place.run("doctor", "--no-save") == Ran(
        2, "", "overt: --no-save goes with --model: there is nothing else that doctor keeps\n"
    )
    done = place.run("doctor", "--model")
    assert (done.code, done.err) == (2, "overt: --model needs a value: --model MODEL\n")
