"""The official servers of MCP through our host: everything is listed, and one of each kind is used."""

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from tests.fakes.mcp_host import HostDriver, running_host
from tests.mcp.host_kit import http_server
from tests.mcp.judge_kit import FOLDER, PACKAGES, needs_judge, node

from overt.core.settings import ServerEntry
from overt.mcp.messages import Content, PromptText, ResourceContents, ToolOutput

pytestmark = needs_judge
EVERYTHING = str(PACKAGES / "server-everything/dist/index.js")


def node_entry(name: str, *arguments: str) -> ServerEntry:
    return ServerEntry(name=name, command=(node(), str(PACKAGES / f"server-{name}/dist/index.js"), *arguments))


def python_entry(name: str, *arguments: str) -> ServerEntry:
    return ServerEntry(name=name, command=(str(FOLDER / f"python/bin/mcp-server-{name}"), *arguments))


def output(text: str) -> ToolOutput:
    return ToolOutput(parts=(Content(text=text),))


async def use_everything(host: HostDriver, name: str) -> None:
    manifest = await host.manifest(name)
    tools = {tool.name for tool in manifest.tools}
    assert {"echo", "get-sum", "get-tiny-image", "get-structured-content", "trigger-long-running-operation"} <= tools
    prompts = ["args-prompt", "completable-prompt", "resource-prompt", "simple-prompt"]
    assert [prompt.name for prompt in manifest.prompts] == prompts
    assert sum(resource.template for resource in manifest.resources) == 2
    assert len(manifest.resources) == 9
    assert manifest.problems == ()
    assert await host.call(name, "echo", {"message": "hi"}) == output("Echo: hi")
    assert await host.call(name, "get-sum", {"a": 2, "b": 3}) == output("The sum of 2 and 3 is 5.")
    image = await host.call(name, "get-tiny-image")
    assert isinstance(image, ToolOutput)
    assert [part.data[:4] for part in image.parts if part.media == "image/png"] == [b"\x89PNG"]
    long = await host.call(name, "trigger-long-running-operation", {"duration": 1, "steps": 2})
    assert isinstance(long, ToolOutput) and not long.error
    assert host.progress()[:2] == ["1/2", "2/2"]
    prompt = await host.prompt(name, "args-prompt", {"city": "Paris"})
    assert isinstance(prompt, PromptText) and "Paris" in prompt.messages[0][1].text
    resource = await host.read(name, manifest.resources[0].uri)
    assert isinstance(resource, ResourceContents) and resource.parts[0].text


def test_everything_over_stdio() -> None:
    async def run() -> None:
        async with running_host(node_entry("everything")) as host:
            await use_everything(host, "everything")

    asyncio.run(run())


def test_everything_over_http() -> None:
    async def run(entry: ServerEntry) -> None:
        async with running_host(entry) as host:
            await use_everything(host, "good")

    with http_server("/usr/bin/env", "PORT={port}", node(), EVERYTHING, "streamableHttp") as entry:
        asyncio.run(run(entry))


def test_filesystem_and_git(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello\n")
    git = ("git", "-C", str(tmp_path), "-c", "user.name=A", "-c", "user.email=a@example.org")
    for command in (("init", "-q"), ("add", "a.txt"), ("commit", "-qm", "first commit")):
        subprocess.run([*git, *command], check=True)

    async def run() -> None:
        entries = node_entry("filesystem", str(tmp_path)), python_entry("git", "--repository", str(tmp_path))
        async with running_host(*entries, roots=(str(tmp_path),)) as host:
            files, commits = await asyncio.gather(host.manifest("filesystem"), host.manifest("git"))
            assert len(files.tools) == 14 and {"read_text_file", "edit_file"} <= {tool.name for tool in files.tools}
            assert len(commits.tools) == 12 and "git_log" in {tool.name for tool in commits.tools}
            assert files.problems == commits.problems == ()
            assert [tool.name for tool in files.tools if tool.read_only is None] == []
            assert await host.call("filesystem", "read_text_file", {"path": str(tmp_path / "a.txt")}) == output(
                "hello\n"
            )
            log = await host.call("git", "git_log", {"repo_path": str(tmp_path)})
            assert isinstance(log, ToolOutput) and "first commit" in log.parts[0].text

    asyncio.run(run())


def test_time_and_fetch() -> None:
    async def run(port: int) -> None:
        entries = python_entry("time"), python_entry("fetch", "--ignore-robots-txt", "--allow-private-ips")
        async with running_host(*entries) as host:
            clock, fetch = await asyncio.gather(host.manifest("time"), host.manifest("fetch"))
            assert [tool.name for tool in clock.tools] == ["convert_time", "get_current_time"]
            assert [tool.name for tool in fetch.tools] == ["fetch"]
            assert [prompt.name for prompt in fetch.prompts] == ["fetch"]
            arguments = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
            tokyo = await host.call("time", "convert_time", arguments)
            assert isinstance(tokyo, ToolOutput) and "T21:00:00+09:00" in tokyo.parts[0].text
            url = f"http://127.0.0.1:{port}/"
            page = await host.call("fetch", "fetch", {"url": url, "raw": True})
            assert isinstance(page, ToolOutput) and "a page of ours" in page.parts[0].text
            prompt = await host.prompt("fetch", "fetch", {"url": url})
            assert isinstance(prompt, PromptText) and "a page of ours" in prompt.messages[0][1].text

    with page_server() as port:
        asyncio.run(run(port))


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<html><body><article><h1>Hi</h1><p>This is a page of ours.</p></article></body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextmanager
def page_server() -> Iterator[int]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join(30)
        server.server_close()
