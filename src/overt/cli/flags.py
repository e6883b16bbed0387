"""The flags of a prompt, as users of other agents already know them."""

from collections.abc import Iterable
from textwrap import wrap

from overt.app.options import CLAUDE_MODES, SANDBOX_FLAG, Options, OutputFormat
from overt.cli.parse import CommandLine, Flag, ParsedCommandLine
from overt.core.errors import UsageError

FORMATS: dict[str, OutputFormat] = {"text": "text", "json": "json", "stream-json": "stream-json"}

ABOUT = """A coding agent for the terminal with nothing hidden.

  overt                    open the chat            overt "task"        chat, with a first prompt
  overt run "task"         one task, no chat        overt -p "task"     the same
  overt setup              choose a model, step by step
  overt {subcommands}    (each with --help)"""


def about(extra: Iterable[str] = ()) -> str:
    """Return the text above the flags in `overt --help`, with the names of all subcommands."""
    from overt.cli import subcommands  # late: 0.0 ms
    from overt.lib.module_discovery import module_names  # late: 0.1 ms

    names = " | ".join(name for name in (*module_names(subcommands), *extra) if name != "setup")
    return ABOUT.format(subcommands="\n        ".join(wrap(names, 106)))


def _is_rule(word: str) -> bool:
    """True if a word after a list of rules is one more rule and not the prompt."""
    from overt.app.setting import is_tool_name  # late: 12 ms

    name = word.partition("(")[0]
    return name.startswith("mcp__") or is_tool_name(name)


def _is_server_config(word: str) -> bool:
    """True if a word after `--mcp-config` is one more file and not the prompt."""
    return word.endswith(".json") or word.lstrip().startswith("{")


PROMPT = CommandLine(
    name="overt",
    about=about,
    words="[task …]",
    flags=(
        Flag("-p, --print", "run one task, print the result and exit"),
        Flag("-m, --model REF", "provider, model, or provider/model"),
        Flag("-c, --continue", "continue the newest session of this project"),
        Flag("-r, --resume ID", "continue a session by its id or name"),
        Flag("--fork-session", "with -c or -r: continue in a copy and keep the original"),
        Flag("-n, --name NAME", "name of the session"),
        Flag("--session-id ID", "the id of a new session: letters, digits, -"),
        Flag("-C, --cd, --dir DIR", "work in this folder"),
        Flag("--add-dir DIR", "a further folder to read and write", is_list=True),
        Flag("--output-format FORMAT", ", ".join(FORMATS), tuple(FORMATS)),
        Flag("--permission-mode MODE", ", ".join(CLAUDE_MODES), tuple(CLAUDE_MODES)),
        Flag("-s, --sandbox WALLS", "what commands may reach: " + ", ".join(SANDBOX_FLAG), tuple(SANDBOX_FLAG)),
        Flag("--network", "open the network to every command of this run or chat"),
        Flag(
            "--dangerously-skip-permissions, --yolo",
            "the mode yolo: ask only about the network and what cannot be undone",
        ),
        Flag(
            "--allowedTools, --allowed-tools RULE",
            "allow calls by rules: 'bash(git *)', edit, 'read(src/**)'",
            is_list=True,
            more=_is_rule,
        ),
        Flag(
            "--disallowedTools, --disallowed-tools RULE",
            "deny calls by rules; the bare name of a tool removes it",
            is_list=True,
            more=_is_rule,
        ),
        Flag("--system-prompt TEXT", "replace the system prompt"),
        Flag("--system-prompt-file FILE", "replace it by a file's text"),
        Flag("--append-system-prompt TEXT", "add to the system prompt"),
        Flag("--agent NAME", "start as this agent: its prompt, tools, model and rules (see overt agents)"),
        Flag("--agents JSON", 'further agents: {"NAME": {"description": "…", "prompt": "…", "tools": […]}}'),
        Flag("--max-turns N", "at most N requests for a prompt (default: no limit)"),
        Flag("--max-budget-usd N", "at most N US dollars for the session, sub-agents included"),
        Flag("--mcp-config FILE", "MCP servers of a JSON file, or JSON itself", is_list=True, more=_is_server_config),
        Flag("--strict-mcp-config", "only the MCP servers of --mcp-config"),
        Flag("--no-session-persistence", "write no session file"),
        Flag("--plain", "the chat line by line, for any terminal and for screen readers"),
        Flag("--frontend NAME", "how to show the session: headless, plain, tui"),
        Flag("--verbose", "print the calls of tools and their results on stderr"),
        Flag("-v, --version", "print the version"),
    ),
)


def options_of(args: ParsedCommandLine, *, interactive: bool) -> Options:
    _check_session_flags(args)
    text = args.text("system-prompt") if args.switch("system-prompt") else None
    origin = "--system-prompt"
    if args.switch("system-prompt-file"):
        origin = args.text("system-prompt-file")
        text = _file_text(origin)
    return Options(
        directory=args.text("cd"),
        add_dirs=args.texts("add-dir"),
        model=args.text("model"),
        mode="yolo" if args.switch("dangerously-skip-permissions") else args.text("permission-mode"),
        sandbox=args.text("sandbox"),
        network=args.switch("network"),
        allowed=args.texts("allowedTools"),
        disallowed=args.texts("disallowedTools"),
        system_prompt=text,
        system_prompt_origin=origin,
        append_system_prompt=args.text("append-system-prompt"),
        max_steps=args.number("max-turns"),
        budget_usd=args.amount("max-budget-usd"),
        agent=args.text("agent"),
        agents=args.text("agents"),
        mcp_configs=args.texts("mcp-config"),
        strict_mcp_config=args.switch("strict-mcp-config"),
        resume=args.text("resume"),
        continue_last=args.switch("continue"),
        fork=args.switch("fork-session"),
        name=args.text("name"),
        session_id=args.text("session-id"),
        persist=not args.switch("no-session-persistence"),
        interactive=interactive,
        verbose=args.switch("verbose"),
        output=FORMATS[args.text("output-format") or "text"],
        registries=args.registries,
    )


def _check_session_flags(args: ParsedCommandLine) -> None:
    """Raise an error if the flags about the session contradict each other or are empty."""
    continues = args.switch("continue") or args.switch("resume")
    if args.switch("fork-session") and not continues:
        raise UsageError("--fork-session needs a session to copy: -c for the newest, or -r ID")
    if args.switch("session-id") and continues and not args.switch("fork-session"):
        raise UsageError("--session-id is for a new session; with -c or -r add --fork-session")
    for key in ("name", "session-id", "resume", "agent", "agents"):
        if args.switch(key) and not args.text(key).strip():
            raise UsageError(f"--{key} needs a value that is not empty")


def _file_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"--system-prompt-file: cannot read {path}: {error.strerror}") from None
