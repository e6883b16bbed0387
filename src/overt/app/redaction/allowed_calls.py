"""Find in messages what was read from, or will be written to, paths that `redact.allow` covers.

The record of a reply is redacted before its calls run, and a resumed session has read its files long ago: in both
cases the file tools have not seen the text yet. Loaded only where `redact.allow` is set.
"""

from collections.abc import Iterator, Sequence

from overt.core.codec import decode
from overt.core.messages import Call, Message, Result, Text
from overt.lib.redaction.redact import Allowed

LONGEST_PATH = 4096
PATCH_HEADERS = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ", "+++ b/", "+++ ")


def remember_messages(messages: Sequence[Message], allowed: Allowed) -> None:
    """Allow the arguments and the results of all calls that name an allowed path."""
    covered: set[str] = set()
    for message in messages:
        for part in message.parts:
            if isinstance(part, Call):
                texts = list(_argument_texts(part))
                if any(allowed.covers_path(path) for text in texts for path in _paths(text)):
                    covered.add(part.id)
                    allowed.remember("\n".join(texts))
            elif isinstance(part, Result) and part.call_id in covered:
                allowed.remember("\n".join(each.text for each in part.parts if isinstance(each, Text)))


def _argument_texts(call: Call) -> Iterator[str]:
    try:
        yield from _texts(decode(call.arguments))
    except (ValueError, RecursionError):
        return  # a broken call; its record is redacted


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts(item)


def _paths(text: str) -> Iterator[str]:
    """The text itself if it may be a path, and the files that a patch names."""
    if "\n" not in text and len(text) < LONGEST_PATH:
        yield text
    for line in text.splitlines() if "*** " in text or "+++ " in text else ():
        for header in PATCH_HEADERS:
            if line.startswith(header):
                yield line.removeprefix(header).strip()
