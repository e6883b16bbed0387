"""The table of package managers: what nearly all of them call the same, and what each has besides."""

from overt.safety._options import Shape, extend
from overt.safety.danger import Reason

CACHE = Reason("clears a cache", "rebuild")
REMOVES = Reason("removes packages of the project", "rebuild")
UNINSTALLS = Reason("removes installed software")
PUBLISHES = Reason("publishes or withdraws a release", "published")
SETTINGS = Reason("changes settings that decide what runs")
RUNS = Reason("runs a program of its own")

PROJECT = Shape(
    dry="* --dry-run",
    bad={
        PUBLISHES: """publish|unpublish|deprecate|owner|access|token|adduser|dist-tag|star|team|hook|profile|org|yank
            |push|login|logout; npm publish; nuget push""",
        SETTINGS: "config set|unset|edit|delete|rm|fix; config --set|--add|--remove; set; * --toolexec|--exec",
        CACHE: "cache purge|remove|clean|prune|clear|rm; clear-cache|clearcache|cc; pm cache rm; nuget locals",
        REMOVES: """uninstall|un|remove|rm|unlink|prune|dedupe|clean|cleanup|autoclean; --rm;
            pip|tool|python|self|env|global|store|workload|nuget|toolchain|component|target|override
            uninstall|remove|prune|delete|unset""",
    },
    net="""install|i|add|ci|update|up|upgrade|sync|lock|download|fetch|wheel|search|index|create|require|create-project
        |global|self-update|restore|get|self|workload|vendor|generate-lockfile|publish|outdated;
        pip|tool|python|toolchain|component|target install|add; env create|update; mod download|tidy|vendor;
        work sync""",
    takes="--prefix --registry -C --dir --cwd --filter",
)
READS = Shape(
    fine="""list|show|info|search|outdated|why|tree|graph|version|help|about|freeze|debug|inspect|hash|index|depends
        |prohibits|validate|which|contents|dependency|specification|query|platform|licenses|diagnose|doctor|compare
        |metadata|locate-project|pkgid|verify-project|read-manifest|report|environment; config list|get|debug|--list
        |--show; cache list|info|dir; env info|list|export; pip list|show|freeze|check|tree; * list|dir|find; --list
        |--where|--venv|--py|--info|--list-sdks|--list-runtimes"""
)
SYSTEM = Shape(
    dry="--simulate|--dry-run|--just-print|--no-act|--recon|--assumeno",
    bad={
        UNINSTALLS: """remove|purge|autoremove|autopurge|clean|autoclean|full-upgrade|dist-upgrade|upgrade|edit-sources
            |erase|distro-sync|downgrade|del|fix|rm|cc|dup|removerepo|uninstall|cleanup|untap|unlink|repair|kill
            |override|disable|stop|restart|revert|set|unset|run; services stop|restart|kill|run|start""",
        SETTINGS: "-o|--option|-c|--config-file",
    },
    fine="""list|show|search|policy|depends|rdepends|changelog|madison|pkgnames|stats|dump|showpkg|showsrc|info|provides
        |repolist|check-update|repoquery|deplist|check|audit|version|repos|packages|what-provides|ls|deps|uses|outdated
        |config|doctor|leaves|desc|cat|log|options|find|changes|connections|get|remotes|ps; services list|info;
        --prefix|--cellar|--cache|--repository|--list-generations""",
    net="install|update|upgrade|download|source|build-dep|full-upgrade|dist-upgrade|reinstall|fetch|refresh|find|tap|add",
    takes="-t -q --target-release",
)
BY_OPTION = Shape(
    dry="--dry-run|--no-act|--simulate|--test",
    bad={
        UNINSTALLS: """-e|--remove|--purge|--erase|--uninstall|--clean|--upgrade|--sysupgrade|--import|--rollback
            |--delete-generations|--set-selections|--clear-selections|--rebuilddb|--initdb""",
        RUNS: "--pipe|--eval|-E|-D|--define|--load|--macros|--rcfile",
    },
    fine="""-q|-Q|--list|--listfiles|--status|--search|--info|--contents|--print-architecture
        |--get-selections|--audit|--verify|--query|--checksig|--compare-versions|--list-generations""",
)

SHAPES: dict[str, Shape] = {
    "pip": extend(
        PROJECT,
        READS,
        fine="check",
        ordinary="--python",
        takes="-r -c -i -t -e --requirement --index-url --python --proxy --target --prefix",
        writes="--log --log-file --local-log --report",
    ),
    **dict.fromkeys("uv poetry pipenv conda gem bundle".split(), extend(PROJECT, READS, fine="check")),
    # these run scripts, aliases or programs by the names of other subcommands
    "pdm": extend(PROJECT, fine="list|show|info|search"),
    "composer": extend(
        PROJECT,
        bad={SETTINGS: "config"},
        fine="show|info|outdated|validate|search|why|depends|prohibits|licenses|diagnose|status|about|audit|fund",
    ),
    "cargo": extend(
        PROJECT,
        bad={SETTINGS: "--config"},
        fine="""tree|metadata|version|search|locate-project|pkgid|verify-project|read-manifest|help|info|report; --list;
            fmt --check; fmt ~|--check""",
    ),
    "rustup": extend(
        PROJECT,
        READS,
        bad={SETTINGS: "default *; override set"},
        fine="check|doc; default $",
        net="check|toolchain|component|target",
    ),
    "dotnet": extend(PROJECT, fine="--info|--list-sdks|--list-runtimes; list|help; nuget|sln list", net="new|tool"),
    "go": extend(
        PROJECT,
        bad={SETTINGS: "env -w|-u"},
        fine="""version|list|doc|help|vet|env; mod graph|why|verify; tool $; tool nm|objdump|dist; fmt|build -n;
            test --list; mod download --json""",
        single=True,
    ),
    "npm": extend(
        PROJECT,
        READS,
        ordinary="audit fix; ls --fix; pkg set|delete; version *",
        fine="""ls|ll|la|view|v|root|bin|prefix|explain|fund|ping|whoami|audit|get|docs|find-dupes|sbom; config ls;
            cache ls|verify; pkg get; run|run-script $""",
        takes="-w --workspace --userconfig",
        net="view|info|outdated|audit|publish|ping|init",
    ),
    "pnpm": extend(
        PROJECT,
        fine="ls|ll|list|why|outdated|root|bin|licenses|audit; config list|get; store path|status",
        takes="-F",
        net="import",
    ),
    "yarn": extend(
        PROJECT,
        bad={PUBLISHES: "tag"},
        fine="""list|why|info|outdated|versions|licenses|audit|bin|help|check; config list|get; cache list|dir;
            workspaces info|list; npm info""",
        net="$",
    ),
    "bun": extend(PROJECT, bad={RUNS: "-e|--eval|-p|--print"}, fine="pm ls|bin|hash|cache; outdated|why|info", net="x"),
    "mvn": Shape(
        bad={PUBLISHES: "deploy; * deploy; * * deploy; release:perform|release:prepare"},
        fine="dependency:tree|dependency:list|dependency:analyze|help:effective-pom|help:describe|help:evaluate; -v",
        takes="-f -P -pl -s",
        verbs=4,
    ),
    "gradle": Shape(
        bad={PUBLISHES: "publish; * publish"},
        fine="tasks|projects|dependencies|properties|help|dependencyInsight; --status",
        takes="-p -b -c -x --project-dir --console",
        verbs=4,
    ),
    "apt": extend(SYSTEM, dry="-s"),
    **dict.fromkeys("apk brew".split(), SYSTEM),
    **dict.fromkeys("dnf zypper snap flatpak".split(), extend(SYSTEM, bad={UNINSTALLS: "update|up|refresh|history"})),
    "dpkg-query": Shape(rest="harmless"),
    **dict.fromkeys(
        "dpkg rpm".split(), extend(BY_OPTION, bad={UNINSTALLS: "-r|-P"}, fine="-l|-L|-s|-S|-p|-I|-c|-C|-V|-K")
    ),
    **dict.fromkeys(
        "pacman nix-env".split(),
        extend(BY_OPTION, bad={UNINSTALLS: "-R|-c|-u"}, fine="-F|--files; -S -s|-i|-l", net="-S|-i|--sync|--install"),
    ),
}
