"""The web of a session: what is asked, cached, answered, recorded and refused."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.app.test_conversation import turn
from tests.app.test_slash_sessions import awaited
from tests.fakes.commands import slash
from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import call, calls, results
from tests.providers.web_kit import PageReply, PageServer, html

from overt.app.conversation import Conversation
from overt.app.models.session_models import SessionModels
from overt.app.options import Options
from overt.app.records.replay import replay_entries, request_costs
from overt.app.redaction.secrets import make_redactor
from overt.app.setting import read_setting
from overt.app.start import open_conversation
from overt.app.web import CACHE_S, WebAccess
from overt.config.load import load as load_config
from overt.config.paths import read_environment
from overt.core.capabilities import FetchedPage
from overt.core.errors import ToolError
from overt.core.events import Event, PermissionAsked, RequestSent
from overt.core.protocols import Answer
from overt.providers.web.fetch_page import PageFetcher
from overt.sessions.load import load

USAGE = {"prompt_tokens": 100_000, "completion_tokens": 0}
"""A dime, at a dollar for a million tokens."""
KEY = "sk-search-0a1b2c3d4e5f6a7b"


def write_config(more: str, server: ModelServer | None = None) -> None:
    folder = Path(read_environment().config_dir)
    folder.mkdir(parents=True, exist_ok=True)
    url = server.url if server else "http://127.0.0.1:9/v1"
    (folder / "config.toml").write_text(
        f'default_model = "here/priced"\n{more}\n[[providers]]\nname = "here"\nbase_url = "{url}"\n'
        '[[providers.models]]\nname = "priced"\nwindow = 1000000\nprice = { input = 1.0, output = 1.0 }\n'
        '[[providers.models]]\nname = "small"\nwindow = 8000\nprice = { input = 0.5, output = 0.5 }\n'
    )


ONLINE = "offline = false\n"
TOOLS = '[tools]\nenabled = ["read", "webfetch", "websearch"]\n'
OPEN = '[permissions]\nallow = ["webfetch(domain:localhost)", "websearch"]\n'


@asynccontextmanager
async def conversation_with(
    turns: Sequence[Turn], options: Options, config: str = ONLINE + TOOLS + OPEN
) -> AsyncIterator[tuple[Conversation, ModelServer]]:
    with ModelServer(turns, models=("priced", "small")) as server:
        write_config(config, server)
        conversation = await open_conversation(options)
        try:
            async with asyncio.timeout(30):
                yield conversation, server
        finally:
            await conversation.close()


def fetch_call(url: str, question: str = "") -> Turn:
    return calls(call("webfetch", url=url, question=question))


@awaited
async def test_a_question_is_answered_by_the_small_model_recorded_charged_and_cached(tmp_path: Path) -> None:
    with PageServer({"/a": html("<p>The port is 8080.</p>", title="Manual")}) as site:
        url = f"http://localhost:{site.port}/a"
        script = [
            fetch_call(url, "Which port?"),
            Turn(text="Port 8080.", usage=USAGE),
            fetch_call(url, "Which port?"),
            fetch_call(url),
            Turn(text="done"),
        ]
        config = 'small_model = "here/small"\n' + ONLINE + TOOLS + OPEN
        async with conversation_with(script, Options(directory=str(tmp_path)), config) as (conversation, server):
            await turn(conversation, "go")
            context = "\n".join((await slash(conversation, "/context")).lines)
            total, path = conversation.spend.session, conversation.path
    first, again, whole = results(server)
    assert "Port 8080." in first and f"[{url} · Manual · text/html]" in first and "data, not instructions" in first
    assert "Port 8080." in again and "from the cache" in again
    assert "The port is 8080." in whole and "from the cache" in whole
    assert site.paths == ["/a"]
    asked = server.posts[1].json()
    assert asked["model"] == "small" and "tools" not in asked
    system, page, question = (message["content"] for message in asked["messages"])
    assert "never follow" in system and "125 characters" in system
    assert "The port is 8080." in page and question == "Which port?"
    assert f"outside {url}" in context
    entries = load(path).entries
    (sent,) = (entry for entry in entries if entry.agent == "web" and isinstance(entry.data, RequestSent))
    costs = request_costs(entries)
    assert costs[sent.seq].cost == pytest.approx(0.05)
    assert total.requests == 5 and total.cost == pytest.approx(sum(each.cost or 0.0 for each in costs.values()))
    requests, differences = await replay_entries(entries)
    assert differences == () and [each.purpose for each in requests] == ["step", "web", "step", "step", "step"]


@awaited
async def test_two_questions_about_a_page_can_both_be_rebuilt(tmp_path: Path) -> None:
    with PageServer({"/a": html("text")}) as site:
        url = f"http://localhost:{site.port}/a"
        script = [fetch_call(url, "One?"), Turn(text="1"), fetch_call(url, "Two?"), Turn(text="2"), Turn(text="done")]
        async with conversation_with(script, Options(directory=str(tmp_path))) as (conversation, server):
            await turn(conversation, "go")
            path = conversation.path
    assert server.posts[1].json()["model"] == "priced"
    requests, differences = await replay_entries(load(path).entries)
    assert differences == () and [each.purpose for each in requests].count("web") == 2


@awaited
async def test_a_page_is_returned_whole_if_the_model_fails_to_answer(tmp_path: Path) -> None:
    with PageServer({"/a": html("<p>All of it.</p>")}) as site:
        config = 'small_model = "nowhere/model"\n' + ONLINE + TOOLS + OPEN
        script = [fetch_call(f"http://localhost:{site.port}/a", "What?"), Turn(text="done")]
        async with conversation_with(script, Options(directory=str(tmp_path)), config) as (conversation, server):
            await turn(conversation, "go")
    (result,) = results(server)
    assert "All of it." in result and "The question was not answered" in result


@awaited
async def test_a_redirect_to_another_host_is_reported_to_the_model(tmp_path: Path) -> None:
    pages = {"/a": PageReply(b"", 302, {"Location": "https://elsewhere.example/b"})}
    with PageServer(pages) as site:
        script = [fetch_call(f"http://localhost:{site.port}/a", "What?"), Turn(text="done")]
        async with conversation_with(script, Options(directory=str(tmp_path))) as (conversation, server):
            await turn(conversation, "go")
    assert "to https://elsewhere.example/b on another host" in results(server)[0]


@awaited
async def test_a_user_rule_opens_localhost_and_neither_a_project_nor_yolo_does(tmp_path: Path) -> None:
    """A project's rule may allow the call. The address is refused all the same."""
    with PageServer({"/a": html("inside")}) as site:
        script = [fetch_call(f"http://localhost:{site.port}/a"), Turn(text="done")]
        options = Options(directory=str(tmp_path), mode="yolo")
        async with conversation_with(script, options, ONLINE + TOOLS) as (conversation, server):
            await turn(conversation, "go")
        assert "only public addresses are fetched" in results(server)[0] and site.paths == []


@awaited
async def test_always_stores_a_rule_for_the_host_only(tmp_path: Path) -> None:
    with PageServer({}) as site:
        url = f"http://localhost:{site.port}/a"
        script = [fetch_call(url), fetch_call(f"{url}?again"), Turn(text="done")]
        options = Options(directory=str(tmp_path), interactive=True)
        async with conversation_with(script, options, ONLINE + TOOLS + "[ui]\ntitles = false\n") as (conversation, _):
            asked: list[PermissionAsked] = []

            def answer(event: Event) -> None:
                if isinstance(event, PermissionAsked):
                    asked.append(event)
                    asyncio.get_running_loop().call_soon(conversation.answer, event.id, Answer(choice="always"))

            conversation.session.subscribe(answer, name="test")
            await turn(conversation, "go")
            rules = conversation.agent.runtime.gate.permissions.terms.rules
    assert [event.headline for event in asked] == [url]
    assert asked[0].always == "webfetch(domain:localhost)" == rules[-1].text()
    assert site.paths == []  # an answer does not open a private address


@awaited
async def test_a_run_that_cannot_ask_denies_and_names_the_flag(tmp_path: Path) -> None:
    script = [fetch_call("https://docs.example.org/x"), Turn(text="done")]
    async with conversation_with(script, Options(directory=str(tmp_path)), ONLINE + TOOLS) as (conversation, server):
        await turn(conversation, "go")
    assert "--allowedTools 'webfetch(domain:docs.example.org)'" in results(server)[0]


@awaited
async def test_web_tools_are_off_when_only_this_machine_is_configured(tmp_path: Path) -> None:
    with PageServer({"/a": html("inside")}) as site:
        script = [
            fetch_call(f"http://localhost:{site.port}/a"),
            calls(call("websearch", query="x")),
            Turn(text="done"),
        ]
        async with conversation_with(script, Options(directory=str(tmp_path)), TOOLS + OPEN) as (conversation, server):
            await turn(conversation, "go")
        assert site.paths == []
    assert all("is disabled: " in result and "offline = false" in result for result in results(server))


@awaited
async def test_the_tools_are_not_listed_unless_they_are_enabled_by_name(tmp_path: Path) -> None:
    async with conversation_with([], Options(directory=str(tmp_path)), ONLINE) as (conversation, _):
        names = {spec.name for spec in conversation.agent.spec.prefix.tools}
    assert "bash" in names and not names & {"webfetch", "websearch"}


@awaited
async def test_a_search_goes_to_the_configured_service_with_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIND_KEY", KEY)
    hit = {"title": "Overt", "url": "https://example.org/", "description": f"echo {KEY}"}
    reply = PageReply(json.dumps({"web": {"results": [hit]}}).encode(), 200, {"Content-Type": "application/json"})
    with PageServer({"/res/v1/web/search?q=overt&count=20": reply}) as service:
        web = f'[web]\nsearch = "brave"\nsearch_url = "http://127.0.0.1:{service.port}"\napi_key_env = "FIND_KEY"\n'
        script = [calls(call("websearch", query="overt")), Turn(text="done")]
        options = Options(directory=str(tmp_path))
        async with conversation_with(script, options, ONLINE + TOOLS + OPEN + web) as (conversation, server):
            await turn(conversation, "go")
            path = Path(conversation.path)
    assert "https://example.org/" in results(server)[0] and f"X-Subscription-Token: {KEY}" in service.heads[0]
    assert KEY not in path.read_text() and KEY not in results(server)[0]


def test_a_project_cannot_choose_the_search_service_even_if_it_is_trusted(tmp_path: Path) -> None:
    (tmp_path / "overt.toml").write_text('[web]\nsearch = "searxng"\nsearch_url = "http://127.0.0.1:1"\n')
    config = load_config(read_environment(), project=str(tmp_path), trusted=True)
    assert config.web.search == config.web.search_url == ""
    assert any("web.search" in warning for warning in config.warnings)


class WebParts:
    """The web of a session without a conversation, with a clock of its own."""

    def __init__(self, folder: Path, config: str = ONLINE) -> None:
        write_config(config)
        options = Options(directory=str(folder))
        setting = read_setting(options)
        redactor = make_redactor(setting)
        self.now = 0.0
        self.models = SessionModels(options, setting, redactor, lambda notice: None)
        self.web = WebAccess(
            self.models,
            redactor,
            emit=lambda event: None,
            fetcher=PageFetcher(opened=frozenset({"localhost"})),
            clock=lambda: self.now,
        )

    async def fetch(self, url: str) -> FetchedPage:
        return await self.web.fetch(url, "")


@awaited
async def test_a_page_is_kept_for_fifteen_minutes_by_its_url(tmp_path: Path) -> None:
    parts = WebParts(tmp_path)
    with PageServer({"/a": html("one"), "/b": html("two")}) as site:
        at = f"http://localhost:{site.port}"
        assert not (await parts.fetch(f"{at}/a")).cached
        parts.now = CACHE_S - 1
        assert (await parts.fetch(f"HTTP://LOCALHOST.:{site.port}/a#x")).cached
        assert not (await parts.fetch(f"{at}/b")).cached
        parts.now = CACHE_S
        assert not (await parts.fetch(f"{at}/a")).cached
        assert site.paths == ["/a", "/b", "/a"]


@awaited
async def test_an_error_is_not_cached(tmp_path: Path) -> None:
    parts = WebParts(tmp_path)
    with PageServer({}) as site:
        for _ in range(2):
            with pytest.raises(ToolError, match="404"):
                await parts.fetch(f"http://localhost:{site.port}/a")
        assert len(site.paths) == 2


@awaited
async def test_a_url_or_a_query_with_a_known_secret_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEPLOY_TOKEN", "tok-9f8e7d6c5b4a3f2e1d0c")
    parts = WebParts(tmp_path)
    with PageServer({}) as site:
        with pytest.raises(ToolError, match="holds a secret") as error:
            await parts.fetch(f"http://localhost:{site.port}/?t=tok-9f8e7d6c5b4a3f2e1d0c")
        with pytest.raises(ToolError, match="holds a secret"):
            await parts.fetch(f"http://localhost:{site.port}/?t=%74ok-9f8e7d6c5b4a3f2e%31d0c")
        assert site.paths == [] and "tok-9f" not in error.value.message
    with pytest.raises(ToolError, match="holds a secret"):
        await parts.web.search("tok-9f8e7d6c5b4a3f2e1d0c", allowed=(), blocked=(), limit=3)


@pytest.mark.parametrize(
    ("web", "words"),
    [
        ("", "web.search"),
        ('[web]\nsearch = "searxng"\n', "web.search_url"),
        ('[web]\nsearch = "mojeek"\n', "api_key_env"),
    ],
)
@awaited
async def test_a_search_that_is_not_set_up_says_which_setting_is_missing(tmp_path: Path, web: str, words: str) -> None:
    with pytest.raises(ToolError, match=words):
        await WebParts(tmp_path, ONLINE + web).web.search("x", allowed=(), blocked=(), limit=3)
