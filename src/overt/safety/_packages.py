"""The table of package managers; see `_programs` for how to add one."""

from overt.safety._options import Shape
from overt.safety.danger import Reason

CACHE = Reason("clears a cache", "rebuild")
REMOVES = Reason("removes packages of the project", "rebuild")
UNINSTALLS = Reason("removes installed software")
BUILT = Reason("deletes what was built", "rebuild")
DELETES = Reason("deletes data")
PUBLISHES = Reason("publishes or withdraws a release", "published")
SETTINGS = Reason("changes settings that decide what runs")

SHAPES: dict[str, Shape] = {
    "pip": Shape(
        dry="install --dry-run",
        bad={REMOVES: "uninstall", CACHE: "cache purge|remove", SETTINGS: "config set|unset|edit"},
        ordinary="--python",
        fine="list|show|freeze|check|debug|inspect|hash|help|index|search; config list|get|debug; cache list|info|dir",
        takes="-r -c -i -t -e --requirement --index-url --python --proxy --target --prefix",
        writes="--log --log-file --local-log --report",
        net="install|download|wheel|index|search",
    ),
    "uv": Shape(
        dry="* --dry-run",
        bad={
            REMOVES: "pip uninstall; remove; tool uninstall; python uninstall",
            CACHE: "cache clean|prune; clean",
            PUBLISHES: "publish",
        },
        fine="pip list|show|freeze|check|tree; tree; version; help; python list|find|dir; tool list|dir; cache dir",
        net="pip install; add; sync; lock; tool install; python install",
    ),
    "poetry": Shape(
        dry="* --dry-run",
        bad={
            REMOVES: "remove; self remove; env remove",
            CACHE: "cache clear",
            PUBLISHES: "publish",
            SETTINGS: "config * *",
        },
        fine="show|check|search|version|about|list; env info|list; config --list; cache list",
        net="install|add|update|lock|self",
    ),
    "pipenv": Shape(
        bad={REMOVES: "uninstall; clean; --rm"},
        fine="graph|check; --where; --venv; --py",
        net="install|update|lock|sync",
    ),
    "pdm": Shape(
        bad={REMOVES: "remove", CACHE: "cache clear|remove", PUBLISHES: "publish"},
        fine="list|show|info|search",
        net="add|install|update|sync|lock",
    ),
    "conda": Shape(
        dry="* -d|--dry-run",
        bad={REMOVES: "remove|uninstall; env remove; clean", SETTINGS: "config --set|--add|--remove"},
        fine="list|info|search|doctor|compare; env list|export; config --show",
        net="install|create|update|upgrade|search; env create|update",
    ),
    "npm": Shape(
        dry="install|i|ci|add|uninstall|update|up|dedupe|prune|publish|pack|audit --dry-run",
        bad={
            REMOVES: "uninstall|un|remove|rm|r|unlink|prune|dedupe",
            CACHE: "cache clean|rm",
            PUBLISHES: """publish !--dry-run; unpublish|deprecate|owner|access|token|adduser|dist-tag|star|team|hook
                |profile|org""",
            SETTINGS: "config set|delete|edit|rm|fix; set",
        },
        ordinary="audit fix; ls --fix; pkg set|delete; version *",
        fine="""ls|ll|list|la|view|v|info|show|outdated|search|root|bin|prefix|why|explain|fund|ping|whoami|doctor
            |help|audit|get|docs|query|find-dupes|sbom|version; config ls|list|get; cache ls|verify; pkg get; run $;
            run-script $; pack --dry-run; publish --dry-run""",
        takes="--prefix --registry -w --workspace -C --userconfig",
        net="install|i|add|ci|update|up|upgrade|view|info|search|outdated|audit|publish|ping|create|init",
    ),
    "pnpm": Shape(
        bad={
            REMOVES: "remove|rm|uninstall|un|prune; store prune; env remove",
            PUBLISHES: "publish !--dry-run",
            SETTINGS: "config set|delete",
        },
        fine="ls|ll|list|why|outdated|root|bin|licenses|audit; config list|get; store path|status",
        takes="-C --dir --filter -F",
        net="install|i|add|update|up|fetch|import",
    ),
    "yarn": Shape(
        bad={
            REMOVES: "remove; global remove; autoclean; unlink",
            CACHE: "cache clean|clear",
            PUBLISHES: "publish; npm publish; tag",
            SETTINGS: "config set|delete|unset; set",
        },
        fine="""list|why|info|outdated|versions|licenses|audit|bin|help; config list|get; cache list|dir; workspaces
            info|list; npm info; check""",
        takes="--cwd",
        net="install|add|upgrade|up|create|global; $",
    ),
    "bun": Shape(
        bad={
            REMOVES: "remove|rm",
            CACHE: "pm cache rm",
            PUBLISHES: "publish",
            "runs code given as an argument": "-e|--eval|-p|--print",
        },
        fine="pm ls|bin|hash|cache; outdated; why; info",
        net="install|i|add|update|upgrade|create|x",
    ),
    "cargo": Shape(
        bad={
            BUILT: "clean",
            REMOVES: "uninstall|remove|rm",
            PUBLISHES: "publish !--dry-run; yank|owner|login|logout",
            SETTINGS: "--config",
        },
        fine="""tree|metadata|version|search|locate-project|pkgid|verify-project|read-manifest|help|info|report;
            --list; fmt --check; fmt ~|--check""",
        dry="clean|update|add|remove|rm|install --dry-run",
        net="install|add|update|fetch|search|publish|generate-lockfile|vendor",
    ),
    "rustup": Shape(
        bad={REMOVES: "uninstall; * uninstall|remove; self uninstall", SETTINGS: "default *; override set|unset; set"},
        fine="show|which|check|doc; * list; default $; --version",
        net="install|update|toolchain|component|target|self|check",
    ),
    "go": Shape(
        bad={BUILT: "clean", SETTINGS: "env -w|-u", "runs a program of its own": "* --toolexec|--exec|--vettool"},
        fine="""version|list|doc|help|vet; env; mod graph|why|verify; tool $; tool nm|objdump|dist; fmt -n; build -n;
            test --list; mod download --json""",
        net="get|install; mod download|tidy|vendor; work sync",
        single=True,
    ),
    "gem": Shape(
        bad={REMOVES: "uninstall|cleanup", PUBLISHES: "push|yank|owner"},
        fine="list|search|info|which|environment|env|contents|dependency|outdated|specification|query|help",
        net="install|update|fetch|search",
    ),
    "bundle": Shape(
        bad={REMOVES: "remove|clean", SETTINGS: "config set|unset"},
        fine="list|show|info|outdated|check|platform|licenses|env|doctor; config list|get",
        net="install|update|add|outdated",
    ),
    "composer": Shape(
        dry="* --dry-run",
        bad={REMOVES: "remove|uninstall", CACHE: "clear-cache|clearcache|cc", SETTINGS: "config"},
        fine="""show|info|outdated|validate|search|why|depends|prohibits|licenses|diagnose|status|about
            |check-platform-reqs|audit|fund""",
        net="install|update|require|create-project|global|self-update",
    ),
    "dotnet": Shape(
        bad={
            REMOVES: "remove; tool uninstall; workload uninstall; nuget delete",
            PUBLISHES: "nuget push",
            CACHE: "nuget locals",
        },
        fine="--info; --list-sdks; --list-runtimes; list; nuget list; sln list; help",
        net="restore|add|tool|workload|new",
    ),
    "mvn": Shape(
        bad={PUBLISHES: "deploy; * deploy; * * deploy; release:perform|release:prepare"},
        fine="""dependency:tree|dependency:list|dependency:analyze|help:effective-pom|help:describe|help:evaluate; -v
            |--version""",
        takes="-f -P -pl -s",
        verbs=4,
    ),
    "gradle": Shape(
        bad={PUBLISHES: "publish; * publish"},
        fine="tasks|projects|dependencies|properties|help|dependencyInsight; --status; --version",
        takes="-p -b -c -x --project-dir --console",
        verbs=4,
    ),
    "apt": Shape(
        dry="-s|--simulate|--dry-run|--just-print|--no-act|--recon",
        bad={
            UNINSTALLS: """remove|purge|autoremove|autopurge|clean|autoclean|full-upgrade|dist-upgrade|upgrade
                |edit-sources""",
            SETTINGS: "-o|--option|-c|--config-file",
        },
        fine="""list|show|search|policy|depends|rdepends|changelog|madison|pkgnames|stats|dump|showpkg|showsrc; -s
            |--simulate|--dry-run|--just-print|--no-act""",
        takes="-t -q --target-release",
        net="install|update|upgrade|download|source|build-dep|full-upgrade|dist-upgrade|reinstall",
    ),
    "dpkg": Shape(
        dry="--dry-run|--no-act|--simulate",
        bad={UNINSTALLS: "-r|-P|--remove|--purge|--clear-selections|--set-selections"},
        fine="""-l|-L|-s|-S|-p|-I|-c|-C|-V|--list|--listfiles|--status|--search|--info|--contents|--print-architecture
            |--get-selections|--audit|--verify|--compare-versions""",
    ),
    "dpkg-query": Shape(rest="harmless"),
    "rpm": Shape(
        dry="--test",
        bad={
            UNINSTALLS: "-e|--erase|--rebuilddb|--initdb; --import",
            "runs a program of its own": "--pipe|--eval|-E|-D|--define|--load|--macros|--rcfile",
        },
        fine="-q|--query|-V|--verify|--checksig|-K",
    ),
    "dnf": Shape(
        dry="--assumeno",
        bad={UNINSTALLS: "remove|erase|autoremove|clean|upgrade|update|distro-sync|downgrade|history"},
        fine="list|info|search|provides|repolist|check-update|repoquery|deplist|check",
        net="install|update|upgrade|search|makecache",
    ),
    "pacman": Shape(
        bad={UNINSTALLS: "-R|--remove|-c|--clean|-u|--sysupgrade|-D"},
        fine="-Q|--query|-F|--files; -S -s|-i|-l|--search|--info",
        net="-S|--sync",
    ),
    "apk": Shape(
        bad={UNINSTALLS: "del|upgrade|fix|cache"},
        fine="info|list|search|policy|version|stats|audit",
        net="add|update|upgrade|fetch|search",
    ),
    "zypper": Shape(
        dry="* -D|--dry-run",
        bad={UNINSTALLS: "remove|rm|clean|cc|dup|update|up|dist-upgrade|rr|removerepo"},
        fine="search|se|info|if|lr|repos|lu|list-updates|packages|pa|what-provides",
        net="install|in|refresh|ref",
    ),
    "brew": Shape(
        dry="* -n|--dry-run",
        bad={
            UNINSTALLS: """uninstall|remove|rm|cleanup|autoremove|untap|unlink|upgrade|pin; services stop|restart|kill
                |run|start; link --overwrite"""
        },
        fine="""list|ls|info|search|deps|uses|outdated|config|doctor|leaves|desc|home|cat|log|commands|help|options
            |shellenv; services list|info; --prefix; --cellar; --cache; --repository; tap $; bundle check|list""",
        net="install|update|upgrade|fetch|tap|search|reinstall",
    ),
    "snap": Shape(
        bad={UNINSTALLS: "remove|disable|stop|restart|revert|refresh|set|unset|run"},
        fine="list|info|find|version|changes|services|connections|get|interfaces",
        net="install|refresh|download|find",
    ),
    "flatpak": Shape(
        bad={UNINSTALLS: "uninstall|remove|repair|kill|override|update"},
        fine="list|info|search|history|remotes|ps|remote-ls|documents",
        net="install|update|search",
    ),
    "nix-env": Shape(
        bad={UNINSTALLS: "-e|--uninstall|--rollback|--delete-generations|-u|--upgrade"},
        fine="-q|--query; --list-generations",
        net="-i|--install",
    ),
}
