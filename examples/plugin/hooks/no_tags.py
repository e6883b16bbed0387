"""Refuse commands that set or push a tag. Exit code 2 blocks the call, and the model reads what stands on stderr."""

import json
import sys

words = json.load(sys.stdin)["tool_input"].get("command", "").split()
if "git" in words and ("tag" in words or "--tags" in words):
    print("Tags are set by the release workflow. Ask the user to run it.", file=sys.stderr)
    sys.exit(2)
