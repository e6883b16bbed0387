"""Rules that other agents keep: which of their files are here and not read yet, and what to set so that they are."""

import os

from msgspec.structs import replace

from overt.app.context.prefix import sources_of
from overt.app.setting import Setting
from overt.app.setup.config_file import ConfigChange
from overt.config.load import load

OF_PROJECTS = ("CLAUDE.md", "GEMINI.md", ".cursorrules", ".github/copilot-instructions.md")
OF_PERSONS = ("~/.claude/CLAUDE.md", "~/.codex/AGENTS.md", "~/.gemini/GEMINI.md")
OURS = "AGENTS.md"


def unread_rules(setting: Setting) -> tuple[str, ...]:
    """Files that are here and would not be read as things stand; a link to our own rules is read already."""
    recipe, sources = setting.config.recipe, setting.config.recipe.sources or ()
    folder, home = setting.roots.project, setting.environment.home
    ours = os.path.realpath(os.path.join(folder, OURS))
    listed = {os.path.realpath(path) for path in recipe.instructions}
    of_project = {name: os.path.join(folder, name) for name in OF_PROJECTS if name not in sources}
    of_person = {name: home + name[1:] for name in OF_PERSONS if os.path.realpath(home + name[1:]) not in listed}
    return (
        *(name for name, path in of_project.items() if os.path.isfile(path) and os.path.realpath(path) != ours),
        *(name for name, path in of_person.items() if os.path.isfile(path)),
    )


def with_rules(change: ConfigChange, names: tuple[str, ...], setting: Setting) -> ConfigChange:
    """Those of projects are read right behind our own, in every project; those of the person with the instructions."""
    config = load(setting.environment, project="", trusted=False)
    sources = [source.key for source in sources_of(replace(setting, config=config))]
    at = sources.index("project") + 1 if "project" in sources else len(sources)
    sources[at:at] = [name for name in names if name in OF_PROJECTS]
    return replace(
        change,
        sources=tuple(sources) if any(name in OF_PROJECTS for name in names) else (),
        instructions=tuple(name for name in names if name in OF_PERSONS),
    )
