"""Rules speak of what a command runs, not of how it is written."""

import pytest

from overt.core.settings import Action, Rule
from overt.safety.policy import Sight, subject_of
from overt.safety.rules import Subject, lasting, speaks_of


def bash(command: str) -> Subject:
    return subject_of("bash", (command,), Sight(root="/w", exists=lambda path: False))


def rule(action: Action, text: str) -> Rule:
    tool, _, pattern = text.partition("(")
    return Rule(action=action, tool=tool, pattern=pattern.removesuffix(")"))


@pytest.mark.parametrize(
    "command",
    ["rm x", "sudo rm x", "ls | xargs rm", "sh -c 'rm x'", "env A=1 nice -n 3 rm x", "echo $(rm x)", "'r'm x",
     "eval 'rm x'", "find . -exec rm {} +", "if true; then rm x; fi", "cat <<E\n$(rm x)\nE", "nice rm x",
     "r\\\nm x"],
)  # fmt: skip
def test_a_denied_program_is_denied_however_it_is_wrapped(command: str) -> None:
    assert speaks_of(rule("deny", "bash(rm *)"), bash(command))


@pytest.mark.parametrize("command", ["echo rm x", "ls rm", "git rm x", "grep 'rm *' f", "npm run rm"])
def test_a_denied_name_may_stand_among_the_arguments_of_others(command: str) -> None:
    assert not speaks_of(rule("deny", "bash(rm *)"), bash(command))


@pytest.mark.parametrize(
    ("pattern", "command", "allowed"),
    [
        ("npm run *", "npm run build", True),
        ("npm run *", "npm  run  'build'", True),
        ("npm run *", "NODE_ENV=test npm run build", True),
        ("npm run *", "npm run build && make", False),
        ("npm run *", "npm run build; npm run test", True),
        ("npm run *", "npm run build > log", False),
        ("npm run *", "npm run build 2>&1", True),
        ("npm run *", "npm run $(make)", False),
        ("npm run *", "npm run \"`npm run x`\"", True),
        ("npm run *", "npm run \"unclosed", False),
        ("npm run *", "$X npm run build", False),
        ("npm run:*", "timeout 9 npm run build", True),
        ("make *", "make; $(make)", False),
        ("git:*", "git log && git diff", True),
    ],
)  # fmt: skip
def test_allowing_needs_every_part_to_match_and_nothing_unclear(pattern: str, command: str, allowed: bool) -> None:
    assert speaks_of(rule("allow", f"Bash({pattern})"), bash(command)) is allowed


@pytest.mark.parametrize(
    "command",
    ["echo x > secrets/a", "echo x >> secrets/a", "cd secrets && echo x > a", "tee secrets/a", "cp b secrets/a",
     "sh -c 'echo x > secrets/a'", "cp b secrets/", "sort -o secrets/a b", "cd x; echo y > ../secrets/a"],
)  # fmt: skip
def test_what_a_command_writes_is_an_edit(command: str) -> None:
    assert speaks_of(rule("deny", "edit(secrets/**)"), bash(command))
    assert speaks_of(rule("ask", "write(secrets/**)"), bash(command))


def test_an_allowed_edit_allows_no_command() -> None:
    assert not speaks_of(rule("allow", "edit(secrets/**)"), bash("echo x > secrets/a"))


def test_a_command_that_writes_nothing_is_no_edit() -> None:
    assert not speaks_of(rule("deny", "edit"), bash("cat secrets/a"))
    assert speaks_of(rule("deny", "edit"), bash("echo x > a"))


@pytest.mark.parametrize(
    ("command", "pattern"),
    [
        ("pytest -q tests/a.py", "pytest:*"),
        ("npm run lint", "npm run lint:*"),
        ("git commit -m x", "git commit:*"),
        ("make", "make:*"),
        ("python -m pytest -x", "python -m pytest -x"),
        ("python tool.py", "python tool.py"),
        ("npx eslint .", "npx eslint ."),
        ("./build.sh", "./build.sh"),
        ("make && make test", "make && make test"),
        ("pytest > new.log", "pytest > new.log"),
        ("env A=1 make", "env A=1 make"),
        ("touch 'a b'", "touch 'a b'"),
        ("touch x:*", ""),
    ],
)
def test_always_stands_for_commands_that_begin_alike_only_where_that_says_enough(command: str, pattern: str) -> None:
    assert lasting(bash(command)) == pattern


def test_a_rule_for_commands_that_begin_alike_opens_nothing_else() -> None:
    always = Rule(action="allow", tool="bash", pattern="git commit:*", origin="always")
    for fits in ("git commit", "git commit -m x", "git commit --no-verify -a"):
        assert speaks_of(always, bash(fits))
    for other in ("git push", "git commitx", "git commit -m x; make", 'git commit -m "$(make)"', "git commit > new"):
        assert not speaks_of(always, bash(other))


@pytest.mark.parametrize(
    ("text", "command"),
    [
        ("bash(curl *)", "/usr/bin/curl x"),
        ("bash(git push *)", "git -C . push"),
        ("bash(git push *)", "git --no-pager push origin"),
        ("bash(git push *)", "git -P push"),
        ("bash(git push *)", "git --git-dir=.git push"),
        ("bash(git push *)", "git -c color.ui=never -C sub push"),
        ("bash(pip install *)", "pip --quiet install x"),
        ("bash(pip install *)", "pip3 install x"),
        ("bash(pip install *)", "python3 -m pip install x"),
        ("bash(pip install *)", "uv pip install x"),
        ("read(.env)", "cat .env"),
        ("read(.env)", "grep KEY sub/.env"),
        ("read(.env)", "cat ./.ENV"),
        ("read(secret/**)", "head secret/../secret/a"),
        ("read(.env)", "jq -r --rawfile=.env .x"),
        ("read(.env)", "cat < .env"),
        ("read(.env)", "cat /w/.env"),
        ("read(secret/**)", "grep -r . secret"),
        ("read(secret/**)", "cd secret && cat a"),
        ("read(my file)", "cat 'my file'"),
        ("bash(pip install *)", "pip3.11 install x"),
        ("edit(kept/**)", "touch /w/kept/new"),
        ("edit(kept/**)", "cd /w/kept && touch q"),
    ],
)
def test_a_denial_is_not_dodged_by_another_spelling(text: str, command: str) -> None:
    assert speaks_of(rule("deny", text), bash(command))


def test_a_denial_of_reading_leaves_other_files_alone() -> None:
    for command in ("cat a.txt", "ls", "cat .env.example", "make"):
        assert not speaks_of(rule("deny", "read(.env)"), bash(command))
    assert not speaks_of(rule("deny", "bash(git push *)"), bash("git commit -m push"))
