"""A Jupyter notebook as text: its cells in order, outputs shortened."""

from msgspec import DecodeError

from overt.core.codec import decode
from overt.lib.text import clip

OUTPUT_BYTES = 2000


def render_cells(text: str) -> str | None:
    """Return the cells as text, or None if this is not the JSON of a notebook."""
    try:
        book: object = decode(text.encode())
    except (DecodeError, UnicodeEncodeError):
        return None
    cells = book.get("cells") if isinstance(book, dict) else None
    if not isinstance(cells, list):
        return None
    out: list[str] = []
    for number, cell in enumerate(cells, 1):
        if not isinstance(cell, dict):
            return None
        out.append(f"[cell {number}, {cell.get('cell_type', 'raw')}]\n{_joined(cell.get('source'))}")
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            out.append(f"[output]\n{clip(_output(output), OUTPUT_BYTES, OUTPUT_BYTES // 4)}")
    return "\n\n".join(out) or "[notebook without cells]"


def _output(output: object) -> str:
    if not isinstance(output, dict):
        return ""
    if output.get("output_type") == "error":
        return f"{output.get('ename', 'error')}: {output.get('evalue', '')}"
    data = output.get("data")
    if not isinstance(data, dict):
        return _joined(output.get("text"))
    if "text/plain" in data:
        return _joined(data["text/plain"])
    return f"({', '.join(map(str, data))} not shown)"


def _joined(source: object) -> str:
    return "".join(map(str, source)) if isinstance(source, list) else str(source or "")
