"""Verdicts by rule, class and mode."""

import pytest

from overt.core.capabilities import Effect
from overt.core.settings import Action, Mode, Rule
from overt.safety.command import read_command
from overt.safety.policy import PathFacts, judge, subject_of
from overt.safety.rules import Subject, normal, speaks_of
from overt.tools.registry import BUILT_IN

TOOLS = BUILT_IN.by_name

RUN: frozenset[Effect] = frozenset({"run"})
WRITE: frozenset[Effect] = frozenset({"write"})
READ: frozenset[Effect] = frozenset({"read"})
MODES: tuple[Mode, ...] = ("review", "auto", "yolo", "plan")


def jobs(action: str) -> Subject:
    return subject_of(
        TOOLS["jobs"], (action,), PathFacts(root="/w", exists=lambda path: False, edit_rules=BUILT_IN.edit_rules)
    )


def bash(command: str) -> Subject:
    return subject_of(
        TOOLS["bash"],
        (command,),
        PathFacts(root="/w", exists=lambda path: path == "there", edit_rules=BUILT_IN.edit_rules),
    )


@pytest.mark.parametrize(
    "command",
    ["ls -la", "cat a b", "sleep 0.5", "pwd", "git status", "git log --oneline -3", "ls | wc -l", "echo hi", "rg x src",
     "true && false", "FOO=1 ls", "echo `date`", "cat $FILE", "ls *", "eval ls", "cat x 2>/dev/null",
     "echo oops >&2", "head -5 a; tail -5 a"],
)  # fmt: skip
def test_harmless_commands_are_known(command: str) -> None:
    assert read_command(command).hazard == "harmless"


@pytest.mark.parametrize(
    "command",
    ["rm -rf build", "/bin/rm x", "ls; rm x", "echo $(rm x)", "sudo ls", "mv a b", "chmod 777 .",
     "dd if=/dev/zero of=x", "echo x > there", "find . -delete", "find . -name x | xargs rm", "bash -c 'rm x'",
     "'rm' x", "\\rm x", "r''m x",
     "kill -9 1", "echo x >> .bashrc", "echo hi > $HOME/x", "cat a >| there", "git log; shutdown now",
     "git branch -D main", "rg --pre ./x y", "git -c a=b log", "eval $X"],
)  # fmt: skip
def test_dangerous_commands_are_known(command: str) -> None:
    assert read_command(command, lambda path: path == "there").hazard == "dangerous"


@pytest.mark.parametrize(
    "command",
    ["pytest -q", "make", "python x.py", "echo hi > new", "git commit -m 'rm old'", "sort -o a b", "npm test", ""],
)  # fmt: skip
def test_the_rest_is_ordinary(command: str) -> None:
    assert read_command(command, lambda path: path == "there").hazard == "ordinary"


@pytest.mark.parametrize(
    ("subject", "effects", "expected"),
    [
        (Subject(tool="read", values=("a",)), READ, ("allow", "allow", "allow", "allow")),
        (bash("ls"), RUN, ("allow", "allow", "allow", "allow")),
        (Subject(tool="edit", values=("a",)), WRITE, ("ask", "allow", "allow", "deny")),
        (bash("pytest"), RUN, ("ask", "ask", "allow", "deny")),
        (bash("rm x"), RUN, ("ask", "ask", "ask", "deny")),
        (
            jobs("list"),
            RUN,
            ("allow", "allow", "allow", "allow"),
        ),
        (jobs("stop"), RUN, ("ask", "ask", "allow", "deny")),
    ],
)
def test_each_mode_has_its_verdict(subject: Subject, effects: frozenset[Effect], expected: tuple[Action, ...]) -> None:
    assert tuple(judge(subject, effects, rules=(), mode=mode).action for mode in MODES) == expected


def rule(action: Action, text: str) -> Rule:
    tool, _, pattern = text.partition("(")
    return Rule(action=action, tool=BUILT_IN.rule_names.get(tool.lower(), tool), pattern=pattern.removesuffix(")"))


def test_deny_stands_over_ask_and_ask_over_allow_whatever_the_order() -> None:
    rules = [rule("allow", "bash"), rule("ask", "bash(git *)"), rule("deny", "bash(git push *)")]
    for ordered in (rules, rules[::-1]):
        verdicts = [judge(bash(c), RUN, rules=ordered, mode="review").action for c in ("make", "git add x", "git push")]
        assert verdicts == ["allow", "ask", "deny"]


@pytest.mark.parametrize("mode", MODES)
def test_no_bare_allow_rule_opens_what_is_final(mode: Mode) -> None:
    verdict = judge(bash("rm -rf x"), RUN, rules=[rule("allow", "bash"), rule("allow", "bash(*)")], mode=mode)
    assert verdict.action in ("ask", "deny")
    assert verdict.dangerous or mode == "plan"


@pytest.mark.parametrize(
    ("text", "subject", "spoken_of"),
    [
        ("bash(git status *)", bash("git status"), True),
        ("bash(git status *)", bash("git status -s"), True),
        ("bash(git status *)", bash("git statusx"), False),
        ("bash(npm run:*)", bash("npm run test"), True),
        ("bash(git *)", bash("git log; make"), False),
        ("bash(git *)", bash("git log && git diff"), True),
        ("bash(git *)", bash("git log $(make)"), False),
        ("bash(echo *)", bash("echo x > f"), False),
        ("Bash(make)", bash("make"), True),
        ("edit(src/**)", Subject(tool="write", family="edit", values=("src/a/b.py",)), True),
        ("edit(src/**)", Subject(tool="write", family="edit", values=("test/a.py",)), False),
        ("edit(*.py)", Subject(tool="patch", family="edit", values=("a.py", "b.txt")), False),
        ("read(.env)", Subject(tool="read", values=("sub/.env",)), True),
        ("read(./secret/*)", Subject(tool="read", values=("secret/a",)), True),
        ("edit", Subject(tool="multiedit", family="edit", values=("a",)), True),
        ("edit", Subject(tool="read", values=("a",)), False),
    ],
)
def test_allow_rules_speak_of_exactly_what_they_name(text: str, subject: Subject, spoken_of: bool) -> None:
    assert speaks_of(rule("allow", text), subject) is spoken_of


def test_a_denial_needs_only_one_part_of_a_command() -> None:
    assert speaks_of(rule("deny", "bash(curl *)"), bash("ls; curl x | sh"))
    assert speaks_of(rule("deny", "edit(*.lock)"), Subject(tool="patch", family="edit", values=("a.py", "b.lock")))


def test_a_fallback_that_was_set_decides_where_no_rule_speaks() -> None:
    assert judge(bash("make"), RUN, rules=(), mode="review", fallback="deny").action == "deny"
    assert judge(bash("make"), RUN, rules=(), mode="plan", fallback="allow").action == "deny"


@pytest.mark.parametrize(
    "spelling", ["secrets/k", "./secrets/k", "/w/secrets/k", "x/../secrets/k", "/w/x/..//secrets/k"]
)
def test_a_path_rule_holds_however_the_path_is_spelled(spelling: str) -> None:
    subject = subject_of(
        TOOLS["read"], (spelling,), PathFacts(root="/w", exists=lambda path: True, edit_rules=BUILT_IN.edit_rules)
    )
    assert judge(subject, READ, rules=[rule("deny", "read(secrets/**)")], mode="review").action == "deny"


def test_an_allowed_folder_is_not_left_by_going_up() -> None:
    subject = subject_of(
        TOOLS["write"],
        ("src/../Makefile",),
        PathFacts(root="/w", exists=lambda path: True, edit_rules=BUILT_IN.edit_rules),
    )
    assert judge(subject, WRITE, rules=[rule("allow", "edit(src/**)")], mode="review").action == "ask"


@pytest.mark.parametrize("command", ["uniq a b", "sort -uo c a", "sort --outp=d a", "tree -ao x", "git log --outp=x"])
def test_a_reader_that_is_told_to_write_is_not_harmless(command: str) -> None:
    assert read_command(command).hazard != "harmless"


@pytest.mark.parametrize("command", ["make -v && make --version", "git add *", "echo $HOME"])
def test_always_holds_for_that_very_command_and_no_other(command: str) -> None:
    always = Rule(action="allow", tool="bash", pattern=command, origin="always", exact=True)
    assert speaks_of(always, bash(command))
    assert not speaks_of(always, bash(command + " -A -f secrets"))


@pytest.mark.parametrize(
    "command",
    [
        'echo "$HOME" > there; echo "b"',
        'echo x > th"ere"',
        "echo pwn=>there",
        "$'rm' there",
        "r\\\nm there",
        'echo \\" > there \\"',
    ],
)
def test_quoting_hides_no_overwriting_and_no_dangerous_word(command: str) -> None:
    assert read_command(command, lambda path: path == "there").hazard == "dangerous"


@pytest.mark.parametrize(
    ("path", "expected"),
    [(".", "."), ("/w", "."), ("a/./b", "a/b"), ("/w/a", "a"), ("../x", "/x"), ("/wide/a", "/wide/a"), ("a/", "a")],
)
def test_a_path_has_one_spelling(path: str, expected: str) -> None:
    assert normal(path, "/w") == expected


def in_folder(command: str, workdir: str) -> Subject:
    return subject_of(
        TOOLS["bash"],
        (command, workdir),
        PathFacts(root="/w", exists=lambda path: path == "web/there", edit_rules=BUILT_IN.edit_rules),
    )


def test_paths_of_a_command_count_from_its_workdir() -> None:
    assert in_folder("echo x > there", "web").reading.hazard == "dangerous"
    assert in_folder("echo x > there", "/w/web").reading.writes == ("web/there",)
    assert in_folder("echo x > there", "elsewhere").reading.hazard == "ordinary"
    assert "web/.env" in in_folder("cat .env", "web").reads
    denied = Rule(action="deny", tool="read", pattern="web/.env")
    assert judge(in_folder("cat .env", "web"), RUN, rules=(denied,), mode="yolo").action == "deny"


@pytest.mark.parametrize("workdir", ["web", "a b", "it's", "-odd", "$HOME", "web; rm x", "~"])
def test_a_workdir_of_any_name_is_one_word(workdir: str) -> None:
    subject = in_folder("pytest -q", workdir)

    assert subject.reading.commands == ("pytest -q",)
    assert subject.values[0].startswith("cd ") and subject.values[0].endswith(" && pytest -q")
    allowed = Rule(action="allow", tool="bash", pattern="pytest *")
    assert judge(subject, RUN, rules=(allowed,), mode="review").action == "allow"
    assert judge(in_folder("rm x", workdir), RUN, rules=(allowed,), mode="yolo").action == "ask"


def test_rules_about_other_folders_speak_of_file_tools_outside() -> None:
    outside, inside = Subject(tool="read", values=("/etc/hosts",)), Subject(tool="read", values=("a",))
    for action in ("deny", "ask"):
        rule = Rule(action=action, tool="external_directory")
        assert judge(outside, READ, rules=(rule,), mode="yolo").action == action
        assert judge(inside, READ, rules=(rule,), mode="yolo").action == "allow"
    narrow = Rule(action="deny", tool="external_directory", pattern="//etc/*")
    assert judge(outside, READ, rules=(narrow,), mode="yolo").action == "deny"
    assert judge(Subject(tool="read", values=("/usr/x",)), READ, rules=(narrow,), mode="yolo").action == "allow"
    opens = Rule(action="allow", tool="external_directory")
    assert judge(Subject(tool="edit", values=("/etc/x",)), WRITE, rules=(opens,), mode="review").action == "ask"
