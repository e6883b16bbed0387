"""Open a page in the user's browser."""

import os
import shlex
import subprocess
import threading
from collections.abc import Iterator

from overt.config.paths import Environment, read_environment
from overt.core.errors import OvertError
from overt.lib.translations import say
from overt.workspace.trusted_programs import lies_outside

PROGRAMS = ("xdg-open", "open", "wslview")
FAILS_WITHIN_S = 2.0
"""A program that still runs after this time has opened the page: some stay until their window is closed."""


def open_page(url: str, workspace: str) -> None:
    """Open a web page with `$BROWSER` or the program of the desktop, which must lie outside the workspace.

    Blocks for up to two seconds. An OvertError says why the page was not opened.
    """
    if not url.startswith(("https://", "http://")):
        raise OvertError(say("browser.scheme"))
    command = next(_commands(read_environment(), url, workspace), None)
    if command is None:
        raise OvertError(say("browser.no_program"))
    name = os.path.basename(command[0])
    try:
        program = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError as error:
        raise OvertError(say("browser.start", program=name, why=error.strerror or error)) from None
    try:
        code = program.wait(FAILS_WITHIN_S)
    except subprocess.TimeoutExpired:
        threading.Thread(target=program.wait, daemon=True, name="browser").start()  # so that it leaves no zombie
        return
    if code:
        raise OvertError(say("browser.failed", program=name, code=code))


def _commands(environment: Environment, url: str, workspace: str) -> Iterator[list[str]]:
    """Give the commands that can be started, best first. `$BROWSER` separates them by colons; `%s` is the address."""
    for text in (*environment.get("BROWSER").split(":"), *PROGRAMS):
        try:
            name, *words = shlex.split(text) or [""]
        except ValueError:
            continue  # a quote that is not closed
        if program := _find(name, environment.get("PATH"), workspace):
            words = [word.replace("%s", url) for word in words]
            yield [program, *words] if "%s" in text else [program, *words, url]


def _find(name: str, search_path: str, workspace: str) -> str:
    folders = [""] if name.startswith("/") else search_path.split(os.pathsep) if name and "/" not in name else []
    for path in (os.path.join(folder, name) for folder in folders):
        real = os.path.realpath(path)
        executable = os.path.isfile(real) and os.access(real, os.X_OK)
        if path.startswith("/") and executable and lies_outside(path, [workspace]) and lies_outside(real, [workspace]):
            return path
    return ""
