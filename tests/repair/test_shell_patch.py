"""`apply_patch` as a program of the shell, which other agents have and Overt has not."""

from typing import Any

import pytest

from overt.core.codec import compact
from overt.core.messages import Call
from overt.repair.repair_call import MendedCall, mend
from overt.tools.registry import BUILT_IN

TOOLS = {tool.name: tool for tool in BUILT_IN}
PATCH = "*** Begin Patch\n*** Update File: a.py\n@@\n-print('$HOME')\n+print(\"`x`\")\n*** End Patch\n"
QUOTED = PATCH.replace("'", "'\\''")
ESCAPED = PATCH.replace('"', '\\"').replace("`", "\\`").replace("$", "\\$")


def mended(command: Any) -> MendedCall:
    return mend(Call(id="1", name="bash", arguments=compact({"command": command})), TOOLS)


@pytest.mark.parametrize(
    "command",
    [
        f"apply_patch <<'EOF'\n{PATCH}EOF\n",
        f"apply_patch <<E\n{PATCH}E",
        f'  apply_patch << "PATCH"\n{PATCH}PATCH\n\n',
        f"apply_patch <<'EOF'\n{PATCH}",
        f"applypatch <<'EOF'\n{PATCH}EOF",
        f"cd . && apply_patch <<'EOF'\n{PATCH}EOF\n",
        f"apply_patch '{QUOTED}'",
        f'apply_patch "{ESCAPED}"',
        f"apply_patch \"$(cat <<'EOF'\n{PATCH}EOF\n)\"",
        ["apply_patch", PATCH],
        ["bash", "-lc", f"apply_patch <<'EOF'\n{PATCH}EOF"],
    ],
)
def test_a_command_that_applies_a_patch_becomes_a_call_of_the_patch_tool(command: Any) -> None:
    found = mended(command)
    assert (found.error, found.call.name, found.tool, found.args.patch) == ("", "patch", TOOLS["patch"], PATCH)
    assert found.notes[-1] == "apply_patch in bash → patch"
    assert found.args.subjects() == ("a.py",)
    assert found.call.arguments == compact({"patch": PATCH})


@pytest.mark.parametrize(
    ("folder", "paths"),
    [
        ("src", ("src/a.py",)),
        ("'my src'/", ()),
        ('"my src"', ("my src/a.py",)),
        ("/abs/work", ("/abs/work/a.py",)),
        ("src/..", ("a.py",)),
        ("..", ()),
    ],
)
def test_the_folder_of_a_cd_is_put_before_the_names(folder: str, paths: tuple[str, ...]) -> None:
    found = mended(f"cd {folder} && apply_patch <<'EOF'\n{PATCH}EOF\n")
    assert (found.args.subjects() if found.call.name == "patch" else ()) == paths


def test_every_name_of_the_patch_is_put_below_the_folder_and_no_line_of_a_file() -> None:
    text = (
        "*** Begin Patch\n*** Update File: a.md\n*** Move to: b.md\n@@\n *** Delete File: keep\n-x\n+y\n"
        "***Add File:/abs/c\n+z\n*** Delete File: d\n*** End Patch\n"
    )
    found = mended(f"cd docs\napply_patch <<'EOF'\n{text}EOF\n")
    assert found.args.subjects() == ("docs/a.md", "docs/b.md", "/abs/c", "docs/d")
    assert "\n *** Delete File: keep\n" in found.args.patch


@pytest.mark.parametrize(
    "command",
    [
        f"apply_patch <<'EOF'\n{PATCH}EOF\npytest -q\n",
        f"apply_patch <<'EOF' && pytest\n{PATCH}EOF\n",
        f"apply_patch '{QUOTED}' && pytest",
        f'apply_patch "{PATCH}',
        f'apply_patch "{PATCH}"',
        f'apply_patch "$(tail -n +2 <<E\\n{PATCH}E\\n)"',
    ],
)
def test_a_command_that_does_more_is_not_run_and_the_way_on_is_said(command: str) -> None:
    found = mended(command)
    assert (found.tool, found.args) == (None, None)
    assert "nothing was run. Call the patch tool" in found.error


@pytest.mark.parametrize(
    "command",
    [
        "apply_patch < change.patch",
        "apply_patch <<'EOF'\nnothing of that kind\nEOF\n",
        f"cat > fixture <<'EOF'\napply_patch <<'X'\n{PATCH}X\nEOF\n",
        "git commit -m 'apply_patch: read *** Begin Patch'",
        f"cd $FOLDER && apply_patch <<'EOF'\n{PATCH}EOF\n",
    ],
)
def test_other_commands_stay_commands(command: str) -> None:
    found = mended(command)
    assert (found.call.name, found.args.command, found.notes) == ("bash", command, ())


def test_without_a_patch_tool_the_command_stays_a_command() -> None:
    call = Call(id="1", name="bash", arguments=compact({"command": f"apply_patch <<'E'\n{PATCH}E"}))
    assert mend(call, {"bash": TOOLS["bash"]}).call.name == "bash"
