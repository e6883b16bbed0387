"""What every request of a session begins with, as the recipe orders it: prompts, rules, notes, facts of this machine.

Every source is read once: what changes on disk afterwards joins at the next session, so that the prefix holds.
"""

import os
import sys
from collections.abc import Iterable
from time import strftime

from msgspec.structs import replace

from overt.app.options import Options
from overt.app.setting import Setting
from overt.context import recipe
from overt.context.recipe import Entry, Source
from overt.core.fragments import Fragment, Origin
from overt.core.ports import SandboxState
from overt.core.settings import Mode, is_file_name
from overt.extensions import facts, instructions, memory
from overt.extensions.instructions import RULES, Piece, Place
from overt.lib.catalogue import say
from overt.lib.paths import shown
from overt.lib.redaction.redact import Redactor
from overt.lib.text import visible
from overt.safety.rules import Subject, matching, normal

SMALL_CAP = 4096
"""No source may be longer for a small model, whose window is small too."""
RANKED = ("global", "project", "instructions")


def place_of_rules(setting: Setting) -> Place:
    roots = setting.roots
    return Place(project=roots.project, workspace=roots.workspace, home=setting.environment.home)


def reads_foreign(setting: Setting) -> bool:
    """True if files for other agents are read where ours are missing."""
    recipe = setting.config.recipe
    return recipe.foreign and not recipe.strict and setting.trust.has(setting.roots.project)


def project_rules(setting: Setting) -> tuple[Piece, ...]:
    return instructions.project_rules(place_of_rules(setting), foreign=reads_foreign(setting))


def shelves_of(setting: Setting) -> memory.Shelves:
    environment = setting.environment
    return memory.shelves(environment.config_dir, environment.data_dir, setting.roots.project)


class Fragments:
    """The sources of the system text, each a fragment that knows where it came from.

    `notices` tells what was cut or left out.
    """

    def __init__(self, options: Options, setting: Setting, sandbox: SandboxState, redactor: Redactor) -> None:
        self._options = options
        self._setting = setting
        self._sandbox = sandbox
        self._redactor = redactor
        self._recipe = setting.config.recipe
        self._place = place_of_rules(setting)
        self._found: dict[str, tuple[Source, ...]] = {}
        self._taken: set[str] = set()
        self._left_out: list[str] = []
        self._notes: dict[memory.Scope, tuple[memory.Note, ...]] = {}
        self._fixed_facts: dict[str, str] = {}
        self._first_facts: dict[str, str] = {}
        self.notices: tuple[str, ...] = ()

    @property
    def asked(self) -> bool:
        """Whether this start named a prompt of its own."""
        return self._options.system_prompt is not None or bool(self._options.append_system_prompt)

    def usual(self) -> tuple[Fragment, ...]:
        return self._made(self.given() or recipe.built_in_prompt(), small=False)

    def beside(self, prompt: Fragment) -> tuple[Fragment, ...]:
        """A prompt made for one kind of model, with what a person said in its place or on top of it."""
        return self._made(self.given() or prompt, small=True)

    def given(self) -> Fragment | None:
        """The system prompt that a person put in the place of ours."""
        options, agent, cap = self._options, self._setting.config.agent, self._recipe.cap("system")
        if options.system_prompt is not None:
            origin = Origin(kind="flag", where=options.system_prompt_origin)
            return recipe.given_prompt("system", options.system_prompt, origin=origin, cap=cap)
        if agent.system_prompt is not None:
            origin = self._configured("agent.system_prompt")
            return recipe.given_prompt("system", agent.system_prompt, origin=origin, cap=cap)
        return None

    def _appended(self) -> tuple[Fragment, ...]:
        given, agent, cap = self._options.append_system_prompt, self._setting.config.agent, self._recipe.cap("append")
        if given:
            origin = Origin(kind="flag", where="--append-system-prompt")
            return (recipe.given_prompt("append", given, origin=origin, cap=cap),)
        if agent.append_system_prompt:
            origin = self._configured("agent.append_system_prompt")
            return (recipe.given_prompt("append", agent.append_system_prompt, origin=origin, cap=cap),)
        return ()

    def _configured(self, key: str) -> Origin:
        where = self._setting.config.origin(key)
        return Origin(kind="environment" if where.startswith("OVERT_") else "file", where=where)

    def _made(self, prompt: Fragment, *, small: bool) -> tuple[Fragment, ...]:
        found: list[Fragment] = []
        sources = self._recipe.sources
        if "system" not in sources and self.given():
            found.append(prompt)  # a recipe may leave out ours, not what somebody put in its place
        for source in sources:
            found += (prompt,) if source == "system" else self._source(source, small=small)
        if "append" not in sources:
            found += self._appended()
        ranked = [fragment for fragment in found if fragment.key in RANKED]
        if ranked:
            found[found.index(ranked[0]) : found.index(ranked[0])] = recipe.order(ranked)
        self.notices = (
            *self._left_out,
            *(say("context.cut", where=each.origin.where, cap=each.cap, name=each.key) for each in found if each.cap),
        )
        return self._without_secrets(found)

    def _source(self, source: str, *, small: bool) -> tuple[Fragment, ...]:
        match source:
            case "global":
                return recipe.files(source, "Rules of the user", self._files(source), self._cap(source, small))
            case "project":
                return recipe.files(source, "Rules of this project", self._files(source), self._cap(source, small))
            case "instructions":
                return recipe.files(source, "Instructions", self._files(source), self._cap(source, small))
            case "memory":
                return self._memory(small=small)
            case "environment":
                if small:
                    return ()
                budget_usd = self._setting.config.limits.budget_usd
                # Always the usual mode, so that sessions in all modes share what a server has cached.
                self._first_facts = self._first_facts or self.facts("review", budget_usd=budget_usd)
                return (recipe.environment(self._first_facts, cap=self._cap(source, small)),)
            case "append":
                return self._appended()
            case _ if is_file_name(source):
                key, title = (
                    ("project", "Rules of this project") if _walks(source) else ("instructions", "Instructions")
                )
                return recipe.files(key, title, self._files(source), self._cap(key, small))
            case _:
                return ()  # skills: there are none yet

    def _cap(self, name: str, small: bool) -> int:
        cap = self._recipe.cap(name)
        return min(cap, SMALL_CAP) if small else cap

    # ── files ────────────────────────────────────────────────────────────────────────────────────────────

    def _files(self, source: str) -> tuple[Source, ...]:
        if source not in self._found:
            self._found[source] = tuple(self._fit(self._pieces(source)))
        return self._found[source]

    def _pieces(self, source: str) -> Iterable[Piece]:
        strict = self._recipe.strict
        match source:
            case "global" if strict:
                return ()
            case "global":
                path = os.path.join(self._setting.environment.config_dir, RULES)
                piece = instructions.read(path, self._place.where(path), follow=True)
                return (piece,) if piece else ()
            case "project":
                return self._project_rules()
            case "instructions":
                return [piece for pattern in self._recipe.instructions for piece in self._instructions(pattern)]
            case _ if _walks(source):
                return instructions.walked(self._place, source)
            case _:
                return instructions.matched(self._place, source, strict=strict)

    def _project_rules(self) -> tuple[Piece, ...]:
        pieces = project_rules(self._setting)
        if self._recipe.foreign and not self._recipe.strict and not reads_foreign(self._setting):
            every = instructions.project_rules(self._place, foreign=True)
            unread = [piece.where for piece in every if piece not in pieces]
            self._left_out += [say("context.untrusted", where=", ".join(unread))] if unread else []
        return pieces

    def _instructions(self, pattern: str) -> tuple[Piece, ...]:
        found = instructions.matched(self._place, pattern, strict=self._recipe.strict)
        if not found:
            self._left_out.append(say("context.nothing", pattern=self._place.where(pattern)))
        return found

    def _fit(self, pieces: Iterable[Piece]) -> Iterable[Source]:
        """Each file once, unless a rule keeps it from being read."""
        for piece in pieces:
            real = os.path.realpath(piece.path)
            if real in self._taken:
                continue
            self._taken.add(real)
            if rule := self._denial(piece.path):
                self._left_out.append(say("context.denied", where=piece.where, rule=rule))
            else:
                yield Source(where=piece.where, content=piece.content, whole=piece.whole)

    def _denial(self, path: str) -> str:
        rules = [rule for rule in self._setting.config.permissions.rules if rule.pattern]
        subject = Subject(tool="read", values=(normal(path, self._setting.roots.workspace),))
        rule = matching(rules, subject, "deny")
        return rule.text() if rule else ""

    # ── memory ───────────────────────────────────────────────────────────────────────────────────────────

    def _memory(self, *, small: bool) -> tuple[Fragment, ...]:
        if "memory" not in self._found:
            path = os.path.join(self._place.project, memory.PROJECT_FILE)
            piece = instructions.read(path, memory.PROJECT_FILE)
            self._found["memory"] = tuple(self._fit((piece,) if piece else ()))
            if not self._recipe.strict:
                self._notes = {scope: memory.notes(shelves_of(self._setting), scope) for scope in _scopes()}
        return (
            *self._shelf("global", "Notes for every project", small=small),
            *recipe.files("memory", "Notes of this project", self._found["memory"], self._cap("memory", small)),
            *self._shelf("project", "Private notes for this project", small=small),
        )

    def _shelf(self, scope: memory.Scope, title: str, *, small: bool) -> tuple[Fragment, ...]:
        folder = shown(shelves_of(self._setting).folder(scope), home=self._setting.environment.home)
        entries = [
            Entry(
                name=note.name,
                first=note.first,
                source=Source(where=f"{folder}/{note.name}.md", content=note.content),
            )
            for note in self._notes.get(scope, ())
        ]
        return recipe.notes(title, folder, entries, self._cap("notes", small))

    # ── facts ────────────────────────────────────────────────────────────────────────────────────────────

    def facts(self, mode: Mode, *, budget_usd: float, network: bool = False) -> dict[str, str]:
        """What holds now, by the names under which the model is told it. `network`: it was opened for this session."""
        config, interactive = self._setting.config, self._options.interactive
        permissions, sandbox, boxed = config.permissions, config.sandbox, self._sandbox.boxed
        max_steps = config.limits.max_steps if config.origin("agent.max_steps") != "default" else 0
        self._fixed_facts = self._fixed_facts or self._look_around()
        current = {
            **self._fixed_facts,
            "Mode": facts.describe_mode(
                mode,
                interactive=interactive,
                read_only=not sandbox.write,
                dont_ask=permissions.dont_ask,
                fallback=permissions.fallback,
            ),
            "Sandbox": facts.describe_sandbox(boxed=boxed, read_only=not sandbox.write),
            "Network": facts.describe_network(is_open=network or sandbox.network or not boxed),
            "Limit": facts.describe_limits(max_steps=max_steps, budget_usd=budget_usd),
        }
        return {name: self._redactor.clean(value) for name, value in current.items() if value}

    def _look_around(self) -> dict[str, str]:
        """What stays as it is while the program runs."""
        roots = self._setting.roots
        return {
            "Workspace": visible(roots.workspace).replace("\n", "\\n"),
            "Platform": sys.platform,
            "Date": strftime("%Y-%m-%d"),
            "Git branch": facts.branch(roots.workspace, roots.project),
        }

    def _without_secrets(self, fragments: Iterable[Fragment]) -> tuple[Fragment, ...]:
        """They are recorded in full and sent with every request."""
        clean = self._redactor.clean
        return tuple(replace(fragment, text=clean(fragment.text)) for fragment in fragments)


def _walks(source: str) -> bool:
    """A bare file name is looked for as AGENTS.md is: in every folder from the project down to the workspace."""
    return is_file_name(source) and not any(mark in source for mark in "/~*?[")


def nested_names(sources: Iterable[str]) -> tuple[str, ...]:
    """The names under which a folder further down may have rules of its own."""
    return tuple(
        RULES if source == "project" else source for source in sources if source == "project" or _walks(source)
    )


def _scopes() -> tuple[memory.Scope, memory.Scope]:
    return "global", "project"
