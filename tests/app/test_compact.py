"""The compact agent: what a small model is given, what it may say, and what of it is believed."""

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest
from msgspec import json
from msgspec.structs import replace
from tests.workspace.files_kit import files

from overt.app.models.tool_protocol import ScaffoldContext, ToolProtocol
from overt.app.small_model.answer_check import asks_for_change, asks_to_run
from overt.app.small_model.mentions import find_identifiers, named_paths
from overt.app.small_model.scaffold import SmallModelLead, set_up_protocol, small_model_prefix, small_model_tools
from overt.context.assemble import encode_opening
from overt.core.codec import compact
from overt.core.events import Event, Replied, ToolFinished, UserSpoke
from overt.core.history import History, fold_all, last_exchange
from overt.core.messages import Call, Message, Result, Text, own_message, said
from overt.core.protocols import Hands, Loan
from overt.core.requests import Params
from overt.core.settings import Limits
from overt.core.spending.usage import Usage
from overt.core.text_fragments import MODEL, USER, Fragment
from overt.core.views import Plain
from overt.lib.tokens import estimate
from overt.providers.wires.openai import OpenAIChat
from overt.workspace.contained_path import Forbid

T = TypeVar("T")


class Lender:
    """Hands that lend real files of a folder and nothing else."""

    def __init__(self, root: Path, forbid: Forbid | None = None) -> None:
        self._root = root
        self._forbid = forbid

    def lend(self, call_id: str, needs: Any, **rest: Any) -> Loan:
        assert needs == {"files": "read"}
        hands = files(self._root, forbid=self._forbid)
        return Loan(capabilities={"files": hands}, journal=hands.journal)


class Plainly:
    """Fragments of a person who said nothing."""

    def beside(self, prompt: Fragment) -> tuple[Fragment, ...]:
        return (prompt,)


def lead(root: Path, forbid: Forbid | None = None, **rest: Any) -> SmallModelLead:
    hands: Hands = Lender(root, forbid)  # type: ignore[assignment]
    given = {"may_read": lambda path: True} | {
        key: rest.pop(key) for key in ("may_read", "suggest_tools") if key in rest
    }
    return SmallModelLead(ScaffoldContext(hands=hands, limits=Limits(), **given), small_model_tools(), **rest)


def soon(work: Coroutine[Any, Any, T]) -> T:
    async def main() -> T:
        async with asyncio.timeout(60):
            return await work

    return asyncio.run(main())


def along(found: tuple[Message, ...]) -> list[tuple[str, str, str]]:
    return [(message.origin.kind, message.origin.where, message.text()) for message in found]


def lay(root: Path, **contents: str) -> None:
    for name, content in contents.items():
        (root / name.replace("__", ".")).write_text(content)


# ── what goes along ──────────────────────────────────────────────────────────────────────────────────────


def test_the_files_are_listed_and_the_named_one_is_pasted(tmp_path: Path) -> None:
    lay(tmp_path, a__py="x = 1\n", b__py="y = 2\n", c__md="# c\n", d__md="# d\n")
    assert along(soon(lead(tmp_path).accompany("Change x in a.py to 3"))) == [
        ("environment", "files", "Files: a.py, b.py, c.md, d.md"),
        ("file", "a.py", "[a.py]\nx = 1\n"),
    ]


def test_a_pasted_file_counts_as_seen_and_may_be_overwritten(tmp_path: Path) -> None:
    lay(tmp_path, a__py="x = 1\n")
    found = soon(lead(tmp_path).accompany("Change a.py"))
    history = fold_all(History(), [UserSpoke(message=message) for message in found])
    assert history.seen == {"a.py": found[-1].origin.hash}
    assert len(found[-1].origin.hash) == 64


def test_a_file_is_found_by_the_names_that_the_task_uses(tmp_path: Path) -> None:
    lay(tmp_path, a__py="def load_orders():\n    pass\n", b__py="y = 2\n", c__md="# c\n", d__md="# d\n")
    assert along(soon(lead(tmp_path).accompany("load_orders returns nothing, fix it")))[1:] == [
        ("file", "a.py", "[a.py]\ndef load_orders():\n    pass\n")
    ]


def test_what_was_told_is_not_told_again_unless_it_changed(tmp_path: Path) -> None:
    lay(tmp_path, a__py="x = 1\n")
    helper = lead(tmp_path)
    assert len(soon(helper.accompany("Look at a.py"))) == 2
    assert soon(helper.accompany("Explain a.py")) == ()
    lay(tmp_path, a__py="x = 2\n")
    assert along(soon(helper.accompany("Look at a.py"))) == [("file", "a.py", "[a.py]\nx = 2\n")]


def test_a_long_file_is_cut_in_the_open(tmp_path: Path) -> None:
    lay(tmp_path, a__py="x = 1\n" * 5000)
    pasted = soon(lead(tmp_path).accompany("Look at a.py"))[-1].text()
    assert len(pasted) < 3200
    assert "left out; see more with grep" in pasted


def test_a_file_of_secrets_goes_along_only_with_a_task_that_names_it(tmp_path: Path) -> None:
    for name in (".env", "prod.env", "server.key", "secrets.yaml", "a.py"):
        (tmp_path / name).write_text("DB_PASSWORD=hunter2\n")
    for task in ("what is this project about?", "where is DB_PASSWORD used?"):
        pasted = [place for kind, place, _ in along(soon(lead(tmp_path).accompany(task))) if kind == "file"]
        assert pasted == ["a.py"]
    told = along(soon(lead(tmp_path).accompany("explain prod.env")))
    assert [place for kind, place, _ in told if kind == "file"] == ["prod.env"]


def test_what_may_not_be_read_is_not_pasted(tmp_path: Path) -> None:
    lay(tmp_path, a__py="x = 1\n", key__txt="secret\n")
    denying = lead(tmp_path, forbid=lambda effect, path: "read(key.txt)" if path == "key.txt" else "")
    assert [message.origin.where for message in soon(denying.accompany("Show a.py and key.txt"))] == ["files", "a.py"]
    asking = lead(tmp_path, may_read=lambda path: path != "key.txt")
    assert [message.origin.where for message in soon(asking.accompany("Show a.py and key.txt"))] == ["files", "a.py"]


def test_an_empty_folder_needs_nothing_along(tmp_path: Path) -> None:
    assert soon(lead(tmp_path).accompany("Create a.py")) == ()


@pytest.mark.parametrize(
    ("task", "found"),
    [
        ("fix src/a.py", ["src/a.py"]),
        ("fix a.py, then b.md.", ["src/a.py", "b.md"]),
        ("a.pyc and xa.py are other files, and so is lib/a.py", []),
        ("the readme is wrong", ["README.md"]),
        ("twice.py", []),
        ("x/twice.py", ["x/twice.py"]),
    ],
)
def test_files_are_named_whole_or_by_an_unmistakable_name(task: str, found: list[str]) -> None:
    assert named_paths(task, ["README.md", "b.md", "src/a.py", "x/twice.py", "y/twice.py"]) == found


def test_names_of_code_are_told_from_words() -> None:
    assert find_identifiers("Why is `total` wrong, and does load_orders call parseLine or run()?") == [
        "total",
        "load_orders",
        "parseLine",
        "run",
    ]
    assert find_identifiers("Please make the tests pass (again).") == []


# ── what the model may say ───────────────────────────────────────────────────────────────────────────────


def spoken(*events: Event, task: str = "Change a.py") -> History:
    return fold_all(History(), [UserSpoke(message=said(task, origin=USER)), *events])


FACTS = Result(call_id="", parts=())


def called(
    name: str, *, error: bool = False, text: str = "", id: str = "", facts: Result | None = None, **arguments: str
) -> list[Event]:
    """A call and its result, which has the typed fields of `facts`."""
    call = Call(id=id or f"c-{name}-{text}", name=name, arguments=compact(arguments))
    result = replace(facts or FACTS, call_id=call.id, parts=(Text(text=text),), error=error)
    message = Message(role="assistant", parts=(call,), origin=MODEL)
    return [
        Replied(message=message, finish="calls", usage=Usage()),
        ToolFinished(result=result, view=Plain(text="")),
    ]


def answers(text: str = "Done.") -> Event:
    return Replied(message=said(text, role="assistant", origin=MODEL), finish="stop", usage=Usage())


def doubts(text: str) -> Event:
    return UserSpoke(message=own_message(text, "objection"))


def choices(helper: SmallModelLead, history: History, *, forced: bool = False) -> list[str]:
    form = soon(helper.form(history, forced=forced))
    assert form is not None
    whole = json.decode(form)
    return [option["properties"]["tool"]["const"] for option in whole.get("anyOf", [whole])]


def test_paths_are_those_that_exist(tmp_path: Path) -> None:
    lay(tmp_path, a__py="x = 1\n", b__md="b\n")
    form = soon(lead(tmp_path).form(spoken(), forced=False))
    assert form is not None
    options = {each["properties"]["tool"]["const"]: each["properties"] for each in json.decode(form)["anyOf"]}
    assert options["edit"]["path"] == {"type": "string", "enum": ["a.py", "b.md"]}
    assert options["read"]["path"] == options["edit"]["path"]
    assert options["write"]["path"] == {"type": "string"}


def test_no_answer_right_after_a_failed_call(tmp_path: Path) -> None:
    every = ["read", "grep", "write", "edit", "bash", "final"]
    helper = lead(tmp_path)
    failed = called("edit", error=True, text="no")
    assert choices(helper, spoken()) == every
    assert choices(helper, spoken(*failed)) == every[:-1]
    assert choices(helper, spoken(*failed, *called("read", text="x"))) == every


def test_after_three_failures_it_may_give_up(tmp_path: Path) -> None:
    failures = [event for turn in range(3) for event in called("edit", error=True, id=f"c{turn}")]
    assert choices(lead(tmp_path), spoken(*failures))[-1] == "final"


def test_after_two_failed_edits_the_file_is_written_anew_or_left(tmp_path: Path) -> None:
    failures = [event for turn in range(2) for event in called("edit", error=True, id=f"c{turn}")]
    assert choices(lead(tmp_path), spoken(*failures)) == ["read", "grep", "write", "bash"]
    assert "edit" in choices(lead(tmp_path), spoken(*failures, *called("read", text="x")))


def test_a_denied_call_may_be_followed_by_an_answer_that_is_believed(tmp_path: Path) -> None:
    denied = called("edit", path="a.py", error=True, facts=replace(FACTS, cause="denied"))
    assert choices(lead(tmp_path), spoken(*denied))[-1] == "final"
    assert soon(lead(tmp_path).find_objection(spoken(*denied, answers("I was not allowed to.")))) == ""


def test_a_call_that_was_refused_for_being_the_same_is_not_possible_next(tmp_path: Path) -> None:
    refused = called("grep", pattern="x", error=True, facts=replace(FACTS, cause="repeated"))
    assert choices(lead(tmp_path), spoken(*refused)) == ["read", "write", "edit", "bash"]


def test_adding_at_the_end_is_not_tried_twice(tmp_path: Path) -> None:
    lay(tmp_path, a__py="x = 1\n")
    failed = called("edit", path="a.py", old="", new="x", error=True)
    form = soon(lead(tmp_path).form(spoken(*failed), forced=False))
    assert form is not None
    options = {each["properties"]["tool"]["const"]: each["properties"] for each in json.decode(form)["anyOf"]}
    assert options["edit"]["old"] == {"type": "string", "minLength": 1}


def test_at_the_limit_there_is_only_the_answer(tmp_path: Path) -> None:
    assert choices(lead(tmp_path), spoken(*called("edit", error=True)), forced=True) == ["final"]


def test_without_a_schema_there_is_no_form(tmp_path: Path) -> None:
    assert soon(lead(tmp_path, calls="text").form(spoken(), forced=False)) is None


# ── what is believed ─────────────────────────────────────────────────────────────────────────────────────


def test_a_claimed_change_without_any_is_doubted_twice_at_most(tmp_path: Path) -> None:
    helper = lead(tmp_path)
    first = soon(helper.find_objection(spoken(answers("I changed it."))))
    assert first.startswith("Not believed: no file was changed. The task is: Change a.py")
    again = [answers(), doubts(first)] * 2
    assert soon(helper.find_objection(spoken(*again[:3]))) == first
    assert soon(helper.find_objection(spoken(*again, answers()))) == ""


def test_a_new_turn_is_doubted_anew(tmp_path: Path) -> None:
    helper = lead(tmp_path)
    first = soon(helper.find_objection(spoken(answers())))
    history = spoken(*[answers(), doubts(first)] * 2, answers(), UserSpoke(message=said("Fix it", origin=USER)))
    assert soon(helper.find_objection(fold_all(history, [answers()]))) != ""


def test_a_real_change_and_an_answered_question_are_believed(tmp_path: Path) -> None:
    lay(tmp_path, a__py="x = 1\n")
    helper = lead(tmp_path)
    assert (
        soon(helper.find_objection(spoken(*called("edit", path="a.py", text="updated a.py (+1 -1)"), answers()))) == ""
    )
    assert soon(helper.find_objection(spoken(answers("It adds two numbers."), task="What does add do?"))) == ""


def test_an_edit_that_failed_or_changed_nothing_is_no_change(tmp_path: Path) -> None:
    unchanged = called("write", path="a.py", facts=replace(FACTS, unchanged=True))
    for event in (called("edit", path="a.py", error=True), unchanged):
        assert "no file was changed" in soon(lead(tmp_path).find_objection(spoken(*event, answers())))


def test_an_honest_failure_is_believed_and_one_without_an_attempt_is_not(tmp_path: Path) -> None:
    failed = called("edit", path="a.py", error=True)
    assert soon(lead(tmp_path).find_objection(spoken(*failed, answers("I could not change a.py.")))) == ""
    assert "no file was changed" in soon(lead(tmp_path).find_objection(spoken(answers("I cannot do that."))))


def test_a_command_that_only_looks_is_no_change_and_another_may_be(tmp_path: Path) -> None:
    looked = spoken(*called("bash", command="cat a.py"), answers())
    assert "no file was changed" in soon(lead(tmp_path).find_objection(looked))
    assert soon(lead(tmp_path).find_objection(spoken(*called("bash", command="sed -i s/1/2/ a.py"), answers()))) == ""


@pytest.mark.parametrize(
    ("name", "content", "trouble"),
    [
        ("a.py", "def f(:\n", "a.py does not parse: line 1: "),
        ("a.json", '{"a": }', "a.json does not parse: "),
        ("a.toml", "a = \n", "a.toml does not parse: "),
    ],
)
def test_a_changed_file_that_does_not_parse_is_doubted(tmp_path: Path, name: str, content: str, trouble: str) -> None:
    (tmp_path / name).write_text(content)
    history = spoken(*called("write", path=name, text=f"created {name} (+1 -0)"), answers())
    assert trouble in soon(lead(tmp_path).find_objection(history))
    (tmp_path / name).write_text({"a.py": "x = '\\d'\n", "a.json": "{}", "a.toml": "a = 1\n"}[name])
    assert soon(lead(tmp_path).find_objection(history)) == ""


def test_a_task_about_tests_is_checked_by_running_one(tmp_path: Path) -> None:
    lay(tmp_path, a__py="x = 1\n")
    changed = called("edit", path="a.py", text="updated a.py (+1 -1)")
    task = "Change a.py so that the test passes"
    assert "Run the test" in soon(lead(tmp_path).find_objection(spoken(*changed, answers(), task=task)))
    ran = called("bash", command="python3 test_a.py", text="ok")
    assert soon(lead(tmp_path).find_objection(spoken(*changed, *ran, answers(), task=task))) == ""
    failed = called("bash", command="python3 test_a.py", facts=replace(FACTS, ended="exit code 1"))
    assert "(exit code 1)" in soon(lead(tmp_path).find_objection(spoken(*changed, *failed, answers(), task=task)))


def test_calls_with_the_same_id_are_told_apart(tmp_path: Path) -> None:
    lay(tmp_path, a__py="x = 1\n")
    changed = called("edit", path="a.py", text="updated a.py (+1 -1)", id="c1")
    looked = called("read", path="a.py", text="x = 1", id="c1")
    assert soon(lead(tmp_path).find_objection(spoken(*changed, *looked, answers()))) == ""
    assert "no file was changed" in soon(lead(tmp_path).find_objection(spoken(*looked, answers())))


def test_a_run_that_was_asked_for_must_have_happened(tmp_path: Path) -> None:
    told = soon(lead(tmp_path).find_objection(spoken(answers("7 words"), task="Run count.py and say what it prints")))
    assert "no command was run" in told


@pytest.mark.parametrize(
    ("task", "change"),
    [
        ("Fix the typo in README.md", True),
        ("Please add a function", True),
        ("把端口改成 80", True),
        ("Could you please rename it?", True),
        ("total should count every item", True),
        ("What would I have to change?", False),
        ("Should it be changed?", False),
        ("Can you explain how to add a test?", False),
        ("Explain how to add a test", False),
        ("Say hello", False),
    ],
)
def test_a_wish_for_a_change_is_told_from_a_question(task: str, change: bool) -> None:
    assert asks_for_change(task) is change


def test_a_wish_to_run_is_told_from_a_question() -> None:
    assert (asks_to_run("Run the tests"), asks_to_run("How do I run the tests?")) == (True, False)


# ── the whole of it ──────────────────────────────────────────────────────────────────────────────────────


def test_the_conduct_of_a_small_model_is_short_and_within_its_limits(tmp_path: Path) -> None:
    fragments: Any = Plainly()
    hands: Any = Lender(tmp_path)
    tools = {name: tool for name, tool in small_model_tools().items() if name != "bash"}
    context = ScaffoldContext(hands=hands, limits=Limits(), may_read=lambda path: True)
    made = set_up_protocol(
        ToolProtocol(calls="schema", compact=True), tools, fragments, wire=OpenAIChat(), context=context
    )
    assert list(made.tools) == ["read", "grep", "write", "edit"]
    assert made.prefix.tools == ()
    assert made.limits == Limits(max_steps=16, max_parallel=1, result_bytes=4096, result_tokens=1200)
    body = encode_opening(made.wire, made.prefix, Params(model="m"))
    assert b'"bash"' not in body.split(b"Reply with one JSON object")[0]
    assert b"python3 --version" not in body


def test_the_prefix_is_small_enough_to_be_read_in_seconds() -> None:
    fragments: Any = Plainly()
    prefix = small_model_prefix(small_model_tools(), "schema", fragments)
    assert sum(1 for message in prefix.shots if message.role == "user") >= 6
    body = json.decode(encode_opening(OpenAIChat(), prefix, Params(model="m")) + b"]}")
    words = prefix.system_text() + "".join(str(message["content"]) for message in body["messages"][1:])
    assert estimate(words) < 700


def test_with_native_calls_the_examples_are_calls() -> None:
    fragments: Any = Plainly()
    prefix = small_model_prefix(small_model_tools(), "native", fragments)
    assert [spec.name for spec in prefix.tools] == ["read", "grep", "write", "edit", "bash"]
    assert "JSON" not in prefix.system_text()
    assert sum(len(message.calls()) for message in prefix.shots) == 6


def test_retrying_drops_what_went_along_too(tmp_path: Path) -> None:
    lay(tmp_path, a__py="x = 1\n")
    found = soon(lead(tmp_path).accompany("Look at a.py"))
    prompt = said("Look at a.py", origin=USER)
    history = fold_all(History(), [UserSpoke(message=message) for message in (*found, prompt)])
    assert last_exchange(history) == (0, prompt)


def test_a_retry_is_given_the_same_along_again(tmp_path: Path) -> None:
    lay(tmp_path, a__py="x = 1\n")
    helper = lead(tmp_path)
    first = soon(helper.accompany("Look at a.py"))
    assert soon(helper.accompany("Look at a.py")) == first
