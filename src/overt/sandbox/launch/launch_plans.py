"""How the supervisor of each profile is started, and which sandbox that is: the best one that came up."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from overt.core.errors import ToolError
from overt.core.protocols import BOXED, Profile, SandboxState
from overt.sandbox.choose_sandbox import can_make_namespaces, choose, find_bubblewrap
from overt.sandbox.launch.file_identity import (
    FileIdentity,
    HeldFiles,
    identify,
    is_worth_ending,
    mounted_paths,
    newly_protected,
    replaced_paths,
)
from overt.sandbox.launch.repository_watch import RepositoryWatch
from overt.sandbox.mechanisms.bubblewrap import describe_mounts, words
from overt.sandbox.private_folder import hold_private, make_private, remove_private
from overt.sandbox.profile import AccessRules, RuleSource, SandboxPlace, built, spare_caches
from overt.sandbox.protected_paths import find_names_of, is_below

if TYPE_CHECKING:
    from overt.sandbox.overlay import Overlay

NO_PLACE = SandboxPlace(workspace="", project="", home="", config_dir="", data_dir="", cache_dir="")
NOWHERE = SandboxState(kind="none", why="these programs were let out of the sandbox")

OFFLINE = {"npm_config_fetch_retries": "0", "PIP_RETRIES": "1"}
"""Where there is no network, trying again for a minute only hides that; pip says why only when it tries once more."""
NOT_UP = (
    "the sandbox did not come up ({said}), and nothing was run; bubblewrap works here, so no weaker one takes its "
    "place. Try again, or choose another one yourself with sandbox.mode"
)
REPLACED = "{name} was replaced outside, and with that no longer kept from them"
NEW = "{name} has to be kept from them now, and was not when they started"
MANY = "{name} holds too many submodules to look at each: commands cannot change it at all"
BREACH = (
    "{name} appeared although the sandbox refuses to create it: the command was ended and the file moved to "
    "{name}.blocked. If you created it yourself, rename it back"
)
ISOLATED = "commands of an isolated agent run in its copy of the workspace only, inside the sandbox"
UNWATCHED = (
    "{name} appeared while a command ran whose supervisor was killed: it was moved to {aside}. If you created it "
    "yourself, rename it back"
)
TRIAL = 5.0


DEVICES = ("/dev", "/proc")
PART = "/tmp/.overt-reading"


class LaunchPlan(Struct, frozen=True, kw_only=True):
    """`before` go before the supervisor's command line, `box` after it; `names` must not exist when it ends."""

    kind: str = "none"
    profile: Profile | None = None
    rules: AccessRules | None = None
    before: tuple[str, ...] = ()
    box: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    temp: str = ""
    wanted: tuple[str, ...] = ()
    marks: dict[str, FileIdentity] = {}


class LaunchPlanner:
    """LaunchPlanner for one place. The private folder is made with the first of them and shared by all.

    Without a place there are none: `before` gives the words to put before the supervisor of a profile. With an
    `overlay`, programs see it instead of the workspace.
    """

    def __init__(
        self,
        place: SandboxPlace | None,
        mode: str,
        before: Callable[[Profile], Sequence[str]],
        overlay: "Overlay | None" = None,
    ) -> None:
        self._place = place or NO_PLACE
        self._mode = mode if place else "none"
        self._before = before
        self._overlay = overlay
        self._failed: dict[str, str] = {}
        self._lacking: dict[str, tuple[str, ...]] = {}
        self._sources: dict[Profile, RuleSource] = {}
        self._program = find_bubblewrap()
        self._temp = ""
        self._hold = -1
        self._found: list[str] = []
        self._pins = HeldFiles()
        self._spare: dict[tuple[tuple[str, ...], str], dict[str, str]] = {}
        self._new_repositories: RepositoryWatch | None = None
        self._said: set[str] = set()
        self._kind = ""
        self._stood = False
        self._twice = False

    def state(self, profile: Profile) -> SandboxState:
        """The best guess, and the truth once one has come up."""
        if profile.outside:
            return NOWHERE
        found = choose(self._mode, failed=tuple(self._failed.items()), program=self._program)
        return replace(found, missing=self._lacking.get(found.kind, found.missing), isolated=self._overlay is not None)

    def refusal(self, profile: Profile) -> str:
        """Why nothing is started: a kind was demanded and does not stand."""
        state = self.state(profile)
        if profile.outside and self._overlay:
            return ISOLATED
        if profile.outside or state.boxed or self._mode in ("auto", "none"):
            return ""
        return f"the sandbox that sandbox.mode demands does not stand: {state.why}"

    def launch(self, profile: Profile) -> LaunchPlan:
        kind = self.state(profile).kind
        if kind == "none":
            return LaunchPlan(before=tuple(self._before(profile)))
        self._kind = kind
        if self._temp and not all(os.path.isdir(f"{self._temp}/{name}") for name in ("tmp", "var")):
            self.let_go()  # cleaned away by somebody, as is done with old temporary files
            self._temp = ""
            self._sources.clear()
        if not self._temp:
            self._temp = make_private(self._place.temp)
            self._hold = hold_private(self._temp)
        rules = self._current_rules(profile)
        network = "1" if rules.network else ""
        if kind == "bubblewrap":
            root = can_make_namespaces()
            stood = mounted_paths(rules)
            self._pins.hold(stood)
            source = self._sources[profile]
            overlay = self._overlay
            guarded = rules.write and not overlay
            roots = (*source.roots, *source.loose, *source.repositories) if guarded else ()
            young = tuple(path for root in roots if not os.path.lexists(path := f"{root}/.git"))
            return LaunchPlan(
                kind=kind,
                profile=profile,
                rules=rules,
                before=(*(overlay.enter() if overlay else ()), *words(rules, program=self._program, root=root)),
                box=("bubblewrap", network, "" if root else "1", str(len(roots)), *roots, *rules.absent),
                names=(*(path for path in rules.absent if not os.path.lexists(path)), *young),
                temp=self._temp,
                wanted=describe_mounts(rules, overlay.on_host) if overlay else describe_mounts(rules),
                marks=identify(stood),
            )
        if kind == "seatbelt":
            from overt.sandbox.mechanisms import seatbelt  # late: 0.1 ms

            return LaunchPlan(kind=kind, rules=rules, before=seatbelt.argv(rules), temp=self._temp)
        write = (*rules.write, self._temp)
        return LaunchPlan(
            kind=kind,
            rules=rules,
            box=("landlock", network, str(len(write)), *write, *rules.hidden, *rules.awaited),
            temp=self._temp,
        )

    def stale(self, launch: LaunchPlan, profile: Profile) -> bool:
        """Whether what has to be kept is no longer what the box keeps."""
        return launch.kind == "bubblewrap" and (
            bool(replaced_paths(launch.marks)) or launch.rules != self._current_rules(profile)
        )

    def protection_gap(self, launch: LaunchPlan, *, patient: bool = False) -> str:
        """Why what runs in a box has to be ended; `patient` lets it go on beside what every look looks at again."""
        if launch.rules is None or launch.profile is None:
            return ""
        for path in replaced_paths(launch.marks):
            if is_worth_ending(path):
                return REPLACED.format(name=self._shown(path))
        for path in newly_protected(launch.rules, self._current_rules(launch.profile)):
            if is_worth_ending(path) and not (
                patient and self._new_repositories and self._new_repositories.watches(path)
            ):
                return NEW.format(name=self._shown(path))
        return ""

    def look(self, *, busy: bool, deep: bool = False) -> bool:
        """What commands made that would run something outside is moved away; True if there was any."""
        found = (
            self._new_repositories.look(busy=busy, deep=deep)
            if self._new_repositories and self._kind == "bubblewrap"
            else []
        )
        self._found += found
        return bool(found)

    def take_away(self, launch: LaunchPlan) -> None:
        """The monitor of a command was killed, so nobody watched the names that must not exist: move them away."""
        for path in launch.names:
            if os.path.lexists(path) and os.path.basename(path) != ".git":
                try:
                    from overt.sandbox.harmful_repository import set_aside  # late: 1.5 ms

                    aside = set_aside(path)
                except OSError as error:
                    aside = f"nowhere ({error.strerror})"
                self.tell(UNWATCHED.format(name=self._shown(path), aside=aside))

    def tell_breach(self, path: str) -> None:
        self.tell(BREACH.format(name=self._shown(path)))

    def tell(self, finding: str) -> None:
        if finding not in self._found:
            self._found.append(finding)

    def findings(self) -> str:
        """What was found since it was last asked for."""
        found, self._found = self._found, []
        return "; ".join(found)

    def came_up(self, launch: LaunchPlan, lacking: tuple[str, ...]) -> None:
        """It stands."""
        self._lacking[launch.kind] = lacking
        if launch.kind != "bubblewrap" or launch.rules is None:
            return
        self._stood, self._twice = True, False
        if self._new_repositories:
            self._new_repositories.settle((*launch.rules.protected, *launch.rules.absent))

    def failed(self, launch: LaunchPlan, said: str) -> bool:
        """True when there is something to try: the same once more, or the next best kind if this one cannot work
        here at all. What runs in a box must not be able to bring about a weaker one."""
        if launch.kind == "bubblewrap" and (self._stood or self._trivial_works()):
            if self._twice:
                self._twice = False
                raise ToolError(NOT_UP.format(said=said), code="failed")
            self._twice = True
            return True
        self._failed[launch.kind] = said
        return launch.kind != "none"

    def _trivial_works(self) -> bool:
        """Whether a box around nothing comes up."""
        import subprocess  # late: 3 ms

        argv = (*words(AccessRules(), program=self._program, root=can_make_namespaces()), "true")
        try:
            return subprocess.run(argv, env={"PATH": os.defpath}, capture_output=True, timeout=TRIAL).returncode == 0
        except subprocess.TimeoutExpired:
            return False

    def environment(self, launch: LaunchPlan, env: Mapping[str, str]) -> Mapping[str, str]:
        """What programs are told of their private folder."""
        if launch.rules is None:
            return env
        folder = "/tmp" if launch.kind == "bubblewrap" else f"{launch.temp}/tmp"
        kept = {name: value for name, value in env.items() if name not in ("TMP", "TEMP", "TEMPDIR")}
        offline = {} if launch.rules.network else OFFLINE
        key = (launch.rules.write, folder)
        if key not in self._spare:
            self._spare[key] = spare_caches(self._place, env, folder, launch.rules.write)
        return offline | kept | {"TMPDIR": folder} | self._spare[key]

    def left_to_readers(self, launch: LaunchPlan) -> tuple[tuple[str, ...], dict[str, str]]:
        """Where a command that only reads may write all the same, and what it has to be told for that.

        Landlock knows no exceptions inside a place that is open, so a temporary folder that holds the workspace
        is left to it only in part. With the network, package managers keep what they fetch while they only look.
        """
        roots = (self._place.workspace, *self._place.write)
        online = launch.rules is not None and launch.rules.network
        caches = self._place.caches if online else built(self._place.caches)
        apart = (path for path in caches if not any(is_below(path, root) or is_below(root, path) for root in roots))
        places = (*DEVICES, *apart)
        if launch.kind == "landlock":
            return (*places, f"{launch.temp}/tmp"), {}
        if launch.kind == "bubblewrap" and not any(root.startswith(("/tmp/", "/var/tmp/")) for root in roots):
            return (*places, "/tmp", "/var/tmp"), {}
        return (*places, PART), {"TMPDIR": PART}

    def private_folders(self) -> dict[str, str]:
        """Where the temporary folders lie that programs see in place of the real ones; "" before the first of them."""
        if (self._kind or self.state(BOXED).kind) != "bubblewrap":
            return {}
        return {
            "/tmp": self._temp and f"{self._temp}/tmp",
            "/var/tmp": self._temp and f"{self._temp}/var",
        }

    def let_go(self) -> None:
        """Leave the private folder to the boxes that still stand; the last one removes it."""
        if self._hold >= 0:
            os.close(self._hold)
            self._hold = -1

    def tidy(self) -> None:
        self._pins.let_go()
        if self._temp:
            remove_private(self._temp)
            self._temp = ""

    def _current_rules(self, profile: Profile) -> AccessRules:
        if profile not in self._sources:
            self._sources[profile] = RuleSource(profile, self._place, temp=self._temp)
        source = self._sources[profile]
        rules = source.now()
        if not rules.write or self._kind != "bubblewrap" or self._overlay:
            return rules
        if self._new_repositories is None:
            self._new_repositories = RepositoryWatch(
                self._place.workspace, source.roots, source.loose, source.repositories
            )
            self.look(busy=False, deep=True)
        if below := self._new_repositories.nested_repositories():
            more = find_names_of(below, (*source.roots, *source.loose))
            rules = replace(
                rules,
                protected=tuple(dict.fromkeys((*rules.protected, *more.protected))),
                absent=tuple(dict.fromkeys((*rules.absent, *more.absent))),
            )
        for path in rules.protected:
            if path.endswith("/.git/modules") and path not in self._said:
                self._said.add(path)
                self.tell(MANY.format(name=self._shown(path)))
        return rules

    def _shown(self, path: str) -> str:
        return path.removeprefix(self._place.workspace + "/")
