"""A session as Markdown: prompts quoted, replies as they were written, tools folded."""

import re

from overt.app.records.export import ExportedMessage, ExportedTurn, SessionExport, format_stamp
from overt.app.records.export_prose import code_spans, fence, show_controls, split_fences
from overt.lib.translations import say


def render_markdown(session: SessionExport) -> str:
    about = session.session
    facts = (
        ("export.id", f"`{about.id}`"),
        ("export.agent", _code(about.agent) if about.agent else ""),
        ("export.started_by" if about.agent else "export.parent", f"`{about.parent}`" if about.parent else ""),
        ("export.created", format_stamp(about.created)),
        ("export.models", ", ".join(map(_plain, about.models))),
        ("export.folder", _code(about.workspace) if about.workspace else ""),
    )
    parts = [
        f"# {_plain(about.title) or about.id}",
        "\n".join(f"- {say(key)}: {value}" for key, value in facts if value),
        *(f"> **{say('export.damage')}** {_plain(line)}" for line in session.damage),
        *(_turn(turn) for turn in session.turns),
        "---",
        _usage(session),
    ]
    return "\n\n".join(parts) + "\n"


def _turn(turn: ExportedTurn) -> str:
    when = turn.started.replace("T", " ").replace("Z", " UTC")
    parts = [f"## {say('export.turn', turn=turn.turn)} · {when}", *(_message(each) for each in turn.messages)]
    if turn.ended and turn.ended.reason != "done":
        parts.append(f"*{' '.join(filter(None, (f'[{turn.ended.reason}]', _plain(turn.ended.text))))}*")
    return "\n\n".join(part for part in parts if part)


def _message(message: ExportedMessage) -> str:
    match message.role:
        case "user":
            who = say("export.you") if not message.origin else _plain(message.origin)
            return f"**{who}**\n\n{_quoted(message.text)}{_pictures(message)}"
        case "assistant":
            return _reply(message)
        case "tool":
            return _tool(message)
        case "note":
            return _quoted(f"({message.text})")


def _reply(message: ExportedMessage) -> str:
    parts = []
    if message.reasoning.strip():
        parts.append(_folded(say("export.reasoning"), fence(show_controls(message.reasoning))))
    if message.text.strip():
        cut = f" *({say('export.cut')})*" if message.origin else ""
        parts.append(f"**{_plain(message.model) or say('export.model_said')}**{cut}\n\n{_prose(message.text)}")
    return "\n\n".join(parts)


def _tool(message: ExportedMessage) -> str:
    mark = "✗ " if message.error else ""
    inner = [fence(show_controls(message.arguments), "json")] if message.arguments.strip() else []
    if message.diff:
        inner.append(fence(show_controls(message.diff), "diff"))
    if message.text.strip():
        inner.append(fence(show_controls(message.text)))
    return _folded(
        f"{mark}{show_controls(message.name)} {show_controls(message.headline)}".strip(),
        "\n\n".join(inner) + _pictures(message),
    )


def _folded(summary: str, inner: str) -> str:
    """Blank lines around the inner part, so that it is read as Markdown."""
    escaped = summary.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace("\n", " ")
    return f"<details><summary>{escaped}</summary>\n\n{inner}\n\n</details>"


def _quoted(text: str) -> str:
    """Every line behind a mark, tags as words: nothing in a prompt becomes part of the page's own shape."""
    return "\n".join(f"> {line}".rstrip() for line in _prose(text).split("\n"))


def _prose(text: str) -> str:
    """What was written, with tags outside of code shown instead of obeyed, and every fence closed."""
    return "\n\n".join(
        _tagless(piece) if language is None else fence(piece, language)
        for language, piece in split_fences(show_controls(text))
    )


def _tagless(text: str) -> str:
    """Headings go down two levels: the page has its own."""
    text = re.sub(r"^ {0,3}(#{1,4})(?=\s)", r"##\1", text, flags=re.MULTILINE)
    lines = text.split("\n")
    spans = [code_spans(line) for line in lines]
    if any(
        line_spans is None for line_spans in spans
    ):  # a mark that is closed on another line, or never: none is trusted
        return "\n".join(map(_harmless, lines))
    return "\n".join(
        "".join(part if code else _harmless(part) for code, part in line_spans)
        for line_spans in spans
        if line_spans is not None
    )


def _harmless(text: str) -> str:
    """Escape tags and pictures: a viewer of the file would fetch a picture from its address."""
    return re.sub(r"<(?=[A-Za-z/!?])", "&lt;", text).replace("![", r"!\[")


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>#|])", r"\\\1", " ".join(show_controls(text).split()))


def _code(text: str) -> str:
    return f"`{show_controls(text).replace('`', '´')}`"


def _pictures(message: ExportedMessage) -> str:
    return "".join(
        f"\n\n*{say('export.file', media=_plain(each.media), size=len(each.data))}*" for each in message.files
    )


def _usage(session: SessionExport) -> str:
    usage = session.usage
    return say(
        "export.usage",
        turns=len(session.turns),
        input=f"{usage.input:,}",
        cached=f"{usage.cached:,}",
        output=f"{usage.output:,}",
    )
