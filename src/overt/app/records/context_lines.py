"""Requests, spans and differences as lines of text, for a terminal of any width."""

from collections.abc import Iterable, Sequence

from overt.app.records.context_diff import RequestComparison
from overt.app.records.context_view import RequestRow, RequestView
from overt.context.cache import CacheTotals
from overt.context.provenance import RequestSpan
from overt.core.text_fragments import Origin
from overt.lib.text import visible, wide
from overt.lib.translations import say, say_columns

SHOWN_LATEST = 12
MANY = 40
NARROW = 100
"""Below this there is room for where something came from or for what it is about."""
NARROWEST = 64
"""Below this the shares and what was cached are left out too."""


def request_lines(view: RequestView, width: int, *, every: bool = True) -> list[str]:
    """One row for each fragment, tool and message; without `every`, older messages are told together."""
    rows, heads = _rows(view, every=every), say_columns("context.heads")
    if width < NARROWEST:
        rows, heads = [[row[1], row[2], row[6] or row[5]] for row in rows], [heads[1], heads[2], heads[5]]
    elif width < NARROW:
        rows, heads = [[*row[:5], row[6] or row[5]] for row in rows], heads[:6]
    right = (1,) if width < NARROWEST else (0, 2, 3)
    lines = [*_heading(view), "", *align(heads, rows, width, right=right), ""]
    return [*lines, usage_line(view.used, view.limit, reported=view.reported)]


def usage_line(tokens: int, limit: int, *, reported: bool) -> str:
    estimated = "" if reported else say("context.estimated")
    if not limit:
        return say("context.used_unknown", used=tokens, estimated=estimated)
    percent = f"{100 * tokens / limit:.1f}"
    return say("context.used", used=tokens, limit=limit, percent=percent, estimated=estimated)


def full_text_lines(view: RequestView) -> list[str]:
    """What every fragment says, in full."""
    lines = _heading(view)
    for number, span in enumerate(_spoken(view.spans), 1):
        about = f" · {span.label}" if span.label else ""
        lines += ["", f"── {number} · {span.key} · {origin_text(span.origin)}{about} · {span.tokens}", span.text]
    return lines


def request_list_lines(rows: Sequence[RequestRow], totals: CacheTotals, width: int) -> list[str]:
    cells = [_request(row) for row in rows]
    heads = say_columns("context.list_heads")
    if width < NARROWEST:
        heads, *cells = ([row[0], row[1], row[3], row[6], row[7]] for row in (heads, *cells))
    right = (0, 2, 3) if width < NARROWEST else (0, 2, 3, 4, 5, 6)
    lines = align(heads, cells, width, right=right)
    if totals.requests:
        kept, reached = _percent(totals.kept), _percent(totals.reached)
        summary = say(
            "context.totals",
            requests=totals.requests,
            input=totals.input,
            cached=totals.cached,
            output=totals.output,
            possible=totals.possible,
            kept=kept,
            reached=reached,
            resets=totals.resets,
        )
        lines += ["", summary]
    return lines


def comparison_lines(one: int, other: int, comparison: RequestComparison | None) -> list[str]:
    if comparison is None:
        return [say("context.same", one=one, other=other)]
    key = "context.extends" if comparison.extends else "context.first"
    lines = [say(key, one=one, other=other, at=comparison.at)]
    if not comparison.extends:
        for number, span, data in ((one, comparison.old, comparison.before), (other, comparison.new, comparison.after)):
            about = f": {span.label}" if span.label else ""
            lines += [say("context.lies", number=number, name=span.key, origin=origin_text(span.origin), about=about)]
            lines += [f"    …{data.decode('utf-8', 'replace')}…"]
    lines += [say("context.cause", cause=cause, number=number) for number, cause in comparison.causes]
    if not comparison.extends and not comparison.causes:
        lines.append(say("context.no_cause", name=comparison.old.key, origin=origin_text(comparison.old.origin)))
    if comparison.moved:
        lines.append(say("context.moved"))
    for moved in comparison.moved:
        span = moved.span
        line = f"  {moved.way} {span.key} · {origin_text(span.origin)} · {span.tokens} · {span.label}"
        lines.append(line.rstrip(" ·"))
    return lines


def origin_text(origin: Origin) -> str:
    """A file with its lines and the beginning of its hash; anything else by its kind and place."""
    match origin.kind:
        case "file":
            lines = f":{origin.lines}" if origin.lines else ""
            return f"{origin.where}{lines}" + (f" #{origin.hash[:8]}" if origin.hash else "")
        case "harness":
            return f"overt {origin.where}".strip()
        case "flag" | "environment" if origin.where:
            return origin.where
        case kind:
            return f"{kind} {origin.where}".strip()


def align(heads: Sequence[str], rows: Sequence[Sequence[str]], width: int, *, right: Sequence[int]) -> list[str]:
    """Columns as wide as they must be; what is too long for the screen is cut at its end."""
    cells = [[visible(cell).replace("\n", " ").replace("\t", " ") for cell in row] for row in (heads, *rows)]
    widths = [max(wide(row[column]) for row in cells) for column in range(len(heads))]
    lines = []
    for row in cells:
        padded = [
            " " * (widths[n] - wide(cell)) + cell if n in right else cell + " " * (widths[n] - wide(cell))
            for n, cell in enumerate(row)
        ]
        lines.append(_cut("  ".join(padded).rstrip(), width))
    return lines


def _heading(view: RequestView) -> list[str]:
    if view.number or view.purpose != "step":
        purpose = _purpose(view.purpose)
        first = say(
            "context.request",
            number=view.number or "–",
            turn=view.turn,
            step=view.step,
            purpose=purpose,
            session=view.session,
            model=f"{view.provider}/{view.model}",
            length=view.length,
        )
    else:
        first = say("context.next", model=f"{view.provider}/{view.model}", length=view.length)
    return [first, *(say("context.reset", cause=cause) for cause in view.resets)]


def _rows(view: RequestView, *, every: bool) -> list[list[str]]:
    whole = sum(span.tokens for span in view.spans) or 1
    spans = list(enumerate(_spoken(view.spans), 1))
    rows = []
    if not every and len(spans) > MANY:
        first = next((n for n, span in spans if span.key in ("user", "file", "harness", "summary")), 1)
        older = [span for _, span in spans[first - 1 : -SHOWN_LATEST]]
        rows = [_row(number, span, whole) for number, span in spans[: first - 1]]
        tokens = sum(span.tokens for span in older)
        share, label = f"{100 * tokens / whole:.1f}", say("context.earlier", count=len(older))
        rows.append(["", "…", str(tokens), share, "", "", label])
        spans = spans[-SHOWN_LATEST:]
    rows += [_row(number, span, whole) for number, span in spans]
    wire = sum(span.end - span.start for span in view.spans if span.key == "wire")
    return [*rows, ["", "wire", "", "", "", "overt", f"{say('context.wire')} ({wire} B)"]]


def _row(number: int, span: RequestSpan, whole: int) -> list[str]:
    cached = say(f"context.cached.{span.cached}") if span.cached else ""
    share = f"{100 * span.tokens / whole:.1f}"
    return [str(number), span.key, str(span.tokens), share, cached, origin_text(span.origin), span.label]


def _spoken(spans: Iterable[RequestSpan]) -> list[RequestSpan]:
    return [span for span in spans if span.key != "wire"]


def _request(row: RequestRow) -> list[str]:
    step = row.step
    notes = [purpose.strip("，, ")] if (purpose := _purpose(row.purpose)) else []
    notes += row.resets
    if step and step.missed and not step.resets:
        notes.append(step.missed)
    if row.differs:
        notes.append(say("context.differs", why=row.differs))
    if step is None:
        notes.append(say("context.unanswered"))
    counted = [step.input, step.cached, step.possible] if step else ["", "", ""]
    ratio = _percent(step.ratio) if step else ""
    number, place = (str(row.number), f"{row.turn}.{row.at}") if row.number else ("–", str(row.turn))
    return [number, place, str(row.length), *map(str, counted), ratio, "; ".join(notes)]


def _purpose(purpose: str) -> str:
    return "" if purpose == "step" else say(f"context.{purpose}")


def _percent(ratio: float | None) -> str:
    return "–" if ratio is None else f"{100 * ratio:.1f} %"


def _cut(line: str, width: int) -> str:
    if wide(line) <= width:
        return line
    while wide(line) > width - 1:
        line = line[:-1]
    return line + "…"
