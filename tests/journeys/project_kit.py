"""A small project with a fault to be mended, the task that mends it as a model would play it, and a crowd around it."""

import os
from pathlib import Path

from tests.fakes.model_server import FakeCall, Turn
from tests.journeys.journey_kit import call, calls

ODD_NAMES = (b"new\nline.txt", b"-rf", b"$(x)", "数据.txt".encode(), b"caf\xe9.txt")
SHOWN_NAMES = ("new\\x0aline.txt", "-rf", "$(x)", "数据.txt", "caf\\xe9.txt")
"""How the tools name them, and take them back."""

BEFORE = {
    "calc/core.py": b"def add(a, b):\r\n    return a - b\r\n\r\n\r\ndef double(a):\r\n    return a + a\r\n",
    "calc/names.py": b"NAMES = {\n\t'add': 'plus',\n\t'sub': 'plus',\n}\n",
    "calc/shout.py": b"def shout(text):\n    return text.lower() + '!'\n",
    "check.py": (
        b"import sys\n\nfrom calc.core import add\nfrom calc.names import NAMES\nfrom calc.shout import shout\n\n"
        b"if add(2, 3) != 5:\n    sys.exit('add is wrong')\n"
        b"if NAMES != {'add': 'sum', 'sub': 'difference'}:\n    sys.exit('the names are wrong')\n"
        b"if shout('hi') != 'HI!':\n    sys.exit('shout is wrong')\nprint('all is well')\n"
    ),
}
AFTER = BEFORE | {
    "calc/core.py": BEFORE["calc/core.py"].replace(b"a - b", b"a + b"),
    "calc/names.py": b"NAMES = {\n\t'add': 'sum',\n\t'sub': 'difference',\n}\n",
    "calc/shout.py": b"def shout(text):\n    return text.upper() + '!'\n",
    "notes/CHANGES.md": b"# Changes\n\nadd adds, shout shouts.\n",
    "calc/version.py": b'VERSION = "2"\n',
}
UNIFIED = """--- a/calc/shout.py
+++ b/calc/shout.py
@@ -1,2 +1,2 @@
 def shout(text):
-    return text.lower() + '!'
+    return text.upper() + '!'
"""
BEGIN_PATCH = """*** Begin Patch
*** Add File: calc/version.py
+VERSION = "2"
*** End Patch
"""


def make_project(folder: Path) -> None:
    for name, content in BEFORE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def make_crowd(folder: Path, count: int) -> None:
    """So many more files, some of them hard to handle: odd names, 5 MB, links inside and out."""
    for number in range(count):
        parent = folder / f"crowd/{number // 500:02}"
        if number % 500 == 0:
            parent.mkdir(parents=True)
        ends = b"\r\n" if number % 3 == 0 else b"\n"
        (parent / f"part_{number}.py").write_bytes(b"def part():" + ends + b"\treturn %d" % number + ends)
    (folder / "odd").mkdir()
    for name in ODD_NAMES:
        Path(os.fsdecode(os.path.join(os.fsencode(folder), b"odd", name))).write_bytes(b"odd one out\n")
    (folder / "big.log").write_bytes(b"".join(b"%07d all quiet on this line of the log\n" % n for n in range(110_000)))
    (folder / "link").symlink_to("calc")
    (folder / "way_out").symlink_to("/etc")


def task() -> list[Turn]:
    """Twelve steps and a last word."""
    todos = [{"content": "mend add", "status": "in_progress"}, {"content": "mend names", "status": "pending"}]
    done = [item | {"status": "completed"} for item in todos]
    return [
        calls(call("todowrite", todos=todos), text="I look around first."),
        calls(call("list", path="calc"), call("glob", pattern="calc/*.py"), call("read", path="check.py")),
        calls(call("grep", pattern="return a - b", path="calc")),
        calls(call("read", path="calc/core.py")),
        calls(call("edit", path="calc/core.py", old_string="    return a - b\n", new_string="    return a + b\n")),
        calls(call("read", path="calc/names.py"), call("read", path="calc/shout.py")),
        calls(
            call(
                "multiedit",
                path="calc/names.py",
                edits=[
                    {"old_string": "\t'add': 'plus'", "new_string": "\t'add': 'sum'"},
                    {"old_string": "\t'sub': 'plus'", "new_string": "\t'sub': 'difference'"},
                ],
            )
        ),
        calls(call("bash", command="python3 -B check.py")),
        calls(call("patch", patch=UNIFIED)),
        calls(call("write", path="notes/CHANGES.md", content="# Changes\n\nadd adds, shout shouts.\n")),
        calls(call("patch", patch=BEGIN_PATCH), call("bash", command="python3 -B check.py")),
        calls(call("todowrite", todos=done), call("todoread")),
        Turn(text="All is mended."),
    ]


def mistakes() -> list[Turn]:
    """Four wrong edits and two malformed calls, as models make them."""
    return [
        calls(call("read", path="calc/names.py"), call("read", path="calc/core.py")),
        calls(call("edit", path="calc/names.py", old_string="    'add': 'plus'", new_string="    'add': 'sum'")),
        calls(call("edit", path="calc/names.py", old_string="'plus'", new_string="'sum'")),
        calls(call("write", path="calc/shout.py", content="def shout(): ...\n")),
        calls(call("edit", path="calc/cores.py", old_string="a - b", new_string="a + b")),
        calls(FakeCall(name="edit", arguments='{"path": "calc/core.py", "old_string": "a - b')),
        calls(call("refactor_everything", path="calc")),
    ]


def around_the_crowd() -> list[Turn]:
    """Reading and changing what is hard to handle."""
    return [
        calls(call("list", path="odd"), call("glob", pattern="odd/*"), call("grep", pattern="odd one", path="odd")),
        calls(*(call("read", path=f"odd/{name}") for name in SHOWN_NAMES)),
        calls(*(call("edit", path=f"odd/{name}", old_string="out", new_string="in") for name in SHOWN_NAMES)),
        calls(
            call("read", path="big.log", offset=109_999, limit=5),
            call("grep", pattern="^0077777", path="big.log"),
            call("read", path="link/core.py"),
            call("read", path="way_out/hostname"),
            call("read", path="/etc/hostname"),
            call("grep", pattern="return 9998$"),
            call("glob", pattern="**/part_12*.py", limit=5),
        ),
        calls(call("edit", path="crowd/00/part_3.py", old_string="\treturn 3", new_string="\treturn 33")),
    ]
