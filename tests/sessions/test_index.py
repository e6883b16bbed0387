"""Sessions are found by project, by time of use and by the start of their id, without being read whole."""

import os
import re
import unicodedata
from pathlib import Path

import pytest
from tests.sessions.samples import PREFIX, facts, outcome, prompt, reply, run_writer, thirty, write

from overt.core.errors import SessionError
from overt.core.events import Noticed, Replied, TitleSet, UserSpoke
from overt.core.messages import Text, said
from overt.core.text_fragments import Origin
from overt.lib.paths import slug
from overt.sessions.entries import encode_line
from overt.sessions.index import Summary, delete, find_path, latest_path, list_sessions, summary
from overt.sessions.load import load
from overt.sessions.log import SessionLog
from overt.sessions.names import folder_of, id_of
from overt.sessions.resume import resume


def named(folder: Path, *ids: str) -> list[str]:
    """Sessions with these ids, written one after the other."""
    found = []
    for order, id in enumerate(ids):
        path = Path(write(folder, [prompt(f"task {id}")]))
        target = path.with_name(f"2026010{order + 1}T000000Z-{id}.jsonl")
        path.rename(target)
        os.utime(target, (order, order))
        found.append(str(target))
    return found


def test_a_slug_is_a_safe_name_of_its_own_for_every_path() -> None:
    paths = ["/", "/a/b-c", "/a/b/c", "/a/b c", "/tmp/\udcff\n", "/名前", "/" + "x" * 5000, "/a/..b", "/A/b-c"]
    slugs = [slug(path) for path in paths]
    assert len(set(slugs)) == len(paths)
    assert all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,60}", found) for found in slugs)
    assert folder_of("/d", "/a/b/../c") == folder_of("/d", "/a/c")


def test_without_a_title_a_session_is_called_by_its_first_prompt_not_by_what_went_along(tmp_path: Path) -> None:
    along = UserSpoke(message=said("[a.py]\nx = 1", origin=Origin(kind="file", where="a.py")))
    write(tmp_path, [along, prompt("Fix the naïve 名前 parser.\nThen run the tests.")])
    assert [each.title for each in list_sessions(str(tmp_path))] == ["Fix the naïve 名前 parser. Then run the tests."]


def test_a_summary_says_what_a_list_shows(tmp_path: Path) -> None:
    path = write(tmp_path, thirty())
    (found,) = list_sessions(str(tmp_path))
    loaded = load(path)
    assert found == Summary(
        id=loaded.id,
        path=path,
        project="/tmp/project",
        workspace="/tmp/project",
        title="Fix the login test",
        created=loaded.opened.created,
        changed=Path(path).stat().st_mtime,
        turns=1,
        model="tiny",
        size=Path(path).stat().st_size,
    )


def test_a_long_session_is_summed_up_from_its_head_and_its_tail(tmp_path: Path) -> None:
    log = SessionLog.create(str(tmp_path), workspace="/p", project="/p", overt="0")
    log.append(PREFIX, turn=1, step=0)
    log.append(prompt("x" * 500), turn=1, step=0)
    for turn in range(2, 400):
        log.append(Noticed(text="y" * 1000), turn=turn, step=0)
    last = reply(Text(text="bye"))
    log.append(Replied(message=last.message, finish="stop", usage=last.usage, model="huge"), turn=400, step=1)
    log.close()
    (found,) = list_sessions(str(tmp_path), "/p")
    assert (found.turns, found.model, found.title) == (400, "huge", "x" * 119 + "…")


def test_the_session_written_last_comes_first_and_projects_are_apart(tmp_path: Path) -> None:
    first, second, third = named(tmp_path, "aaaaaaaa", "bbbbbbbb", "cccccccc")
    other = write(tmp_path, thirty()[:4], project="/other")
    os.utime(first, (9, 9))
    assert [found.path for found in list_sessions(str(tmp_path), "/tmp/project")] == [first, third, second]
    assert latest_path(str(tmp_path), "/tmp/project") == first
    assert latest_path(str(tmp_path), "/other") == other
    assert latest_path(str(tmp_path), "/nowhere") is None
    assert len(list_sessions(str(tmp_path))) == 4
    os.utime(first, (2, 2))
    assert latest_path(str(tmp_path), "/tmp/project") == third, "equal times: the later name"


def test_no_damage_hides_a_session_from_the_list(tmp_path: Path) -> None:
    empty, torn, binary, newer = map(Path, named(tmp_path, "aaaaaaaa", "bbbbbbbb", "cccccccc", "dddddddd"))
    empty.write_bytes(b"")
    torn.write_bytes(torn.read_bytes()[:50])
    binary.write_bytes(os.urandom(200_000))
    newer.write_bytes(b'{"v":9}\n')
    folder = Path(folder_of(str(tmp_path), "/tmp/project"))
    (folder / "notes.txt").write_text("not a session")
    os.mkfifo(folder / "20260101T000000Z-eeeeeeee.jsonl")
    assert sorted(found.id for found in list_sessions(str(tmp_path))) == ["a" * 8, "b" * 8, "c" * 8, "d" * 8]


def test_the_name_a_person_gave_last_wins_wherever_it_stands(tmp_path: Path) -> None:
    log = SessionLog.create(str(tmp_path), workspace="/p", project="/p", overt="0")
    bulk = [outcome("c", f'{"z" * 400_000} ,"type":"title","data":{{"title":"forged"}}') for _ in range(8)]
    for event in [prompt("first"), TitleSet(title="by a model", model="m"), *bulk[:4]]:
        log.append(event, turn=1, step=0)
    assert summary(log.path).title == "by a model"
    log.append(TitleSet(title="by me", model=""), turn=2, step=0)
    log.append(TitleSet(title="a model again", model="m"), turn=2, step=0)
    assert summary(log.path).title == "by me"
    for event in bulk:
        log.append(event, turn=3, step=0)
    assert summary(log.path).title == "by me"
    log.append(TitleSet(title="新的名字", model=""), turn=3, step=0)
    log.close()
    assert summary(log.path).title == "新的名字"


@pytest.mark.parametrize("offset", [-40, -25, -24, -12, -1, 0, 1])
def test_a_name_across_the_border_of_a_block_is_found(tmp_path: Path, offset: int) -> None:
    path = write(tmp_path, [prompt("first"), TitleSet(title="here", model="")])
    after = Path(path).stat().st_size - Path(path).read_bytes().index(b',"type":"title","data":{')
    log, _ = SessionLog.open(path)
    frame = len(encode_line(Noticed(text=""), seq=4, turn=1, step=0, chain=0)[0])
    log.append(Noticed(text="x" * (1024 * 1024 - after - frame + offset)), turn=1, step=0)
    log.close()
    assert summary(path).title == "here"


def test_a_session_is_found_by_its_name_when_no_id_fits(tmp_path: Path) -> None:
    first, second, _ = named(tmp_path, "abc11111", "abd22222", "abe33333")
    for path, title in ((first, "Fix the Parser"), (second, "修复 parser · café")):
        log, _ = SessionLog.open(path)
        log.append(TitleSet(title=title, model=""), turn=1, step=0)
        log.close()
    data = str(tmp_path)
    assert find_path(data, "fix the parser") == find_path(data, "Fix  THE") == first
    assert find_path(data, "修复") == find_path(data, unicodedata.normalize("NFD", "修复 parser · CAFÉ")) == second
    assert find_path(data, "abc") == first, "an id comes first"
    for reference, code in (("task", "missing"), ("fi", "missing"), ("parser", "missing")):
        with pytest.raises(SessionError) as caught:
            find_path(data, reference if reference != "task" else "task zz")
        assert caught.value.code == code
    with pytest.raises(SessionError, match="could be any of 2") as caught:
        log, _ = SessionLog.open(second)
        log.append(TitleSet(title="fix the parser", model=""), turn=1, step=0)
        log.close()
        find_path(data, "Fix the parser")
    assert caught.value.code == "ambiguous"


def test_a_session_is_found_by_the_start_of_its_id(tmp_path: Path) -> None:
    first, second, exact, longer = named(tmp_path, "abc11111", "abd22222", "beef", "beef0000")
    elsewhere = write(tmp_path, thirty()[:1], project="/other")
    data = str(tmp_path)
    assert find_path(data, "abc", "/tmp/project") == first
    assert find_path(data, "ABD22222") == second
    assert find_path(data, "beef") == exact
    assert find_path(data, "beef0") == longer
    assert find_path(data, id_of(elsewhere), "/tmp/project") == elsewhere


@pytest.mark.parametrize(
    ("reference", "code"), [("ab", "ambiguous"), ("zz", "missing"), ("", "missing"), ("../x", "missing")]
)
def test_a_reference_that_names_none_or_several_is_explained(tmp_path: Path, reference: str, code: str) -> None:
    named(tmp_path, "abc11111", "abd22222")
    with pytest.raises(SessionError) as caught:
        find_path(str(tmp_path), reference, "/tmp/project")
    assert caught.value.code == code
    if code == "ambiguous":
        assert "abc11111" in caught.value.message and "abd22222" in caught.value.message


def test_deleting_takes_the_session_and_what_lies_beside_it(tmp_path: Path) -> None:
    path = write(tmp_path, thirty()[:3])
    Path(f"{path}.torn").write_text("x")
    delete(path)
    assert os.listdir(Path(path).parent) == []
    with pytest.raises(SessionError) as caught:
        delete(path)
    assert caught.value.code == "missing"


def test_a_clock_that_jumps_neither_reorders_nor_hides_anything(tmp_path: Path) -> None:
    data, jumps = tmp_path / "data", ["-1y", "+1y", "@1970-01-01 00:00:10", "@2026-03-29 01:59:59"]
    made = [run_writer("create", str(data), "2", under=["faketime", "-f", jump]) for jump in jumps]
    assert [done.returncode for done in made] == [0] * 4, made
    paths = [done.stdout.splitlines()[0] for done in made]
    for path in paths:
        for jump in jumps:
            assert run_writer("open", path, "2", under=["faketime", "-f", jump]).returncode == 0
        loaded = load(path)
        assert loaded.damage == ()
        assert [entry.seq for entry in loaded.entries] == list(range(1, 12))
        steps = [entry.step for entry in loaded.entries if entry.type == "note"]
        assert steps == [0, 1] * 5
        assert len({round(entry.ts / 3e6) for entry in loaded.entries}) >= 4, "the clock did jump"
        assert resume(loaded.entries).turn == 1
    assert sorted(found.path for found in list_sessions(str(data))) == sorted(paths)
    assert latest_path(str(data), "/tmp/p") == paths[-1]


def test_odd_paths_of_workspace_and_project_survive(tmp_path: Path) -> None:
    odd = "/tmp/\udcff\n$(x) -rf"
    path = write(tmp_path, [prompt(f"look at {odd}")], project=odd)
    Path(path).read_bytes().decode("utf-8")
    (found,) = list_sessions(str(tmp_path), odd)
    assert (found.project, found.workspace) == (odd, odd)
    assert facts(load(path).entries) == [prompt(f"look at {odd}")]
