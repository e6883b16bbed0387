"""The embedded model with five MCP servers of eighty tools each: does it call the right one? `make test-local`."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.journeys.test_mcp_many import servers
from tests.providers.local_kit import USUAL, cache, missing

from overt.core.events import ToolStarted
from overt.sessions.load import load

PROBES = [
    ("Create a ticket in the tracker with the title Login fails.", "mcp__tracker__create_ticket"),
    ("Delete the comment with the id c-17 in the wiki.", "mcp__wiki__delete_comment"),
    ("Export the invoice inv-9 from billing.", "mcp__billing__export_invoice"),
    ("List the contacts in the CRM.", "mcp__crm__list_contact"),
    ("Move nothing, only archive the board b-3 of the tracker.", "mcp__tracker__archive_board"),
    ("Search the calendar for the event Team lunch.", "mcp__calendar__search_event"),
    ("Assign the label urgent to something in the tracker: label id l-1.", "mcp__tracker__assign_label"),
    ("Update the sprint s-4 in the tracker, its new title is Cleanup.", "mcp__tracker__update_sprint"),
    ("Which reports are there in billing? List them.", "mcp__billing__list_report"),
    ("Please create an event called Release in the calendar.", "mcp__calendar__create_event"),
]


@pytest.mark.local_tasks
@pytest.mark.timeout(3 * 3600)
def test_the_embedded_model_finds_the_right_tool_among_400(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if why := missing(USUAL):
        pytest.skip(why)
    home, starts = tmp_path / "home", tmp_path / "starts"
    starts.touch()
    cache(home / ".cache" / "overt")
    config = ("--mcp-config", json.dumps({"mcpServers": servers(starts)}), "--add-dir", str(tmp_path))
    environment = {**os.environ, "HOME": str(home)}
    overt = [sys.executable, "-m", "overt"]
    right = 0
    warm = "Create a ticket in the tracker."  # starts the servers, so that the probes find their tools in the cache
    for number, (prompt, tool) in enumerate([(warm, ""), *PROBES]):
        work = tmp_path / "work"  # the same folder, since what servers offer is remembered by folder
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        command = [*overt, "run", "--permission-mode", "auto", "--model", f"local/{USUAL}", *config, "--", prompt]
        done = subprocess.run(
            command, env=environment, cwd=work, capture_output=True, text=True, timeout=900, check=False
        )
        newest = max(home.rglob("sessions/*/*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
        called = [entry.data.call.name for entry in load(str(newest)).entries if isinstance(entry.data, ToolStarted)]
        right += bool(number) and tool in called
        with capfd.disabled():
            print(
                f"{number:>2} {tool in called}  {prompt}  {called}  {done.stdout[:80]!r} {done.stderr[-200:]!r}",
                flush=True,
            )
    assert right >= 8, f"{right} of {len(PROBES)}"
