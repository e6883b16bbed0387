"""Garbage in configuration files: never a crash, never a looser permission (fault 18)."""

import itertools
import json
import os
import random
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.configuration import load

from overt.config.paths import Environment
from overt.config.schema import AgentSettings, Config, Permissions
from overt.core.capabilities import Effect
from overt.core.errors import ConfigError
from overt.core.settings import Limits
from overt.safety.policy import judge
from overt.safety.rules import Subject

TREE: dict[str, Any] = {
    "default_model": "one/m",
    "offline": False,
    "agent": {"max_steps": 12, "system_prompt": "Be\nbrief.", "permission": {"bash": {"git *": "ask"}}},
    "permissions": {
        "deny": ["bash(rm *)", "read(.env)"],
        "ask": ["bash(git push *)", "edit"],
        "mode": "review",
        "dangerous": ["terraform"],
    },
    "sandbox": {"mode": "auto", "network": False, "write": True},
    "providers": [{"name": "one", "base_url": "http://127.0.0.1:9/v1", "models": ["m"], "timeouts": {"connect": 3}}],
    "tools": {"disabled": ["jobs"]},
    "limits": {"max_parallel": 4},
    "timeouts": {"headers": 30.5},
    "env": {"pass": ["CI"]},
    "workspace": {"allow_read": ["shared"]},
}
TOML = """\
default_model = "one/m"
offline = false
[agent]
max_steps = 12
system_prompt = '''Be
brief.'''
[agent.permission.bash]
"git *" = "ask"
[permissions]
deny = ["bash(rm *)", "read(.env)"]  # never
ask = [
  "bash(git push *)",
  "edit",
]
mode = "review"
dangerous = ["terraform"]
[sandbox]
mode = "auto"
network = false
write = true
[[providers]]
name = "one"
base_url = "http://127.0.0.1:9/v1"
models = ["m"]
timeouts = { connect = 3 }
[tools]
disabled = ["jobs"]
[limits]
max_parallel = 4
[timeouts]
headers = 30.5
[env]
pass = ["CI"]
[workspace]
allow_read = ["shared"]
"""
WRONG: tuple[Any, ...] = (None, True, -1, 0, 1e308, 10**40, "", "many", "\0", [], [1], [[]], {}, {"a": {"b": 1}}, [{}])
WRONG_TOML = (
    *("true", "-1", "nan", "inf", "0x" + "f" * 9000, "1e400", "''", "'many'", "[]", "[1]", "[[]]", "{}"),
    *("{a.b = 1}", "[{}]", "2020-01-01", "12:00:00", "9" * 5000),
)
SUBJECTS: tuple[tuple[Subject, frozenset[Effect]], ...] = (
    (Subject(tool="bash", values=("rm -r build",)), frozenset({"run"})),
    (Subject(tool="bash", values=("git push origin",)), frozenset({"run"})),
    (Subject(tool="bash", values=("make test",)), frozenset({"run"})),
    (Subject(tool="edit", values=("src/a.py",)), frozenset({"write"})),
    (Subject(tool="read", values=(".env",)), frozenset({"read"})),
    (Subject(tool="read", values=("src/a.py",)), frozenset({"read"})),
)
STRICT = {"deny": 0, "ask": 1, "allow": 2}


def scrambled(chance: random.Random, data: bytes) -> bytes:
    found = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(found) + 1)
        match chance.randrange(4):
            case 0:
                found[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                found[at:at] = bytes(chance.choice(b"\"'[]{}=,.#\n\\/\0\xff") for _ in range(chance.randint(1, 3)))
            case 2:
                del found[at : at + chance.randint(1, 12)]
            case _:
                found[at:at] = found[at : at + chance.randint(1, 40)]
    return bytes(found)


def mistyped(chance: random.Random) -> bytes:
    tree = json.loads(json.dumps(TREE))
    for _ in range(chance.randint(1, 3)):
        place: Any = tree
        while True:
            key = chance.choice(list(place) if isinstance(place, dict) else range(len(place)))
            inner = place[key]
            if not isinstance(inner, dict | list) or not inner or chance.random() < 0.4:
                break
            place = inner
        if isinstance(key, str) and chance.random() < 0.3:
            place[key + chance.choice("xs_ -")] = place.pop(key)
        else:
            place[key] = chance.choice(WRONG)
    return json.dumps(tree, indent=chance.choice([None, 2])).encode()


def mistyped_toml(chance: random.Random) -> bytes:
    lines = TOML.split("\n")
    at = chance.choice([index for index, line in enumerate(lines) if " = " in line and "'''" not in line])
    lines[at] = f"{lines[at].partition(' = ')[0]} = {chance.choice(WRONG_TOML)}"
    return "\n".join(lines).encode()


def extreme(chance: random.Random, data: bytes, name: str) -> bytes:
    json_file = name != "overt.toml"
    match chance.randrange(8):
        case 0:
            return data + b" " * (1024 * 1024)
        case 1:
            depth = chance.choice([65, 900, 100_000])
            return b'{"agent": ' + b"[" * depth if json_file else b"x = " + b"[" * depth + b"]" * depth
        case 2:
            parts = b".".join([b"a"] * chance.choice([65, 200_000]))
            return b'{"a":' * 80 + b"1" + b"}" * 80 if json_file else data + b"\n[" + parts + b"]\n"
        case 3:
            return b"\xef\xbb\xbf" + data
        case 4:
            return data.decode().encode(chance.choice(["utf-16", "utf-32"]))
        case 5:
            again = b'"offline": true,' if json_file else b"offline = true\n"
            return (b"{" + again + data[1:]) if json_file else again + data
        case 6:
            value = chance.choice([b"NaN", b"Infinity", b"-Infinity", b"1e999", b"nan"])
            return data.replace(b"12", value)
        case _:
            return chance.randbytes(chance.choice([0, 1, 50, 5000]))


def mutations(count: int, seed: int) -> list[tuple[str, bytes]]:
    chance = random.Random(seed)
    names = itertools.cycle(["overt.toml", "overt.json", "overt.jsonc"])
    found: list[tuple[str, bytes]] = []
    for name in itertools.islice(names, count):
        data = TOML.encode() if name == "overt.toml" else json.dumps(TREE, indent=1).encode()
        match chance.randrange(5):
            case 0 | 1:
                data = scrambled(chance, data)
            case 2:
                data = data[: chance.randrange(len(data))]
            case 3:
                data = mistyped_toml(chance) if name == "overt.toml" else mistyped(chance)
            case _:
                data = extreme(chance, data, name)
        found.append((name, data))
    return found


def parsed(data: bytes, name: str) -> Any:
    """What an independent reader finds; nothing where it reads less than we do."""
    try:
        text = data.decode("utf-8-sig")
        return tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
    except (ValueError, RecursionError):
        return {}


def said(data: bytes, name: str, *keys: str) -> Any:
    value = parsed(data, name)
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def denied_in(data: bytes, name: str) -> set[str]:
    rules = said(data, name, "permissions", "deny")
    plain = r"(bash|read)(\((?!\s)[^()]+(?<!\s)\))?"
    listed = [str(rule) for rule in rules] if isinstance(rules, list) else []
    return {rule for rule in listed if re.fullmatch(plain, rule)}


def assert_not_looser(config: Config) -> None:
    """Every field that a judgement or a box depends on, and the judgement itself."""
    given, usual = config.permissions, Permissions()
    assert not [rule for rule in given.rules if rule.action == "allow"]
    assert given.mode in (usual.mode, "plan") and given.fallback in (None, "ask", "deny")
    for subject, effects in SUBJECTS:
        default = judge(subject, effects, rules=(), mode="review", fallback=None)
        found = judge(subject, effects, rules=given.rules, mode=given.mode, fallback=given.fallback)
        assert STRICT[found.action] <= STRICT[default.action], (subject, found)


def environment(folder: Path) -> Environment:
    return Environment(
        home=str(folder),
        config_dir=str(folder / "user"),
        data_dir=str(folder / "none"),
        cache_dir=str(folder / "none"),
        cwd=str(folder / "project"),
        variables={},
    )


def check(folder: Path, name: str, data: bytes, *, user: bool = False) -> bool:
    """True when the file was refused. In the user's place, or the project's as a folder trusted and not."""
    place = folder / "user" / name.replace("overt.", "config.") if user else folder / "project" / name
    shown = f"~/user/{place.name}" if user else name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(data)
    where = environment(folder)
    try:
        config = load(where, project=where.cwd, trusted=True)
        strange = load(where, project=where.cwd, trusted=False)
    except ConfigError as error:
        assert re.match(rf"{re.escape(shown)}:[1-9]\d*: \S", error.message), error.message
        assert error.message.isprintable() and len(error.message) < 400, error.message
        return True
    finally:
        place.unlink()
    for each in (config, strange):
        assert_not_looser(each)
        held = {rule.text() for rule in each.permissions.rules if rule.action == "deny"}
        assert held >= denied_in(data, name)
        assert set(each.permissions.dangerous) >= set(said(data, name, "permissions", "dangerous") or ())
    if not user:
        assert (strange.sandbox.mode, strange.sandbox.network) == ("auto", False)
        assert (strange.providers, strange.env_pass, strange.allow_read, strange.base_url) == ((), (), (), "")
    # A file the user answers for may take walls down, in so many words only.
    assert config.sandbox.mode == "auto" or config.sandbox.mode == said(data, name, "sandbox", "mode")
    assert not config.sandbox.network or said(data, name, "sandbox", "network") is True
    assert all(warning.startswith(shown) for warning in config.warnings)
    return False


def refusals(folder: Path, count: int, seed: int) -> int:
    found = mutations(count, seed)
    return sum(check(folder, name, data, user=number % 6 >= 3) for number, (name, data) in enumerate(found))


def test_three_hundred_damaged_files_crash_nothing_and_loosen_nothing(tmp_path: Path) -> None:
    assert 100 < refusals(tmp_path, 300, seed=18) < 300


LOOSE: tuple[tuple[str, str, Any], ...] = (
    *(("permissions", "mode", mode) for mode in ("yolo", "auto", "bypassPermissions", "acceptEdits")),
    *(("permissions", key, value) for key, value in (("fallback", "allow"), ("allow", ["*"]), ("bash", "allow"))),
    *(("sandbox", "mode", mode) for mode in ("none", "landlock", "bubblewrap")),
    *(("sandbox", "network", True), ("limits", "max_parallel", 99_999)),
    *(("agent", "permission", {"bash": action}) for action in ("allow", {"rm *": "ask"})),
    *(("env", "pass", ["LD_PRELOAD"]), ("workspace", "allow_write", ["/"]), ("tools", "enabled", ["bash"])),
)


def test_three_hundred_files_of_strangers_that_want_more_get_nothing(tmp_path: Path) -> None:
    chance = random.Random(25)
    (tmp_path / "project").mkdir()
    where = environment(tmp_path)
    for _ in range(300):
        tree = json.loads(json.dumps(TREE))
        for section, key, value in chance.sample(LOOSE, 3):
            tree[section][key] = value
        (tmp_path / "project" / "overt.json").write_text(json.dumps(tree))
        config = load(where, project=where.cwd, trusted=False)
        assert_not_looser(config)
        assert (config.sandbox.mode, config.sandbox.network) == ("auto", False)
        assert (config.providers, config.env_pass, config.allow_read, config.allow_write) == ((), (), (), ())
        assert (config.agent, config.tools.enabled) == (AgentSettings(), None)
        assert config.limits.max_parallel <= Limits().max_parallel


@pytest.mark.soak
def test_thirty_thousand_damaged_files_crash_nothing_and_loosen_nothing(tmp_path: Path) -> None:
    assert 10_000 < refusals(tmp_path, 30_000, seed=81) < 30_000


@pytest.mark.parametrize("user", [False, True])
def test_the_undamaged_files_load_from_both_forms(tmp_path: Path, user: bool) -> None:
    assert not check(tmp_path, "overt.toml", TOML.encode(), user=user)
    assert not check(tmp_path, "overt.json", json.dumps(TREE).encode(), user=user)


def test_one_broken_file_fails_the_load_even_when_another_is_whole(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/overt.json").write_text('{"permissions": {"allow": ["bash"]}}')
    assert check(tmp_path, "overt.toml", b"[permissions\ndeny = ['bash']")


@pytest.mark.parametrize("kind", ["folder", "pipe", "dangling link"])
def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "overt.toml"
    if kind == "folder":
        (path / "inner").mkdir(parents=True)
        (path / "inner/file").write_text("")
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.symlink_to(tmp_path / "nowhere")
    where = environment(tmp_path)
    with pytest.raises(ConfigError, match=r"^overt\.toml: cannot be read: \S"):
        load(where, project=str(tmp_path), trusted=True)
