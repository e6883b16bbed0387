"""An answer as it is written: whole blocks are given once, and the blank rows between them with the second."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from overt.frontends.tui.terminal.rows import BLANK, Row

if TYPE_CHECKING:
    from overt.app.chat.citations import Citations


class Streamed(Protocol):
    """Markdown as it arrives: see `markdown/markdown.py`."""

    def feed(self, text: str) -> None: ...
    def take(self, columns: int) -> list[Row]: ...
    def tail(self, columns: int, most: int) -> list[Row]: ...
    def end(self, columns: int) -> list[Row]: ...


class AnswerMarkdown:
    """Creates the Markdown renderer of each answer. Citations are looked up in the workspace of the conversation."""

    def __init__(self, workspace: Callable[[], str], links: Callable[[], bool]) -> None:
        self._workspace = workspace
        self._links = links
        self._citations: Citations | None = None

    def forget(self) -> None:
        """Forget the citations: another conversation may have another workspace."""
        self._citations = None

    def __call__(self) -> Streamed:
        if self._citations is None:
            from overt.app.chat.citations import Citations  # late: 4 ms

            self._citations = Citations(self._workspace())
        from overt.frontends.tui.markdown.markdown import Markdown  # late: 2 ms

        return Markdown(cites=self._citations, links=self._links())


class StreamedAnswer:
    """`head` stands above the first row. `begun`: some of it has been given."""

    def __init__(self, markdown: Streamed, head: Sequence[Row] = ()) -> None:
        self.begun = False
        self._markdown = markdown
        self._head = head
        self._owed = False
        self._said: list[str] = []

    @property
    def text(self) -> str:
        return "".join(self._said)

    def feed(self, text: str, columns: int) -> list[Row]:
        self._said.append(text)
        self._markdown.feed(text)
        return self._given(self._markdown.take(columns))

    def end(self, columns: int) -> list[Row]:
        return self._given(self._markdown.end(columns))

    def tail(self, columns: int, most: int) -> list[Row]:
        """What is not given yet; a blank row comes first where one will."""
        rows = self._markdown.tail(columns, most)
        bare = _stripped(rows)
        if not self.begun:
            return [*self._head, *bare][-most:] if bare else []
        return [BLANK, *bare][-most:] if bare and (self._owed or len(bare) < len(rows)) else bare

    def broken(self) -> None:
        """Something else was printed in between."""
        self._owed = True

    def _given(self, rows: Sequence[Row]) -> list[Row]:
        bare = _stripped(rows)
        leading = len(bare) < len(rows)
        ends_blank = bool(bare) and bare[-1] == BLANK
        while bare and bare[-1] == BLANK:
            bare.pop()
        if not bare:
            self._owed = self._owed or (leading and self.begun)
            return []
        before = [] if self.begun else list(self._head)
        if self.begun and (self._owed or leading):
            before = [BLANK]
        self.begun, self._owed = True, ends_blank
        return [*before, *bare]


def _stripped(rows: Sequence[Row]) -> list[Row]:
    """Without the blank rows at its start."""
    start = next((number for number, each in enumerate(rows) if each != BLANK), len(rows))
    return list(rows[start:])
