"""`/todo`: show the todo list."""

from overt.app.conversation import Conversation
from overt.app.inspect.inspector_values import Todos
from overt.app.slash_command import Command, CommandOutcome
from overt.lib.translations import say


async def todo(conversation: Conversation, _argument: str) -> CommandOutcome:
    items = tuple(item.line() for item in conversation.history.todos)
    return CommandOutcome(lines=items or (say("chat.no_todos"),))


async def list_todos(conversation: Conversation, _text: str, _number: int) -> Todos:
    return Todos(conversation.history.todos)


COMMAND = Command(
    name="todo", run=todo, aliases=("todos",), order=160, anytime=True, panel="todos", queries={"todos": list_todos}
)
