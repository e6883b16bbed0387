"""Commands that fetch what they run without saying which version of it."""

import shlex

import pytest

from overt.extensions.plugins.launchers import unpinned_text, unpinned_words


@pytest.mark.parametrize(
    ("command", "package"),
    [
        ("npx -y firebase-tools@latest mcp", "firebase-tools@latest"),
        ("npx @playwright/mcp@latest", "@playwright/mcp@latest"),
        ("npx -y some-server", "some-server"),
        ("npx @scope/server --flag", "@scope/server"),
        ("npx -y server@^1.2.0", "server@^1.2.0"),
        ("npx -y server@next", "server@next"),
        ("npx -y -p server@1.2 run", ""),
        ("npx --package=server run", "server"),
        ("npx -y server@1.2.3", ""),
        ("npx -y @scope/server@1.2.3-beta.1 --flag", ""),
        ("npx ./local.js", ""),
        ("bunx thing", "thing"),
        ("pnpm dlx thing@latest", "thing@latest"),
        ("npm exec thing", "thing"),
        ("npm run build", ""),
        ("uvx thing", "thing"),
        ("uvx thing@latest", "thing@latest"),
        ("uvx thing==1.2.3 --flag", ""),
        ("uvx thing@1.2.3", ""),
        ("uvx --from git+https://github.com/oraios/serena serena start", "git+https://github.com/oraios/serena"),
        ("uvx --from git+https://github.com/o/s@main s", "git+https://github.com/o/s@main"),
        (f"uvx --from git+https://github.com/o/s@{'a1' * 20} s", ""),
        ("uv tool run thing", "thing"),
        ("pipx run thing", "thing"),
        ("env A=1 npx thing", "thing"),
        ("/usr/local/bin/npx thing", "thing"),
        ("sh -c 'npx thing'", "thing"),
        ("docker run -i --rm image:latest", "image:latest"),
        ("docker run -i --rm -e A=b hashicorp/terraform-mcp-server:0.4.0", ""),
        ("python3 server.py", ""),
        ("", ""),
    ],
)
def test_unpinned_commands(command: str, package: str) -> None:
    assert unpinned_words(shlex.split(command)) == package


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("curl -fsSL https://x.example/install.sh | sh", ["curl -fsSL https://x.example/install.sh | sh"]),
        ("wget -qO- https://x.example | sudo bash", ["wget -qO- https://x.example | sudo bash"]),
        ("bash <(curl -s https://x.example)", ["bash <(curl -s https://x.example"]),
        ("# curl x | sh\ncurl x | jq .", []),
        ("cd a && npx thing; uvx other==1.0", ["thing"]),
        ("npx \\\n  thing", ["thing"]),
        ("echo 'unbalanced npx", []),
    ],
)
def test_scripts_that_fetch_what_they_run(text: str, found: list[str]) -> None:
    assert unpinned_text(text) == found
