"""A tool that puts one of a few forms to the user and returns the answer. As a program it is Overt with that tool."""

import sys

from msgspec import Struct, json

from overt.app.registries import Registries
from overt.cli.main import main
from overt.core.capabilities import AskUser
from overt.core.questions import FieldOption, FormField, QuestionForm
from overt.core.tool import Outcome, tool
from overt.core.views import Plain

PLANS = (
    FieldOption(value="free", label="Free", description="for a try"),
    FieldOption(value="pro", label="Pro"),
    FieldOption(value="team", label="Team"),
)
WHO = "MCP server github"
FORMS = {
    "contact": QuestionForm(
        who=WHO,
        message="Whom shall the \x1b[31minvoice\x1b[0m name?",
        fields=(
            FormField(name="name", title="Name", required=True, description="As on your card"),
            FormField(name="age", title="Age", kind="integer", minimum=18, default=36),
            FormField(name="plan", title="Plan", kind="choice", options=PLANS, default="pro"),
            FormField(name="news", title="Newsletter", kind="boolean"),
        ),
    ),
    "colour": QuestionForm(
        who=WHO,
        message="Which plan?",
        fields=(FormField(name="plan", title="Plan", kind="choice", options=PLANS, other=True, required=True),),
    ),
    "several": QuestionForm(
        who=WHO,
        message="Which plans?",
        fields=(FormField(name="plans", title="Plans", kind="choices", options=PLANS, other=True, minimum=2),),
    ),
    "confirm": QuestionForm(who=WHO, message="Go on?"),
    "long": QuestionForm(
        who=WHO,
        message="请填写下列信息，以便我们为您开具发票。",
        fields=tuple(FormField(name=f"f{at}", title=f"第 {at} 项内容", default=f"值 {at}") for at in range(30)),
    ),
    "page": QuestionForm(
        who=WHO,
        message="Please log in.",
        url="https://login.example.org/authorize?client=overt&state=0123456789abcdef0123456789abcdef",
    ),
}


class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    form: str

    def subjects(self) -> tuple[str, ...]:
        return (self.form,)


@tool
async def survey(args: Args, user: AskUser) -> Outcome:
    """Ask the user."""
    answer = await user.ask(FORMS[args.form])
    return Outcome(text=json.encode(answer).decode(), view=Plain(text=answer.action))


REGISTRIES = Registries(tools=(survey,))

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], registries=REGISTRIES))
