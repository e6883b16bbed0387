"""A session as one HTML file that needs nothing else: no script, no request, nothing of its content is obeyed.

Every word of the session is escaped before it is put into the page; the only markup made of it are the few forms
below, which hold no address and no attribute of its making. The policy at the head forbids the rest once more.
"""

import re
from base64 import b64encode
from html import escape

from overt.app.records.export import ExportedFile, ExportedMessage, ExportedTurn, SessionExport, format_stamp
from overt.app.records.export_prose import code_spans, show_controls, split_fences
from overt.lib.package_data import read_text
from overt.lib.translations import say

POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
RASTER = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Pictures that cannot hold anything but a picture; the others are named only."""
CONTENTS_FROM = 4
"""Turns from which on a list of them helps."""
ITEM = re.compile(r"^(\s*)(?:[-*+]|(\d{1,9})[.)])\s+(.*)$")
HEADING = re.compile(r"^ {0,3}(#{1,6})[ \t]+(\S.*)$")
BOLD = re.compile(r"\*\*([^*\s](?:[^*]*[^*\s])?)\*\*")


def render_html(session: SessionExport) -> str:
    about = session.session
    title = _words(about.title) or _words(about.id)
    facts = (
        ("export.id", about.id),
        ("export.agent", about.agent),
        ("export.started_by" if about.agent else "export.parent", about.parent),
        ("export.created", format_stamp(about.created)),
        ("export.models", ", ".join(about.models)),
        ("export.folder", about.workspace),
    )
    rows = "".join(f"<div><dt>{say(key)}</dt><dd>{_words(value)}</dd></div>" for key, value in facts if value)
    damage = "".join(f'<p class="damage">{say("export.damage")} {_words(line)}</p>' for line in session.damage)
    return (
        f'<!DOCTYPE html>\n<html lang="{say("export.language")}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>\n{read_text('overt.app.records', 'export.css')}</style>\n</head>\n<body>\n"
        f"<header><h1>{title}</h1><dl>{rows}</dl>{damage}</header>\n"
        f"{_contents(session)}<main>\n{''.join(map(_turn, session.turns))}</main>\n{_footer(session)}</body>\n</html>\n"
    )


def _contents(session: SessionExport) -> str:
    if len(session.turns) < CONTENTS_FROM:
        return ""
    rows = "".join(
        f'<li value="{turn.turn}"><a href="#turn-{turn.turn}">{_words(_opening(turn))}</a></li>'
        for turn in session.turns
    )
    return f"<nav><details><summary>{say('export.contents')}</summary><ol>{rows}</ol></details></nav>\n"


def _opening(turn: ExportedTurn) -> str:
    prompt = next((each.text for each in turn.messages if each.role == "user" and not each.origin), "")
    words = " ".join(prompt.split())
    return words if len(words) <= 90 else f"{words[:89]}…" if words else "–"


def _turn(turn: ExportedTurn) -> str:
    ended = ""
    if turn.ended:
        usage, failed = turn.ended.usage, turn.ended.reason != "done"
        reason = ": ".join(filter(None, (turn.ended.reason, turn.ended.text))) if failed else ""
        spent = say("export.spent", steps=turn.ended.steps, input=f"{usage.input:,}", output=f"{usage.output:,}")
        kind = "end failed" if failed else "end"
        ended = f'<p class="{kind}">{_words(reason)}{" · " if reason else ""}{_words(spent)}</p>\n'
    when = f"<time>{_words(turn.started.replace('T', ' ').replace('Z', ' UTC'))}</time>"
    return (
        f'<section id="turn-{turn.turn}">\n<h2>{say("export.turn", turn=turn.turn)} {when}</h2>\n'
        f"{''.join(map(_message, turn.messages))}{ended}</section>\n"
    )


def _message(message: ExportedMessage) -> str:
    match message.role:
        case "user" if not message.origin:
            return f'<article class="user">{_who(say("export.you"))}{_prose(message.text)}{_files(message)}</article>\n'
        case "user":
            drawn = _code if message.origin_kind == "file" else _prose  # the lines of a file stay as they are
            return _folded("along", _words(message.origin), drawn(message.text) + _files(message))
        case "assistant":
            return _reply(message)
        case "tool":
            return _tool(message)
        case "note":
            first, _, rest = message.text.partition("\n")
            return _folded("note", _words(first), _prose(rest)) if rest.strip() else _note(first)


def _reply(message: ExportedMessage) -> str:
    html = ""
    if message.reasoning.strip():
        html += _folded("thought", say("export.reasoning"), _prose(message.reasoning))
    if message.text.strip():
        cut = f" <em>({say('export.cut')})</em>" if message.origin else ""
        who = f"{_words(message.model) or say('export.model_said')}{cut}"
        html += f'<article class="model">{_who(who)}{_prose(message.text)}</article>\n'
    return html


def _tool(message: ExportedMessage) -> str:
    headline = " ".join(message.headline.split())
    took = f'<span class="ms">{message.ms} ms</span>' if message.ms else ""
    summary = f"<b>{_words(message.name)}</b> <code>{_words(headline)}</code>{took}"
    inner = f"<h4>{say('export.arguments')}</h4>{_code(message.arguments)}" if message.arguments.strip() else ""
    if message.diff:
        inner += f"<h4>{say('export.changes')}</h4>{_diff(message.diff)}"
    result = _code(message.text) if message.text or not message.files else ""
    inner += f"<h4>{say('export.result')}</h4>{result}{_files(message)}"
    return _folded("tool failed" if message.error else "tool", summary, inner)


def _folded(kind: str, summary: str, inner: str) -> str:
    return f'<details class="{kind}"><summary>{summary}</summary><div class="inner">{inner}</div></details>\n'


def _note(text: str) -> str:
    return f'<p class="note">{_words(text)}</p>\n'


def _who(name: str) -> str:
    return f'<div class="who">{name}</div>'


def _words(text: str) -> str:
    return escape(show_controls(text))


def _code(text: str) -> str:
    return f'<pre tabindex="0"><code>{_words(text)}</code></pre>' if text else '<p class="none">–</p>'


def _diff(text: str) -> str:
    kinds = {"+": "added", "-": "gone", "@": "place"}
    lines = show_controls(text).rstrip("\n").split("\n")
    classed = [("place" if line.startswith("--- ") else kinds.get(line[:1], "same"), line) for line in lines]
    marked = (f'<span class="{kind}">{escape(line) or " "}</span>' for kind, line in classed)
    return f'<pre tabindex="0" class="diff"><code>{"".join(marked)}</code></pre>'


def _files(message: ExportedMessage) -> str:
    return "".join(map(_picture, message.files))


def _picture(file: ExportedFile) -> str:
    if file.media not in RASTER:
        return _note(say("export.file", media=file.media, size=len(file.data)))
    return f'<img alt="" src="data:{file.media};base64,{b64encode(file.data).decode()}">'


def _prose(text: str) -> str:
    blocks = [
        _paragraphs(piece) if language is None else _code(piece)
        for language, piece in split_fences(show_controls(text))
    ]
    return f'<div class="prose">{"".join(blocks)}</div>'


def _paragraphs(text: str) -> str:
    """Headings, lists, tables and paragraphs; whatever else a model writes stays as it wrote it."""
    blocks: list[str] = []
    waiting: list[str] = []
    kind = ""
    for line in [*text.split("\n"), ""]:
        now = _kind(line, kind)
        if now != kind or now in ("heading", ""):
            blocks.append(_block(kind, waiting))
            waiting = []
        kind = now
        waiting.append(line)
    return "".join(blocks)


def _kind(line: str, before: str) -> str:
    if not line.strip():
        return ""
    if HEADING.match(line):
        return "heading"
    if line.lstrip().startswith("|"):
        return "table"
    if ITEM.match(line) or (before == "list" and line.startswith("  ")):
        return "list"
    return "text"


def _block(kind: str, lines: list[str]) -> str:
    match kind:
        case "heading":
            heading = HEADING.match(lines[0])
            assert heading is not None
            level = min(6, len(heading[1]) + 2)
            return f"<h{level}>{_marked(heading[2].rstrip().rstrip('#').rstrip())}</h{level}>"
        case "table":
            return _table(lines)
        case "list":
            return f"<ul>{''.join(map(_item, lines))}</ul>"
        case "text":
            return f"<p>{'<br>'.join(map(_marked, lines))}</p>"
        case _:
            return ""


def _table(lines: list[str]) -> str:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines]
    ruled = len(rows) > 1 and all(re.fullmatch(r":?-+:?", cell) for cell in rows[1])
    body = rows[2:] if ruled else rows
    head = f"<tr>{''.join(f'<th>{_marked(cell)}</th>' for cell in rows[0])}</tr>" if ruled else ""
    cells = "".join(f"<tr>{''.join(f'<td>{_marked(cell)}</td>' for cell in row)}</tr>" for row in body)
    return f'<div class="wide" tabindex="0"><table>{head}{cells}</table></div>'


def _item(line: str) -> str:
    """One list for all kinds: what a model numbered keeps its number, and what it set in stays set in."""
    item = ITEM.match(line)
    if item is None:
        return f'<li class="more">{_marked(line.strip())}</li>'
    depth = min(4, len(item[1].expandtabs(4)) // 2)
    number = f'<span class="number">{item[2]}.</span> ' if item[2] else ""
    kind = f"in{depth}{' numbered' if number else ''}"
    return f'<li class="{kind}">{number}{_marked(item[3])}</li>'


def _marked(line: str) -> str:
    """Return a line with code and bold as tags; every other part is escaped."""
    parts = code_spans(line) or [(False, line)]
    return "".join(_inline(part) if code else _bold(part) for code, part in parts)


def _inline(span: str) -> str:
    marks = len(span) - len(span.lstrip("`"))
    inner = span[marks:-marks]
    return f"<code>{escape(inner.strip() or inner)}</code>"


def _bold(text: str) -> str:
    parts = enumerate(map(escape, BOLD.split(text)))
    return "".join(f"<strong>{part}</strong>" if number % 2 else part for number, part in parts)


def _footer(session: SessionExport) -> str:
    usage = session.usage
    rows = (
        ("export.turns", len(session.turns)),
        ("export.input", usage.input),
        ("export.cached", usage.cached),
        ("export.output", usage.output),
    )
    cells = "".join(f"<div><dt>{say(key)}</dt><dd>{value:,}</dd></div>" for key, value in rows)
    return f"<footer><dl>{cells}</dl><p>{say('export.made')}</p></footer>\n"
