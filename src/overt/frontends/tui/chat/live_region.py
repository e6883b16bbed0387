"""What of a turn still moves: what is waited for, thought, written and run right now, as a fold over events."""

from overt.core.agents.agent_events import AgentStarted
from overt.core.events import (
    CallStreamed,
    Event,
    PermissionAsked,
    PermissionDecided,
    ReasoningStreamed,
    Replied,
    RequestSent,
    Retried,
    TextStreamed,
    ToolFinished,
    ToolProgressed,
    ToolStarted,
    TurnEnded,
    TurnStarted,
)
from overt.core.questions import FormAsked, FormClosed
from overt.frontends.tui.agents.live_agents import LiveAgents
from overt.frontends.tui.terminal.formats import clock, size
from overt.frontends.tui.terminal.rows import Row, Span, cut, row
from overt.frontends.tui.terminal.verbatim_text import one_line
from overt.lib.display_width import clusters, width
from overt.lib.text import exact, visible
from overt.lib.translations import say

FRAMES = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
PER_SECOND = 10
PATIENCE, LULL = 1.0, 3.0
"""Seconds without a word before the first of a reply, and in the middle of one, until it is said who is waited for."""
REMEMBERED = 400
"""Characters of the reasoning from which its last words are taken."""
INDENT = Span("    ")


class Running:
    """A call that runs; `asking` while a person is asked about it."""

    def __init__(self, agent: str, name: str, headline: str, since: float) -> None:
        self.agent = agent
        self.name = name
        self.headline = headline
        self.since = since
        self.line = ""
        self.asking = False
        self.delegated = False
        """A sub-agent works on this call and has its own row."""


class Voice:
    """One agent in its turn: since when it has been silent, what it thinks, the calls it writes."""

    def __init__(self, now: float) -> None:
        self.since = self.heard = now
        self.model = ""
        self.speaking = False
        self.thinking: float | None = None
        self.thought = ""
        self.calls: dict[int, CallStreamed] = {}
        self.retry: tuple[float, Retried] | None = None


class Live:
    def __init__(self) -> None:
        self._voices: dict[str, Voice] = {}
        self._running: dict[tuple[str, str], Running] = {}
        self.agents = LiveAgents()
        self.esc_interrupts = True

    @property
    def animated(self) -> bool:
        """Whether the next moment looks different without any event."""
        asking = {tool.agent for tool in self._running.values() if tool.asking}
        return any(not tool.asking for tool in self._running.values()) or bool(self._voices.keys() - asking)

    def forget(self) -> None:
        self._voices.clear()
        self._running.clear()
        self.agents = LiveAgents()

    # ── events ───────────────────────────────────────────────────────────────────────────────────────────

    def feed(self, event: Event, now: float) -> None:
        agent = event.agent
        self.agents.feed(event)
        match event:
            case AgentStarted(call_id=call_id):
                if tool := self._running.get((agent.rpartition("/")[0], call_id)):
                    tool.delegated = True
            case TurnStarted():
                self._voices[agent] = Voice(now)
            case RequestSent(params=params):
                self._voices[agent] = voice = Voice(now)
                voice.model = params.model
            case ReasoningStreamed() | TextStreamed() | CallStreamed() | Retried() | Replied():
                self._heard(self._voices.setdefault(agent, Voice(now)), event, now)
            case ToolStarted(call=call, headline=headline):
                self._running[agent, call.id] = Running(agent, call.name, headline, now)
            case ToolProgressed(call_id=call_id, text=text):
                self._progressed(agent, call_id, text)
            case PermissionAsked(call=call):
                if tool := self._running.get((agent, call.id)):
                    tool.asking = True
            case FormAsked(call_id=call_id) | FormClosed(call_id=call_id):
                if tool := self._running.get((agent, call_id)):
                    tool.asking, tool.since = isinstance(event, FormAsked), now
            case PermissionDecided(call_id=call_id, verdict=verdict):
                if tool := self._running.get((agent, call_id)):
                    tool.asking, tool.since = tool.asking and verdict == "deny", now
            case ToolFinished(result=result):
                self._running.pop((agent, result.call_id), None)
                if agent in self._voices:
                    self._voices[agent].heard = now
            case TurnEnded():
                self._voices.pop(agent, None)
                self._running = {key: tool for key, tool in self._running.items() if key[0] != agent}
            case _:
                pass

    def _heard(self, voice: Voice, event: Event, now: float) -> None:
        voice.heard, voice.retry = now, None
        match event:
            case ReasoningStreamed(text=text):
                voice.thinking = now if voice.thinking is None else voice.thinking
                voice.thought = (voice.thought + text)[-REMEMBERED:]
            case TextStreamed():
                voice.speaking, voice.thinking, voice.thought = True, None, ""
            case CallStreamed(index=index):
                voice.thinking, voice.thought = None, ""
                voice.calls[index] = event
            case Retried(wait=wait):
                voice.retry = (now + wait, event)
                voice.thinking, voice.thought, voice.calls = None, "", {}
            case _:
                voice.speaking, voice.thinking, voice.thought, voice.calls = False, None, "", {}

    def _progressed(self, agent: str, call_id: str, text: str) -> None:
        """A command that the person typed reports without the id of a call: it is the only one that runs."""
        tool = self._running.get((agent, call_id))
        if tool is None and not call_id:
            tool = next((one for one in self._running.values() if one.agent == agent), None)
        lines = [line for line in text[-4 * REMEMBERED :].splitlines() if line.strip()]
        if tool and lines:
            tool.line = lines[-1]

    # ── rows ─────────────────────────────────────────────────────────────────────────────────────────────

    def rows(self, columns: int, most: int, now: float) -> list[Row]:
        """At most so many, each on one line; the last line of a tool's output goes first when room is short."""
        spin = FRAMES[int(now * PER_SECOND) % len(FRAMES)]
        heads: list[tuple[Row, Row]] = []
        for agent, voice in self._voices.items():
            heads += [(each, ()) for each in self._voiced(agent, voice, spin, columns, now)]
        for tool in self._running.values():
            if not tool.asking and not (tool.delegated and self.agents.nodes):
                heads.append(
                    (
                        _tool(tool, spin, columns, now),
                        row(INDENT, Span(one_line(tool.line), "dim")) if tool.line else (),
                    )
                )
        below_heads = self.agents.rows(columns, max(most - min(len(heads), most // 2), 1), spin) if most > 0 else []
        most -= len(below_heads)
        if len(heads) > most:
            hidden = len(heads) - max(most - 1, 0)
            heads = [*heads[: max(most - 1, 0)], (row(Span(say("tui.live.more", count=hidden), "dim")), ())][:most]
        spare = most - len(heads)
        rows: list[Row] = []
        for head, below in heads:
            rows.append(cut(head, columns))
            if below and spare > 0:
                rows.append(cut(below, columns))
                spare -= 1
        return [*rows, *below_heads]

    def _voiced(self, agent: str, voice: Voice, spin: str, columns: int, now: float) -> list[Row]:
        who = label(agent)
        if voice.retry and voice.retry[0] > now:
            until, retried = voice.retry
            words = say(
                "tui.live.retry",
                reason=one_line(retried.reason),
                attempt=retried.attempt,
                attempts=retried.attempts,
                time=clock(until - now + 0.999),
            )
            return [row(*who, Span(f"{spin} {words}", "warn"))]
        if voice.thinking is not None:
            head = row(*who, Span(f"∴ {say('tui.live.thinking')} {clock(now - voice.thinking)}  ", "dim"))
            room = columns - sum(width(span.text) for span in head) - 1
            return [(*head, Span(last_words(voice.thought, room), "dim italic"))]
        if voice.calls:
            return [_streaming(who, call, spin) for call in voice.calls.values()]
        if any(tool.agent == agent for tool in self._running.values()):
            return []
        silent = now - voice.heard
        if silent < (LULL if voice.speaking else PATIENCE):
            lasts = voice.speaking and now - voice.since >= PATIENCE
            return [self._busy(who, spin, clock(now - voice.since))] if lasts else []
        words = say("tui.live.waiting", model=visible(voice.model)) if voice.model else say("tui.live.working")
        return [self._busy(who, spin, f"{words} {clock(silent)}")]

    def _busy(self, who: Row, spin: str, words: str) -> Row:
        esc = f" · {say('tui.live.esc')}" if self.esc_interrupts else ""
        return row(*who, Span(spin, "accent"), Span(f" {words}{esc}", "dim"))


def label(agent: str) -> Row:
    """Who did it, where it was not the main agent: `explore-1 · `."""
    name = agent.removeprefix("main").removeprefix("/")
    return (Span(f"{one_line(name)} · ", "muted"),) if name else ()


def last_words(text: str, room: int) -> str:
    """The end of a text on one line, in so many columns, from the beginning of a word where there are such."""
    words = " ".join(visible(text).split())
    kept: list[str] = []
    for piece in reversed(clusters(words)):
        room -= width(piece)
        if room < 0:
            end = "".join(reversed(kept))
            return end.partition(" ")[2] or end if piece != " " else end
        kept.append(piece)
    return words


def headline_on_one_line(text: str) -> str:
    """What a call is about, exactly, on one line."""
    return exact("⏎ ".join(line.rstrip() for line in text.strip().split("\n"))).replace("\t", " ")


def _tool(tool: Running, spin: str, columns: int, now: float) -> Row:
    """A long headline gives way to the time."""
    taken = f"  {clock(now - tool.since)}" if now - tool.since >= PATIENCE else ""
    head = row(
        *label(tool.agent),
        Span(f"{spin} ", "tool"),
        Span(one_line(tool.name), "bold"),
        f"  {headline_on_one_line(tool.headline)}" if tool.headline else "",
    )
    return row(*cut(head, columns - len(taken)), Span(taken, "dim") if taken else "")


def _streaming(who: Row, call: CallStreamed, spin: str) -> Row:
    name = one_line(call.name) or "…"
    return row(*who, Span(f"{spin} ", "tool"), Span(name, "bold"), Span(f"  {size(call.characters)} …", "dim"))
