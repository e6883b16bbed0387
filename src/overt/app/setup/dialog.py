"""The questions of `overt setup`, one step after the other, with a way back from every failure."""

from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar

from msgspec.structs import replace

from overt.app.diagnostics.event_loop import run_async
from overt.app.models.credentials import store_key
from overt.app.models.fetch_bar import Bar
from overt.app.models.fetch_weights import fetch_model, plan
from overt.app.models.pick_model import surroundings
from overt.app.options import Options
from overt.app.setting import Setting, read_setting
from overt.app.setup.answers import (
    Answers,
    Asking,
    SetupResult,
    checked_address,
    export_line,
    host,
    parse_number,
    suggest_names,
)
from overt.app.setup.config_file import ConfigChange, find_json_file, plan_edit, write
from overt.app.setup.foreign_rules import unread_rules, with_rules
from overt.app.setup.provider_options import ProviderOption, check_provider_name, key_at, list_options, variable_for
from overt.app.setup.trial_request import add_models, find_address, trial
from overt.config.load import load
from overt.core.errors import ConfigError, OvertError, ProviderError
from overt.core.settings import ProviderEntry
from overt.lib.paths import display_path
from overt.lib.text import cut_line, visible, wide
from overt.lib.translations import say
from overt.providers.embedded.provider import is_runnable
from overt.providers.model_choice import EMBEDDED, is_local
from overt.providers.suggest_names import nearest
from overt.providers.wires import wire_names

T = TypeVar("T")
Step: TypeAlias = "Callable[[], Step | None]"
"""Asks one thing and returns the next step, or None at the end."""
YES, NO = ("y", "yes", "是"), ("n", "no", "否")
MOST_MODELS = 12


class Dialog:
    def __init__(self, asking: Asking, setting: Setting, answers: Answers) -> None:
        self._asking = asking
        self._setting = setting
        self._answers = answers
        self._around = surroundings(setting)
        self._options: tuple[ProviderOption, ...] = ()
        self._option = ProviderOption(entry=ProviderEntry(name=""), source="own")
        self._key: str | None = None
        self._typed = False
        self._held = ""
        self._model = ""
        self._change = ConfigChange()
        self._result = SetupResult()

    def run(self) -> SetupResult:
        self._tell(say("setup.hello"))
        if now := self._setting.config.default_model:
            self._tell(say("setup.now", model=now, origin=self._setting.config.origin("default_model")))
        step: Step | None = self._choose_option
        while step is not None:
            step = step()
        return self._result

    def without_key(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text

    # ── where from ───────────────────────────────────────────────────────────────────────────────────────

    def _choose_option(self) -> Step:
        self._options = self._options or run_async(list_options(self._setting, self._around))
        named, self._answers = self._answers.vendor, replace(self._answers, vendor="")
        if named:
            option = next((option for option in self._options if option.name == named), None)
            if option is None:
                names = [option.name for option in self._options if option.name]
                raise ConfigError(say("setup.no_place", typed=named) + suggest_names(nearest(named, names) or names))
            return self._taken(option)
        self._tell("\n" + say("setup.where"))
        rows = [self._described(option) for option in self._options]
        room = max(wide(name) for name, _ in rows)
        for number, (name, about) in enumerate(rows, start=1):
            self._tell(f"  {number:>2}  {name}{' ' * (room - wide(name))}  {about}".rstrip())
        likely = next((number for number, option in enumerate(self._options, start=1) if option.usable), 0)
        while True:
            typed = self._line(say("setup.number"), str(likely) if likely else "")
            try:
                return self._taken(self._options[parse_number(typed, len(self._options))])
            except IndexError:
                self._tell(say("setup.no_number", last=len(self._options)))
            except ValueError:
                word = typed.lower()
                found = [option for option in self._options if word in (option.name, option.source)]
                if len(found) == 1:
                    return self._taken(found[0])
                near = nearest(typed, [option.name for option in self._options if option.name])
                self._tell(say("setup.no_place", typed=typed) + suggest_names(near))

    def _taken(self, option: ProviderOption) -> Step:
        self._option, self._key, self._typed, self._model = option, None, False, ""
        return {"own": self._own_server, "embedded": self._embedded}.get(option.source, self._find_key)

    def _described(self, option: ProviderOption) -> tuple[str, str]:
        entry = option.entry
        match option.source:
            case "own":
                return say("setup.own"), say("setup.own_about")
            case "embedded":
                return say("setup.inside"), say("setup.inside_here" if entry.models else "setup.inside_about")
            case "here":
                names = ", ".join(entry.models[:3]) + (" …" if len(entry.models) > 3 else "")
                return entry.name, say("setup.here", models=names)
            case _:
                held = say("setup.held", name=option.holds) if option.holds else ""
                configured = say("setup.configured") if option.source == "configured" else ""
                return entry.name, "  ".join(filter(None, (host(entry.base_url), configured, held)))

    def _own_server(self) -> Step:
        """Ask for an address until one can be one, then for the wire, and look whether somebody is there."""
        address = self._valid(say("setup.address"), checked_address)
        kind = self._one_of(say("setup.wire"), self._wires())
        entry = ProviderEntry(name="mine", kind=kind, base_url=address)
        entry, wants = run_async(find_address(entry, self._around))
        if entry.base_url != address:
            self._tell(say("setup.found_at", address=entry.base_url))
        taken = [each.name for each in self._setting.config.providers]
        names = ("mine", *(f"mine-{number}" for number in range(2, len(taken) + 3)))
        free = next(name for name in names if name not in taken)
        name = self._valid(say("setup.name"), lambda typed: check_provider_name(typed, taken), free)
        variable = variable_for(name) if wants or self._agreed(say("setup.wants_key"), usual=False) else ""
        if variable and address.startswith("http://") and not is_local(entry):
            self._tell(say("setup.in_the_clear"))
        self._option = ProviderOption(entry=replace(entry, name=name, api_key_env=variable), source="own")
        return self._find_key

    def _wires(self) -> tuple[str, ...]:
        """The names of all wires, the usual one first."""
        names = wire_names(self._setting.registries.wires)
        return tuple(sorted(names, key=lambda name: name != ProviderEntry(name="").kind))

    def _embedded(self) -> Step:
        if not self._option.entry.models:
            if not is_runnable():
                self._tell(say("setup.not_runnable"))
                return self._back()
            about = plan(self._setting, "")
            self._tell(f"{about.told}\n{say('fetch.limits')}")
            if not self._agreed(say("setup.fetch"), usual=True):
                return self._back()
            bar = Bar(self._asking.write, terminal=self._asking.terminal)
            try:
                run_async(fetch_model(self._setting, about.name, bar))
            except OvertError as error:
                return self._now_what(error)
            self._around = surroundings(self._setting)
        weights = self._around.weights()
        if weights is None:
            raise ConfigError(say("setup.not_runnable"))
        self._option = ProviderOption(entry=weights, source="embedded")
        return self._choose_model

    # ── key and model ────────────────────────────────────────────────────────────────────────────────────

    def _find_key(self) -> Step:
        entry = self._option.entry
        if not entry.api_key_env:
            self._key = self._around.key(entry)
            return self._choose_model
        name, where = key_at(entry, self._around)
        self._held = where
        if name and self._key is None:
            self._tell(say("setup.key_here", name=name, where=say(f"auth.in.{where}")))
            self._key, self._typed = self._around.key(entry), False
            return self._choose_model
        if self._answers.yes:
            raise ConfigError(say("setup.key_missing", vendor=entry.name, name=entry.api_key_env))
        while True:
            typed = self._asking.secret(say("setup.key", name=entry.api_key_env)).strip()
            if not typed:
                return self._choose_option
            if typed.isascii() and typed.isprintable() and " " not in typed:
                self._key, self._typed = typed, True
                return self._choose_model
            self._tell(say("setup.odd_key"))

    def _choose_model(self) -> Step:
        entry = self._option.entry
        try:
            entry = run_async(add_models(entry, self._key, self._around))
        except OvertError as error:
            return self._now_what(error)
        self._option = replace(self._option, entry=entry)
        named, self._answers = self._answers.model, replace(self._answers, model="")
        usual = entry.default or entry.model or next(iter(entry.models), "")
        if entry.default and entry.models and entry.default not in entry.models:
            usual = entry.models[0]
        if named or (self._answers.yes and usual):
            self._model = named or usual
            return self._try
        self._model = self._picked(entry.models, usual)
        return self._try

    def _picked(self, names: Sequence[str], usual: str) -> str:
        """A number, a name, or a part of one, which makes the list shorter."""
        offered = sorted(names, key=lambda name: name != usual)
        while True:
            self._tell("\n" + say("setup.models" if offered else "setup.no_models"))
            for number, name in enumerate(offered[:MOST_MODELS], start=1):
                self._tell(f"  {number:>2}  {visible(name)}")
            if len(offered) > MOST_MODELS:
                self._tell(say("setup.more_models", count=len(offered) - MOST_MODELS))
            typed = self._line(say("setup.model"), offered[0] if offered else usual)
            try:
                return offered[parse_number(typed, min(len(offered), MOST_MODELS))]
            except IndexError:
                self._tell(say("setup.no_number", last=min(len(offered), MOST_MODELS)))
                continue
            except ValueError:
                pass
            if typed in names or (not names and typed.isprintable()):
                return typed
            close = [name for name in names if typed.lower() in name.lower()]
            if not close and self._agreed(say("setup.unlisted", model=typed), usual=False):
                return typed
            offered = close or offered

    def _try(self) -> Step:
        self._tell(say("setup.trying", model=self._reference()))
        try:
            reply = run_async(trial(self._option.entry, self._key, self._model, self._around))
        except OvertError as error:
            return self._now_what(error)
        text = " ".join(reply.text.split())
        words = cut_line(text, 200) if text else say("setup.thought" if reply.thoughts else "setup.silent")
        usage = reply.usage
        numbers = say("setup.spent", seconds=f"{reply.last:.1f}", input=usage.input, output=usage.output)
        self._tell(f"  {words}\n  {numbers}")
        return self._keep_key

    def _now_what(self, error: OvertError) -> Step:
        """What failed in words, and ways on; the likeliest one is a bare Enter."""
        if self._answers.yes:
            raise error
        self._tell(self.without_key(error.message))
        kind = error.kind if isinstance(error, ProviderError) else ""
        keyed = bool(self._option.entry.api_key_env)
        likely = "k" if kind == "key" and keyed else "m" if kind in ("model", "parameter") else "r"
        likely = "v" if kind in ("not_api", "down") and not self._model else likely
        again = self._try if self._model else self._choose_model
        ways: dict[str, Step] = {"r": again, "m": self._choose_model, "v": self._choose_option}
        if self._model:
            ways["w"] = self._keep_key
        if keyed:
            ways["k"] = self._find_key
        choices = "  ".join(say(f"setup.way_{way}") for way in ways)
        way = self._one_of(f"{choices}\n{say('setup.way')}", tuple(ways), likely)
        if way == "k":
            self._key = self._key or ""
        return ways[way]

    # ── what stays ───────────────────────────────────────────────────────────────────────────────────────

    def _keep_key(self) -> Step:
        """Only a key that has worked is kept. Where a variable holds another one, the keyring would not be asked."""
        if not self._typed or self._key is None:
            return self._offer_rules
        name = self._option.entry.api_key_env
        if self._held not in ("environment", ".env") and self._agreed(say("setup.keep", name=name), usual=True):
            try:
                store_key(name, self._key)
                self._tell(say("auth.stored", name=name))
                self._typed = False
                return self._offer_rules
            except ConfigError as error:
                self._tell(self.without_key(error.message))
        if self._held in ("environment", ".env"):
            self._tell(say("setup.held_elsewhere", name=name, where=say(f"auth.in.{self._held}")))
        self._tell(export_line(name, self._setting.environment.get("SHELL")))
        return self._offer_rules

    def _offer_rules(self) -> Step:
        self._change = ConfigChange(default_model=self._reference(), provider=self._provider())
        files = unread_rules(self._setting)
        if not files or self._answers.yes:
            return self._write
        self._tell("\n" + say("setup.rules", files=", ".join(map(visible, files))))
        if self._agreed(say("setup.read_rules"), usual=False):
            self._change = with_rules(self._change, files, self._setting)
        return self._write

    def _provider(self) -> dict[str, str]:
        """The fields of an entry that the file needs; none for what is found without one."""
        entry, setting = self._option.entry, self._setting
        own = load(setting.environment, project="", trusted=False).providers
        if entry.kind == EMBEDDED or any(each.name == entry.name for each in own):
            return {}
        if self._option.source in ("own", "configured"):
            stated = {"kind": "" if entry.kind == "openai" else entry.kind, "api_key_env": entry.api_key_env}
            return {
                "name": entry.name,
                "base_url": entry.base_url,
                **{key: each for key, each in stated.items() if each},
            }
        # A provider that does not say which models it has would take this one for its own.
        return {"name": entry.name} if own else {}

    def _write(self) -> None:
        environment = self._setting.environment
        ready = not self._typed
        if other := find_json_file(environment):
            self._tell(say("setup.json", path=display_path(other, home=environment.home)))
            self._tell(self._change.as_json())
            self._result = SetupResult(model=self._reference())
            return
        edit = plan_edit(environment, self._change)
        if edit.new == edit.old:
            self._tell(say("setup.same", name=edit.name))
            self._result = SetupResult(model=self._reference(), done=ready)
            return
        self._tell(f"\n{edit.name}\n{edit.diff()}".rstrip())
        if not self._agreed(say("setup.write", name=edit.name), usual=True):
            self._tell(say("setup.left"))
            return
        write(edit)
        self._tell(say("setup.written" if ready else "setup.written_key", name=edit.name))
        self._tell_what_is_stronger()
        self._result = SetupResult(model=self._reference(), written=True, done=ready)

    def _tell_what_is_stronger(self) -> None:
        config = read_setting(
            Options(directory=self._setting.roots.workspace, registries=self._setting.registries)
        ).config
        if config.base_url:
            self._tell(say("setup.stronger", origin="OVERT_BASE_URL", value=config.base_url))
        elif config.default_model != self._reference():
            self._tell(say("setup.stronger", origin=config.origin("default_model"), value=config.default_model))

    # ── small talk ───────────────────────────────────────────────────────────────────────────────────────

    def _reference(self) -> str:
        return f"{self._option.name}/{self._model}"

    def _back(self) -> Step:
        if self._answers.yes:
            raise ConfigError(say("setup.not_runnable"))
        return self._choose_option

    def _tell(self, text: str) -> None:
        self._asking.tell(visible(self.without_key(text)))

    def _line(self, prompt: str, usual: str = "") -> str:
        """An answer; a bare Enter takes the usual one, where there is one."""
        shown_usual = f" [{visible(usual)}]" if usual else ""
        while not (typed := self._asking.line(f"{prompt}{shown_usual}: ").strip() or usual):
            continue
        return typed

    def _valid(self, prompt: str, read: Callable[[str], T], usual: str = "") -> T:
        """Ask until `read` takes the answer; its ConfigError says what is wrong."""
        while True:
            try:
                return read(self._line(prompt, usual))
            except ConfigError as error:
                self._tell(error.message)

    def _one_of(self, prompt: str, choices: tuple[str, ...], usual: str = "") -> str:
        while True:
            typed = self._line(prompt, usual or choices[0]).lower()
            found = [choice for choice in choices if choice.startswith(typed)]
            if typed in choices or len(found) == 1:
                return typed if typed in choices else found[0]
            self._tell(say("setup.one_of", choices=", ".join(choices)))

    def _agreed(self, question: str, *, usual: bool) -> bool:
        if self._answers.yes:
            return True
        while True:
            typed = self._asking.line(f"{question} {'[Y/n]' if usual else '[y/N]'} ").strip().lower()
            if not typed or typed in (*YES, *NO):
                return typed in YES if typed else usual
