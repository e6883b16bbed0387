"""The todo list in words."""

from overt.core.views import Todo

BOX = {"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"}


def written(items: tuple[Todo, ...]) -> str:
    return "\n".join(f"{BOX[item.status]} {item.content}" for item in items) or "[the list is empty]"
