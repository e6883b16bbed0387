"""`/model` and `/models`: the model in use, those there are, and another one."""

from overt.app.command_table import Done
from overt.app.conversation import Conversation
from overt.app.listing import ModelRow, list_models
from overt.core.cost import dollars
from overt.lib.catalogue import say


async def model(conversation: Conversation, argument: str) -> Done:
    if argument:
        await conversation.set_model(argument)
        return Done(lines=(say("chat.model", model=conversation.agent.spec.params.model),))
    known = await conversation.agent.runtime.provider.models()
    current = conversation.agent.spec.params.model
    return Done(lines=(say("chat.model", model=current), *(f"  {name}" for name in known if name != current)))


async def models(conversation: Conversation, argument: str) -> Done:
    if argument:
        return await model(conversation, argument)
    found = await list_models(conversation.setting)
    current = (conversation.agent.runtime.provider.name, conversation.agent.spec.params.model)
    rows = [row for row in found.rows if not row.wants or (row.provider, row.model) == current]
    missing = tuple(dict.fromkeys(row.wants for row in found.rows if row.wants))
    lines = [_line(row, chosen=(row.provider, row.model) == current) for row in rows]
    if missing:
        lines.append(say("models.more", variables=", ".join(missing)))
    return Done(lines=(*lines, *found.problem.splitlines()))


def _line(row: ModelRow, *, chosen: bool) -> str:
    facts = [say("models.tokens", count=row.window) if row.window else "", _price(row)]
    told = ", ".join(filter(None, facts))
    return f"{'›' if chosen else ' '} {row.provider}/{row.model}{f'  ({told})' if told else ''}"


def _price(row: ModelRow) -> str:
    if row.local:
        return say("models.local")
    if row.price is None or row.price.input is None:
        return ""
    return f"{dollars(row.price.input)} / {dollars(row.price.output)}"
