"""What every request of a session begins with: prompts, rules, notes, facts of this machine, each from a source.

Every source is read once: what changes on disk afterwards joins at the next session, so that the prefix holds.
"""

import os
import sys
from collections.abc import Callable, Iterable
from time import strftime

from msgspec import Struct
from msgspec.structs import replace

from overt.app.options import Options
from overt.app.setting import Setting
from overt.app.skills.library import SkillLibrary
from overt.app.subagents.tool_choice import ToolChoice
from overt.config.rules import did_you_mean, nearest, printable
from overt.context import prefix_sources
from overt.context.prefix_sources import IndexedNote
from overt.core.errors import ConfigError
from overt.core.protocols import SandboxState
from overt.core.settings import Mode, is_file_name
from overt.core.text_fragments import Fragment, Origin, SourceFile
from overt.extensions import environment_facts, instructions, memory
from overt.extensions.instructions import RULES, RuleFolders
from overt.lib.paths import display_path
from overt.lib.redaction.redact import Redactor
from overt.lib.text import visible
from overt.lib.translations import say
from overt.safety.rules import Subject, matching, normal

SMALL_CAP = 4096
"""No source may be longer for a small model, whose window is small too."""
RANKED = ("global", "project", "instructions")
PROJECT_TITLE = "Rules of this project"


class ContextSource(Struct, frozen=True, kw_only=True):
    """One source of the system text, under its name in `context.sources`; without that setting, all of them in `order`.

    `read` gets what the session knows and how many characters there are for it, and returns fragments. `cap` holds
    where `context.caps` has no such name. Without `for_small_models`, small models do not get it.
    """

    key: str
    order: int
    read: Callable[["Fragments", int], Iterable[Fragment]]
    cap: int = 16 * 1024
    for_small_models: bool = True


def rule_folders(setting: Setting) -> RuleFolders:
    roots = setting.roots
    return RuleFolders(project=roots.project, workspace=roots.workspace, home=setting.environment.home)


def reads_foreign(setting: Setting) -> bool:
    """True if files for other agents are read where ours are missing."""
    recipe = setting.config.recipe
    return recipe.foreign and not recipe.strict and setting.trust.has(setting.roots.project)


def project_rules(setting: Setting) -> tuple[SourceFile, ...]:
    return instructions.project_rules(rule_folders(setting), foreign=reads_foreign(setting))


def note_folders(setting: Setting) -> memory.NoteFolders:
    environment = setting.environment
    return memory.note_folders(environment.config_dir, environment.data_dir, setting.roots.project)


class Fragments:
    """The sources of the system text, each as fragments that know where they came from.

    `prompt` is the current system prompt. `notices` tells what was cut or left out. `choice` holds the profile of the
    agent, None for the default main agent; the prompt of a sub-agent is in the options.
    """

    def __init__(
        self,
        options: Options,
        setting: Setting,
        sandbox: SandboxState,
        redactor: Redactor,
        skills: SkillLibrary | None = None,
        choice: ToolChoice | None = None,
    ) -> None:
        self._profile = choice.profile if choice and not choice.parent else None
        self.prompt = prefix_sources.built_in_prompt()
        self.read_only = False
        """The agent may not write in any mode."""
        self.setting = setting
        self._options = options
        self._sandbox = sandbox
        self._redactor = redactor
        self.skills = skills if choice is None or choice.allows(setting.tools.by_name["skill"]) else None
        self._recipe = setting.config.recipe
        self._folders = rule_folders(setting)
        self._found: dict[str, tuple[SourceFile, ...]] = {}
        self._taken: set[str] = set()
        self._left_out: list[str] = []
        self._notes: dict[memory.Scope, tuple[memory.Note, ...]] = {}
        self._fixed_facts: dict[str, str] = {}
        self._first_facts: dict[str, str] = {}
        self._small = False
        self.notices: tuple[str, ...] = ()

    @property
    def asked(self) -> bool:
        """Whether this start named a prompt of its own."""
        options = self._options
        return options.system_prompt is not None or bool(options.append_system_prompt or options.agent)

    def usual(self) -> tuple[Fragment, ...]:
        return self._made(prefix_sources.built_in_prompt(), small=False)

    def beside(self, prompt: Fragment) -> tuple[Fragment, ...]:
        """A prompt made for one kind of model, with what a person said in its place or on top of it."""
        return self._made(prompt, small=True)

    def given(self) -> Fragment | None:
        """The system prompt that a person put in the place of ours."""
        options, agent, cap = self._options, self.setting.config.agent, self._recipe.cap("system")
        if options.system_prompt is not None:
            origin = Origin(kind="flag", where=options.system_prompt_origin)
            return prefix_sources.given_prompt("system", options.system_prompt, origin=origin, cap=cap)
        if self._profile and self._profile.prompt is not None:
            origin = Origin(kind="file", where=self._profile.origin)
            return prefix_sources.given_prompt("system", self._profile.prompt, origin=origin, cap=cap)
        if agent.system_prompt is not None:
            origin = self._configured("agent.system_prompt")
            return prefix_sources.given_prompt("system", agent.system_prompt, origin=origin, cap=cap)
        return None

    def appended(self) -> tuple[Fragment, ...]:
        given, agent, cap = self._options.append_system_prompt, self.setting.config.agent, self._recipe.cap("append")
        if given:
            origin = Origin(kind="flag", where="--append-system-prompt")
            return (prefix_sources.given_prompt("append", given, origin=origin, cap=cap),)
        if agent.append_system_prompt:
            origin = self._configured("agent.append_system_prompt")
            return (prefix_sources.given_prompt("append", agent.append_system_prompt, origin=origin, cap=cap),)
        return ()

    def _configured(self, key: str) -> Origin:
        where = self.setting.config.origin(key)
        return Origin(kind="environment" if where.startswith("OVERT_") else "file", where=where)

    def _made(self, prompt: Fragment, *, small: bool) -> tuple[Fragment, ...]:
        found: list[Fragment] = []
        self.prompt, self._small = self.given() or prompt, small
        sources = sources_of(self.setting)
        names = {source.key for source in sources}
        if "system" not in names and self.given():
            found.append(self.prompt)  # a recipe may leave out ours, not what somebody put in its place
        for source in sources:
            if source.for_small_models or not small:
                found += source.read(self, self.cap(source.key, source.cap))
        if "append" not in names:
            found += self.appended()
        ranked = [fragment for fragment in found if fragment.key in RANKED]
        if ranked:
            found[found.index(ranked[0]) : found.index(ranked[0])] = prefix_sources.order(ranked)
        self.notices = (
            *self._left_out,
            *(say("context.cut", where=each.origin.where, cap=each.cap, name=each.key) for each in found if each.cap),
        )
        return self._without_secrets(found)

    def cap(self, name: str, usual: int = 0) -> int:
        """Return how many characters a source may have for the model in use."""
        cap = self._recipe.cap(name, usual)
        return min(cap, SMALL_CAP) if self._small else cap

    def environment(self, cap: int) -> tuple[Fragment, ...]:
        budget_usd = self.setting.config.limits.budget_usd
        # Always the usual mode, so that sessions in all modes share what a server has cached.
        self._first_facts = self._first_facts or self.facts("review", budget_usd=budget_usd)
        return (prefix_sources.environment(self._first_facts, cap=cap),)

    def skill_index(self, cap: int) -> tuple[Fragment, ...]:
        """Return the list of skills, and tell the user of names that do not fit. Shortened descriptions can be
        searched."""
        index = self.skills.index(cap) if self.skills else None
        if index is None:
            return ()
        if missing := sum(not skill.listed for skill in index.skills):
            self._left_out.append(say("skills.unlisted", count=missing, all=len(index.skills), cap=cap))
        return (Fragment(key="skills", text=index.text, origin=Origin(kind="harness", where="skills")),)

    # ── files ────────────────────────────────────────────────────────────────────────────────────────────

    def global_rules(self, cap: int) -> tuple[Fragment, ...]:
        path = os.path.join(self.setting.environment.config_dir, RULES)
        files = () if self._recipe.strict else self._one_file("global", path, follow=True)
        return prefix_sources.files("global", "Rules of the user", files, cap)

    def project_rules(self, cap: int) -> tuple[Fragment, ...]:
        return prefix_sources.files("project", PROJECT_TITLE, self._files("project", self._project_rules), cap)

    def instruction_files(self, cap: int) -> tuple[Fragment, ...]:
        def find() -> Iterable[SourceFile]:
            return [file for pattern in self._recipe.instructions for file in self._instructions(pattern)]

        return prefix_sources.files("instructions", "Instructions", self._files("instructions", find), cap)

    def named_files(self, name: str) -> tuple[Fragment, ...]:
        """A file or a pattern that the configuration names among the sources."""
        if _walks(name):
            files = self._files(name, lambda: instructions.files_named(self._folders, name))
            return prefix_sources.files("project", PROJECT_TITLE, files, self.cap("project"))
        files = self._files(name, lambda: instructions.files_matching(self._folders, name, strict=self._recipe.strict))
        return prefix_sources.files("instructions", "Instructions", files, self.cap("instructions"))

    def _one_file(self, source: str, path: str, *, follow: bool = False) -> tuple[SourceFile, ...]:
        where = self._folders.where(path)
        return self._files(source, lambda: filter(None, (instructions.read_source(path, where, follow=follow),)))

    def _files(self, source: str, find: Callable[[], Iterable[SourceFile]]) -> tuple[SourceFile, ...]:
        """Return the files of a source, which are looked for and read once in a session."""
        if source not in self._found:
            self._found[source] = tuple(self._fit(find()))
        return self._found[source]

    def _project_rules(self) -> tuple[SourceFile, ...]:
        files = project_rules(self.setting)
        if self._recipe.foreign and not self._recipe.strict and not reads_foreign(self.setting):
            every = instructions.project_rules(self._folders, foreign=True)
            unread = [file.where for file in every if file not in files]
            self._left_out += [say("context.untrusted", where=", ".join(unread))] if unread else []
        return files

    def _instructions(self, pattern: str) -> tuple[SourceFile, ...]:
        found = instructions.files_matching(self._folders, pattern, strict=self._recipe.strict)
        if not found:
            self._left_out.append(say("context.nothing", pattern=self._folders.where(pattern)))
        return found

    def _fit(self, files: Iterable[SourceFile]) -> Iterable[SourceFile]:
        """Each file once, unless a rule keeps it from being read."""
        for file in files:
            real = os.path.realpath(file.path)
            if real in self._taken:
                continue
            self._taken.add(real)
            if rule := self._denial(file.path):
                self._left_out.append(say("context.denied", where=file.where, rule=rule))
            else:
                yield file

    def _denial(self, path: str) -> str:
        rules = [rule for rule in self.setting.config.permissions.rules if rule.pattern]
        subject = Subject(tool="read", values=(normal(path, self.setting.roots.workspace),))
        rule = matching(rules, subject, "deny")
        return rule.text() if rule else ""

    # ── memory ───────────────────────────────────────────────────────────────────────────────────────────

    def notes(self, cap: int) -> tuple[Fragment, ...]:
        if "memory" not in self._found and not self._recipe.strict:
            self._notes = {scope: self._current_notes(scope) for scope in memory.SCOPES}
        path = os.path.join(self._folders.project, memory.PROJECT_FILE)
        return (
            *self._shelf("global", "Notes for every project"),
            *prefix_sources.files("memory", "Notes of this project", self._one_file("memory", path), cap),
            *self._shelf("project", "Private notes for this project"),
        )

    def _current_notes(self, scope: memory.Scope) -> tuple[memory.Note, ...]:
        """Return the notes whose files are as they were. Others may be wrong now, so the model is not sent them."""
        notes = memory.list_notes(note_folders(self.setting), scope)
        if not any(note.origin.files for note in notes):
            return notes
        from overt.extensions.note_sources import find_changes  # late: 2 ms

        stale = [note for note in notes if find_changes(note.origin.files, self._folders.project)]
        if stale:
            self._left_out.append(say("memory.left_out", names=", ".join(note.id for note in stale)))
        return tuple(note for note in notes if note not in stale)

    def _shelf(self, scope: memory.Scope, title: str) -> tuple[Fragment, ...]:
        folder = display_path(note_folders(self.setting).folder(scope), home=self.setting.environment.home)
        entries = [
            IndexedNote(
                name=note.name,
                first=note.first,
                source=SourceFile(path="", where=f"{folder}/{note.name}.md", content=note.content, start=note.start),
            )
            for note in self._notes.get(scope, ())
        ]
        return prefix_sources.notes(title, folder, entries, self.cap("notes"))

    # ── facts ────────────────────────────────────────────────────────────────────────────────────────────

    def facts(self, mode: Mode, *, budget_usd: float, network: bool = False) -> dict[str, str]:
        """What holds now, by the names under which the model is told it. `network`: it was opened for this session."""
        config, interactive = self.setting.config, self._options.interactive
        permissions, sandbox, boxed = config.permissions, config.sandbox, self._sandbox.boxed
        read_only, mode = self.read_only or not sandbox.write, "review" if self.read_only else mode
        max_steps = config.limits.max_steps if config.origin("agent.max_steps") != "default" else 0
        self._fixed_facts = self._fixed_facts or self._look_around()
        current = {
            **self._fixed_facts,
            "Mode": environment_facts.describe_mode(
                mode,
                interactive=interactive,
                read_only=read_only,
                dont_ask=permissions.dont_ask,
                fallback=permissions.fallback,
            ),
            "Sandbox": environment_facts.describe_sandbox(boxed=boxed, read_only=read_only),
            "Network": environment_facts.describe_network(is_open=network or sandbox.network or not boxed),
            "Limit": environment_facts.describe_limits(max_steps=max_steps, budget_usd=budget_usd),
        }
        return {name: self._redactor.clean(value) for name, value in current.items() if value}

    def _look_around(self) -> dict[str, str]:
        """What stays as it is while the program runs."""
        roots = self.setting.roots
        return {
            "Workspace": visible(roots.workspace).replace("\n", "\\n"),
            "Platform": sys.platform,
            "Date": strftime("%Y-%m-%d"),
            "Git branch": environment_facts.branch(roots.workspace, roots.project),
        }

    def _without_secrets(self, fragments: Iterable[Fragment]) -> tuple[Fragment, ...]:
        """They are recorded in full and sent with every request."""
        clean = self._redactor.clean
        return tuple(replace(fragment, text=clean(fragment.text)) for fragment in fragments)


BUILT_IN = (
    ContextSource(key="system", order=10, read=lambda fragments, _: (fragments.prompt,)),
    ContextSource(key="global", order=20, read=Fragments.global_rules),
    ContextSource(key="project", order=30, read=Fragments.project_rules),
    ContextSource(key="instructions", order=40, read=Fragments.instruction_files),
    ContextSource(key="memory", order=50, read=Fragments.notes),
    ContextSource(key="skills", order=60, read=Fragments.skill_index, for_small_models=False),
    ContextSource(key="environment", order=70, read=Fragments.environment, for_small_models=False),
    ContextSource(key="append", order=80, read=lambda fragments, _: fragments.appended()),
)


def sources_of(setting: Setting) -> tuple[ContextSource, ...]:
    """Return the sources of a session in their order, or raise a ConfigError if the configuration names another."""
    known = {source.key: source for source in (*BUILT_IN, *setting.registries.context_sources)}
    names = setting.config.recipe.sources
    if names is None:
        return tuple(sorted(known.values(), key=lambda source: source.order))
    for name in names:
        if name not in known and not is_file_name(name):
            raise _unknown_source(setting, name, known)
    return tuple(known.get(name) or _file_source(name) for name in names)


def _unknown_source(setting: Setting, name: str, known: Iterable[str]) -> ConfigError:
    near = did_you_mean(nearest(name, (*known,)))
    return ConfigError(
        f"{setting.config.origin('context.sources')}: `sources` holds {printable(name)!r}, which is no source"
        f"{near or '; sources are ' + ', '.join(known)} "
        "(a file has an ending or a slash: 'CLAUDE.md', 'docs/rules/*.md', './RULES')"
    )


def _file_source(name: str) -> ContextSource:
    return ContextSource(key=name, order=0, read=lambda fragments, _: fragments.named_files(name))


def _walks(source: str) -> bool:
    """A bare file name is looked for as AGENTS.md is: in every folder from the project down to the workspace."""
    return is_file_name(source) and not any(mark in source for mark in "/~*?[")


def nested_names(setting: Setting) -> tuple[str, ...]:
    """The names under which a folder further down may have rules of its own."""
    names = (source.key for source in sources_of(setting))
    return tuple(RULES if name == "project" else name for name in names if name == "project" or _walks(name))
