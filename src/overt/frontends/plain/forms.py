"""Forms in the plain chat: each field is asked for on a line."""

from collections.abc import Callable

from overt.core.errors import OvertError
from overt.core.questions import FieldProblem, FieldValue, FormAnswer, FormField, QuestionForm, read_value
from overt.frontends.describe_forms import on_one_line, problem_words, value_words
from overt.frontends.plain.draw import Ink, edged
from overt.lib.text import exact, visible
from overt.lib.translations import say

DECLINE = "/decline"
DECLINED = FormAnswer(action="decline")


class FormDialog:
    """Asks the fields of a form one by one. `read` reads a line after a prompt, None at the end of the input;
    `open_page` opens a page in a browser, or raises an OvertError."""

    def __init__(
        self,
        read: Callable[[str], str | None],
        tell: Callable[[str], None],
        open_page: Callable[[str], None],
        *,
        ink: Ink,
        width: int,
    ) -> None:
        self._read = read
        self._tell = tell
        self._open_page = open_page
        self._ink = ink
        self._width = width

    def fill(self, form: QuestionForm) -> FormAnswer:
        """Ask a form. Ctrl-C, the end of the input and `/decline` decline it."""
        self._tell(self._ink("bold", say("form.asks", who=on_one_line(form.who))))
        for row in edged(form.message, self._width):
            self._tell(row)
        try:
            if form.url:
                return self._ask_page(form.url)
            self._tell(self._ink("dim", say("form.plain.decline")))
            if not form.fields:
                confirmed = self._ask(FormField(name="", title=say("form.plain.go_on"), kind="boolean", required=True))
                return FormAnswer(action="accept") if confirmed else DECLINED
            values = {field.name: self._ask(field) for field in form.fields}
        except EOFError:
            return DECLINED
        except KeyboardInterrupt:
            self._tell("")
            return DECLINED
        return FormAnswer(action="accept", values={name: value for name, value in values.items() if value is not None})

    def _ask(self, field: FormField) -> FieldValue | None:
        """Ask until the input fits. An empty line is the default."""
        required = f" ({say('form.required')})" if field.required and field.default is None else ""
        if field.name:
            self._tell(self._ink("bold", on_one_line(field.shown)) + required)
        if field.description:
            self._tell(self._ink("dim", f"  {on_one_line(field.description)}"))
        for number, option in enumerate(field.options, 1):
            about = f" — {on_one_line(option.description)}" if option.description else ""
            self._tell(f"  {number}. {on_one_line(option.shown)}{self._ink('dim', about)}")
        default = value_words(field, field.default)
        prompt = f"{_hint(field)}{f' [{default}]' if default else ''}: "
        while True:
            text = self._line(prompt)
            value = field.default if not text and field.default is not None else read_value(field, text)
            if not isinstance(value, FieldProblem):
                return value
            self._tell(self._ink("error", problem_words(value)))

    def _ask_page(self, url: str) -> FormAnswer:
        for row in edged(url, self._width, exact):
            self._tell(row)
        self._tell(say("form.page"))
        while True:
            self._tell(say("form.plain.page"))
            match self._line("> ").lower():
                case "o" | "open":
                    try:
                        self._open_page(url)
                    except OvertError as error:
                        self._tell(self._ink("error", visible(error.message)))
                    else:
                        return FormAnswer(action="accept")
                case "y" | "yes":
                    return FormAnswer(action="accept")
                case "n" | "no":
                    return DECLINED
                case _:
                    continue

    def _line(self, prompt: str) -> str:
        """Read a line. An EOFError says that the user declines."""
        text = self._read(prompt)
        if text is None or text.strip() == DECLINE:
            raise EOFError
        return text.strip()


def _hint(field: FormField) -> str:
    """Return what to type, before the colon of the prompt."""
    if field.kind in ("choice", "choices"):
        return say(f"form.plain.{field.kind}{'_other' if field.other else ''}")
    if field.kind == "boolean":
        return f"{on_one_line(field.title or field.name)} (y/n)"
    return on_one_line(field.shown)
