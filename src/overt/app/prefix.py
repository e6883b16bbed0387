"""What every request of a session begins with: the prompt, the rules of the project, facts of this machine."""

import os
import sys
from time import strftime

from msgspec.structs import replace

from overt.app.options import Options
from overt.app.setting import Setting
from overt.config.regular import read_regular
from overt.context.recipe import built_in_prompt, environment, given_prompt, project_rules
from overt.core.fragments import Fragment, Origin
from overt.core.ports import SandboxState
from overt.lib.redact import Redactor

RULES, RULES_MOST = "AGENTS.md", 1024 * 1024


class Fragments:
    """The sources of the system text, each a fragment that knows where it came from."""

    def __init__(self, options: Options, setting: Setting, sandbox: SandboxState, redactor: Redactor) -> None:
        self._options = options
        self._setting = setting
        self._sandbox = sandbox
        self._redactor = redactor

    @property
    def asked(self) -> bool:
        """Whether this start named a prompt of its own."""
        return self._options.system_prompt is not None or bool(self._options.append_system_prompt)

    def usual(self) -> tuple[Fragment, ...]:
        return self._without_secrets(
            self.given() or built_in_prompt(), self.rules(), environment(self._facts()), self._appended()
        )

    def beside(self, prompt: Fragment) -> tuple[Fragment, ...]:
        """A prompt made for one kind of model, with what a person said in its place or on top of it."""
        return self._without_secrets(self.given() or prompt, self.rules(), self._appended())

    def given(self) -> Fragment | None:
        """The system prompt that a person put in the place of ours."""
        options, agent = self._options, self._setting.config.agent
        if options.system_prompt is not None:
            origin = Origin(kind="flag", where=options.system_prompt_origin)
            return given_prompt("system", options.system_prompt, origin=origin)
        if agent.system_prompt is not None:
            origin = Origin(kind="file", where=self._setting.config.origin("agent.system_prompt"))
            return given_prompt("system", agent.system_prompt, origin=origin)
        return None

    def rules(self) -> Fragment | None:
        """A link is not followed and a pipe not waited for: the project may be anybody's."""
        try:
            content, _ = read_regular(os.path.join(self._setting.roots.project, RULES), RULES_MOST, os.O_NOFOLLOW)
        except OSError:
            return None
        return project_rules(RULES, content[:RULES_MOST])

    def _appended(self) -> Fragment | None:
        given, agent = self._options.append_system_prompt, self._setting.config.agent
        if given:
            return given_prompt("appended", given, origin=Origin(kind="flag", where="--append-system-prompt"))
        if agent.append_system_prompt:
            origin = Origin(kind="file", where=self._setting.config.origin("agent.append_system_prompt"))
            return given_prompt("appended", agent.append_system_prompt, origin=origin)
        return None

    def _facts(self) -> dict[str, str]:
        return {
            "Workspace": self._setting.roots.workspace,
            "Platform": sys.platform,
            "Date": strftime("%Y-%m-%d"),
            **({"Sandbox": self._walls()} if self._sandbox.boxed else {}),
        }

    def _walls(self) -> str:
        """What a model would else find out by failing."""
        sandbox = self._setting.config.sandbox
        write = "only the workspace and a private /tmp" if sandbox.write else "nothing but a private /tmp"
        return f"commands can write {write}{'' if sandbox.network else ', and have no network but their own loopback'}"

    def _without_secrets(self, *fragments: Fragment | None) -> tuple[Fragment, ...]:
        """They are recorded in full and sent with every request."""
        clean = self._redactor.clean
        return tuple(replace(fragment, text=clean(fragment.text)) for fragment in fragments if fragment)
