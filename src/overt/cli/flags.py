"""The flags of a prompt, as users of other agents already know them."""

from collections.abc import Iterable
from textwrap import wrap

from overt.app.options import CLAUDE_MODES, Options, OutputFormat
from overt.app.registries import Registries
from overt.cli.parse import CommandLine, Flag, Given
from overt.core.errors import UsageError
from overt.core.foreign import TOOLS, our_tool

SANDBOXES = ("read-only", "workspace-write", "danger-full-access")
FORMATS: dict[str, OutputFormat] = {"text": "text", "json": "json", "stream-json": "stream-json"}

ABOUT = """A coding agent for the terminal with nothing hidden.

  overt                    open the chat            overt "task"        chat, with a first prompt
  overt run "task"         one task, no chat        overt -p "task"     the same
  overt setup              choose a model, step by step
  overt {subcommands}    (each with --help)"""


def about(extra: Iterable[str] = ()) -> str:
    """Return the text above the flags in `overt --help`, with the names of all subcommands."""
    from overt.cli import subcommands  # late: 0.0 ms
    from overt.lib.discover import module_names  # late: 0.1 ms

    names = " | ".join(name for name in (*module_names(subcommands), *extra) if name != "setup")
    return ABOUT.format(subcommands="\n        ".join(wrap(names, 106)))


def _is_rule(word: str) -> bool:
    """Whether a word after a list of rules is one more of them, not the prompt."""
    name = word.partition("(")[0]
    return our_tool(name) in TOOLS or name.startswith("mcp__")


PROMPT = CommandLine(
    name="overt",
    about=about,
    words="[task …]",
    flags=(
        Flag(names=("-p", "--print"), key="headless", help="run one task, print the result and exit"),
        Flag(names=("-m", "--model"), key="model", value="REF", help="provider, model, or provider/model"),
        Flag(names=("-c", "--continue"), key="continue", help="continue the newest session of this project"),
        Flag(names=("-r", "--resume"), key="resume", value="ID", help="continue a session by its id or name"),
        Flag(names=("--fork-session",), key="fork", help="with -c or -r: continue in a copy and keep the original"),
        Flag(names=("-n", "--name"), key="name", value="NAME", help="name of the session"),
        Flag(names=("--session-id",), key="session_id", value="ID", help="the id of a new session: letters, digits, -"),
        Flag(names=("-C", "--cd", "--dir"), key="directory", value="DIR", help="work in this folder"),
        Flag(names=("--add-dir",), key="add_dirs", value="DIR", many=True, help="a further folder to read and write"),
        Flag(names=("--output-format",), key="output", value="FORMAT", choices=tuple(FORMATS), help=", ".join(FORMATS)),
        Flag(
            names=("--permission-mode",),
            key="mode",
            value="MODE",
            choices=tuple(CLAUDE_MODES),
            help=", ".join(CLAUDE_MODES),
        ),
        Flag(
            names=("-s", "--sandbox"),
            key="sandbox",
            value="WALLS",
            choices=SANDBOXES,
            help="what commands may reach: " + ", ".join(SANDBOXES),
        ),
        Flag(
            names=("--network",),
            key="network",
            help="open the network to every command of this run or chat",
        ),
        Flag(
            names=("--dangerously-skip-permissions", "--yolo"),
            key="yolo",
            help="the mode yolo: ask only about the network and what cannot be undone",
        ),
        Flag(
            names=("--allowedTools", "--allowed-tools"),
            key="allowed",
            value="RULE",
            many=True,
            more=_is_rule,
            help="allow calls by rules: 'bash(git *)', edit, 'read(src/**)'",
        ),
        Flag(
            names=("--disallowedTools", "--disallowed-tools"),
            key="disallowed",
            value="RULE",
            many=True,
            more=_is_rule,
            help="deny calls by rules; the bare name of a tool removes it",
        ),
        Flag(names=("--system-prompt",), key="system_prompt", value="TEXT", help="replace the system prompt"),
        Flag(
            names=("--system-prompt-file",), key="system_prompt_file", value="FILE", help="replace it by a file's text"
        ),
        Flag(names=("--append-system-prompt",), key="append", value="TEXT", help="add to the system prompt"),
        Flag(
            names=("--max-turns",),
            key="max_steps",
            value="N",
            help="at most N requests for a prompt (default: no limit)",
        ),
        Flag(names=("--no-session-persistence",), key="forget", help="write no session file"),
        Flag(names=("--plain",), key="plain", help="the chat line by line, for any terminal and for screen readers"),
        Flag(names=("--frontend",), key="frontend", value="NAME", help="how to show the session: headless, plain, tui"),
        Flag(names=("--verbose",), key="verbose", help="print the calls of tools and their results on stderr"),
        Flag(names=("-v", "--version"), key="version", help="print the version"),
    ),
)


def options_of(given: Given, registries: Registries, *, interactive: bool) -> Options:
    _agree(given)
    text = given.text("system_prompt") if given.switch("system_prompt") else None
    origin = "--system-prompt"
    if given.switch("system_prompt_file"):
        origin = given.text("system_prompt_file")
        text = _file_text(origin)
    return Options(
        directory=given.text("directory"),
        add_dirs=given.texts("add_dirs"),
        model=given.text("model"),
        mode="yolo" if given.switch("yolo") else given.text("mode"),
        sandbox=given.text("sandbox"),
        network=given.switch("network"),
        allowed=given.texts("allowed"),
        disallowed=given.texts("disallowed"),
        system_prompt=text,
        system_prompt_origin=origin,
        append_system_prompt=given.text("append"),
        max_steps=_above_zero(given.text("max_steps")) if given.switch("max_steps") else None,
        resume=given.text("resume"),
        continue_last=given.switch("continue"),
        fork=given.switch("fork"),
        name=given.text("name"),
        session_id=given.text("session_id"),
        persist=not given.switch("forget"),
        interactive=interactive,
        verbose=given.switch("verbose"),
        output=FORMATS[given.text("output") or "text"],
        registries=registries,
    )


def _agree(given: Given) -> None:
    """What is said about the session must fit together."""
    goes_on = given.switch("continue") or given.switch("resume")
    if given.switch("fork") and not goes_on:
        raise UsageError("--fork-session needs a session to copy: -c for the newest, or -r ID")
    if given.switch("session_id") and goes_on and not given.switch("fork"):
        raise UsageError("--session-id is for a new session; with -c or -r add --fork-session")
    for key, flag in (("name", "--name"), ("session_id", "--session-id"), ("resume", "--resume")):
        if given.switch(key) and not given.text(key).strip():
            raise UsageError(f"{flag} needs a value that is not empty")


def _above_zero(text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
    if number < 1:
        raise UsageError(f"--max-turns must be a whole number above 0, got {text!r}")
    return number


def _file_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"--system-prompt-file: cannot read {path}: {error.strerror}") from None
