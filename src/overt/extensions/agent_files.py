"""Agents that people write as Markdown files: the front matter is the definition, the text is the system prompt.

.overt/agents/review.md           review
.claude/agents/team/tester.md     the `name` of its front matter, or tester
agents/checker.md of plugin audit audit:checker
"""

import os
import re
from collections.abc import Iterator, Sequence

from msgspec import Struct

from overt.extensions.commands import ENDING, MOST_FILES, markdown_files
from overt.extensions.discovery import ExtensionFolder, Scope
from overt.lib.front_matter import read_front_matter
from overt.lib.read_file import read_regular

LARGEST_BYTES = 256 * 1024
NAME = r"[^\s/:,()*\"'`@]{1,64}"


class AgentFile(Struct, frozen=True, kw_only=True):
    """One file as it was read. `where` is its path for display, `fields` its front matter, unchecked."""

    name: str
    path: str
    where: str
    scope: Scope
    fields: dict[str, object]
    body: str
    problems: tuple[str, ...] = ()


def read_agent_files(folders: Sequence[ExtensionFolder]) -> Iterator[AgentFile]:
    """Yield the agents of all folders in the order of precedence."""
    for folder in folders:
        for path in sorted(markdown_files(folder.path))[:MOST_FILES]:
            yield _read_file(path, folder)


def _read_file(path: str, folder: ExtensionFolder) -> AgentFile:
    problems: list[str] = []
    try:
        content, _ = read_regular(path, LARGEST_BYTES)
    except OSError as error:
        content = b""
        problems.append(f"it cannot be read: {error.strerror}")
    if len(content) > LARGEST_BYTES:
        problems.append(f"it is longer than {LARGEST_BYTES // 1024} KB; the rest is ignored")
    matter = read_front_matter(content[:LARGEST_BYTES].decode("utf-8", "replace"))
    problems += [matter.problem] if matter.problem else []
    stem, name = os.path.basename(path).removesuffix(ENDING), matter.fields.get("name")
    if name is not None and not (isinstance(name, str) and re.fullmatch(NAME, name)):
        problems.append("its `name` is not one word; the file name is used instead")
        name = None
    name = name or re.sub(r"[^\w.-]+", "-", stem)[:64] or "agent"
    return AgentFile(
        name=f"{folder.namespace}:{name}" if folder.namespace else name,
        path=path,
        where=f"{folder.where}/{os.path.relpath(path, folder.path)}",
        scope=folder.scope,
        fields=matter.fields,
        body=matter.body.strip(),
        problems=tuple(problems),
    )
