"""The hooks of one session: which events its calls, prompts and turns fire, and what becomes of the answers."""

import asyncio
from collections.abc import Callable, Collection
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from overt.agent.hooks import CompactionCause, HookJudgement, SubmittedPrompt
from overt.agent.permission_decision import CallRequest
from overt.app.hooks.occasion import Firing, Occasion
from overt.core.events import Event, Noticed, PermissionAsked, ToolFinished, TurnStarted
from overt.core.history import History
from overt.core.messages import Message, own_message
from overt.core.questions import FormAsked
from overt.core.views import Output
from overt.lib.logs.background import log_failure
from overt.lib.translations import say
from overt.safety.policy import Verdict

if TYPE_CHECKING:
    from overt.app.hooks.firing import HookRunner
    from overt.app.subagents.parent_link import HookAgent

SessionSource = Literal["startup", "resume", "clear", "compact", "fork"]
MOST_OBJECTIONS = 8
"""How often Stop hooks may object to the end of one turn."""
END_WITHIN_S = 5.0
"""Hooks of SessionEnd have this long, because the user waits for the program to end."""
APPROVE_IN_CHAT = "A hook wants a person to decide. Start a chat to approve it."


class SessionHooks:
    """The `AgentHooks` of a session, and an `AnswerCheck` for Stop. `notify` shows a notice and records it.

    The session of a sub-agent fires SubagentStart and SubagentStop in place of SessionStart, SessionEnd and Stop.

    The hooks listen to `events`. The runner is created when the first of these happens.
    """

    def __init__(
        self,
        events: Collection[str],
        make_runner: "Callable[[], HookRunner]",
        root: str,
        notify: Callable[[Noticed], None],
        *,
        agent: "HookAgent | None" = None,
    ) -> None:
        self._events, self._make_runner, self._agent = events, make_runner, agent
        self._root, self._notify = root, notify
        self._start: asyncio.Task[Firing] | None = None
        self._tasks: set[asyncio.Task[Firing]] = set()
        self._start_context: tuple[Message, ...] = ()
        self._stop_reason = ""
        self._objections = 0

    # ── calls ────────────────────────────────────────────────────────────────────────────────────────────

    async def judge_call(self, request: CallRequest, agent: str) -> HookJudgement:
        firing = await self._fire_for_call("PreToolUse", request, agent)
        if firing.stop:
            firing = replace(firing, verdict="deny", reason=firing.reason or firing.stop)
        changed = None
        if firing.updated_input is not None:
            from overt.app.hooks.hook_input import apply_changes  # late: 0.4 ms

            changed = apply_changes(request, firing.updated_input)
        if changed and changed.error:
            why = f"the hook changed the arguments to something that cannot run: {changed.error}"
            firing, changed = replace(firing, verdict="deny", reason=why), None
        verdict = _make_verdict("PreToolUse", firing) if firing.verdict else None
        return HookJudgement(verdict=verdict, changed=changed, context=firing.context)

    async def judge_question(self, request: CallRequest, verdict: Verdict, agent: str) -> Verdict:
        firing = await self._fire_for_call("PermissionRequest", request, agent)
        if firing.updated_input is not None and firing.verdict != "deny":
            why = "updatedInput belongs to PreToolUse; a hook of PermissionRequest cannot change a call"
            firing = replace(firing, verdict="deny", reason=why, origin=firing.runs[0][0].origin)
        answers = ("deny", "allow") if verdict.by == "mode" else ("deny",)  # nothing opens what a guard or a rule holds
        return _make_verdict("PermissionRequest", firing) if firing.verdict in answers else verdict

    async def after_call(self, request: CallRequest, finished: ToolFinished) -> str:
        result = finished.result
        failed = result.error or bool(result.ended)
        more: dict[str, object] = {"error": result.text(), "is_interrupt": False} if failed else {}
        if not failed:
            stdout = finished.view.text if isinstance(finished.view, Output) else result.text()
            more["tool_response"] = {"stdout": stdout, "stderr": "", "interrupted": False}
        event = "PostToolUseFailure" if failed else "PostToolUse"
        firing = await self._fire_for_call(event, request, finished.agent, more)
        return "\n".join(filter(None, (firing.reason if firing.verdict == "deny" else "", firing.context)))

    async def _fire_for_call(
        self, event: str, request: CallRequest, agent: str, more: dict[str, object] | None = None
    ) -> Firing:
        """Fire an event for a call, once for each file of a patch, and combine the answers."""
        if event not in self._events:
            return Firing()
        from overt.app.hooks.firing import combine  # late: 3 ms
        from overt.app.hooks.hook_input import describe_call  # late: 0.4 ms

        occasions = (
            Occasion(
                event=event,
                about=shown.names,
                fields={
                    "tool_name": shown.name,
                    "tool_input": shown.input,
                    "tool_use_id": request.id,
                    **(more or {}),
                },
                request=request,
                agent=agent,
            )
            for shown in describe_call(request, self._root)
        )
        firings = await asyncio.gather(*map(self._runner.fire, occasions))
        return self._show(combine([run for firing in firings for run in firing.runs]), event)

    # ── prompts and turns ────────────────────────────────────────────────────────────────────────────────

    async def submit_prompt(self, text: str) -> SubmittedPrompt:
        firing = await self._fire("UserPromptSubmit", {"prompt": text})
        refusal = firing.stop or (say("hooks.prompt_blocked", reason=firing.reason) if firing.verdict == "deny" else "")
        self._stop_reason = ""
        if refusal:
            self._notify(Noticed(text=refusal, level="warning"))
        return SubmittedPrompt(refusal=refusal, along=_as_context("UserPromptSubmit", firing.context))

    async def find_objection(self, history: History) -> str:
        """Return why Stop hooks want the turn to go on, at most a few times in one turn."""
        agent = self._agent
        answer = next((each.text() for each in reversed(history.messages) if each.role == "assistant"), "")
        fields: dict[str, object] = {"stop_hook_active": self._objections > 0, "last_assistant_message": answer}
        if agent and "SubagentStop" in self._events:
            fields["agent_transcript_path"] = self._runner.transcript.path
        event = "SubagentStop" if agent else "Stop"
        firing = await self._fire(event, fields, agent.type if agent else "")
        self._stop_reason = ""
        if firing.stop or firing.verdict != "deny":
            return ""
        self._objections += 1
        if self._objections > MOST_OBJECTIONS:
            self._notify(Noticed(text=say("hooks.stop_limit", count=MOST_OBJECTIONS), level="warning"))
            return ""
        return firing.reason or f"A {event} hook wants you to go on."

    def take_stop_reason(self) -> str:
        reason, self._stop_reason = self._stop_reason, ""
        return reason

    async def before_compaction(self, cause: CompactionCause, focus: str) -> str:
        trigger = "manual" if cause == "asked" else "auto"
        firing = await self._fire("PreCompact", {"trigger": trigger, "custom_instructions": focus}, trigger)
        blocked = firing.verdict == "deny" and cause == "asked"
        return say("hooks.compaction_blocked", reason=firing.reason) if blocked else ""

    async def after_compaction(self, cause: CompactionCause) -> tuple[Message, ...]:
        trigger = "manual" if cause == "asked" else "auto"
        await self._fire("PostCompact", {"trigger": trigger}, trigger)
        if self._agent:
            return ()
        firing = await self._fire("SessionStart", {"source": "compact"}, "compact")
        return _as_context("SessionStart", firing.context)

    # ── the session ──────────────────────────────────────────────────────────────────────────────────────

    def begin(self, source: SessionSource) -> None:
        """Fire SessionStart without waiting for it; `open_turn` does."""
        if "SessionStart" in self._events:
            occasion = Occasion(event="SessionStart", about=(source,), fields={"source": source})
            self._start = asyncio.get_running_loop().create_task(self._runner.fire(occasion))

    async def open_turn(self, prompt: str, *, typed: bool) -> SubmittedPrompt:
        """Wait for the hooks of SessionStart, and ask those of UserPromptSubmit unless the user has typed a command.

        What the hooks of SessionStart add goes before the first prompt that is not refused. The prompt of a sub-agent
        comes from a model, so UserPromptSubmit does not fire for it.
        """
        if agent := self._agent:
            firing = await self._fire("SubagentStart", {}, agent.type)
            return SubmittedPrompt(along=_as_context("SubagentStart", firing.context))
        if self._start:
            start, self._start = self._start, None
            self._start_context = _as_context("SessionStart", self._show(await start, "SessionStart").context)
        submitted = SubmittedPrompt() if typed else await self.submit_prompt(prompt)
        if submitted.refusal:
            return submitted
        along, self._start_context = (*self._start_context, *submitted.along), ()
        return SubmittedPrompt(along=along)

    def see(self, event: Event) -> None:
        """Fire Notification when the user is asked something."""
        if isinstance(event, TurnStarted):
            self._objections, self._stop_reason = 0, ""
        if not isinstance(event, PermissionAsked | FormAsked) or "Notification" not in self._events:
            return
        if self._agent:
            return  # the session at the root sees the question too
        kind, message = "elicitation_dialog", "Overt needs your input"
        if isinstance(event, PermissionAsked):
            kind, message = "permission_prompt", f"Overt needs your permission: {event.headline}"
        fields: dict[str, object] = {"message": message, "title": "Overt", "notification_type": kind}
        task = asyncio.get_running_loop().create_task(self._fire("Notification", fields, kind))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(log_failure("hooks"))

    async def end(self, reason: str) -> None:
        """Fire SessionEnd, and end what is still running."""
        if tasks := [*self._tasks, *((self._start,) if self._start else ())]:
            _, waiting = await asyncio.wait(tasks, timeout=END_WITHIN_S)
            for task in waiting:
                task.cancel()
        if "SessionEnd" in self._events and not self._agent:
            occasion = Occasion(event="SessionEnd", about=(reason,), fields={"reason": reason}, within_s=END_WITHIN_S)
            await self._runner.fire(occasion)
        if "_runner" in self.__dict__:
            self._runner.transcript.delete()

    @cached_property
    def _runner(self) -> "HookRunner":
        return self._make_runner()

    async def _fire(self, event: str, fields: dict[str, object], about: str = "") -> Firing:
        if event not in self._events:
            return Firing()
        return self._show(await self._runner.fire(Occasion(event=event, about=(about,), fields=fields)), event)

    def _show(self, firing: Firing, event: str) -> Firing:
        """Show what hooks say to the user, and that they failed; keep that one wants the turn to end."""
        for message in firing.messages:
            self._notify(Noticed(text=message))
        for failure in firing.failures:
            self._notify(Noticed(text=say("hooks.failed", event=event, failure=failure), level="warning"))
        if firing.stop:
            self._stop_reason = firing.stop
            self._notify(Noticed(text=say("hooks.stopped", event=event, reason=firing.stop), level="warning"))
        return firing


def _make_verdict(event: str, firing: Firing) -> Verdict:
    assert firing.verdict
    asks = firing.verdict == "ask"
    return Verdict(
        action=firing.verdict,
        rule=f"hook {event}",
        origin=firing.origin,
        by="guard",
        why=firing.reason or ("a hook asks" if asks else ""),
        remedy=APPROVE_IN_CHAT if asks else "",
    )


def _as_context(event: str, context: str) -> tuple[Message, ...]:
    return (own_message(f"A hook of {event} adds:\n{context}", "hook"),) if context else ()
