"""The models that `/model` may be given, written as it understands them."""

import asyncio
from collections.abc import Sequence

from overt.app.conversation import Conversation
from overt.app.models.model_list import ModelRow, list_models
from overt.app.setting import Setting
from overt.core.errors import OvertError
from overt.lib.text import visible
from overt.lib.translations import say
from overt.providers.model_choice import ENVIRONMENT


async def known_models(conversation: Conversation) -> list[tuple[str, str]]:
    """References with a few words about each: the one in use, then its provider's, then all that could be used."""
    provider = conversation.agent.runtime.provider
    listed, served = await asyncio.gather(_rows(conversation.setting), _served(conversation))
    apart = any(row.provider == ENVIRONMENT for row in listed)
    found: dict[str, str] = {}
    by_name = {row.provider: row for row in listed}
    own = by_name.get(provider.name)
    for name in dict.fromkeys((conversation.agent.spec.params.model, *served)):
        found.setdefault(_reference(own, name), provider.name)
    for row in listed:
        # A server that the environment names takes every model nobody configured for its own.
        if not row.wants and (not apart or row.provider == ENVIRONMENT or row.source in ("configured", "embedded")):
            found.setdefault(_reference(row, row.model), row.provider)
    current = next(iter(found))
    return [
        (name, say("tui.complete.current") if name == current else detail)
        for name, detail in found.items()
        if visible(name) == name and not any(char.isspace() for char in name)
    ]


def _reference(row: ModelRow | None, model: str) -> str:
    if row is None or row.provider == ENVIRONMENT or row.source == "here":
        return model
    return f"{row.provider}/{model}"


async def _rows(setting: Setting) -> Sequence[ModelRow]:
    try:
        return (await list_models(setting)).rows
    except OvertError:
        return ()


async def _served(conversation: Conversation) -> Sequence[str]:
    try:
        return await conversation.agent.runtime.provider.models()
    except OvertError:
        return ()
