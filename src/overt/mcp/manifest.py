"""What a server offers: its tools, prompts and resources."""

from typing import Literal

from msgspec import Raw, Struct

Era = Literal["", "legacy", "modern"]
"""Which era of the protocol a server speaks: with `initialize` and sessions, or that of 2026-07-28. Empty: unknown."""


class ServerTool(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A tool of a server as its manifest lists it. `schema` is the JSON schema of its arguments.

    The hints are claims of the server; None where it makes none.
    """

    name: str
    description: str = ""
    title: str = ""
    schema: Raw = Raw(b'{"type":"object"}')
    read_only: bool | None = None
    destructive: bool | None = None
    idempotent: bool | None = None


class PromptArgument(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    description: str = ""
    required: bool = False


class ServerPrompt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


class ServerResource(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A resource, or with `template` a pattern for the addresses of many."""

    uri: str
    name: str = ""
    description: str = ""
    media: str = ""
    template: bool = False


class Manifest(Struct, frozen=True, kw_only=True, omit_defaults=True, tag="manifest"):
    """Everything a server offers. Names of each kind are unique; a later tool with the same name is left out.

    `problems` say what was left out because it was malformed. `instructions` are the server's words to the model.
    """

    era: Era = ""
    server_name: str = ""
    server_version: str = ""
    instructions: str = ""
    tools: tuple[ServerTool, ...] = ()
    prompts: tuple[ServerPrompt, ...] = ()
    resources: tuple[ServerResource, ...] = ()
    problems: tuple[str, ...] = ()
