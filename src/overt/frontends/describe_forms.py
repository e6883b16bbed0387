"""Words for forms that are put to the user, the same in every frontend."""

from overt.core.questions import FieldProblem, FieldValue, FormField
from overt.lib.text import visible
from overt.lib.translations import say


def on_one_line(text: str) -> str:
    """Make words of others harmless, and one line."""
    return " ".join(visible(text).split())


def problem_words(problem: FieldProblem) -> str:
    return say(f"form.problem.{problem.kind}", limit=problem.limit)


def value_words(field: FormField, value: FieldValue | None) -> str:
    """Describe a value of a field: options by their labels, yes or no, an empty string for none."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return say("form.yes" if value else "form.no")
    labels = {option.value: option.shown for option in field.options}
    values = value if isinstance(value, tuple) else (str(value),)
    return ", ".join(on_one_line(labels.get(each, each)) for each in values)
