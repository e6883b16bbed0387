"""The official conformance suite of MCP against our host process."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.mcp.judge_kit import PACKAGES, needs_judge, node

pytestmark = needs_judge
CLIENT = f"{sys.executable} {Path(__file__).parent / 'conformance_client.py'}"
OLDER = """initialize tools_call elicitation-sep1034-client-defaults sse-retry auth/metadata-default auth/metadata-var1
auth/metadata-var2 auth/metadata-var3 auth/basic-cimd auth/scope-from-www-authenticate auth/scope-from-scopes-supported
auth/scope-omitted-when-undefined auth/scope-step-up auth/scope-retry-limit auth/token-endpoint-auth-basic
auth/token-endpoint-auth-post auth/token-endpoint-auth-none auth/pre-registration""".split()
CURRENT = """tools_call request-metadata auth/metadata-default auth/metadata-var1 auth/metadata-var2 auth/metadata-var3
auth/basic-cimd auth/scope-from-www-authenticate auth/scope-from-scopes-supported auth/scope-omitted-when-undefined
auth/scope-step-up auth/scope-retry-limit auth/token-endpoint-auth-basic auth/token-endpoint-auth-post
auth/token-endpoint-auth-none auth/pre-registration auth/resource-mismatch auth/offline-access-scope
auth/offline-access-not-supported auth/authorization-server-migration auth/iss-supported auth/iss-not-advertised
auth/iss-supported-missing auth/iss-wrong-issuer auth/iss-unexpected auth/iss-normalized auth/metadata-issuer-mismatch
sep-2322-client-request-state http-standard-headers http-custom-headers http-invalid-tool-headers
json-schema-ref-no-deref""".split()
SCENARIOS = [("2025-11-25", name) for name in OLDER] + [("2026-07-28", name) for name in CURRENT]
QUICK = [
    ("2025-11-25", "elicitation-sep1034-client-defaults"),
    ("2025-11-25", "sse-retry"),
    ("2026-07-28", "request-metadata"),
    ("2026-07-28", "auth/scope-step-up"),
    ("2026-07-28", "sep-2322-client-request-state"),
    ("2026-07-28", "http-custom-headers"),
]


def run_scenario(revision: str, scenario: str, folder: Path) -> None:
    command = [node(), str(PACKAGES / "conformance/dist/index.js"), "client", "--command", CLIENT, "--verbose"]
    options = ["--scenario", scenario, "--spec-version", revision, "--timeout", "60000"]
    judged = subprocess.run([*command, *options], cwd=folder, capture_output=True, text=True, timeout=100)
    verdict = re.search(r"OVERALL: (\w+)", judged.stderr)
    assert verdict and verdict[1] == "PASSED", judged.stdout + judged.stderr


@pytest.mark.parametrize(("revision", "scenario"), QUICK)
def test_six_scenarios_pass(revision: str, scenario: str, tmp_path: Path) -> None:
    run_scenario(revision, scenario, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize(("revision", "scenario"), SCENARIOS)
def test_every_scenario_passes(revision: str, scenario: str, tmp_path: Path) -> None:
    run_scenario(revision, scenario, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize(("revision", "names"), [("2025-11-25", OLDER), ("2026-07-28", CURRENT)])
def test_no_required_scenario_is_forgotten(revision: str, names: list[str]) -> None:
    text = (PACKAGES / "conformance/requirements" / f"{revision}.yaml").read_text()
    required = text.split("\nclient:\n")[1].split("\nnot_scored")[0]
    assert re.findall(r"^  - (\S+)", required, re.M) == names
