"""Read a file: text with line numbers, images and PDFs as they are, notebooks as cells."""

from typing import Annotated

from msgspec import Meta, Struct

from overt.core.capabilities import Blob, Lines, ReadFiles
from overt.core.errors import ToolError
from overt.core.messages import Document, Image
from overt.core.tool import Outcome, tool
from overt.core.views import Excerpt, Plain
from overt.lib.result_limit import current_limit
from overt.lib.text import cut_line, size
from overt.tools._notebook import render_cells
from overt.tools._result_texts import clip_result

LIMIT = 2000
WIDTH = 2000


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    offset: Annotated[int, Meta(description="First line", ge=1)] = 1
    limit: Annotated[int, Meta(description="Number of lines", ge=1)] = LIMIT

    def subjects(self) -> tuple[str, ...]:
        return (self.path,)


@tool(
    order=10,
    aliases="Read read_file view cat open_file view_file readFile ReadFile file_read read_files readfile "
    "get_file_contents read_text_file fs_read file_view show_file open_files read_many_files NotebookRead "
    "view_line_range",
    meant_by={"command": ("view", "read")},
    past="read",
)
async def read(args: Args, files: ReadFiles) -> Outcome:
    """Read a file. Text comes as number, tab, line; the number and tab are not part of the file. Images and PDFs
    are shown, notebooks come as cells. Prefer it to cat; read the parts you need of a long file."""
    whole_notebook = args.path.endswith(".ipynb") and args.offset == 1 and args.limit == LIMIT
    if whole_notebook and (notebook := await _notebook(args.path, files)):
        return notebook
    try:
        lines = await files.lines(args.path, offset=args.offset, limit=args.limit)
    except ToolError as error:
        if error.code != "binary":
            raise
        blob = await files.blob(args.path)
        if blob is None:
            raise
        return _shown(blob)
    return _numbered(lines)


def _numbered(window: Lines) -> Outcome:
    if not window.lines:
        return _nothing(window)
    out = _fitting([f"{number:>6}\t{cut_line(line, WIDTH)}" for number, line in enumerate(window.lines, window.first)])
    last = window.first + len(out) - 1
    notes = [f"[{window.note}]"] if window.note else []
    if window.total is None:
        notes.append(f"[large file, lines {window.first}-{last}; go on with offset={last + 1}, or search it with grep]")
    elif last < window.total:
        notes.append(f"[lines {window.first}-{last} of {window.total}; go on with offset={last + 1}]")
    truncated = any(len(line) > WIDTH for line in window.lines[: len(out)])
    view = Excerpt(path=window.path, first=window.first, last=last, total=window.total or 0, truncated=truncated)
    return Outcome(text="\n".join([*out, *notes]), view=view)


def _fitting(lines: list[str]) -> list[str]:
    """Return as many of the first lines as one result holds, at least one."""
    limit = current_limit().body()
    while True:
        text = "\n".join(lines)
        share = min(limit.tokens / max(limit.count(text), 1), limit.bytes / max(size(text), 1))
        if share >= 1 or len(lines) == 1:
            return lines
        lines = lines[: max(1, min(round(share * len(lines)), len(lines) - 1))]


def _nothing(window: Lines) -> Outcome:
    if window.total == 0:
        return Outcome(text=f"[{window.path} is empty]", view=Excerpt(path=window.path, first=0, last=0))
    raise ToolError(f"{window.path} has {window.total} lines; line {window.first} is past its end.", code="invalid")


def _shown(blob: Blob) -> Outcome:
    text = f"[{blob.path}: {blob.media}, {len(blob.data)} bytes]"
    if blob.media.startswith("image/"):
        return Outcome(text=text, view=Plain(text=text), parts=(Image(media=blob.media, data=blob.data),))
    name = blob.path.rpartition("/")[2]
    return Outcome(text=text, view=Plain(text=text), parts=(Document(media=blob.media, data=blob.data, name=name),))


async def _notebook(path: str, files: ReadFiles) -> Outcome | None:
    """Return the cells, or None if it is no notebook after all and is read like any file."""
    try:
        file = await files.text(path)
    except ToolError as error:
        if error.code in ("large", "binary"):
            return None
        raise
    cells = render_cells(file.text)
    if cells is None:
        return None
    hint = "read with limit=1000 shows its JSON"
    text = f"{clip_result(cells, hint)}\n[notebook as cells; its JSON, for edits: read with limit=1000]"
    return Outcome(text=text, view=Excerpt(path=file.path, first=1, last=file.text.count("\n") + 1))
