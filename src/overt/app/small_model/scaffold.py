"""A small model led through a turn: what it needs lies before it, and what it claims is checked."""

from collections.abc import Mapping

from msgspec import Raw
from msgspec.structs import replace

from overt.app.context.prefix import Fragments
from overt.app.models.tool_protocol import ProtocolParts, ScaffoldContext, ToolProtocol
from overt.app.small_model.answer_check import (
    FailedCall,
    admits_failure,
    asks_for_change,
    asks_to_run,
    failed_in_a_row,
    last_run_failed,
    read_turn,
    speaks_of_tests,
)
from overt.app.small_model.mentions import find_identifiers, looks_private, named_paths
from overt.context.reply_schema import MOST_PATHS, form_of
from overt.context.small_model_prefix import example_messages, small_model_calls, small_model_prompt
from overt.context.text_calls import TextCallWire, tool_guide
from overt.core.capabilities import Query, ReadFiles
from overt.core.codec import compact, decode, encode
from overt.core.errors import ToolError
from overt.core.history import History, last_exchange
from overt.core.messages import Message, said
from overt.core.protocols import Wire
from overt.core.requests import Prefix, ToolSpec
from overt.core.settings import Calls, Limits
from overt.core.text_fragments import Origin, own_origin
from overt.core.tool import Tool
from overt.lib.syntax import parse_error
from overt.lib.text import clip, shorten
from overt.tools.bash import bash
from overt.tools.grep import grep
from overt.tools.small_model.edit import edit
from overt.tools.small_model.read import read
from overt.tools.small_model.write import careful_write

LIMITS = Limits(max_steps=16, max_parallel=1, result_bytes=4096, result_tokens=1200)
PASTED, FILE_BYTES, FILE_TOKENS = 3, 3072, 900
SMALL_FOLDER = 3
SHOWN_PATHS = 40
FAILURES = 3
SUGGESTED_TOOLS, SUGGESTED_CHARACTERS = 3, 160
"""Tools of servers that a task is given, and how much of their descriptions."""
DOUBTS = 2
DOUBT = "Not believed: "


def set_up_protocol(
    protocol: ToolProtocol, tools: Mapping[str, Tool], fragments: Fragments, *, wire: Wire, context: ScaffoldContext
) -> ProtocolParts:
    """The compact agent: of its tools those that the usual one may use, too."""
    own = {name: tool for name, tool in small_model_tools().items() if name in tools}
    lead = SmallModelLead(context, own, calls=protocol.calls)
    return ProtocolParts(
        tools=own,
        prefix=small_model_prefix(own, protocol.calls, fragments),
        wire=wire if protocol.calls == "native" else TextCallWire(wire, protocol.calls),
        limits=small_limits(context.limits),
        lead=lead,
        checks=(lead,),
        temperature=0.0,
    )


def small_limits(limits: Limits) -> Limits:
    """Limits for a small model. A step limit that the user has set takes the place of ours."""
    return Limits(
        max_steps=limits.max_steps or LIMITS.max_steps,
        max_parallel=min(limits.max_parallel, LIMITS.max_parallel),
        result_bytes=min(limits.result_bytes or LIMITS.result_bytes, LIMITS.result_bytes),
        result_tokens=min(limits.result_tokens or LIMITS.result_tokens, LIMITS.result_tokens),
    )


def small_model_prefix(tools: Mapping[str, Tool], calls: Calls, fragments: Fragments) -> Prefix:
    """The examples stay with native calls too: a small model does as it is shown."""
    system, specs = fragments.beside(small_model_prompt()), tuple(tool.spec for tool in tools.values())
    if calls == "native":
        return Prefix(system=system, tools=specs, shots=example_messages(tools))
    guide = small_model_calls() if calls == "schema" else tool_guide(specs, calls)
    return Prefix(system=(*system, guide), tools=(), shots=example_messages(tools))


def small_model_tools() -> dict[str, Tool]:
    """Five tools, each with the arguments that a small model can be trusted with."""
    # Saying why first makes a small model look before it edits; nobody minds if another leaves it out.
    edit_ = _with(edit, "path", "why", "old", "new", also=("all",))
    narrow = (read, _with(grep, "pattern"), careful_write(), edit_, _with(bash, "command"))
    return {tool.name: tool for tool in narrow}


def _with(tool: Tool, *required: str, also: tuple[str, ...] = ()) -> Tool:
    """The tool as if it had these arguments only."""
    properties = decode(tool.spec.schema)["properties"]
    chosen = {name: properties[name] for name in (*required, *also)}
    schema = {"type": "object", "properties": chosen, "required": required}
    return replace(tool, spec=replace(tool.spec, schema=Raw(encode(schema))))


def _placed(spec: ToolSpec) -> ToolSpec:
    """An edit that has to name its place."""
    schema = decode(spec.schema)
    schema["properties"]["old"]["minLength"] = 1
    return replace(spec, schema=Raw(encode(schema)))


class SmallModelLead:
    """Puts before a small model what a task needs: files, and tools of servers. Checks what it claims."""

    def __init__(self, context: ScaffoldContext, tools: Mapping[str, Tool], *, calls: Calls = "schema") -> None:
        self._hands = context.hands
        self._suggest_tools = context.suggest_tools
        self._suggested: dict[str, ToolSpec] = {}
        self._tools = tools
        self._specs = {name: tool.spec for name, tool in tools.items()}
        self._calls = calls
        self._may_read = context.may_read
        self._told: tuple[str, ...] | None = None
        self._pasted: dict[str, str] = {}
        self._last = ""

    async def accompany(self, text: str) -> tuple[Message, ...]:
        """The names of the files, and the content of those that the task is about.

        The same words again are a retry, for which what went along the first time was dropped.
        """
        if text == self._last:
            self.forget()
        self._last = text
        files, paths = self._files(), await self._paths()
        messages: list[Message] = []
        if paths != self._told and paths:
            more = " …" if len(paths) > SHOWN_PATHS else ""
            listing = f"Files: {', '.join(paths[:SHOWN_PATHS])}{more}"
            messages.append(said(listing, origin=Origin(kind="environment", where="files")))
        self._told = paths
        for path in await self._about(text, paths, files):
            if message := await self._paste(path, files):
                messages.append(message)
        self._suggested = {spec.name: spec for spec in self._suggest_tools(text, SUGGESTED_TOOLS)}
        if self._suggested:
            lines = "\n".join(map(_describe_tool, self._suggested.values()))
            origin = Origin(kind="environment", where="tools")
            messages.append(said(f"More tools, if the task needs one:\n{lines}", origin=origin))
        return tuple(messages)

    def forget(self) -> None:
        self._told, self._pasted = None, {}

    async def form(self, history: History, *, forced: bool) -> Raw | None:
        if self._calls != "schema":
            return None
        if forced:
            return form_of({}, only_final=True)
        failed = failed_in_a_row(_turn(history))
        specs = {**self._specs_after(failed), **self._suggested}
        existing = dict.fromkeys((read.name, edit.name), await self._paths())
        return form_of(specs, paths=existing, final=not 0 < len(failed) < FAILURES)

    def _specs_after(self, failed: list[FailedCall]) -> dict[str, ToolSpec]:
        """What failed would be said again word for word: another tool is another chance."""
        if not failed:
            return self._specs
        last = failed[0]
        again = len(failed) > 1 and failed[1].name == last.name
        if last.name == "write" or last.hopeless or again:
            return {name: spec for name, spec in self._specs.items() if name != last.name} or self._specs
        if last.name == "edit" and "edit" in self._specs and not last.arguments.get("old"):
            return {**self._specs, "edit": _placed(self._specs["edit"])}
        return self._specs

    async def find_objection(self, history: History) -> str:
        turn = _turn(history)
        doubted = sum(message.origin == own_origin("objection") for message in turn)
        if doubted >= DOUBTS or not turn or any(message.origin.kind == "summary" for message in turn):
            return ""  # what a summary stands for cannot be checked
        exchange = last_exchange(history)
        why = await self._why_not(exchange[1].text() if exchange else "", turn)
        return f"{DOUBT}{why}" if why else ""

    async def _why_not(self, task: str, turn: tuple[Message, ...]) -> str:
        done = read_turn(turn, self._tools)
        files = self._files()
        for path in done.changed:
            try:
                content = await files.text(path)
            except ToolError:
                continue
            if trouble := parse_error(content.path, content.text):
                return f"{path} does not parse: {trouble}. Correct it with edit."
        if done.denied or (done.failed and not done.changed and admits_failure(turn[-1].text())):
            return ""
        if asks_for_change(task) and not done.maybe_changed:
            return f"no file was changed. The task is: {task.strip()[:500]}\nDo it now with edit or write."
        if asks_to_run(task) and not done.ran and "bash" in self._specs:
            return "no command was run. Run it with bash, then answer from what it printed."
        if speaks_of_tests(task) and done.changed and not done.checked and "bash" in self._specs:
            return "nothing was run after the change. Run the test with bash and see whether it passes."
        if failure := last_run_failed(turn):
            return f"the last command failed ({failure}). Correct the cause, or say plainly that it fails and why."
        return ""

    def _files(self) -> ReadFiles:
        loan = self._hands.lend("lead", {"files": "read"})
        files: ReadFiles = loan.capabilities["files"]
        return files

    async def _paths(self) -> tuple[str, ...]:
        try:
            matches = await self._files().find("*", path=".", limit=MOST_PATHS + 1)
        except ToolError:
            return ()
        return tuple(sorted(matches.paths, key=lambda path: (path.count("/"), path)))

    async def _about(self, text: str, paths: tuple[str, ...], files: ReadFiles) -> list[str]:
        """Files that the task names, else those that hold the names it uses, else all where there are very few."""
        chosen = named_paths(text, paths)
        shown = [path for path in paths if not looks_private(path)]
        for word in find_identifiers(text) if not chosen else ():
            try:
                hits = await files.search(Query(pattern=rf"\b{word}\b", mode="files", limit=PASTED + 1))
            except ToolError:
                continue
            names = [line for line in hits.text.splitlines() if line in shown]
            chosen += [name for name in names if name not in chosen] if len(names) <= PASTED else []
        if not chosen and len(shown) <= SMALL_FOLDER:
            chosen = shown
        return [path for path in chosen if self._may_read(path)][:PASTED] if "read" in self._specs else []

    async def _paste(self, path: str, files: ReadFiles) -> Message | None:
        try:
            content = await files.text(path)
        except ToolError:
            return None
        if self._pasted.get(path) == content.hash:
            return None
        self._pasted[path] = content.hash
        text = clip(content.text, FILE_BYTES, FILE_TOKENS, "see more with grep") or "(empty)"
        return said(f"[{path}]\n{text}", origin=Origin(kind="file", where=path, hash=content.hash))


def _describe_tool(spec: ToolSpec) -> str:
    """Describe a tool as the object that calls it."""
    properties = decode(spec.schema).get("properties", {})
    call = {"tool": spec.name} | {name: part.get("type", "any") for name, part in properties.items()}
    return f"{compact(call)}: {shorten(spec.description, SUGGESTED_CHARACTERS)}"


def _turn(history: History) -> tuple[Message, ...]:
    """What was said and done since the last prompt."""
    exchange = last_exchange(history)
    return history.messages[exchange[0] :] if exchange else ()
