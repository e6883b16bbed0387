"""Ten small tasks that played no part in tuning: the honest figure."""

import json
import tomllib
from pathlib import Path

from tests.local_tasks.task import Task, output_of, value_of

DATES = """def parse_date(text):
    year, month, day = text.split("-")
    return int(year), int(month), int(day)
"""
MONEY = """def parse_money(text):
    return round(float(text.strip("$")) * 100)
"""
STATS = """def total(numbers):
    return sum(numbers)


def average(numbers):
    return sum(numbers) / len(numbers)
"""
SUMMING = '''def sum_to(n):
    """The sum of 1, 2, … n."""
    result = 0
    for number in range(1, n):
        result += number
    return result
'''
GREET = """import sys


def greet(name):
    return "Hello, " + name + "!"


if __name__ == "__main__":
    print(greet(sys.argv[1]))
"""


EXPECTED = (("average([])", ("0", "0.0")), ("average([1, 3])", ("2.0",)), ("total([2])", ("2",)))


def _average(folder: Path, answer: str) -> bool:
    return all(value_of(folder, f"__import__('stats').{call}") in right for call, right in EXPECTED)


TASKS = (
    Task(
        name="note",
        prompt="Create a file todo.txt that contains the line: buy milk",
        right=lambda folder, answer: (folder / "todo.txt").read_text().strip() == "buy milk",
    ),
    Task(
        name="port",
        files={"config.yaml": "host: 0.0.0.0\nport: 8081\nworkers: 3\n", "main.py": "print('start')\n"},
        prompt="Which port does config.yaml set?",
        right=lambda folder, answer: "8081" in answer,
    ),
    Task(
        name="greeting",
        files={"greet.py": GREET},
        prompt="In greet.py, greet people with Welcome instead of Hello.",
        right=lambda folder, answer: value_of(folder, "__import__('greet').greet('Ann')") == "Welcome, Ann!",
    ),
    Task(
        name="empty-list",
        files={"stats.py": STATS},
        prompt="average in stats.py crashes for an empty list. Make it return 0 then.",
        right=_average,
    ),
    Task(
        name="off-by-one",
        files={"summing.py": SUMMING},
        prompt="sum_to(4) in summing.py gives 6, but it should give 10. Fix it.",
        right=lambda folder, answer: (
            value_of(folder, "[__import__('summing').sum_to(n) for n in (0, 1, 4)]") == "[0, 1, 10]"
        ),
    ),
    Task(
        name="version",
        files={"package.json": '{\n  "name": "shop",\n  "version": "2.0.3",\n  "private": true\n}\n'},
        prompt="Set the version in package.json to 2.1.0",
        right=lambda folder, answer: (
            json.loads((folder / "package.json").read_text()) == {"name": "shop", "version": "2.1.0", "private": True}
        ),
    ),
    Task(
        name="debug",
        files={"settings.toml": 'title = "shop"\n\n[server]\ndebug = true\ntimeout = 30\n'},
        prompt="Turn debug off in settings.toml.",
        right=lambda folder, answer: (
            tomllib.loads((folder / "settings.toml").read_text())
            == {"title": "shop", "server": {"debug": False, "timeout": 30}}
        ),
    ),
    Task(
        name="where",
        files={"lib/dates.py": DATES, "lib/money.py": MONEY, "main.py": "print(1)\n"},
        prompt="Which file defines the function parse_date?",
        right=lambda folder, answer: "dates.py" in answer and "money.py" not in answer,
    ),
    Task(
        name="script",
        prompt="Write a Python script squares.py that prints the squares of 1 to 5, one per line.",
        right=lambda folder, answer: output_of(folder, "squares.py").split() == ["1", "4", "9", "16", "25"],
    ),
    Task(
        name="lines",
        files={"data.csv": "".join(f"row{n},{n * 3}\n" for n in range(17))},
        prompt="How many lines does data.csv have? Use wc -l.",
        right=lambda folder, answer: "17" in answer,
    ),
)
