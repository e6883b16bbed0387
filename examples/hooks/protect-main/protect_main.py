#!/usr/bin/env python3
"""A PreToolUse hook: refuse commits and pushes while `main` or `master` is checked out.

It reads the call as JSON on its standard input. Exit code 2 denies the call, and what it prints on stderr is what the
model reads.
"""

import json
import re
import subprocess
import sys

command = json.load(sys.stdin)["tool_input"].get("command", "")
if re.search(r"\bgit\b.*\b(commit|push|merge|rebase)\b", command):
    branch = subprocess.run(["git", "branch", "--show-current"], capture_output=True, text=True, check=False)
    if branch.stdout.strip() in ("main", "master"):
        print("The branch main is protected: create a branch with `git switch -c NAME` first.", file=sys.stderr)
        sys.exit(2)
