"""Commands that look harmless until an option is taken back, a word is computed, or a script is read to its end."""

import pytest
from tests.safety.figures import is_inline, labelled_rows

from overt.safety.command import read_command

ROWS = labelled_rows("shell_more.jsonl")


def hazard(command: str, *new: str) -> str:
    return read_command(command, lambda path: path not in new).hazard


@pytest.mark.parametrize("kind", ["undone", "handed-on", "sed-script", "computed", "reader-writes"])
def test_no_line_of_these_kinds_is_less_than_dangerous(kind: str) -> None:
    commands = [row["cmd"] for row in ROWS if row["class"] == kind]
    assert len(commands) > 10
    assert [
        command for command in commands if hazard(command) != "dangerous" and not is_inline(read_command(command))
    ] == []


def test_lines_of_the_same_shapes_that_only_read_are_not_asked_about() -> None:
    commands = [row["cmd"] for row in ROWS if row["class"] == "stays-quiet"]
    assert len(commands) > 100
    assert [command for command in commands if hazard(command) != "harmless"] == []


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("git clean -n", "harmless"), ("git clean -n --no-dry-run", "dangerous"),
        ("git clean -n --no-quiet", "harmless"), ("git branch --no-merged main", "harmless"),
        ("npm publish --dry-run", "harmless"), ("npm publish --dry-run=false", "dangerous"),
        ("git push --force-with-lease --no-force", "dangerous"), ("git rm -n --no-dry a", "dangerous"),
    ],
)  # fmt: skip
def test_an_option_that_takes_a_dry_run_back_is_believed_and_no_other(command: str, expected: str) -> None:
    assert hazard(command) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("ls | xargs wc -l", "harmless"), ("cat list | xargs wc -l", "harmless"),
        ("cat list | xargs sort", "dangerous"),
        ("cat list | xargs sort --", "harmless"), ("ls | xargs sort", "harmless"), ("ls | xargs uniq", "dangerous"),
        ("ls | xargs -n1 uniq", "harmless"), ("find . -exec uniq {} ';'", "harmless"),
        ("find . -exec uniq {} +", "dangerous"), ("ls | parallel sort", "harmless"),
        ("cat list | parallel sort", "dangerous"), ("ls; cat list | xargs sort", "dangerous"),
    ],
)  # fmt: skip
def test_words_from_elsewhere_are_options_unless_they_name_what_is_there(command: str, expected: str) -> None:
    assert hazard(command) == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("for f in *; do sort \"$f\"; done", "harmless"), ("for f in $(cat l); do sort \"$f\"; done", "dangerous"),
        ("f() { sort \"$1\"; }; f a", "harmless"), ("f() { sort \"$1\" a; }; f -oa", "dangerous"),
        ("f() { sort \"$@\"; }; f a b", "harmless"), ("f() { shift; sort \"$1\" a; }; f a -oa", "dangerous"),
        ("x=$(git rev-parse HEAD); git show $x", "harmless"), ("x=$(cat f); git show $x", "dangerous"),
        ("x=src/$n; sort \"$x\"", "harmless"), ("x=-oa; sort \"$x\" b", "dangerous"),
        ("y=-oa; x=$y; sort \"$x\" b", "dangerous"), ("sort \"${F:-a}\"", "harmless"),
        ("sort \"${F:--oa}\" b", "dangerous"), ("sort ${F:+\"-oa\"} b", "dangerous"),
        ("ls | while read -r f; do sort \"$f\"; done", "harmless"),
        ("cat l | while read -r f; do sort \"$f\"; done", "dangerous"),
        ("cat l | while read -r f; do wc -l \"$f\"; done", "harmless"),
        ("cat l | while read -r f; do sort -- \"$f\"; done", "harmless"),
        ("echo -delete; find . $_", "dangerous"), ("a=(-oa b); sort \"${a[@]}\"", "dangerous"),
        ("a=(a b); sort \"${a[@]}\"", "harmless"), ("git commit -m \"$(cat message)\"", "ordinary"),
        ("npm run \"$(cat name)\"", "ordinary"), ("npm \"$(cat name)\"", "dangerous"),
        ("docker image \"$(cat name)\" x", "dangerous"), ("mkdir -p \"$(cat name)\"", "ordinary"),
        ("sh -c 'sort \"$1\" a' _ -oa", "dangerous"), ("sh -c 'sort \"$1\"' _ a", "harmless"),
        ("env x=-delete sh -c 'find . $x'", "dangerous"), ("env x=src sh -c 'find . $x'", "harmless"),
    ],
)  # fmt: skip
def test_a_computed_word_counts_as_an_option_where_the_text_may_make_it_one(command: str, expected: str) -> None:
    assert hazard(command) == expected


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        (":a;N;$!ba;s/\\n/,/g", "harmless"), (":a;w there", "dangerous"), (":a w there", "dangerous"),
        ("v;w there", "dangerous"), ("a text\\\\\nw there", "dangerous"), ("a text\\\nw there", "harmless"),
        ("s/[/]/x/;w there", "dangerous"), ("/[/p;#]/w there", "dangerous"), ("s/[^/]*$//", "harmless"),
        ("/[/]/p", "harmless"), ("r a\nw there", "dangerous"), ("r a;w there", "harmless"), ("5,", "ordinary"),
        ("k", "ordinary"), ("s/a/b", "ordinary"), ("y/a;w/b;x/", "harmless"), ("s/a/b/ew there", "ordinary"),
        ("l 5;q 3;Q", "harmless"), ("p # w there", "harmless"), ("w new", "ordinary"),
    ],
)  # fmt: skip
def test_a_script_of_sed_is_read_to_its_end_or_is_code_like_any_other(script: str, expected: str) -> None:
    assert hazard(f"sed -n '{script}' a", "new") == expected


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("sed 's/" + "[a]" * 500 + "' f", "ordinary"), ("sed '" + "s/[/]/a/;" * 100 + "' f", "harmless"),
        ("x=$(ls \"" + "\\\\a" * 140 + ")", "dangerous"), ("x=" + "a-" * 5000, "harmless"),
    ],
    ids=lambda value: value[:8],
)  # fmt: skip
def test_long_words_and_scripts_take_no_long_time(command: str, expected: str) -> None:
    assert hazard(command) == expected


def test_a_module_named_behind_its_option_is_told_like_the_program() -> None:
    told = ("python3 -mpip install x", "pip install x")
    assert read_command("python3 -mpip install x").commands == told
    assert read_command("python3 -Bm pip install x").commands == ("python3 -Bm pip install x", "pip install x")


def test_a_file_whose_name_is_an_option_is_not_made_unasked() -> None:
    assert [hazard(line, "-o", "-delete") for line in ("touch -- -o", "echo x > -delete", "tee -a -- -o")] == [
        "dangerous"
    ] * 3
