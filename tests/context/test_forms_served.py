"""Forms against the real server: it takes ours, odd names included, and holds a model to them."""

import asyncio
from contextlib import aclosing
from pathlib import Path

from msgspec import Raw, json
from tests.providers.local_kit import Talk, needs_small, small

from overt.app.small_model.scaffold import small_model_tools
from overt.context.reply_schema import form_of
from overt.core.messages import Text
from overt.core.requests import Reply
from overt.providers.embedded.provider import LocalProvider
from overt.tools.registry import BUILT_IN

ODD = ["a.py", 'odd "name".md', "汉字.txt", "back\\slash"]


async def reply(provider: LocalProvider, talk: Talk, text: str, form: Raw) -> dict[str, object]:
    found: Reply | None = None
    async with aclosing(provider.stream(talk.ask(text, form=form, max_tokens=80))) as deltas:
        async for delta in deltas:
            found = delta if isinstance(delta, Reply) else found
    assert found is not None
    value: dict[str, object] = json.decode("".join(part.text for part in found.parts if isinstance(part, Text)))
    return value


@needs_small
def test_the_server_takes_our_forms_and_the_model_keeps_to_them(tmp_path: Path) -> None:
    narrow = {name: tool.spec for name, tool in small_model_tools().items()}
    wide = {tool.name: tool.spec for tool in BUILT_IN}

    async def main() -> list[dict[str, object]]:
        provider = small(tmp_path)
        try:
            async with asyncio.timeout(110):
                talk = Talk(provider, system="Reply with one JSON object that calls a tool.")
                return [
                    await reply(
                        provider,
                        talk,
                        "Read the file.",
                        form_of({"read": narrow["read"]}, paths={"read": ODD, "edit": ODD}, final=False),
                    ),
                    await reply(provider, talk, "Say done.", form_of(narrow, only_final=True)),
                    await reply(provider, talk, "Run ls.", form_of(wide, paths={"read": ODD, "edit": ODD})),
                ]
        finally:
            provider.close()

    first, second, third = asyncio.run(main())
    assert (first["tool"], set(first)) == ("read", {"tool", "path"})
    assert first["path"] in ODD
    assert (second["tool"], set(second)) == ("final", {"tool", "text"})
    assert third["tool"] in {*wide, "final"}
