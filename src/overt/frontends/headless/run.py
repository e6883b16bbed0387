"""One prompt, one result on stdout; everything else goes to stderr."""

import asyncio
import os
import signal
import sys
from contextlib import aclosing
from typing import TYPE_CHECKING

from overt.app.conversation import Conversation
from overt.app.custom.typed_lines import names_command
from overt.app.diagnostics.event_loop import run_async
from overt.app.options import Options
from overt.app.session import MAIN, follow
from overt.app.start import open_conversation
from overt.core.agents.agent_events import AgentEnded, AgentStarted
from overt.core.codec import printable
from overt.core.errors import OvertError
from overt.core.events import Compacted, EndReason, Event, Noticed, Replied, Retried, ToolFinished, TurnEnded, UserSpoke
from overt.core.messages import Text
from overt.frontends.describe_events import ALONG, attachment_words, describe_end, describe_event
from overt.frontends.headless.closing_lines import RunSummary, closing_line, denied_line
from overt.lib.text import visible
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.frontends.headless.narrate import Narrator

EXIT: dict[EndReason, int] = {
    "done": 0,
    "error": 1,
    "storm": 1,
    "denied": 3,
    "limit": 4,
    "interrupted": 130,
    "terminated": 143,
}
SIGNAL_CODES = (EXIT["interrupted"], EXIT["terminated"])


def run(options: Options, prompt: str) -> int:
    return run_async(_run(options, prompt))


async def _run(options: Options, prompt: str) -> int:
    conversation = await open_conversation(options)
    summary = RunSummary()
    try:
        end = await _turn(conversation, options, prompt, summary)
    finally:
        unsaved = await conversation.close()
        if unsaved:
            from overt.app.records.save_failure import describe_unsaved  # late: 0.5 ms

            for line in describe_unsaved(unsaved, conversation.path):
                _warn(line)
    if options.output == "text":
        _close(summary, conversation, end)
    if denied := denied_line(conversation.session.denials, len(conversation.session.calls)):
        _warn(denied)
    code = EXIT["denied"] if end.reason == "done" and conversation.session.last_call_denied else EXIT[end.reason]
    return EXIT["error"] if unsaved and code not in SIGNAL_CODES else code


async def _turn(conversation: Conversation, options: Options, prompt: str, summary: RunSummary) -> TurnEnded:
    _stop_on_signals(conversation)
    for notice in conversation.notices:
        _warn(notice)
    if options.output == "stream-json":
        from overt.frontends.headless.claude_output import claude_event, init  # late: 2 ms

        _line(init(conversation))
    api_ms, narrator = 0, _make_narrator() if options.verbose else None
    end = TurnEnded(reason="error")
    turn = await _start_turn(conversation, prompt)
    calls: dict[str, str] = {}  # path of each sub-agent → the call that started it
    async with aclosing(follow(conversation.session, turn, agents=True)) as events:
        async for event in events:
            if isinstance(event, AgentStarted):
                calls[event.agent] = event.call_id
            if options.output == "stream-json" and (line := claude_event(event, conversation, calls.get(event.agent))):
                _line(line)
            if options.output != "stream-json" or options.verbose:
                tell(event, narrator)
            summary.count(event)
            if isinstance(event, Replied | Compacted):
                api_ms += event.ms
            elif isinstance(event, TurnEnded) and event.agent == MAIN:
                end = event
    _finish(end, conversation, options, api_ms)
    return end


async def _start_turn(conversation: Conversation, prompt: str) -> "asyncio.Task[TurnEnded]":
    """Start a turn with a prompt, or with that of a command such as `/review`. `/tmp is full` is about a path."""
    if not names_command(prompt):
        return conversation.prompt(prompt)
    name, _ = conversation.commands.parse(prompt)
    if conversation.commands.get(name) is None and os.path.lexists(f"/{name}"):
        return conversation.prompt(prompt)
    return await conversation.run_prompt_command(prompt)


def _close(run: RunSummary, conversation: Conversation, end: TurnEnded) -> None:
    """Print the closing line. A script that expects an empty stderr gets one if nothing was changed."""
    if not run.eventful and not sys.stderr.isatty():
        return
    spent = conversation.spend.turn
    run.steps, run.tokens = end.steps, end.usage.input + end.usage.output
    run.cost = spent.describe_cost() if spent.cost else ""
    run.session = conversation.id if conversation.path else ""
    run.undoable = bool(conversation.path) and conversation.session_workspace.undo_enabled
    _warn(closing_line(run))


def _finish(end: TurnEnded, conversation: Conversation, options: Options, api_ms: int) -> None:
    if options.output != "text":
        from overt.frontends.headless.claude_output import result  # late: 2 ms

        _line(result(end, conversation, api_ms=api_ms))
    elif end.reason in ("done", "limit") and not end.kind:
        text = visible(end.text) if sys.stdout.isatty() else end.text
        _out(text if text.endswith("\n") else text + "\n")
    if notice := describe_end(end):
        _warn(say("prefix.error", text=notice.text) if notice.level == "error" else notice.text)


def _make_narrator() -> "Narrator":
    from overt.frontends.headless.narrate import Narrator  # late: 0.6 ms

    return Narrator()


def tell(event: Event, narrator: "Narrator | None" = None) -> None:
    """Print an event on stderr, apart from the result: only what needs attention, or with a narrator everything.

    Of sub-agents only their calls are printed, and only with a narrator: they report to the agent that started them.
    """
    verbose = narrator is not None
    for line in narrator.narrate(event) if narrator else ():
        _warn(line)
    if event.agent != MAIN and not isinstance(event, AgentStarted | AgentEnded):
        return
    match event:
        case Noticed(level="info") if not verbose:
            pass
        case AgentStarted() | AgentEnded() if not verbose:
            pass
        case Noticed() | Retried() | Compacted() | AgentStarted() | AgentEnded():
            notice = describe_event(event)
            _warn(notice.text if notice else "")
        case Replied(finish="interrupted", message=partial) if partial.parts:
            _warn(partial.text())
        case ToolFinished(code="denied", result=denied) if not verbose:
            _warn("".join(part.text for part in denied.parts if isinstance(part, Text)))
        case ToolFinished(code="broken", result=broken) if not verbose:
            _warn(next((part.text.partition("\n")[0] for part in broken.parts if isinstance(part, Text)), ""))
        case UserSpoke(message=message) if verbose and message.origin.kind in ALONG:
            _warn(f"+ {attachment_words(event)}")
        case _:
            pass


def _stop_on_signals(conversation: Conversation) -> None:
    loop = asyncio.get_running_loop()
    reasons: dict[signal.Signals, EndReason] = {
        signal.SIGINT: "interrupted",
        signal.SIGTERM: "terminated",
        signal.SIGHUP: "terminated",
    }
    for number, reason in reasons.items():
        if signal.getsignal(number) is signal.SIG_IGN:
            continue  # nohup means it
        loop.add_signal_handler(number, conversation.interrupt, reason)


def _line(value: object) -> None:
    _out(printable(value) + "\n")


def _out(text: str) -> None:
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        raise OvertError(f"the result could not be written to stdout: {error.strerror}") from None
    except UnicodeEncodeError:
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.flush()


def _warn(text: str) -> None:
    print(visible(text), file=sys.stderr, flush=True)
