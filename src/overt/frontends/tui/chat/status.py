"""The status line: one row, as long as its text, with less on it where there is less room."""

from collections.abc import Callable

from overt.core.status_values import Gauges, template_parts
from overt.frontends.tui.terminal.formats import count, money
from overt.frontends.tui.terminal.rows import Row, Span, columns, cut
from overt.lib.display_width import width
from overt.lib.text import visible
from overt.lib.translations import say

BETWEEN = Span(" · ", "muted")
NARROW = 8
"""Columns that are left of a model's name, however little room there is."""
FULL, NEARLY = 0.75, 0.8
"""Shares of the window and of the spend limit from which on they are shown as a warning."""

ORDER = ("badge", "model", "mode", "sandbox", "offline", "context", "cost", "cache", "agents", "jobs", "branch", "hint")
FIRST_TO_GO = ("hint", "branch", "cache", "offline", "safe", "session", "jobs", "tokens", "cost", "sandbox", "agents")
"""What gives way when the row is too long: whole parts, and of a part what is least of use."""


def status_row(gauges: Gauges, room: int, *, badge: str = "", template: str = "", hint: str = "") -> Row:
    """`badge` stands before everything else, as what runs now does; `hint` behind it, where there is room."""
    if template:
        return cut(_filled(template, gauges), room)
    gone: set[str] = set()
    made = _row(gauges, gone, badge, hint)
    for name in FIRST_TO_GO:
        if columns(made) <= room:
            return made
        gone.add(name)
        made = _row(gauges, gone, badge, hint)
    over = columns(made) - room
    if over > 0:
        name = _line(gauges.model)
        short = cut((Span(name),), max(width(name) - over, NARROW))
        made = _row(gauges._replace(model="".join(span.text for span in short)), gone, badge, hint)
    return cut(made, room)


def _row(gauges: Gauges, gone: set[str], badge: str, hint: str) -> Row:
    parts: dict[str, list[Span]] = {
        "badge": [Span(_line(badge), "accent")],
        "model": [Span(_line(gauges.model))],
        "mode": [Span(gauges.mode, f"mode.{gauges.mode}")],
        "sandbox": [] if "safe" in gone and _safe(gauges) else [_sandbox(gauges)],
        "offline": [_offline(gauges)],
        "context": _context(gauges, tokens="tokens" not in gone),
        "cost": _cost(gauges, session="session" not in gone),
        "cache": [_cache(gauges)],
        "agents": [_agents(gauges)],
        "jobs": [_jobs(gauges)],
        "branch": [Span(_line(gauges.branch), "muted")],
        "hint": [Span(_line(hint), "muted")],
    }
    made: list[Span] = []
    for name in ORDER:
        spans = [span for span in parts[name] if span.text]
        if spans and name not in gone:
            made += [BETWEEN, *spans] if made else spans
    return tuple(made)


def _line(text: str) -> str:
    return visible(" ".join(text.split()))


def _safe(gauges: Gauges) -> bool:
    return gauges.sandbox != "none" and not gauges.lacking


def _sandbox(gauges: Gauges) -> Span:
    if gauges.sandbox == "none":
        return Span(say("tui.status.no_sandbox"), "warn")
    return Span(say("tui.status.partly"), "warn") if gauges.lacking else Span(say("tui.status.sandbox"), "muted")


def _offline(gauges: Gauges) -> Span:
    return Span(say("tui.status.offline") if gauges.offline else "", "muted")


def _context(gauges: Gauges, *, tokens: bool) -> list[Span]:
    style = "warn" if gauges.share is not None and gauges.share > FULL else "muted"
    if gauges.share is None:
        return [Span(count(gauges.used), style)] if gauges.used else []
    counted = f"{count(gauges.used)}/{count(gauges.limit)} " if tokens else ""
    return [Span(f"{counted}{_percent(gauges.share)}", style)]


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.0f}%"


def _cost(gauges: Gauges, *, session: bool) -> list[Span]:
    """Nothing where nothing was paid."""
    if not gauges.unpriced and not gauges.session_cost:
        return []
    turn, whole = money(gauges.cost), _session_cost(gauges)
    style = _spent_style(gauges)
    if not session or turn == whole.text or not gauges.cost:
        return [whole]
    return [Span(f"{turn} (", "muted"), Span(whole.text, style), Span(")", "muted")]


def _session_cost(gauges: Gauges) -> Span:
    """With a plus where some requests have no known price, and `~` where some are estimated."""
    about = "~" if gauges.estimated and gauges.session_cost else ""
    more = "+" if gauges.unpriced and gauges.session_cost is not None else ""
    limit = f"/{money(gauges.spend_limit)}" if gauges.spend_limit else ""
    return Span(f"{about}{money(gauges.session_cost)}{more}{limit}", _spent_style(gauges))


def _spent_style(gauges: Gauges) -> str:
    share = (gauges.session_cost or 0.0) / gauges.spend_limit if gauges.spend_limit else 0.0
    return "error" if share >= 1 else "warn" if share >= NEARLY else "muted"


def _cache(gauges: Gauges) -> Span:
    share = gauges.session_cache if gauges.cache is None else gauges.cache
    return Span(say("tui.status.cache", share=_percent(share)) if share else "", "muted")


def _jobs(gauges: Gauges) -> Span:
    if not gauges.jobs:
        return Span("")
    return Span(say("tui.status.job" if gauges.jobs == 1 else "tui.status.jobs", count=gauges.jobs), "accent")


def _agents(gauges: Gauges) -> Span:
    if not gauges.agents:
        return Span("")
    return Span(say("tui.status.agent" if gauges.agents == 1 else "tui.status.agents", count=gauges.agents), "accent")


# ── a person's own line ──────────────────────────────────────────────────────────────────────────────────


def _filled(template: str, gauges: Gauges) -> Row:
    """A placeholder that has nothing to show takes the text before it along, unless the line begins with that."""
    made: list[Span] = []
    for number, (text, name) in enumerate(template_parts(template)):
        span = PLACED[name](gauges) if name else Span("")
        if name and not span.text and number:
            continue
        made += [each for each in (Span(text, "muted"), span) if each.text]
    return tuple(made)


PLACED: dict[str, Callable[[Gauges], Span]] = {
    "model": lambda gauges: Span(_line(gauges.model)),
    "provider": lambda gauges: Span(_line(gauges.provider), "muted"),
    "mode": lambda gauges: Span(gauges.mode, f"mode.{gauges.mode}"),
    "sandbox": _sandbox,
    "used": lambda gauges: Span(count(gauges.used), "muted"),
    "limit": lambda gauges: Span(count(gauges.limit) if gauges.limit else "", "muted"),
    "percent": lambda gauges: (
        Span(_percent(gauges.share), _context(gauges, tokens=False)[0].style) if gauges.limit else Span("")
    ),
    "cost": lambda gauges: Span(money(gauges.cost), "muted"),
    "session_cost": lambda gauges: _session_cost(gauges._replace(spend_limit=0.0)),
    "budget": lambda gauges: Span(money(gauges.spend_limit) if gauges.spend_limit else "", _spent_style(gauges)),
    "cache": lambda gauges: Span(_percent(gauges.cache), "muted"),
    "session_cache": lambda gauges: Span(_percent(gauges.session_cache), "muted"),
    "jobs": lambda gauges: Span(str(gauges.jobs) if gauges.jobs else "", "accent"),
    "agents": lambda gauges: Span(str(gauges.agents) if gauges.agents else "", "accent"),
    "branch": lambda gauges: Span(_line(gauges.branch), "muted"),
    "offline": _offline,
    "title": lambda gauges: Span(_line(gauges.title), "muted"),
    "turn": lambda gauges: Span(str(gauges.turn) if gauges.turn else "", "muted"),
}
"""For every name of `PLACEHOLDERS`."""
