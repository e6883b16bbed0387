"""Ranking of short texts by a query."""

import pytest

from overt.lib.text_search import rank, words

TOOLS = {
    "create_issue": "create_issue Create a new issue in a GitHub repository",
    "list_issues": "list_issues List the issues of a repository with filters",
    "create_pull_request": "create_pull_request Open a pull request",
    "read_graph": "read_graph Read the whole knowledge graph",
    "getWeather": "getWeather Current weather of a city",
    "查询天气": "查询天气 返回一个城市的当前天气",
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("create_issue", ["creat", "issu"]),
        ("getHTTPResponse2", ["get", "http", "respons", "2"]),
        ("Creating issues", ["creat", "issu"]),
        ("查询天气", ["查询", "询天", "天气"]),
        ("the of", []),
    ],
)
def test_a_text_is_split_into_words_without_endings(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("open a pull request", "create_pull_request"),
        ("creating a github issue", "create_issue"),
        ("all issues of a repo", "list_issues"),
        ("weather in Paris", "getWeather"),
        ("城市天气", "查询天气"),
    ],
)
def test_the_text_that_fits_best_comes_first(query: str, best: str) -> None:
    assert rank(query, TOOLS, 3)[0] == best


def test_texts_that_share_no_word_are_left_out() -> None:
    assert rank("zebra", TOOLS, 3) == []
    assert rank("", TOOLS, 3) == []
    assert rank("x", {}, 3) == []
