"""What loads late, named once: imports inside functions are banned, and start-up pays for nothing unused."""

from importlib import import_module
from typing import Any

TABLE: dict[str, str] = {
    "difflib": "difflib",
    "email.utils": "email.utils",
    "json": "json",
    "ssl": "ssl",
    "tomllib": "tomllib",
    "config.files": "overt.config._files:read_settings",
    "config.value": "overt.config._keys:outside_value",
    "strings.zh": "overt.lib.strings_zh:CHINESE",
    "wire.openai": "overt.providers.openai_chat:OpenAIChat",
    "provider.openai": "overt.providers.http_provider:make",
    "provider.scripted": "overt.providers.scripted:make",
    "catalog": "overt.providers.catalog:vendors",
    "hands": "overt.app.hands:WorldHands",
    "face.headless": "overt.faces.headless.run:run",
    "face.plain": "overt.faces.plain.chat:run",
    "cli.config": "overt.cli.config:run",
    "cli.models": "overt.cli.models:run",
    "cli.permissions": "overt.cli.permissions:run",
    "cli.sessions": "overt.cli.sessions:run",
    "cli.tools": "overt.cli.tools:run",
    "cli.trust": "overt.cli.trust:run",
    "environment": "overt.config.paths:read_environment",
    "readline": "readline",
    "version": "overt:__version__",
    "visible": "overt.lib.text:visible",
}


def late(name: str) -> Any:
    module, _, attribute = TABLE[name].partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found
