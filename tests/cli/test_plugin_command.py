"""`overt plugin`: consent is bound to content, and what was agreed to is what runs."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.fakes.model_server import ModelServer
from tests.journeys.journey_kit import OVERT, PROMPT, Place, Terminal

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@example", "-c", "commit.gpgsign=false")
HOOKS = {
    "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": 'sh "${CLAUDE_PLUGIN_ROOT}/hooks/a.sh"'}]}]}
}


@pytest.fixture
def plugin(tmp_path: Path) -> Path:
    """A plugin with one of each part, outside of the workspace."""
    root = tmp_path / "source"
    parts = {
        ".claude-plugin/plugin.json": json.dumps({"name": "tidy", "version": "1", "description": "Tidies up."}),
        "hooks/hooks.json": json.dumps(HOOKS),
        "hooks/a.sh": "echo one\n",
        "skills/tidy-up/SKILL.md": "---\nname: tidy-up\ndescription: Tidies up.\n---\nDo it.\n",
        "commands/all.md": "Tidy everything.",
        ".mcp.json": json.dumps({"db": {"command": "npx", "args": ["-y", "db-server@latest"]}}),
        "README.md": "first",
    }
    for path, text in parts.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def git(folder: Path, *words: str) -> str:
    done = subprocess.run([*GIT, *words], cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def commit_all(folder: Path) -> str:
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "next")
    return git(folder, "rev-parse", "HEAD")


def row(place: Place) -> dict[str, Any]:
    done = place.run("plugin", "list", "--json")
    assert done.code == 0, done.err
    (only,) = [each for each in json.loads(done.out) if each.get("kind") != "python"]
    return dict(only)


def installed(place: Place) -> Path:
    lock = json.loads((place.home / ".config/overt/plugins.lock").read_text())
    return place.home / ".local/share/overt/plugins/tidy" / str(lock["plugins"]["tidy"]["digest"])


def test_what_a_plugin_can_run_is_shown_and_nothing_is_kept_without_consent(place: Place, plugin: Path) -> None:
    done = place.run("plugin", "add", str(plugin))
    assert done.code == 3 and "add --yes" in done.err
    assert done.out == (
        f"Plugin tidy 1 from {plugin}\n"
        "  Tidies up.\n"
        "It can run, in the sandbox:\n"
        '  hook PreToolUse: sh "${CLAUDE_PLUGIN_ROOT}/hooks/a.sh"\n'
        "  MCP server plugin_tidy_db: npx -y db-server@latest\n"
        "  hooks/a.sh\n"
        "It instructs the model:\n"
        "  skills: tidy-up\n"
        "  commands: all\n"
        "Unpinned: fetched anew each time, so what runs can change without your consent:\n"
        "  db-server@latest (MCP server plugin_tidy_db)\n"
    )
    assert not (place.home / ".config/overt/plugins.lock").exists()
    assert list((place.home / ".local/share/overt/plugins").iterdir()) == []


def test_a_person_is_asked_and_answers(place: Place, plugin: Path) -> None:
    terminal = Terminal([OVERT, "plugin", "add", str(plugin)], cwd=place.work, env=place.environment())
    try:
        terminal.expect("Add tidy and let it do this? [y/N] ")
        terminal.line("y")
        terminal.expect("use the network? [y/N] ")
        terminal.line("y")
        terminal.expect("Added the plugin tidy to ~/.config/overt/plugins.lock.")
        assert terminal.wait() == 0
    finally:
        terminal.close()
    (server,) = json.loads(place.run("mcp", "list", "--json").out)
    assert (server["name"], server["scope"], server["network"]) == ("plugin_tidy_db", "plugin", True)


def test_an_installed_plugin_works_without_its_source_until_it_is_removed(place: Place, plugin: Path) -> None:
    assert place.run("plugin", "add", "--yes", str(plugin)).code == 0
    shutil.rmtree(plugin)
    assert row(place) == {
        "name": "tidy",
        "version": "1",
        "scope": "user",
        "source": str(plugin),
        "commit": "",
        "problem": "",
        "skills": 1,
        "commands": 1,
        "agents": 0,
        "hooks": 1,
        "servers": ["plugin_tidy_db"],
    }
    assert "does not exist any more" in place.run("plugin", "update", "tidy").err
    assert place.run("plugin", "remove", "tidy").code == 0
    assert place.run("plugin").out.startswith("No plugins.")
    assert not (place.home / ".local/share/overt/plugins/tidy").exists()
    assert place.run("plugin", "remove", "tidy").code == 2


@pytest.mark.parametrize("kind", ["folder", "repository", "bundle"])
def test_old_bytes_stay_until_the_diff_of_an_update_is_approved(place: Place, plugin: Path, kind: str) -> None:
    bundle = plugin.parent / "all.bundle"

    def publish() -> str:
        """Return the commit that the source now has."""
        head = commit_all(plugin) if kind != "folder" else ""
        if kind == "bundle":
            git(plugin, "bundle", "create", "-q", str(bundle), "--all")
        return head

    first = publish()
    source = str(bundle if kind == "bundle" else plugin)
    assert place.run("plugin", "add", "--yes", source).code == 0
    assert row(place)["commit"] == first
    (plugin / "hooks/a.sh").write_text("echo two\n")
    (plugin / "README.md").write_text("second")
    second = publish()
    assert (installed(place) / "hooks/a.sh").read_text() == "echo one\n"
    done = place.run("plugin", "update", "tidy")
    assert done.code == 3
    assert "── hooks/a.sh\n@@ -1 +1 @@\n-echo one\n+echo two\nAlso changed:\n  README.md\n" in done.out
    assert "db-server@latest" in done.out and "stays as it was" in done.out
    assert (installed(place) / "hooks/a.sh").read_text() == "echo one\n"
    assert row(place)["problem"] == ""
    assert place.run("plugin", "update", "--yes", "tidy").code == 0
    assert (installed(place) / "hooks/a.sh").read_text() == "echo two\n"
    assert (row(place)["commit"], row(place)["problem"]) == (second, "")
    assert place.run("plugin", "update", "tidy").out == "The plugin tidy is up to date.\n"


def test_a_pinned_commit_does_not_move(place: Place, plugin: Path) -> None:
    first = commit_all(plugin)
    assert place.run("plugin", "add", "--yes", f"{plugin}#{first}").code == 0
    (plugin / "hooks/a.sh").write_text("echo two\n")
    commit_all(plugin)
    assert place.run("plugin", "update", "tidy").out == "The plugin tidy is up to date.\n"


def test_a_changed_byte_switches_a_plugin_off_and_names_the_file(place: Place, plugin: Path) -> None:
    assert place.run("plugin", "add", "--yes", str(plugin)).code == 0
    file = installed(place) / "hooks/a.sh"
    file.chmod(0o600)
    file.write_text("echo 0ne\n")
    file.chmod(0o400)
    assert row(place)["problem"] == "hooks/a.sh was changed"
    done = place.run("mcp", "list")
    assert "No MCP servers" in done.out
    assert "the plugin tidy is off: hooks/a.sh was changed; run `overt plugin update tidy`" in done.err
    assert (
        place.run("plugin", "update", "tidy").out == "The plugin tidy was installed again as its lock describes it.\n"
    )
    assert (file.read_text(), row(place)["problem"]) == ("echo one\n", "")


def test_a_plugin_of_a_project_counts_when_the_folder_is_trusted(place: Place, plugin: Path) -> None:
    done = place.run("plugin", "add", "--yes", "-s", "project", str(plugin))
    assert done.out.endswith("Run `overt trust` here.\n")
    assert (place.work / ".overt/plugins.lock").exists()
    assert "not trusted" in row(place)["problem"] and "No MCP servers" in place.run("mcp").out
    assert place.run("trust").code == 0
    assert row(place)["problem"] == "" and "plugin_tidy_db" in place.run("mcp").out
    (plugin / "hooks/a.sh").write_text("echo two\n")
    assert place.run("plugin", "update", "--yes", "tidy").code == 0
    assert row(place)["problem"] == "", "a change through Overt keeps the folder trusted"
    lock = place.work / ".overt/plugins.lock"
    lock.write_text(lock.read_text().replace("db-server@latest", "evil-server@latest"))
    assert "No MCP servers" in place.run("mcp").out
    lock.unlink()


def test_a_lock_without_its_copy_says_what_to_do_and_the_lock_decides_what_is_installed(
    place: Place, plugin: Path
) -> None:
    assert place.run("plugin", "add", "--yes", str(plugin)).code == 0
    shutil.rmtree(place.home / ".local/share/overt/plugins")
    assert row(place)["problem"] == "it is not installed here"
    assert place.run("plugin", "update", "tidy").code == 0
    assert row(place)["problem"] == ""


def test_plugins_of_a_marketplace_are_listed_and_added(place: Place, plugin: Path) -> None:
    shop = plugin.parent / "shop"
    shutil.copytree(plugin, shop / "plugins/tidy")
    shutil.copytree(plugin, shop / "plugins/bare")
    shutil.rmtree(shop / "plugins/bare/.claude-plugin")
    entries = [
        {"name": "tidy", "source": "./plugins/tidy", "description": "Tidies up."},
        {"name": "bare", "source": "./plugins/bare", "strict": False, "lspServers": {"x": {"command": "y"}}},
        {"name": "packed", "source": {"source": "npm", "package": "x"}},
    ]
    file = shop / ".claude-plugin/marketplace.json"
    file.parent.mkdir()
    file.write_text(json.dumps({"name": "shop", "plugins": entries, "renames": {"naked": "bare"}}))
    listed = place.run("plugin", "list", "--marketplace", str(shop))
    assert [line.split()[0] for line in listed.out.splitlines()] == ["tidy", "bare", "packed"]
    chosen = place.run("plugin", "add", str(shop))
    assert chosen.code == 2 and "tidy, bare, packed" in chosen.err
    assert "cannot be installed: Overt cannot install" in place.run("plugin", "add", f"packed@{shop}").err
    done = place.run("plugin", "add", "--yes", f"naked@{shop}")
    assert done.code == 0 and "Not used by Overt yet:\n  lspServers\n" in done.out
    assert row(place)["name"] == "bare"


def test_a_server_that_only_the_marketplace_names_is_a_part_of_what_was_agreed_to(place: Place, plugin: Path) -> None:
    file = plugin / ".claude-plugin/marketplace.json"

    def publish(command: str) -> None:
        entry = {"name": "tidy", "source": "./", "mcpServers": {"more": {"command": command, "args": ["a"]}}}
        file.write_text(json.dumps({"name": "shop", "plugins": [entry]}))

    publish("good")
    (plugin / ".gitignore").write_text("x")
    assert place.run("plugin", "add", "--yes", f"tidy@{plugin}").code == 0
    publish("evil")
    done = place.run("plugin", "update", "tidy")
    assert done.code == 3 and '-    "command": "good"\n+    "command": "evil"\n' in done.out
    targets = [row["target"] for row in json.loads(place.run("mcp", "list", "--json").out)]
    assert targets == ["npx -y db-server@latest", "good a"]


def test_the_plugins_of_a_chat_are_shown(place: Place, plugin: Path) -> None:
    assert place.run("plugin", "add", "--yes", str(plugin)).code == 0
    with ModelServer([]) as server, place.chat(server=server) as terminal:
        terminal.expect(PROMPT)
        terminal.line("/plugins")
        terminal.expect("tidy 1  (user, enabled)")
        terminal.expect("skills 1, commands 1, hook files 1, MCP server plugin_tidy_db")


def test_a_marketplace_in_a_bundle_works_offline(place: Place, plugin: Path) -> None:
    (plugin / ".claude-plugin/marketplace.json").write_text(
        json.dumps({"name": "shop", "plugins": [{"name": "tidy", "source": "./"}]})
    )
    head = commit_all(plugin)
    bundle = plugin.parent / "shop.bundle"
    git(plugin, "bundle", "create", "-q", str(bundle), "--all")
    done = place.run("plugin", "add", "--yes", f"tidy@{bundle}", env={"OVERT_OFFLINE": "1"})
    assert done.code == 0, done.err
    assert row(place)["commit"] == head


@pytest.mark.parametrize(
    ("source", "code", "words"),
    [
        ("./nowhere", 2, "does not exist"),
        ("git@github.com:o/r.git", 2, "does not exist"),
        ("ssh://host/r.git", 1, "only https addresses"),
        ("http://x.example/r.git", 1, "only https addresses"),
        ("https://x.example/r.git", 1, "Overt is offline"),
        ("owner/repository", 1, "Overt is offline"),
        (".", 1, "no plugin"),
    ],
)
def test_sources_that_cannot_be_used(place: Place, source: str, code: int, words: str) -> None:
    done = place.run("plugin", "add", source, env={"OVERT_OFFLINE": "1"})
    assert (done.code, words in done.err) == (code, True), done.err


def test_the_public_marketplace_installs_a_plugin_with_hooks(place: Place) -> None:
    public = Path(__file__).parents[3] / "shared/data/claude-plugins"
    if not public.is_dir():
        pytest.skip("the snapshot of the public marketplace is not here")
    done = place.run("plugin", "add", "--yes", f"hookify@{public}")
    assert done.code == 0 and 'hook Stop: python3 "${CLAUDE_PLUGIN_ROOT}/hooks/stop.py"' in done.out
    assert (row(place)["skills"], row(place)["commands"], row(place)["agents"]) == (1, 4, 1)


PACKAGE = '''
from msgspec import Struct
from overt.core.tool import Outcome, tool
from overt.core.views import Plain

class Args(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    def subjects(self):
        return ()

@tool(order=900)
async def greet(args: Args) -> Outcome:
    """Say hello."""
    return Outcome(text="hello", view=Plain(text="hello"))
'''


def test_a_python_package_is_listed_as_unverified_and_loaded_only_if_it_is_named(place: Place, tmp_path: Path) -> None:
    site = tmp_path / "site"
    about = site / "greeting_tools-1.0.dist-info"
    about.mkdir(parents=True)
    (site / "greeting_tools.py").write_text(PACKAGE)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: greeting-tools\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[overt.tools]\ngreet = greeting_tools:greet\n")
    under = (sys.executable, "-c", f"import sys; sys.path.append({str(site)!r}); sys.argv = sys.argv[1:]; "
             "import runpy; runpy.run_path(sys.argv[0], run_name='__main__')")  # fmt: skip
    done = place.run("plugin", under=under)
    assert "greeting-tools 1.0  (Python, unverified, not loaded: name it in tools.packages)\n  greet\n" in done.out
    assert "greet" not in place.run("tools", under=under).out
    file = place.home / ".config/overt/config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[tools]\npackages = ["greeting_tools"]\n')
    assert "unverified: its code runs in Overt itself" in place.run("plugin", under=under).out
    assert "greet" in place.run("tools", under=under).out
    missing = place.run("tools")
    assert "no installed package greeting_tools has entry points" in missing.err
    assert place.run("plugin").code == 1
    file.unlink()
    (place.work / "overt.toml").write_text('[tools]\npackages = ["greeting_tools"]\n')
    assert place.run("trust").code == 0
    ignored = place.run("plugin", under=under)
    assert "not loaded" in ignored.out
