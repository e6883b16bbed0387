"""What loads late, named once: imports inside functions are banned, and start-up pays for nothing unused."""

from importlib import import_module
from typing import Any

TABLE: dict[str, str] = {
    "tomllib": "tomllib",
    "wire.openai": "overt.providers.openai_chat:OpenAIChat",
    "provider.scripted": "overt.providers.scripted:make",
    "discover": "overt.providers.discover:discover",
    "face.headless": "overt.faces.headless.run:run",
    "face.plain": "overt.faces.plain.chat:run",
    "cli.config": "overt.cli.config:run",
    "cli.models": "overt.cli.models:run",
    "cli.sessions": "overt.cli.sessions:run",
    "cli.tools": "overt.cli.tools:run",
}


def late(name: str) -> Any:
    module, _, attribute = TABLE[name].partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
