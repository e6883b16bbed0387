"""The fixture of the previous version: where it is unpacked, and the questions that are put to both versions."""

import compileall
import fcntl
import json
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

from tests.fakes.model_server import ModelServer, Recorded, Turn
from tests.journeys.journey_kit import Place

ROOT = Path(__file__).resolve().parent.parent.parent
FIXTURE = ROOT / "tests" / "data" / "previous_version"
ARCHIVE = FIXTURE / "disk.tar.xz"
EXPECTED = FIXTURE / "expected.json"
COMMIT = "e62c5f6"
FOLDER = Path("/tmp/overt-previous")
"""Paths are part of what was sent to the model, so the fixture must lie where it was made to be replayed exactly."""
PORT = 18471
"""The port of the model server in the user configuration of the fixture."""
LONGEST = 200
"""Characters of a text that stands in the expected values as it is."""
CHANGED_FACT = re.compile(r"\[overt\] [A-Z][a-z ]+ is now: ")


@contextmanager
def reserve_folder() -> Iterator[Path]:
    """Make the folder of the fixture for one process at a time, and remove it afterwards."""
    with open(f"{FOLDER}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(mode=0o700)
        try:
            yield FOLDER
        finally:
            shutil.rmtree(FOLDER)


def unpack(folder: Path) -> Place:
    """Put the files of the previous version into a folder, in place of what it holds."""
    for path in folder.iterdir():
        shutil.rmtree(path)
    place = Place(folder)
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="tar")
    return place


def pack(folder: Path) -> None:
    """Write the archive: the same bytes for the same files, whoever owns them."""

    def without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
        member.uid = member.gid = 0
        member.uname = member.gname = ""
        return member

    with tarfile.open(ARCHIVE, "w:xz", format=tarfile.PAX_FORMAT, preset=9) as archive:
        for path in sorted(folder.iterdir()):
            archive.add(path, path.name, filter=without_owner)


def extract_source(commit: str, folder: Path) -> dict[str, str]:
    """Put the source of a commit into a folder; return the environment that makes our launcher load it."""
    words = ["git", "-C", str(ROOT), "archive", commit, "src"]
    done = subprocess.run(words, capture_output=True, check=False, timeout=120)
    if done.returncode:
        raise LookupError(f"git archive {commit} failed: {done.stderr.decode().strip()}")
    with tarfile.open(fileobj=BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="tar")
    compileall.compile_dir(folder, quiet=2)
    env = {"PYTHONPATH": str(folder / "src")}
    loaded = subprocess.check_output([sys.executable, "-c", "import overt; print(overt.__file__)"], env=env, text=True)
    assert loaded.startswith(f"{folder}/"), loaded
    return env


# ── what the program says of its files ───────────────────────────────────────────────────────────────────


def read_tree(folder: Path) -> dict[str, Any]:
    """Every path below a folder but `.git`: its mode, and its text, or the digest of what is no short text."""
    tree: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.split("/")[0] == ".git":
            continue
        tree[name] = [f"{path.lstat().st_mode & 0o777:o}"]
        if path.is_file():
            data = path.read_bytes()
            tree[name].append(data.decode() if len(data) < 200 and data.isascii() else sha256(data).hexdigest())
    return tree


def session_ids(place: Place) -> list[str]:
    return sorted(path.stem.partition("-")[2] for path in place.sessions())


def read_json(place: Place, *words: str, env: Mapping[str, str] | None = None) -> list[Any]:
    """Run a command with `--json` and return the values it prints, one a line; long texts as their digests."""
    done = place.run(*words, "--json", env=env)
    assert done.out, (words, done)
    return [shorten(json.loads(line)) for line in done.out.splitlines()]


def shorten(value: Any) -> Any:
    """Put digests in the place of long texts, so that the expected values can be read."""
    match value:
        case str() if len(value) > LONGEST:
            return f"sha256:{sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"
        case list():
            return [shorten(each) for each in value]
        case dict():
            return {name: shorten(each) for name, each in value.items()}
        case _:
            return value


def list_sessions(place: Place, env: Mapping[str, str]) -> Any:
    rows = read_json(place, "sessions", "list", "--all", env=env)
    return {row["id"]: {key: row[key] for key in row if key not in ("id", "changed")} for row in rows}


def check_sessions(place: Place, env: Mapping[str, str]) -> Any:
    return {row["id"]: row for row in read_json(place, "sessions", "check", "--all", env=env)}


def replay_sessions(place: Place, env: Mapping[str, str]) -> Any:
    """Whether each request came out the same, without the sentences."""
    replays = {}
    for id in session_ids(place):
        (replay,) = read_json(place, "replay", id, env=env)
        lines = [[line["turn"], line["step"], line["seq"], line["state"]] for line in replay["lines"]]
        replays[id] = {"identical": replay["identical"], "unlike": replay["unlike"], "lines": lines}
    return replays


def list_requests(place: Place, env: Mapping[str, str]) -> Any:
    """Every request, made again from the session: `differs` is empty if its bytes are those that were sent."""
    fields = ("turn", "at", "purpose", "model", "length", "shared", "differs")
    tables = {id: read_json(place, "context", id, "--requests", env=env)[0] for id in session_ids(place)}
    return {
        id: {"totals": table["totals"], "requests": [[row[field] for field in fields] for row in table["requests"]]}
        for id, table in tables.items()
    }


def trace_requests(place: Place, env: Mapping[str, str]) -> Any:
    """Where everything in the last request of each session came from, and at which bytes."""
    views = {id: read_json(place, "context", id, env=env)[0] for id in session_ids(place)}
    return {
        id: [
            f"{span['key']} {span['origin']['kind']} {span['origin'].get('where', '')} {span['start']}-{span['end']}"
            for span in view["spans"]
            if span["key"] != "wire"
        ]
        for id, view in views.items()
    }


def read_statistics(place: Place, env: Mapping[str, str]) -> Any:
    """All of the ledger, whatever the time is now."""
    (stats,) = read_json(place, "stats", "--all", "--by", "session", "--days", "36500", env=env)
    return {"total": stats["windows"]["total"], **{group["name"]: group for group in stats["groups"]}}


def compare_sessions(place: Place, env: Mapping[str, str]) -> Any:
    (comparison,) = read_json(place, "diff", "tools", "chat", env=env)
    return comparison


def list_rules(place: Place, env: Mapping[str, str]) -> Any:
    return {row["rule"]: row for row in read_json(place, "permissions", env=env)}


def list_decisions(place: Place, env: Mapping[str, str]) -> Any:
    """What was decided of every call, without the reasons."""
    rows = read_json(place, "permissions", "log", "-n", "1000", env=env)
    fields = ("tool", "what", "verdict", "rule", "origin", "by")
    decisions: dict[str, list[Any]] = {}
    for row in rows:
        decisions.setdefault(row["session"], []).append([row[field] for field in fields])
    return decisions


def read_settings(place: Place, env: Mapping[str, str]) -> Any:
    """The settings that files set, in the trusted project and in the one that is not."""
    return {
        folder: [
            [row["key"], row["value"], row["origin"]]
            for row in read_json(place, "config", "-C", str(FOLDER / folder), env=env)[0]
            if ".toml:" in row["origin"]
        ]
        for folder in ("work", "other")
    }


def list_notes(place: Place, env: Mapping[str, str]) -> Any:
    return {row["name"]: row for row in read_json(place, "memory", env=env)}


OBSERVATIONS: dict[str, Callable[[Place, Mapping[str, str]], Any]] = {
    observe.__name__: observe
    for observe in (
        *(list_sessions, check_sessions, replay_sessions, list_requests, trace_requests, read_statistics),
        *(compare_sessions, list_rules, list_decisions, read_settings, list_notes),
    )
}
"""Questions that were put to the previous version about its own files; `expected.json` has its answers."""


# ── going on, and going back ─────────────────────────────────────────────────────────────────────────────


ANTHROPIC_REPLY = (
    {"type": "message_start", "message": {"id": "msg_2", "role": "assistant", "content": [], "usage": {}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Going on."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
    {"type": "message_stop"},
)
RESPONSES_ITEM = {
    "type": "message",
    "id": "msg_2",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": "Going on.", "annotations": []}],
}
RESPONSES_REPLY = (
    {"type": "response.created", "response": {"id": "resp_2"}},
    {"type": "response.output_item.done", "output_index": 0, "item": RESPONSES_ITEM},
    {"type": "response.completed", "response": {"id": "resp_2", "status": "completed", "output": [RESPONSES_ITEM]}},
)


def go_on(request: Recorded, _number: int) -> Turn:
    """A short answer on whichever wire the request came."""
    if request.path.endswith("/messages"):
        return Turn(events=tuple(map(json.dumps, ANTHROPIC_REPLY)))
    if request.path.endswith("/responses"):
        return Turn(events=tuple(map(json.dumps, RESPONSES_REPLY)))
    return Turn(text="Going on.")


def resume(place: Place, session: str, env: Mapping[str, str]) -> Any:
    """Go on with a session; the exit code, the answer, and the messages of the request but changed facts."""
    with ModelServer(choose=go_on, port=PORT) as server:
        done = place.run("run", "--resume", session, "--", "go on", env=env)
    (body,) = [post.json() for post in server.posts] or [{}]
    messages = body.get("messages") or body.get("input") or []
    said = [without_changed_facts(each) for each in messages if each.get("role") not in ("system", "developer")]
    return {"code": done.code, "out": done.out, "messages": [shorten(each) for each in said if each]}


def without_changed_facts(message: Any) -> Any:
    """Leave out what is said about the machine and the date, which need not be those of the fixture."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part for part in content if not CHANGED_FACT.match(str(part.get("text", "")))]
        return {**message, "content": parts} if parts else None
    return None if CHANGED_FACT.match(str(content)) else message


UNDOS = (
    ("tools",),
    ("tools", "--turn", "2"),
    ("tools", "--turn", "2", "--force"),
    ("chat",),
    ("chat", "--turn", "1"),
    ("git",),
    ("git", "--git"),
)
"""What `overt undo` is asked for, each time in a fresh copy."""


def undo(place: Place, words: Sequence[str], env: Mapping[str, str]) -> Any:
    """Take back changes, then bring them back; the exit codes, the refs of git, and the files that differ each time."""
    before = read_tree(place.work)
    done = place.run("undo", *words, env=env)
    undone, refs = read_tree(place.work), read_refs(place.work)
    again = place.run("undo", words[0], "--redo", env=env)
    return {
        "code": done.code,
        "changes": compare_trees(before, undone),
        "refs": refs,
        "redo": again.code,
        "left": compare_trees(before, read_tree(place.work)),
    }


def compare_trees(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    """What stands now at the paths that differ; None where nothing does."""
    return {name: after.get(name) for name in sorted({*before, *after}) if before.get(name) != after.get(name)}


def read_refs(folder: Path) -> list[str]:
    words = ["git", "-C", str(folder), "for-each-ref", "--format=%(refname) %(objectname)"]
    refs = subprocess.run(words, capture_output=True, text=True, check=True, timeout=30).stdout.splitlines()
    return [(folder / ".git" / "HEAD").read_text().strip(), *refs]
