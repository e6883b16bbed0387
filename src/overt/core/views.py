"""What people see of an outcome or a question: a closed union that every frontend draws its own way."""

from typing import Literal

from msgspec import Struct

TodoStatus = Literal["pending", "in_progress", "completed"]
BOXES: dict[TodoStatus, str] = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


class Todo(Struct, frozen=True, kw_only=True, omit_defaults=True):
    content: str
    status: TodoStatus = "pending"
    active_form: str = ""

    def line(self) -> str:
        """Return the item with a box that shows its status: `[x] write the test`."""
        return f"{BOXES[self.status]} {self.content}"


class Plain(Struct, frozen=True, kw_only=True, tag="plain"):
    """Words, when nothing richer fits."""

    text: str


class FileDiff(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="diff"):
    """One changed file; `diff` is unified text without the file header, and without its last `hidden` lines."""

    path: str
    diff: str
    change: Literal["created", "updated", "deleted", "unchanged"]
    added: int = 0
    removed: int = 0
    hidden: int = 0


class Diffs(Struct, frozen=True, kw_only=True, tag="diffs"):
    files: tuple[FileDiff, ...]


class Excerpt(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="excerpt"):
    """Lines of a file that were read; the text itself is in the outcome. `truncated`: a line was too long for it."""

    path: str
    first: int
    last: int
    total: int = 0
    truncated: bool = False


class Listing(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="listing"):
    """Paths or matches found: how many, and whether more exist."""

    what: str
    count: int
    more: bool = False


class Output(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="output"):
    """What a program printed, bounded; `code` is None while it runs or when it was killed.

    `hint` is the part of the text that says where the rest of a long output is.
    """

    command: str
    text: str
    code: int | None = None
    note: str = ""
    hint: str = ""


class Checklist(Struct, frozen=True, kw_only=True, tag="checklist"):
    items: tuple[Todo, ...]


class Failure(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="failure"):
    """Why a call has no result. The first `label` characters only tell the model who says so."""

    text: str
    label: int = 0


View = Plain | Diffs | Excerpt | Listing | Output | Checklist | Failure
