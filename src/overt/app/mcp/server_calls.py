"""Calls to MCP servers for one call of an agent, and the way from this program to the servers."""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TYPE_CHECKING

from overt import __version__
from overt.app.plugins.enabled import ensure_unchanged
from overt.app.setting import Setting
from overt.core.capabilities import AskUser, ServerResult
from overt.core.codec import encode
from overt.core.errors import ToolError
from overt.core.protocols import Profile, ServerChild
from overt.core.questions import FormAnswer, QuestionForm
from overt.core.settings import ServerEntry
from overt.lib.tokens import estimate
from overt.lib.translations import say
from overt.mcp.elicitation import make_form
from overt.mcp.headers_helper import MAX_HELPER_BYTES, helper_command
from overt.mcp.manifest import Manifest
from overt.mcp.messages import OpenPage, QuestionAnswered, ServerQuestion
from overt.mcp.server_tools import read_contents, server_tools
from overt.mcp.servers import HostSettings, McpServers

if TYPE_CHECKING:
    from overt.app.workspace_services import WorkspaceServices

Keeping = Callable[[], AbstractAsyncContextManager[object]]
UNATTENDED = "The server asked the user something. The run is non-interactive, so the question was declined."


class ServerCalls:
    """CallServers for one call. Questions of the server go to the user through `forms`.

    `keeping` returns the context in which a call that may write files runs, so that its changes can be undone.
    """

    def __init__(
        self, servers: McpServers, *, forms: AskUser, keeping: Keeping, report: Callable[[str], None] | None
    ) -> None:
        self._servers = servers
        self._forms = forms
        self._keeping = keeping
        self._report = report or (lambda text: None)
        self._notes: list[str] = []
        self._offers: set[asyncio.Future[FormAnswer]] = set()

    async def call(self, server: str, tool: str, arguments: Mapping[str, object]) -> ServerResult:
        async with self._keeping() if self._servers.may_write_files(server) else nullcontext():
            output = await self._servers.call_tool(
                server, tool, arguments, report=self._report, ask=self._ask, show_page=self._show_page
            )
        return read_contents(output.parts, (*output.notes, *self._notes), error=output.error)

    def _show_page(self, page: OpenPage) -> None:
        """Offer to open the page of a login while the call waits for it."""
        form = QuestionForm(who=f"MCP server {page.server}", message=say("mcp.login_page"), url=page.url)
        offer = asyncio.ensure_future(self._forms.ask(form))
        self._offers.add(offer)
        offer.add_done_callback(self._offers.discard)

    async def _ask(self, question: ServerQuestion) -> QuestionAnswered:
        answer = await self._forms.ask(make_form(question))
        if answer.unattended:
            self._notes.append(UNATTENDED)
        return QuestionAnswered(question=question.question, action=answer.action, content=answer.values)


def connect_servers(setting: Setting, shared: "WorkspaceServices") -> McpServers:
    async def start(entry: ServerEntry, may_write: bool) -> ServerChild:
        ensure_unchanged(setting, entry.environment.get("PLUGIN_ROOT", ""))
        profile = Profile(write=may_write and setting.config.sandbox.write, network=entry.network)
        if not may_write and not (await shared.spawner.standing(profile)).boxed:
            raise ToolError(say("mcp.no_sandbox", name=entry.name), code="start")
        environment = {**shared.environment, **entry.environment}
        return await shared.spawner.spawn_server(
            entry.command, cwd=entry.folder or setting.roots.workspace, env=environment, profile=profile
        )

    async def run_helper(entry: ServerEntry) -> str:
        """Run the command that prints headers, with the network and without writing to the workspace."""
        workspace, profile = setting.roots.workspace, Profile(write=False, network=True)
        program = await shared.spawner.spawn_server(
            helper_command(entry), cwd=workspace, env=shared.environment, profile=profile
        )
        try:
            output = await asyncio.to_thread(_read_all, program)
            if code := await program.wait():
                raise ToolError(f"ended with exit code {code}")
            return output
        finally:
            await program.kill()
            program.close()

    def settings() -> HostSettings:
        return HostSettings(
            roots=(setting.roots.workspace, *setting.config.allow_write),
            token_folder=f"{setting.environment.data_dir}/mcp",
            version=__version__,
            interactive=shared.interactive,
            environment={**shared.environment, **_session_bus(setting)},
            browser=setting.environment.variables.get("BROWSER", ""),
        )

    assert shared.known_servers is not None
    return McpServers(
        shared.known_servers, settings=settings, start=start, run_helper=run_helper, count_tokens=count_tool_tokens
    )


def _read_all(program: ServerChild) -> str:
    """Read what a program prints, up to a limit. Killing the program ends this."""
    output = b""
    while len(output) <= MAX_HELPER_BYTES and (data := os.read(program.stdout, MAX_HELPER_BYTES)):
        output += data
    return output.decode("utf-8", "replace")


def count_tool_tokens(entry: ServerEntry, manifest: Manifest) -> int:
    """Return how many tokens the tools of a server take in a request."""
    specs = [tool.spec for tool in server_tools(entry, manifest).values()]
    return estimate(encode(specs).decode())


def _session_bus(setting: Setting) -> dict[str, str]:
    """Return the variables by which the keyring of the desktop is found."""
    names = ("DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_CURRENT_DESKTOP")
    return {name: value for name in names if (value := setting.environment.variables.get(name))}
