"""`/model` and `/models`: the model in use, those there are, and another one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from overt.app.completion.completion_facts import CompletionFacts
from overt.app.conversation import Conversation
from overt.app.inspect.inspector_values import ModelChoices
from overt.app.slash_command import Command, CommandOutcome, Offer
from overt.core.spending.cost import dollars
from overt.lib.translations import say

if TYPE_CHECKING:
    from overt.app.models.model_list import ModelRow


async def model(conversation: Conversation, argument: str) -> CommandOutcome:
    if argument:
        await conversation.set_model(argument)
        return CommandOutcome(lines=(say("chat.model", model=conversation.agent.spec.params.model),))
    known = await conversation.agent.runtime.provider.models()
    current = conversation.agent.spec.params.model
    return CommandOutcome(lines=(say("chat.model", model=current), *(f"  {name}" for name in known if name != current)))


async def models(conversation: Conversation, argument: str) -> CommandOutcome:
    if argument:
        return await model(conversation, argument)
    from overt.app.models.model_list import list_models  # late: 4 ms

    found = await list_models(conversation.setting)
    current = (conversation.agent.runtime.provider.name, conversation.agent.spec.params.model)
    rows = [row for row in found.rows if not row.wants or (row.provider, row.model) == current]
    missing = tuple(dict.fromkeys(row.wants for row in found.rows if row.wants))
    lines = [_line(row, chosen=(row.provider, row.model) == current) for row in rows]
    if missing:
        lines.append(say("models.more", variables=", ".join(missing)))
    return CommandOutcome(lines=(*lines, *found.problem.splitlines()))


def _line(row: "ModelRow", *, chosen: bool) -> str:
    facts = [say("models.tokens", count=row.window) if row.window else "", _price(row)]
    told = ", ".join(filter(None, facts))
    return f"{'›' if chosen else ' '} {row.provider}/{row.model}{f'  ({told})' if told else ''}"


def _price(row: "ModelRow") -> str:
    if row.local:
        return say("models.local")
    if row.price is None or row.price.input is None:
        return ""
    return f"{dollars(row.price.input)} / {dollars(row.price.output)}"


async def offers(facts: CompletionFacts, _argument: str) -> Sequence[Offer]:
    return facts.models()


async def show_models(conversation: Conversation, _text: str, _number: int) -> ModelChoices:
    from overt.app.models.model_list import list_models  # late: 4 ms

    agent = conversation.agent
    current = (agent.runtime.provider.name, agent.spec.params.model)
    return ModelChoices(listing=await list_models(conversation.setting), current=current)


MODEL = Command(name="model", run=model, usage="[MODEL]", order=110, anytime=True, panel="models", complete=offers)
MODELS = Command(
    name="models",
    run=models,
    usage="[MODEL]",
    order=120,
    anytime=True,
    panel="models",
    complete=offers,
    queries={"models": show_models},
)
