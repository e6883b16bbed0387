"""Front matter of Markdown files, in the forms people write."""

import pytest

from overt.lib.front_matter import FrontMatter, read_front_matter


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Hello\n", FrontMatter(fields={}, body="# Hello\n")),
        ("---\nname: x\n---\nBody\n", FrontMatter(fields={"name": "x"}, body="Body\n")),
        ("\ufeff---\r\nname: x\r\n---\r\nBody\r\n", FrontMatter(fields={"name": "x"}, body="Body\r\n")),
        ("---\n---\nBody", FrontMatter(fields={}, body="Body")),
        ("---\nname: x\n---", FrontMatter(fields={"name": "x"}, body="")),
        ("---\nname: x\nBody", FrontMatter(fields={}, body="---\nname: x\nBody")),
        (
            "---\ntools: [a, b]\nmeta: {k: 1}\n---\n",
            FrontMatter(fields={"tools": ["a", "b"], "meta": {"k": 1}}, body=""),
        ),
        (
            "---\n- a\n---\nBody",
            FrontMatter(fields={}, body="Body", problem="its front matter is not a table of names and values"),
        ),
    ],
)
def test_front_matter_is_split_from_the_text(text: str, expected: FrontMatter) -> None:
    assert read_front_matter(text) == expected


def test_a_description_with_a_colon_is_read_although_it_is_no_yaml() -> None:
    read = read_front_matter("---\nname: review\ndescription: Use it when: the user asks\n---\nBody")
    assert read.fields == {"name": "review", "description": "Use it when: the user asks"}
    assert read.problem == "line 3: mapping values are not allowed here"


def test_yaml_that_would_make_objects_is_refused() -> None:
    read = read_front_matter("---\nx: !!python/object/apply:os.system ['true']\n---\n")
    assert "x" not in read.fields or isinstance(read.fields["x"], str)
    assert read.problem
