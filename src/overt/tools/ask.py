"""Ask the user a few questions with options. An answer in their own words is always possible."""

from typing import Annotated

from msgspec import Meta, Struct

from overt.core.capabilities import AskUser
from overt.core.errors import ToolError
from overt.core.questions import FieldOption, FieldValue, FormField, QuestionForm
from overt.core.tool import Outcome, tool
from overt.core.views import Plain
from overt.lib.translations import say

MOST_QUESTIONS, FEWEST_OPTIONS, MOST_OPTIONS = 4, 2, 4
UNATTENDED = (
    "No person is there to answer: this run is non-interactive. Decide yourself, take what is easiest to change "
    "later, and say in your answer what you assumed."
)
DECLINED = "The user did not answer. Go on with what you know, or end your turn and say what you need."
NO_ANSWER = "[no answer]"


class AskedOption(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    label: str
    description: str = ""


class AskedQuestion(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    question: str
    options: Annotated[tuple[AskedOption, ...], Meta(description="2-4")]
    header: Annotated[str, Meta(description="1-2 words")] = ""
    multi_select: bool = False


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    questions: Annotated[tuple[AskedQuestion, ...], Meta(description="1-4")]

    def subjects(self) -> tuple[str, ...]:
        return ()

    def headline(self) -> str:
        return "; ".join(question.header or question.question for question in self.questions)


@tool(
    order=130,
    aliases="AskUserQuestion ask_user_question ask_user ask_question ask_questions ask_followup_question "
    "request_user_input user_input clarify",
    harmless=("*",),
    rare=True,
)
async def ask(args: Args, user: AskUser) -> Outcome:
    """Ask the user to choose when a decision is theirs and the files do not answer it. They can always give an answer
    of their own."""
    _check(args.questions)
    fields = tuple(_field(number, question) for number, question in enumerate(args.questions, 1))
    message = args.questions[0].question if len(fields) == 1 else say("ask.questions", count=len(fields))
    answer = await user.ask(QuestionForm(who=say("ask.model"), message=message, fields=fields))
    if answer.unattended:
        return Outcome(text=UNATTENDED, view=Plain(text=say("form.unattended", who=say("ask.model"))))
    if answer.action != "accept":
        return Outcome(text=DECLINED, view=Plain(text=say("form.declined", who=say("ask.model"))))
    answers = [_describe(answer.values.get(field.name)) for field in fields]
    pairs = [f"{question.question}\n→ {text}" for question, text in zip(args.questions, answers, strict=True)]
    return Outcome(text="\n".join(pairs), view=Plain(text="\n".join(pairs)))


def _check(questions: tuple[AskedQuestion, ...]) -> None:
    if not 1 <= len(questions) <= MOST_QUESTIONS:
        raise ToolError(f"ask 1 to {MOST_QUESTIONS} questions in one call, not {len(questions)}")
    for question in questions:
        if not FEWEST_OPTIONS <= len(question.options) <= MOST_OPTIONS:
            raise ToolError(
                f"{question.question!r} has {len(question.options)} options; give {FEWEST_OPTIONS} to {MOST_OPTIONS}, "
                "and none for an answer in the user's own words, which is always possible"
            )


def _field(number: int, question: AskedQuestion) -> FormField:
    return FormField(
        name=f"question{number}",
        kind="choices" if question.multi_select else "choice",
        title=question.header or question.question,
        description=question.question if question.header else "",
        options=tuple(FieldOption(value=each.label, description=each.description) for each in question.options),
        other=True,
    )


def _describe(value: FieldValue | None) -> str:
    if value is None or value == ():
        return NO_ANSWER
    return ", ".join(value) if isinstance(value, tuple) else str(value)
