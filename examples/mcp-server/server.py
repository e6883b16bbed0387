"""An MCP server in one file: it keeps a list of words with their meanings, in a file of the workspace.

    pip install mcp
    overt mcp add glossary -- python /path/to/examples/mcp-server/server.py

It has one of everything that Overt uses: a tool that reads, a tool that writes, a prompt and a resource.
"""

import json
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp_types import ToolAnnotations

FILE = Path("glossary.json")

server = MCPServer("glossary", version="1.0.0", instructions="Look a word up before you explain it.")


def read_words() -> dict[str, str]:
    return json.loads(FILE.read_text()) if FILE.exists() else {}


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def look_up(word: str) -> str:
    """Look up what a word means in this project."""
    return read_words().get(word.lower()) or f"There is no entry for {word!r}. Add one with define."


@server.tool(annotations=ToolAnnotations(idempotent_hint=True, destructive_hint=False))
def define(word: str, meaning: str) -> str:
    """Write down what a word means in this project."""
    words = read_words() | {word.lower(): meaning}
    FILE.write_text(json.dumps(words, indent=2, sort_keys=True) + "\n")
    return f"{word} is in the glossary, which has {len(words)} entries."


@server.prompt()
def explain(word: str) -> str:
    """Explain a word to a new colleague."""
    return f"Explain the word {word!r} as this project uses it, in three sentences. Look it up in the glossary first."


@server.resource("glossary://words")
def words() -> str:
    """Every word of the glossary."""
    return "\n".join(f"{word}: {meaning}" for word, meaning in sorted(read_words().items()))


if __name__ == "__main__":
    server.run("stdio")
