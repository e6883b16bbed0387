"""Run the program in a network of its own, where a public address is this machine. Print what it did as JSON.

    unshare --net --mount python -m tests.journeys.web_namespace FOLDER

`unshare` gives the process a network without a way out, so that a public address and a name for it can be set up.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.fakes.model_server import ModelServer, Turn
from tests.journeys.journey_kit import Place, call, calls, results
from tests.providers.web_kit import PUBLIC, PageReply, PageServer, html

NAME, TRAP = "docs.example.org", "trap.example.org"
CONFIG = 'offline = false\n[tools]\nenabled = ["read", "webfetch"]\n'


def set_up_network(folder: Path) -> None:
    """Give loopback a public address, and names to it and to a private one."""
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1 localhost\n{PUBLIC} {NAME}\n127.0.0.1 {TRAP}\n")
    for command in (
        ["mount", "--bind", str(hosts), "/etc/hosts"],
        ["ip", "link", "set", "lo", "up"],
        ["ip", "address", "add", f"{PUBLIC}/32", "dev", "lo"],
    ):
        subprocess.run(command, check=True)


def main(folder: Path) -> None:
    set_up_network(folder)
    place = Place(folder)
    config = place.home / ".config" / "overt"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(CONFIG)
    page = f"http://{NAME}/guide"
    pages = {
        "/guide": html("<h1>Guide</h1><p>Set <code>retries = 3</code>.</p>", title="The guide"),
        "/inward": PageReply(b"", 302, {"Location": f"http://{TRAP}:8099/secret"}),
    }
    script = [
        calls(call("webfetch", url=page, question="How many retries?")),
        Turn(text="Three: `retries = 3`."),
        calls(call("webfetch", url=page, question="How many retries?")),
        calls(call("webfetch", url=f"http://{NAME}/inward")),
        calls(call("webfetch", url=f"http://{TRAP}:8099/secret")),
        Turn(text="done"),
    ]
    flags = ("--allowedTools", f"webfetch(domain:{NAME}),webfetch(domain:*.org)")
    secret = {"/secret": html("x")}
    with (
        PageServer(pages, host=PUBLIC, port=80) as site,
        PageServer(secret, port=8099) as trap,
        ModelServer(script) as server,
    ):
        done = place.run("run", "read the guide", *flags, server=server)
        shown = place.run("context", server=server)
    facts = {
        "code": done.code,
        "out": done.out,
        "err": done.err,
        "results": results(server),
        "requests": site.requests,
        "trapped": trap.requests,
        "context": shown.out,
        "posts": len(server.posts),
    }
    print(json.dumps(facts))


if __name__ == "__main__":
    os.environ.setdefault("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
    main(Path(sys.argv[1]))
