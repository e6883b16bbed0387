"""The sources of the prefix, in order: each becomes a fragment that knows where it came from."""

from collections.abc import Mapping
from hashlib import sha256

from overt.core.fragments import Fragment, Origin
from overt.lib.data import read_text

RULES_CAP = 32 * 1024
CUT = "\n[cut here: the file is longer than {cap} characters]"


def built_in_prompt() -> Fragment:
    text = read_text("overt.context.prompts", "system.md").strip()
    return Fragment(key="system", text=text, origin=Origin(kind="harness", where="context/prompts/system.md"))


def given_prompt(key: str, text: str, *, origin: Origin) -> Fragment:
    """A system prompt from a flag, a file or the configuration."""
    return Fragment(key=key, text=text.strip(), origin=origin)


def project_rules(path: str, content: bytes) -> Fragment:
    """`AGENTS.md` of the project, cut at its cap with a mark."""
    text = content.decode("utf-8", "replace").strip()
    if len(text) > RULES_CAP:
        text = text[:RULES_CAP] + CUT.format(cap=RULES_CAP)
    lines = f"1-{text.count(chr(10)) + 1}"
    origin = Origin(kind="file", where=path, lines=lines, hash=sha256(content).hexdigest())
    return Fragment(key="rules", text=f"# Rules of this project ({path})\n{text}", origin=origin, cap=RULES_CAP)


def environment(facts: Mapping[str, str]) -> Fragment:
    """Facts fixed for the session, so that the prefix holds."""
    text = "\n".join(f"{name}: {value}" for name, value in facts.items())
    return Fragment(key="environment", text=text, origin=Origin(kind="harness", where="environment"))
