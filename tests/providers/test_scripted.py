"""Replies from a file, in order, with a clear end."""

import json
from pathlib import Path

import pytest
from tests.providers.provider_kit import request, run

from overt.core.errors import ConfigError, ProviderError
from overt.core.messages import Call, Reasoning, Text
from overt.core.protocols import Provider
from overt.core.requests import CallDelta, Delta, ReasoningDelta, Reply, TextDelta
from overt.core.settings import ProviderEntry
from overt.core.spending.usage import Usage
from overt.providers.registry import make

FIRST = {"text": "hello", "chunk": 2, "reasoning": "hm", "usage": {"input": 3, "output": 1}}
SECOND = {"calls": [{"name": "read", "arguments": {"path": "a"}}, {"name": "x", "arguments": "{broken", "id": "mine"}]}


def scripted(path: Path, text: str, *, scheme: str = "") -> Provider:
    path.write_text(text)
    return make(ProviderEntry(name="demo", kind="scripted", base_url=f"{scheme}{path}"), None)


async def played(source: Provider) -> list[Delta]:
    return [delta async for delta in source.stream(request())]


FORMS = {
    "a list": json.dumps([FIRST, SECOND]),
    "an object": json.dumps({"replies": [FIRST, SECOND]}, indent=1),
    "a line each": f"{json.dumps(FIRST)}\n\n{json.dumps(SECOND)}\n",
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_replies_are_played_in_order(tmp_path: Path, form: str, scheme: str) -> None:
    source = scripted(tmp_path / "script", FORMS[form], scheme=scheme)
    assert run(played(source)) == [
        ReasoningDelta(text="hm"),
        TextDelta(text="he"),
        TextDelta(text="ll"),
        TextDelta(text="o"),
        Reply(
            parts=(Reasoning(text="hm"), Text(text="hello")),
            finish="stop",
            usage=Usage(input=3, output=1),
            model="fake-model",
        ),
    ]
    assert run(played(source)) == [
        CallDelta(index=0, name="read", characters=12, ready=0),
        CallDelta(index=1, name="x", characters=7, ready=1),
        Reply(
            parts=(
                Call(id="call_1_0", name="read", arguments='{"path":"a"}'),
                Call(id="mine", name="x", arguments="{broken"),
            ),
            finish="calls",
            usage=Usage(),
            model="fake-model",
        ),
    ]
    with pytest.raises(ProviderError, match="has 2 replies, and reply 3 was asked for"):
        run(played(source))


@pytest.mark.parametrize("text", ["nonsense", '[{"txt": "a"}]', '[{"text": 5}]', "5"])
def test_a_broken_script_is_a_clear_error(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match="provider demo: script"):
        scripted(tmp_path / "script", text)


def test_a_missing_script_is_a_clear_error(tmp_path: Path) -> None:
    entry = ProviderEntry(name="demo", kind="scripted", base_url=str(tmp_path / "absent"))
    with pytest.raises(ConfigError, match="no such file"):
        make(entry, None)
