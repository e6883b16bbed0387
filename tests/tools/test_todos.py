"""The todo list through its tools."""

from msgspec.json import decode
from tests.workspace.files_kit import done

from overt.core.tool import Outcome
from overt.core.views import Checklist, Todo
from overt.tools.todowrite import Args, todowrite


class Pad:
    """Notes kept in memory."""

    def __init__(self) -> None:
        self.items: tuple[Todo, ...] = ()

    def todos(self) -> tuple[Todo, ...]:
        return self.items

    def set_todos(self, items: tuple[Todo, ...]) -> None:
        self.items = items


def test_a_list_is_written_and_read_back() -> None:
    pad = Pad()
    assert done(todowrite.run(Args(), pad)).text == "[the list is empty]\n[not changed]"
    raw = b'{"todos":[{"content":"a","status":"completed"},{"content":"b","status":"in_progress"},{"content":"c"}]}'
    args = decode(raw, type=Args)
    assert args.todos is not None
    expected = Outcome(text="[x] a\n[>] b\n[ ] c", view=Checklist(items=args.todos))
    assert done(todowrite.run(args, pad)) == expected
    shown = done(todowrite.run(Args(), pad))
    assert (shown.text, shown.view) == (f"{expected.text}\n[not changed]", expected.view)


def test_working_on_several_at_once_is_advised_against() -> None:
    items = tuple(Todo(content=name, status="in_progress") for name in "ab")
    text = done(todowrite.run(Args(todos=items), Pad())).text
    assert text.endswith("[2 items are in_progress; work on one at a time]")
