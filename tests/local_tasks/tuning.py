"""The ten tasks that the compact profile was tuned on."""

import json
import tomllib
from pathlib import Path

from tests.local_tasks.task import Task, output_of, value_of

SHOP = """\
from dataclasses import dataclass


@dataclass
class Item:
    name: str
    price: float
    count: int = 1


def subtotal(items):
    return sum(item.price * item.count for item in items)


def with_tax(items, rate=0.19):
    return subtotal(items) * (1 - rate)
"""

TEXTS = """\
def slug(title):
    return title.strip().lower().replace(" ", "-")


def shorten(text, width):
    if len(text) <= width:
        return text
    return text[: width - 1] + "…"
"""

CONFIG = """\
{
  "name": "weather",
  "port": 8080,
  "debug": true,
  "cities": ["Oslo", "Lima"]
}
"""

SETTINGS = """\
# how the importer behaves
[import]
batch = 50
timeout = 30
verbose = false
"""

README = """\
# Ferry

A small timetable for the harbour ferry.

## Instalation

    pip install ferry

## Use

    ferry next
"""

STACK = """\
class Stack:
    def __init__(self):
        self._items = []

    def push(self, item):
        self._items.append(item)

    def pop(self):
        return self._items.pop(0)

    def __len__(self):
        return len(self._items)
"""

TEST_STACK = """\
from stack import Stack

stack = Stack()
stack.push(1)
stack.push(2)
assert stack.pop() == 2, "pop must give the item that was pushed last"
assert len(stack) == 1
print("ok")
"""

PATHS = """\
def home_file(name):
    return os.path.join(os.path.expanduser("~"), name)
"""

COUNT = """\
import sys

words = {}
for line in open("words.txt"):
    word = line.strip()
    words[word] = words.get(word, 0) + 1
print(len(words), "different words")
"""


def _read(folder: Path, name: str) -> str:
    place = folder / name
    return place.read_text() if place.exists() else ""


TASKS = [
    Task(
        name="create a file",
        prompt="Create a file hello.py that prints Hello, world!",
        right=lambda folder, _: output_of(folder, "hello.py") == "Hello, world!",
    ),
    Task(
        name="answer from a file",
        prompt="Which port does the service in config.json listen on?",
        files={"config.json": CONFIG},
        right=lambda folder, answer: "8080" in answer and _read(folder, "config.json") == CONFIG,
    ),
    Task(
        name="fix a bug on one line",
        prompt="with_tax in shop.py takes the tax off instead of putting it on. Fix it.",
        files={"shop.py": SHOP, "README.md": README},
        right=lambda folder, _: _read(folder, "shop.py") in (SHOP.replace("1 - rate", "1 + rate"),),
    ),
    Task(
        name="add a function",
        prompt="Add a function count_words(text) to texts.py that returns the number of words in a text.",
        files={"texts.py": TEXTS},
        right=lambda folder, _: (
            value_of(folder, "__import__('texts').count_words('one two  three')") == "3"
            and value_of(folder, "__import__('texts').slug(' A b ')") == "a-b"
            and value_of(folder, "__import__('texts').shorten('abcdef', 3)") == "ab…"
        ),
    ),
    Task(
        name="add an import",
        prompt="paths.py uses os but does not import it. Add the import.",
        files={"paths.py": PATHS, "texts.py": TEXTS},
        right=lambda folder, _: value_of(folder, "__import__('paths').home_file('x').endswith('/x')") == "True",
    ),
    Task(
        name="run a command and report",
        prompt="Run count.py and tell me how many different words there are.",
        files={"count.py": COUNT, "words.txt": "a\nb\na\nc\nd\nb\ne\nf\ng\n"},
        right=lambda folder, answer: "7" in answer and _read(folder, "count.py") == COUNT,
    ),
    Task(
        name="change a value in JSON",
        prompt="Set debug to false in config.json.",
        files={"config.json": CONFIG, "settings.toml": SETTINGS},
        right=lambda folder, _: json.loads(_read(folder, "config.json")) == json.loads(CONFIG) | {"debug": False},
    ),
    Task(
        name="change a value in TOML",
        prompt="The importer should wait 60 seconds before it times out. Change settings.toml.",
        files={"settings.toml": SETTINGS, "texts.py": TEXTS},
        right=lambda folder, _: (
            tomllib.loads(_read(folder, "settings.toml")) == {"import": {"batch": 50, "timeout": 60, "verbose": False}}
        ),
    ),
    Task(
        name="fix a typo",
        prompt="There is a typo in a heading of the README. Correct it.",
        files={"README.md": README, "shop.py": SHOP},
        right=lambda folder, _: _read(folder, "README.md") == README.replace("Instalation", "Installation"),
    ),
    Task(
        name="make a test pass",
        prompt="test_stack.py fails. Change stack.py so that it passes.",
        files={"stack.py": STACK, "test_stack.py": TEST_STACK},
        right=lambda folder, _: (
            output_of(folder, "test_stack.py") == "ok" and _read(folder, "test_stack.py") == TEST_STACK
        ),
    ),
]
