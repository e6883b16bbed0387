"""The flags of a prompt, as users of other agents already know them."""

import argparse
from typing import NoReturn

from overt.app.options import CLAUDE_MODES, Options
from overt.core.errors import OvertError
from overt.core.late import late

USAGE = """overt                     open the chat          overt "task"             chat, with a first prompt
       overt run "task"          one task, no chat      overt -p "task"          the same
       overt COMMAND             config, models, sessions, tools, trust"""


class UsageError(OvertError):
    """The command line is wrong; the program ends with code 2."""


class Parser(argparse.ArgumentParser):
    """argparse with a suggestion for a flag that does not exist."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments:"):
            wrong = message.partition(":")[2].split()[0]
            near = late("difflib").get_close_matches(wrong, self._option_string_actions, n=1)
            message = f"unknown flag {wrong}" + (f"; did you mean {near[0]}?" if near else "")
        raise UsageError(f"{message}. Try: {self.prog} --help")


def prompt_parser() -> Parser:
    parser = Parser(prog="overt", usage=USAGE, allow_abbrev=False, formatter_class=argparse.RawTextHelpFormatter)
    add = parser.add_argument
    add("prompt", nargs="*", help="the task; `-` or a pipe reads it from stdin; `--` forces a prompt")
    add("-p", "--print", action="store_true", dest="headless", help="one task, print the result, leave")
    add("-m", "--model", default="", metavar="REF", help="provider, model, or provider/model")
    add("-c", "--continue", action="store_true", dest="continue_last", help="continue the newest session here")
    add("-r", "--resume", default="", metavar="ID", help="continue a session by its id")
    add("-C", "--cd", "--dir", dest="directory", default="", metavar="DIR", help="work in this folder")
    add("--add-dir", action="append", default=[], metavar="DIR", help="a further folder the file tools may use")
    add("--output-format", choices=("text", "json", "stream-json"), default="text", help="shape of stdout")
    add("--permission-mode", choices=tuple(CLAUDE_MODES), default="", metavar="MODE", help=", ".join(CLAUDE_MODES))
    add("--dangerously-skip-permissions", "--yolo", action="store_true", dest="yolo", help="the mode yolo")
    add("--allowedTools", "--allowed-tools", nargs="+", action="extend", default=[], metavar="RULE", dest="allowed",
        help="rules that allow: bash(git *), edit, read(src/**)")  # fmt: skip
    add("--disallowedTools", "--disallowed-tools", nargs="+", action="extend", default=[], metavar="RULE",
        dest="disallowed", help="rules that deny; a bare tool name removes the tool")  # fmt: skip
    add("--system-prompt", default=None, metavar="TEXT", help="replace the system prompt")
    add("--system-prompt-file", default=None, metavar="FILE", help="replace it by a file's text")
    add("--append-system-prompt", default="", metavar="TEXT", help="add to the system prompt")
    add("--max-turns", type=_above_zero, default=None, metavar="N", help="at most N model calls for a prompt")
    add("--no-session-persistence", action="store_false", dest="persist", help="write no session file")
    add("--verbose", action="store_true", help="tell on stderr what the tools do")
    add("-v", "--version", action="store_true", help="print the version")
    return parser


def options_of(given: argparse.Namespace, *, interactive: bool) -> Options:
    text, origin = given.system_prompt, "--system-prompt"
    if given.system_prompt_file is not None:
        text, origin = _file_text(given.system_prompt_file), given.system_prompt_file
    mode = "yolo" if given.yolo else given.permission_mode
    return Options(
        directory=given.directory,
        add_dirs=tuple(given.add_dir),
        model=given.model,
        mode=mode,
        allowed=tuple(_rules(given.allowed)),
        disallowed=tuple(_rules(given.disallowed)),
        system_prompt=text,
        system_prompt_origin=origin,
        append_system_prompt=given.append_system_prompt,
        max_steps=given.max_turns,
        resume=given.resume,
        continue_last=given.continue_last,
        persist=given.persist,
        interactive=interactive,
        verbose=given.verbose,
        output=given.output_format,
    )


def _rules(given: list[str]) -> list[str]:
    """Several rules may stand in one word, parted by commas or blanks outside brackets."""
    rules: list[str] = []
    for word in given:
        depth, current = 0, ""
        for character in word:
            depth += (character == "(") - (character == ")")
            if character in ", " and depth == 0:
                rules.append(current)
                current = ""
            else:
                current += character
        rules.append(current)
    return [rule for rule in rules if rule]


def _above_zero(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be a whole number above 0, got {text!r}")
    return number


def _file_text(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise UsageError(f"--system-prompt-file: cannot read {path}: {error.strerror}") from None
