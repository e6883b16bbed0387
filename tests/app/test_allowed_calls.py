"""What `redact.allow` learns from the calls and results in messages."""

from pathlib import Path

import pytest
from msgspec import json

from overt.app.redaction.allowed_calls import remember_messages
from overt.core.messages import Call, Message, Result, Text
from overt.core.text_fragments import MODEL
from overt.lib.redaction.allow import AllowedSecrets

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiI0MjQyNDI0MiJ9.s3cr3tS1gnatur3s3cr3tS1gnatur3"


def covers(folder: Path, *parts: Call | Result) -> bool:
    allowed = AllowedSecrets(("fixtures",), project=str(folder), workspace=str(folder), home="/home/me")
    remember_messages([Message(role="assistant", parts=(part,), origin=MODEL) for part in parts], allowed)
    return allowed.covers(JWT)


def called(arguments: object, name: str = "write") -> Call:
    text = arguments if isinstance(arguments, str) else json.encode(arguments).decode()
    return Call(id="c1", name=name, arguments=text)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"path": "fixtures/a.txt", "content": JWT}, True),
        ({"path": "src/a.txt", "content": JWT}, False),
        ({"path": "src/../fixtures/a.txt", "content": JWT}, True),
        ({"path": "fixtures/../src/a.txt", "content": JWT}, False),
        ({"path": "fixtures/a", "edits": [{"old_string": "x", "new_string": JWT}]}, True),
        ({"patch": f"*** Begin Patch\n*** Add File: fixtures/a\n+{JWT}\n*** End Patch"}, True),
        ({"patch": f"--- a/fixtures/a\n+++ b/fixtures/a\n@@ -1 +1 @@\n+{JWT}\n"}, True),
        ({"patch": f"*** Begin Patch\n*** Add File: src/a\n+{JWT}\n*** End Patch"}, False),
        (f'{{"path": "fixtures/a", "content": "{JWT}', False),
    ],
)
def test_what_is_written_to_an_allowed_path_is_allowed(tmp_path: Path, arguments: object, expected: bool) -> None:
    assert covers(tmp_path, called(arguments)) is expected


@pytest.mark.parametrize(("path", "expected"), [("fixtures/a.txt", True), ("src/a.txt", False)])
def test_what_was_read_from_an_allowed_path_is_allowed(tmp_path: Path, path: str, expected: bool) -> None:
    result = Result(call_id="c1", parts=(Text(text=f"     1\t{JWT}"),))
    assert covers(tmp_path, called({"path": path}, "read"), result) is expected
