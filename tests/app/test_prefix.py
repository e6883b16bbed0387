"""The recipe at work: which sources stand before a conversation, in what order, and what is left out."""

from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from overt.app.context.prefix import BUILT_IN, ContextSource, Fragments, sources_of
from overt.app.options import Options
from overt.app.registries import Registries
from overt.app.setting import Setting, read_setting
from overt.core.errors import ConfigError
from overt.core.protocols import SandboxState
from overt.core.settings import Recipe, Rule
from overt.core.text_fragments import Fragment, Origin
from overt.extensions import memory
from overt.lib.redaction.redact import Redactor

SECRET = "hunter2-hunter2-hunter2"


class Laid:
    """A home, a project with a folder in it, and what the fragments of a session there are."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config = root / ".config/overt"
        self.project = root / "project"
        self.work = self.project / "pkg"
        self.work.mkdir(parents=True)
        self.put("project/.git/HEAD", "ref: refs/heads/main\n")

    def put(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def setting(self, recipe: Recipe | None = None, rules: tuple[Rule, ...] = ()) -> Setting:
        found = read_setting(Options(directory=str(self.work)))
        permissions = replace(found.config.permissions, rules=rules)
        return replace(
            found, config=replace(found.config, recipe=recipe or found.config.recipe, permissions=permissions)
        )

    def fragments(self, recipe: Recipe | None = None, *, rules: tuple[Rule, ...] = (), **options: Any) -> Fragments:
        return Fragments(Options(**options), self.setting(recipe, rules), SandboxState(), Redactor((SECRET,)))

    def shelves(self) -> memory.NoteFolders:
        return memory.note_folders(str(self.config), str(self.root / ".local/share/overt"), str(self.project))


@pytest.fixture
def laid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Laid:
    monkeypatch.setenv("HOME", str(tmp_path))
    return Laid(tmp_path)


def told(fragments: tuple[Fragment, ...]) -> list[tuple[str, str]]:
    return [(fragment.key, fragment.origin.where) for fragment in fragments]


def everything(laid: Laid) -> None:
    laid.put(".config/overt/AGENTS.md", "global")
    laid.put("project/AGENTS.md", "root")
    laid.put("project/pkg/AGENTS.md", "near")
    laid.put("project/CLAUDE.md", "other")
    laid.put("project/docs/a.md", "a")
    laid.put("project/OVERT.md", "kept")
    memory.add_note(laid.shelves(), "global", "one for all")
    memory.add_note(laid.shelves(), "project", "one for this")


def test_the_usual_order_is_general_first_and_nearest_last(laid: Laid) -> None:
    everything(laid)
    made = laid.fragments(append_system_prompt="And rhyme.")
    found = made.usual()
    notes = laid.shelves().project.replace(str(laid.root), "~")
    assert told(found) == [
        ("system", "context/prompts/system.md"),
        ("order", "context/prefix_sources"),
        ("global", "~/.config/overt/AGENTS.md"),
        ("project", "AGENTS.md"),
        ("project", "pkg/AGENTS.md"),
        ("notes", "~/.config/overt/memory"),
        ("memory", "OVERT.md"),
        ("notes", notes),
        ("environment", "environment"),
        ("append", "--append-system-prompt"),
    ]
    assert found[1].text.endswith("the later one holds: ~/.config/overt/AGENTS.md, AGENTS.md, pkg/AGENTS.md")
    assert found[4] == Fragment(
        key="project",
        text="# Rules of this project (pkg/AGENTS.md)\nnear",
        origin=Origin(kind="file", where="pkg/AGENTS.md", lines="1-1", hash=sha256(b"near").hexdigest()),
    )
    assert "Git branch: main" in found[8].text.split("\n")
    assert made.notices == ()


def test_strict_leaves_only_what_lies_in_the_project(laid: Laid) -> None:
    everything(laid)
    laid.put("mine.md", "mine")
    recipe = Recipe(strict=True, instructions=(str(laid.root / "mine.md"), str(laid.project / "docs/*.md")))
    made = laid.fragments(recipe)
    assert told(made.usual()) == [
        ("system", "context/prompts/system.md"),
        ("order", "context/prefix_sources"),
        ("project", "AGENTS.md"),
        ("project", "pkg/AGENTS.md"),
        ("instructions", "docs/a.md"),
        ("memory", "OVERT.md"),
        ("environment", "environment"),
    ]
    assert made.notices == ("instructions: no file fits ~/mine.md",)


def test_a_recipe_orders_and_names_files_of_other_agents(laid: Laid) -> None:
    everything(laid)
    laid.put("project/pkg/CLAUDE.md", "nearer")
    recipe = Recipe(sources=("environment", "CLAUDE.md", "docs/*.md", "system", "skills"))
    assert told(laid.fragments(recipe).usual()) == [
        ("environment", "environment"),
        ("order", "context/prefix_sources"),
        ("project", "CLAUDE.md"),
        ("project", "pkg/CLAUDE.md"),
        ("instructions", "docs/a.md"),
        ("system", "context/prompts/system.md"),
    ]


def test_a_file_that_two_sources_name_joins_once(laid: Laid) -> None:
    laid.put("project/AGENTS.md", "root")
    recipe = Recipe(sources=("project", "./AGENTS.md", "*.md", "instructions"), instructions=("AGENTS.md",))
    assert told(laid.fragments(recipe).usual()) == [("project", "AGENTS.md")]


def test_what_a_person_says_for_this_run_stands_whatever_the_recipe(laid: Laid) -> None:
    recipe = Recipe(sources=("environment",))
    made = laid.fragments(
        recipe, system_prompt="Be a poet.", system_prompt_origin="--system-prompt", append_system_prompt="Rhyme."
    ).usual()
    assert told(made) == [
        ("system", "--system-prompt"),
        ("environment", "environment"),
        ("append", "--append-system-prompt"),
    ]
    assert told(laid.fragments(Recipe(sources=())).usual()) == []


def test_the_prompt_may_come_from_a_variable(laid: Laid, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OVERT_SYSTEM_PROMPT", "Be a poet.")
    first = laid.fragments().usual()[0]
    origin = Origin(kind="environment", where="OVERT_SYSTEM_PROMPT")
    assert first == Fragment(key="system", text="Be a poet.", origin=origin)


def test_a_cut_is_told_to_the_person_too(laid: Laid) -> None:
    laid.put("project/OVERT.md", "x" * 8001)
    made = laid.fragments()
    (kept,) = [fragment for fragment in made.usual() if fragment.key == "memory"]
    assert kept.text.count("x") == 8000
    assert kept.text.endswith("[cut here: OVERT.md has 8001 characters, of which 8000 are shown]")
    assert made.notices == ("OVERT.md was cut to 8000 characters; `context.caps.memory` sets how many join",)


def test_a_rule_that_keeps_a_file_from_being_read_keeps_it_out(laid: Laid) -> None:
    everything(laid)
    deny = Rule(action="deny", tool="read", pattern="AGENTS.md")
    made = laid.fragments(rules=(deny,))
    assert not {"global", "project"} & {fragment.key for fragment in made.usual()}
    assert made.notices == tuple(
        f"{where} was left out: the rule read(AGENTS.md) keeps it from being read"
        for where in ("~/.config/overt/AGENTS.md", "AGENTS.md", "pkg/AGENTS.md")
    )


def test_no_secret_stands_in_any_source(laid: Laid) -> None:
    for name in (".config/overt/AGENTS.md", "project/AGENTS.md", "project/OVERT.md", "project/.git/HEAD"):
        laid.put(name, f"ref: refs/heads/{SECRET}")
    memory.add_note(laid.shelves(), "project", f"one {SECRET}\ntwo {SECRET}")
    text = "\n".join(fragment.text for fragment in laid.fragments(append_system_prompt=SECRET).usual())
    assert SECRET not in text
    assert text.count("refs/heads/") == 3


def test_what_changes_on_disk_joins_at_the_next_session_only(laid: Laid) -> None:
    everything(laid)
    made = laid.fragments()
    before = made.usual()
    for name in ("project/AGENTS.md", "project/OVERT.md", ".config/overt/AGENTS.md"):
        laid.put(name, "changed")
    laid.put("project/.git/HEAD", "ref: refs/heads/other\n")
    memory.add_note(laid.shelves(), "project", "another")
    assert made.usual() == before
    after = laid.fragments().usual()
    assert told(after) == told(before)
    assert after != before


def test_the_same_files_make_the_same_bytes(laid: Laid) -> None:
    everything(laid)
    assert laid.fragments().usual() == laid.fragments().usual()


def test_a_small_model_gets_less_and_no_facts(laid: Laid) -> None:
    laid.put("project/AGENTS.md", "x" * 5000)
    prompt = Fragment(key="system", text="small", origin=Origin(kind="harness", where="small"))
    found = laid.fragments().beside(prompt)
    assert told(found) == [("system", "small"), ("project", "AGENTS.md")]
    assert found[1].text.count("x") == 4096


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("memry", "did you mean `memory`?"),
        ("xyzzy", f"sources are {', '.join(source.key for source in BUILT_IN)}"),
    ],
)
def test_an_unknown_source_is_an_error_that_names_the_file_and_line(laid: Laid, name: str, hint: str) -> None:
    laid.put(".config/overt/config.toml", f"[context]\nsources = ['{name}']")
    with pytest.raises(ConfigError) as error:
        laid.fragments().usual()
    assert error.value.message == (
        f"~/.config/overt/config.toml:2: `sources` holds '{name}', which is no source; {hint} "
        "(a file has an ending or a slash: 'CLAUDE.md', 'docs/rules/*.md', './RULES')"
    )


@pytest.mark.parametrize("order", [0, 5000])
def test_a_source_from_elsewhere_takes_the_place_of_a_built_in_one(laid: Laid, order: int) -> None:
    mine = ContextSource(key="memory", order=order, read=lambda _fragments, _cap: ())
    sources = sources_of(replace(laid.setting(), registries=Registries(context_sources=(mine,))))
    assert len(sources) == len(BUILT_IN) and sources[0 if order == 0 else -1] is mine
