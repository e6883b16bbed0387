"""Who is asked in `overt setup`, what was answered beforehand, and how answers and addresses are read."""

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from overt.lib.translations import say
from overt.providers.transport.address import parse_address

ENDS = ("/chat/completions", "/responses", "/messages", "/models")
NEARBY = ("localhost", "127.", "10.", "192.168.", "[::1]")
"""Where people run servers without TLS; so are hosts without a dot."""
PROFILES = {"zsh": "~/.zshrc", "bash": "~/.bashrc", "fish": "", "csh": "~/.cshrc", "tcsh": "~/.tcshrc"}
"""Where a line for a variable goes; fish keeps it by itself."""


class Asking(Protocol):
    """A person at a terminal. `line` and `secret` raise EOFError when there is nobody to answer any more."""

    terminal: bool

    def tell(self, text: str) -> None: ...
    def write(self, text: str) -> None: ...
    def line(self, prompt: str) -> str: ...

    def secret(self, prompt: str) -> str:
        """An answer that is not shown while it is typed, nor kept."""
        ...


class Answers(Struct, frozen=True, kw_only=True):
    """Answers that were given beforehand; with `yes` nothing is asked, and what fails is an error."""

    vendor: str = ""
    model: str = ""
    yes: bool = False


class SetupResult(Struct, frozen=True, kw_only=True):
    """`done`: a chat can begin with the model now. A key that is kept nowhere yet makes it wait for the person."""

    model: str = ""
    written: bool = False
    done: bool = False
    interrupted: bool = False


def parse_number(typed: str, last: int) -> int:
    """The place in a list that a number means; ValueError for what is none, IndexError for one too far."""
    if not (typed.isascii() and typed.isdecimal() and len(typed) < 5):
        raise ValueError
    if not 0 < int(typed) <= last:
        raise IndexError
    return int(typed) - 1


def suggest_names(names: Sequence[str]) -> str:
    return " " + say("setup.meant", names=", ".join(names)) if names else ""


def full_address(typed: str) -> str:
    """What people paste: without a scheme, or with the path of one request behind the address."""
    if "://" not in typed:
        name = host(typed).partition(":")[0]
        near = typed.startswith(NEARBY) or name.isalnum()
        typed = f"{'http' if near else 'https'}://{typed}"
    typed = typed.rstrip("/")
    return next((typed.removesuffix(end) for end in ENDS if typed.endswith(end)), typed)


def host(address: str) -> str:
    return (address.partition("://")[2] or address).partition("/")[0]


def checked_address(typed: str) -> str:
    """Return the full address, or raise a ConfigError that says what is wrong with it."""
    address = full_address(typed)
    parse_address(address)
    return address


def export_line(name: str, shell: str) -> str:
    """The line that keeps a key, with a word where the key goes: the key itself is written nowhere."""
    program = shell.rpartition("/")[2]
    if program == "fish":
        return say("setup.export_fish", line=f"set -Ux {name} 'your key'")
    line = f"setenv {name} 'your key'" if program in ("csh", "tcsh") else f"export {name}='your key'"
    return say("setup.export", line=line, file=PROFILES.get(program) or "~/.profile")
