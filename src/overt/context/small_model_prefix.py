"""The short prefix of small models: one prompt that names the tools, and six examples as messages."""

from collections.abc import Collection

from msgspec import Struct

from overt.core.codec import compact, decode
from overt.core.messages import Call, Message, Result, Text, said
from overt.core.text_fragments import Fragment, Origin
from overt.lib.package_data import read_text

SHOT = Origin(kind="harness", where="context/prompts/examples.json")


class Example(Struct, frozen=True, kw_only=True):
    """One exchange: what joins the prompt, the task, the calls with their results, and the answer."""

    task: str
    answer: str
    along: tuple[str, ...] = ()
    steps: tuple[tuple[dict[str, str], str], ...] = ()


def small_model_prompt() -> Fragment:
    return _prompt("system", "compact.md")


def small_model_calls() -> Fragment:
    """The tools, each as the object that calls it."""
    return _prompt("tools", "compact_calls.md")


def _prompt(key: str, name: str) -> Fragment:
    text = read_text("overt.context", f"prompts/{name}").strip()
    return Fragment(key=key, text=text, origin=Origin(kind="harness", where=f"context/prompts/{name}"))


def example_messages(tools: Collection[str]) -> tuple[Message, ...]:
    """The examples, without those that use a tool which is not there."""
    examples = decode(read_text("overt.context", "prompts/examples.json"), type=list[Example])
    fit = [each for each in examples if all(call["tool"] in tools for call, _ in each.steps)]
    return tuple(message for number, example in enumerate(fit) for message in _messages(number, example))


def _messages(number: int, example: Example) -> list[Message]:
    messages = [said(text, origin=SHOT) for text in (*example.along, example.task)]
    for index, (call, result) in enumerate(example.steps):
        id = f"example{number}-{index}"
        arguments = compact({key: value for key, value in call.items() if key != "tool"})
        made = Call(id=id, name=call["tool"], arguments=arguments)
        messages.append(Message(role="assistant", parts=(made,), origin=SHOT))
        answer = Result(call_id=id, parts=(Text(text=result),))
        messages.append(Message(role="tool", parts=(answer,), origin=SHOT))
    messages.append(said(example.answer, role="assistant", origin=SHOT))
    return messages
