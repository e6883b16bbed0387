"""Rules of folders further down: they join once, when a file below them was read, and after a compaction again."""

import os
from hashlib import sha256
from pathlib import Path

from overt.app.context.folder_rules import FolderRules
from overt.core.events import Compacted, Event, ToolFinished, UserSpoke
from overt.core.history import History, fold, fold_all
from overt.core.messages import Message, Result, said
from overt.core.text_fragments import USER, Origin
from overt.core.views import Plain

HEAD = "[overt] Rules for the files below {}/, from {}; there they hold over the rules before:\n"


def nested(root: Path, *, deny: str = "", cap: int = 100, names: tuple[str, ...] = ("AGENTS.md",)) -> FolderRules:
    return FolderRules(os.path.realpath(root), names, may_read=lambda path: path != deny, cap=cap)


def saw(*paths: str) -> Event:
    return ToolFinished(result=Result(call_id="c", parts=()), view=Plain(text=""), seen=dict.fromkeys(paths, "h"))


def lay(root: Path, *names: str) -> None:
    """Files that hold their own name."""
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)


def where(messages: tuple[Message, ...]) -> list[str]:
    return [message.origin.where for message in messages]


def test_the_rules_above_a_file_that_was_read_join_the_outermost_first(tmp_path: Path) -> None:
    lay(tmp_path, "AGENTS.md", "a/AGENTS.md", "a/b/AGENTS.md", "a/b/c/AGENTS.md", "a/x/AGENTS.md", "a/b/f.py")
    found = nested(tmp_path)(fold(History(), saw("a/b/f.py")))
    text = "a/AGENTS.md"
    assert found[0] == said(
        HEAD.format("a", "a/AGENTS.md") + text,
        origin=Origin(kind="file", where=text, lines="1-1", hash=sha256(text.encode()).hexdigest(), detail="rules"),
    )
    assert where(found) == ["a/AGENTS.md", "a/b/AGENTS.md"]


def test_they_join_once_also_for_whoever_resumes(tmp_path: Path) -> None:
    lay(tmp_path, "a/AGENTS.md")
    ask = nested(tmp_path)
    history = fold(History(), saw("a/f.py"))
    (joined,) = ask(history)
    history = fold(history, UserSpoke(message=joined, steered=True))
    assert ask(history) == ()
    assert nested(tmp_path)(history) == ()
    assert ask(fold(history, saw("a/g.py"))) == ()


def test_rules_that_appear_later_join_with_the_next_file_below_them(tmp_path: Path) -> None:
    ask = nested(tmp_path)
    history = fold(History(), saw("a/f.py"))
    assert ask(history) == ()
    lay(tmp_path, "a/AGENTS.md")
    assert ask(history) == ()
    assert where(ask(fold(history, saw("a/g.py")))) == ["a/AGENTS.md"]


def test_after_a_compaction_those_join_again_that_have_left(tmp_path: Path) -> None:
    lay(tmp_path, "a/AGENTS.md", "b/AGENTS.md")
    ask = nested(tmp_path)
    history = fold(History(), saw("a/f.py", "b/f.py"))
    joined = ask(history)
    history = fold_all(history, [UserSpoke(message=message) for message in (*joined, said("go", origin=USER))])
    compacted = fold(history, Compacted(cause="asked", start=0, end=1))
    assert where(compacted.messages) == ["b/AGENTS.md", ""]
    assert where(ask(compacted)) == ["a/AGENTS.md"]


def test_what_a_rule_denies_a_link_or_a_pipe_does_not_join(tmp_path: Path) -> None:
    lay(tmp_path, "denied/AGENTS.md", "out/secret", "kept/AGENTS.md", "far/AGENTS.md")
    for folder in ("link", "pipe", "inside"):
        (tmp_path / folder).mkdir()
    os.symlink(tmp_path / "out/secret", tmp_path / "link/AGENTS.md")
    os.symlink(tmp_path / "far", tmp_path / "inside/away")
    os.mkfifo(tmp_path / "pipe/AGENTS.md")
    ask = nested(tmp_path, deny="denied/AGENTS.md")
    history = fold(
        History(), saw("denied/f", "link/f", "pipe/f", "inside/away/f", "kept/f", "/etc/f", f"{tmp_path}/far/f")
    )
    assert where(ask(history)) == ["kept/AGENTS.md"]


def test_a_cut_is_marked_and_does_not_count_as_seen(tmp_path: Path) -> None:
    lay(tmp_path, "a/AGENTS.md")
    (found,) = nested(tmp_path, cap=4)(fold(History(), saw("a/f.py")))
    assert found.text().endswith("\na/AG\n[cut here: a/AGENTS.md has 11 characters, of which 4 are shown]")
    assert found.origin == Origin(kind="file", where="a/AGENTS.md", lines="1-1", detail="rules")


def test_other_names_hold_where_the_recipe_names_them(tmp_path: Path) -> None:
    lay(tmp_path, "a/AGENTS.md", "a/CLAUDE.md")
    history = fold(History(), saw("a/f.py"))
    assert where(nested(tmp_path, names=("CLAUDE.md",))(history)) == ["a/CLAUDE.md"]


def test_a_step_looks_only_at_paths_it_has_not_seen(tmp_path: Path) -> None:
    lay(tmp_path, "a/AGENTS.md")
    ask = nested(tmp_path)
    history = fold(History(), saw(*(f"a/f{number}" for number in range(500))))
    (joined,) = ask(history)
    history = fold(history, UserSpoke(message=joined))
    looked: list[str] = []
    ask._look = looked.append  # type: ignore[method-assign, assignment]
    assert ask(fold(history, saw("a/new", "a/f1"))) == ()
    assert looked == ["a/AGENTS.md", "a/new"]


def test_claude_md_joins_only_where_there_is_no_agents_md(tmp_path: Path) -> None:
    lay(tmp_path, "a/CLAUDE.md", "a/b/CLAUDE.md", "a/b/AGENTS.md", "a/b/f.py")
    history = fold(History(), saw("a/b/f.py"))
    both = FolderRules(
        os.path.realpath(tmp_path),
        ("AGENTS.md",),
        may_read=lambda path: True,
        cap=100,
        instead={"AGENTS.md": "CLAUDE.md"},
    )
    assert where(both(history)) == ["a/CLAUDE.md", "a/b/AGENTS.md"]
    assert where(nested(tmp_path)(history)) == ["a/b/AGENTS.md"]
