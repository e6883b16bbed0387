"""The table of developers' programs that a `Shape` describes; see `_system_programs` for how to add one."""

from overt.safety._options import Shape, extend
from overt.safety.danger import Reason

CACHE = Reason("clears a cache", "rebuild")
PUBLISHES = Reason("publishes or withdraws a release", "published")
RUNS = Reason("runs a program of its own", "code")
IN_PLACE = Reason("edits files in place", "files")
BUILT = Reason("deletes what was built", "rebuild")
DELETES = Reason("deletes data")
REMOVES = Reason("removes packages of the project", "rebuild")
UNINSTALLS = Reason("removes installed software")
SETTINGS = Reason("changes settings that decide what runs")
LOADS = Reason("runs a program of its own")

PROJECT = Shape(
    bad={
        PUBLISHES: """publish|unpublish|deprecate|owner|access|token|adduser|dist-tag|star|team|hook|profile|org|yank
            |push|login|logout; npm publish; nuget push""",
        SETTINGS: "config set|unset|edit|delete|rm|fix; config --set|--add|--remove; set; * --toolexec|--exec",
        CACHE: "cache purge|remove|clean|prune|clear|rm; clear-cache|clearcache|cc; pm cache rm; nuget locals",
        REMOVES: """uninstall|un|remove|rm|r|unlink|prune|dedupe|clean|cleanup|autoclean; --rm;
            pip|tool|python|self|env|global|store|workload|nuget|toolchain|component|target|override
            uninstall|remove|prune|delete|unset""",
    },
    net="""install|i|add|ci|update|up|upgrade|sync|lock|download|fetch|wheel|search|index|create|require|create-project
        |global|self-update|restore|self|workload|vendor|generate-lockfile|publish|outdated;
        pip|tool|python|toolchain|component|target install|add; env create|update; mod download|tidy|vendor;
        work sync""",
    takes="--prefix --registry -C --dir --cwd --filter",
)
DRY = Shape(
    dry="""install|i|ci|add|uninstall|remove|rm|update|up|upgrade|dedupe|prune|publish|pack|audit|clean|sync|lock|require
        |pip --dry-run"""
)
"""Only for programs that know the option; others would do it."""

READS = Shape(
    fine="""list|show|info|search|outdated|why|tree|graph|version|help|about|freeze|debug|inspect|hash|index|depends
        |prohibits|validate|which|contents|dependency|specification|query|platform|licenses|diagnose|doctor|compare
        |metadata|locate-project|pkgid|verify-project|read-manifest|report|environment; config list|get|debug; config
        --list|--show; cache list|info|dir; env info|list|export; pip list|show|freeze|check|tree;
        python|tool|toolchain|target|component list|dir|find; $ --list|--where|--venv|--py"""
)
SYSTEM = Shape(
    dry="--simulate|--dry-run|--just-print|--no-act|--recon|--assumeno",
    bad={
        UNINSTALLS: """remove|purge|autoremove|autopurge|clean|autoclean|full-upgrade|dist-upgrade|upgrade|edit-sources
            |erase|distro-sync|downgrade|del|fix|rm|cc|dup|removerepo|uninstall|cleanup|untap|unlink|repair|kill
            |override|disable|stop|restart|revert|set|unset|run|pin|rr|cache; link --overwrite;
            services stop|restart|kill|run|start""",
        SETTINGS: "-o|--option|-c|--config-file",
    },
    fine="""list|show|search|policy|depends|rdepends|changelog|madison|pkgnames|stats|dump|showpkg|showsrc|info|provides
        |repolist|check-update|repoquery|deplist|check|audit|version|repos|packages|what-provides|ls|deps|uses|outdated
        |config|doctor|leaves|desc|cat|log|options|find|changes|connections|get|remotes|ps; services list|info""",
    net="""install|update|upgrade|download|source|build-dep|full-upgrade|dist-upgrade|reinstall|fetch|refresh
        |find|tap|add""",
    takes="-t -q --target-release",
)
BY_OPTION = Shape(
    dry="--dry-run|--no-act|--simulate|--test",
    bad={
        UNINSTALLS: """-e|--remove|--purge|--erase|--uninstall|--clean|--upgrade|--sysupgrade|--import|--rollback
            |--delete-generations|--set-selections|--clear-selections|--rebuilddb|--initdb""",
        LOADS: "--pipe|--eval|-E|-D|--define|--load|--macros|--rcfile",
    },
    fine="""-q|-Q|--list|--listfiles|--status|--search|--info|--contents|--print-architecture
        |--get-selections|--audit|--verify|--query|--checksig|--compare-versions|--list-generations""",
)

VERSIONS = Shape(
    bad={
        "throws work away": """delete|del|remove|rm|revert|move|mv|rename|ren|cleanup|switch|merge|import|propset|strip
            |purge|rollback|rebase|histedit|backout|forget; update -C|--clean; push -f|--force; --config"""
    },
    fine="""status|st|log|info|diff|di|list|ls|cat|blame|annotate|propget|proplist|help|summary|id|identify|heads
        |branches|tags|parents|tip|root|manifest|files|paths|grep|version|showconfig|outgoing|incoming|timeline|finfo""",
)

SHAPES: dict[str, Shape] = {
    # package managers: what each has besides
    "pip": extend(
        PROJECT,
        READS,
        DRY,
        fine="check",
        ordinary="--python",
        takes="-r -c -i -t -e --requirement --index-url --python --proxy --target --prefix",
        writes="--log --log-file --local-log --report",
    ),
    **dict.fromkeys("pipenv gem bundle".split(), extend(PROJECT, READS, fine="check")),
    **dict.fromkeys("uv conda".split(), extend(PROJECT, READS, DRY, fine="check")),
    "poetry": extend(PROJECT, READS, DRY, bad={SETTINGS: "config * *"}, fine="check"),
    # these run scripts, aliases or programs by the names of other subcommands
    "pdm": extend(PROJECT, fine="list|show|info|search"),
    "composer": extend(
        PROJECT,
        DRY,
        bad={SETTINGS: "config"},
        fine="show|info|outdated|validate|search|why|depends|prohibits|licenses|diagnose|status|about|audit|fund",
    ),
    "cargo": extend(
        PROJECT,
        DRY,
        bad={SETTINGS: "--config"},
        fine="""tree|metadata|version|search|locate-project|pkgid|verify-project|read-manifest|help|info|report; --list;
            fmt --check; fmt ~|--check""",
    ),
    "rustup": extend(
        PROJECT,
        READS,
        bad={SETTINGS: "default *; override set|unset"},
        fine="check|doc; default $",
        net="check|toolchain|component|target",
    ),
    "dotnet": extend(PROJECT, fine="$ --info|--list-sdks|--list-runtimes; list|help; nuget|sln list", net="new|tool"),
    "go": extend(
        PROJECT,
        bad={SETTINGS: "env -w|-u; * --vettool"},
        fine="""version|list|doc|help|vet|env; mod graph|why|verify; tool $; tool nm|objdump|dist; fmt|build -n;
            test --list; mod download --json""",
        net="get",
        single=True,
    ),
    "npm": extend(
        PROJECT,
        READS,
        DRY,
        ordinary="audit fix; ls --fix; pkg set|delete; version *",
        fine="""ls|ll|la|view|v|root|bin|prefix|explain|fund|ping|whoami|audit|get|docs|find-dupes|sbom; config ls;
            cache ls|verify; pkg get; run|run-script $""",
        takes="-w --workspace --userconfig",
        net="view|info|outdated|audit|publish|ping|init",
    ),
    "pnpm": extend(
        PROJECT,
        dry="publish --dry-run",
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
    "bun": extend(
        PROJECT, bad={LOADS: "-e|--eval|-p|--print"}, fine="pm ls|bin|hash|cache; outdated|why|info", net="x"
    ),
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
    "apk": extend(SYSTEM, net="search"),
    "brew": extend(SYSTEM, fine="--prefix|--cellar|--cache|--repository", net="search"),
    **dict.fromkeys(
        "dnf zypper snap flatpak".split(),
        extend(SYSTEM, bad={UNINSTALLS: "update|up|refresh|history"}, net="search|makecache|in|ref"),
    ),
    "dpkg-query": Shape(rest="harmless"),
    **dict.fromkeys(
        "dpkg rpm".split(), extend(BY_OPTION, bad={UNINSTALLS: "-r|-P"}, fine="-l|-L|-s|-S|-p|-I|-c|-C|-V|-K")
    ),
    **dict.fromkeys(
        "pacman nix-env".split(),
        extend(BY_OPTION, bad={UNINSTALLS: "-R|-c|-u"}, fine="-F|--files; -S -s|-i|-l", net="-S|-i|--sync|--install"),
    ),
    # compilers and others
    "gcc": Shape(
        bad={"runs a program of its own": "--wrapper|--specs|--fplugin|--load"},
        fine="""-E !-o|--o; --fsyntax-only !-o; --M !-o|--MF|--MD; --MM !-o|--MF; --dumpversion; --dumpmachine;
            --dumpspecs; --print-search-dirs; --print-file-name;
            --print-targets; --print-prog-name; --print-libgcc-file-name;
            --print-sysroot; --print-multi-lib; --print-multiarch; --print-supported-cpus; --version; -v $; -#""",
        takes="-o -x -I -D -U -L -l --include --isystem --MF --MT --std",
        single=True,
    ),
    "pydoc": Shape(ordinary="-w|-p|-n|-b", rest="harmless"),
    # containers and clusters
    "docker": Shape(
        bad={
            "deletes, stops or changes containers": """rm|rmi|prune|down|stop|kill|restart|pause|unpause|cp|update
                |rename|plugin|swarm|service|stack|import|load|checkpoint; * rm|prune|remove|down|kill|stop|restart
                |pause|cp|update|rename|use|connect|disconnect|leave; manifest push"""
        },
        fine="""ps|images|info|version|inspect|logs|top|stats|port|diff|history|search|events|help|config|ls; * ls|list
            |inspect|logs|history|top|stats|ps|images|config|version|df|info|events|port|show""",
        takes="""-H --host -c --context -l --log-level --config -f --file -p --project-name --filter --format -n
            --tail --since --profile""",
        writes="-o --output",
        net="pull|push|login|search|build|up; image pull|push; compose pull|push|up|build; buildx build",
    ),
    "kubectl": Shape(
        bad={
            "changes the cluster": """config set|set-context|set-cluster|set-credentials|unset|delete-context
                |delete-cluster|delete-user|rename-context|use-context""",
            "prints a secret": "get secret|secrets; config view --raw",
        },
        ordinary="port-forward; proxy; attach; completion; wait",
        fine="""* --dry-run;
            get|describe|logs|explain|version|cluster-info|top|api-resources|api-versions|diff|events|options
            |help|kustomize; config view|get-contexts|current-context|get-clusters|get-users;
            auth can-i|whoami; rollout status
            |history; plugin list""",
        rest="dangerous",
        takes="-n --namespace --context --kubeconfig -l -o -f --cluster --user -c --selector --output --as",
        net="*",
    ),
    "helm": Shape(
        bad={
            "changes the cluster": """uninstall|delete|del|un|rollback|upgrade|install|test; repo remove|rm; plugin
                install|uninstall|remove|update; push; registry login|logout"""
        },
        dry="--dry-run",
        fine="""list|ls|status|get|history|show|template|lint|search|version|env|help|verify; repo list; dependency
            list; plugin list""",
        takes="-n --namespace --kube-context -f --values --set",
        net="*",
    ),
    "terraform": Shape(
        bad={
            "changes infrastructure": """apply|destroy|taint|untaint|import|force-unlock|push|refresh; state rm|mv
                |push|replace-provider; workspace delete; plan --destroy -auto"""
        },
        ordinary="init; workspace new|select; fmt !--check|--diff",
        fine="""plan|validate|show|output|version|providers|graph|fmt|get|console|metadata; state list|show|pull;
            workspace list|show""",
        single=True,
        net="init|plan|apply|destroy|import|refresh",
        writes="--out",
    ),
    "ansible": Shape(fine="--list-hosts; --version", dry="-C|--check", rest="dangerous", net="*"),
    "ansible-playbook": Shape(
        fine="--list-hosts; --list-tasks; --list-tags; --syntax-check", dry="-C|--check", rest="dangerous", net="*"
    ),
    "gh": Shape(
        bad={
            DELETES: """* delete|archive|rename|remove|transfer; repo sync --force; cache delete; run delete|cancel;
                secret set; variable set; auth logout""",
            "changes what others see": """pr merge|close|ready|lock; issue close|lock|transfer|pin; release upload
                |edit|create; repo edit|create; workflow disable|enable|run; gist edit;
                label delete|edit; alias set|delete
                |import; extension install|remove|upgrade; config set; ssh-key add; gpg-key add; codespace""",
            "prints a secret": "auth token; auth status -t|--show-token",
        },
        fine="""* list|view|status|diff|checks|watch; auth status; status; search; browse --no-browser;
            repo view|list; config get|list; alias list; extension list|search""",
        takes="-R --repo -b -t -H -q --jq -X --method -f -F --json --limit -L --template -m --hostname",
        net="*",
    ),
    "glab": Shape(
        bad={
            DELETES: "* delete|close|merge|revoke|transfer|archive; alias set; config set; variable set",
            "changes data through the interface": "api -X|--method|-f|-F|--field|--input",
        },
        fine="* list|view|diff|status; api; auth status; version",
        net="*",
    ),
    # databases and services
    "redis-cli": Shape(
        fine="""ping|PING|info|INFO|get|GET|keys|KEYS|ttl|TTL|type|TYPE|exists|EXISTS|llen|LLEN|hgetall|HGETALL|hget
            |HGET|scan|SCAN|dbsize|DBSIZE|lrange|LRANGE|smembers|SMEMBERS|mget|MGET|time|TIME|strlen|STRLEN|zrange
            |ZRANGE|scard|SCARD|memory|MEMORY|slowlog|SLOWLOG; --scan; --stat; --bigkeys; --version""",
        rest="dangerous",
        takes="-h -p -a -n -u --user --pass",
    ),
    "pg_dump": Shape(rest="harmless", takes="-f --file -U -h -p -d -t -n", writes="-f --file"),
    "mysqldump": Shape(rest="harmless", takes="-r --result-file -u -h -P", writes="-r --result-file"),
    # building, testing, checking: only what differs from ordinary
    "pytest": Shape(
        bad={"clears a cache": "--cache-clear", DELETES: "--basetemp"},
        ordinary="-o; --override-ini; --pastebin; -p",
        fine="--collect-only; --co; --fixtures; --markers; -V",
        takes="-k -m -p -c -n -W -o --rootdir",
        writes="--junitxml --junit-xml --log-file --debug --report-log --resultlog --html --csv --json-report-file",
    ),
    "ninja": Shape(bad={BUILT: "-t"}, fine="-n; -v -n", takes="-t -C -f -j"),
    "bazel": Shape(
        bad={BUILT: "clean|shutdown"},
        fine="query|cquery|aquery|info|version|help",
        net="build|test|run|fetch|sync",
    ),
    "ruff": Shape(
        bad={CACHE: "clean"},
        ordinary="check --fix|--unsafe-fixes|--add-noqa",
        fine="version|rule|linter|config|help; check --diff; format --check|--diff",
    ),
    "gofmt": Shape(
        bad={IN_PLACE: "-w -r", RUNS: "--cpuprofile"},
        ordinary="-w",
        rest="harmless",
        takes="-r --local",
        single=True,
    ),
    "rustc": Shape(
        bad={RUNS: "-C linker"},
        fine="-V|--version; --print; --explain; --help; -W help; -C help",
        takes="-o -C -L -l --print --explain --edition",
    ),
    "jscodeshift": Shape(dry="-d|--dry", rest="dangerous", reason=IN_PLACE),
    "goreleaser": Shape(bad={PUBLISHES: "release !--snapshot|--skip"}, fine="check|healthcheck"),
    "semantic-release": Shape(dry="-d|--dry-run", rest="dangerous"),
    "gh-pages": Shape(rest="dangerous", net="*"),
    "kustomize": Shape(fine="build|version", bad={"changes files": "edit"}, writes="-o --output"),
    "eslint": Shape(ordinary="--fix", fine="--print-config; --env-info; --fix-dry-run", writes="-o --output-file"),
    "ctest": Shape(fine="-N|--show-only"),
    "clang-format": Shape(bad={IN_PLACE: "-i|--i"}, rest="harmless", single=True),
    "tsc": Shape(fine="--noEmit --version; --showConfig; --listFilesOnly; -v"),
    "direnv": Shape(
        bad={"lets a folder change the environment": "allow|permit|grant|edit|reload|revoke|deny|disallow"},
        fine="status|version|show_dump",
    ),
    **dict.fromkeys("black rustfmt".split(), Shape(fine="--check; --diff")),
    **dict.fromkeys(
        "isort prettier".split(), Shape(fine="--check|-c|--check-only|--diff|-l|--list-different !--write|-w")
    ),
    "svn": extend(VERSIONS, bad={PUBLISHES: "commit|ci|update|up"}, net="*"),
    "hg": extend(VERSIONS, net="pull|push|clone|incoming|outgoing"),
    "fossil": VERSIONS,
    "prisma": Shape(
        bad={DELETES: "migrate reset; db push|execute|pull; migrate dev|deploy|resolve"},
        fine="validate|version; migrate status|diff",
    ),
}

SAME: dict[str, str] = {
    "apt-get apt-cache aptitude": "apt",
    "bundler": "bundle",
    "g++ cc c++ clang clang++": "gcc",
    "pydoc3": "pydoc",
    "fdp neato circo twopi sfdp": "dot",
    "gpg2": "gpg",
    "uctags": "ctags",
    "gradlew": "gradle",
    "k oc": "kubectl",
    "mamba micromamba": "conda",
    "microdnf yum": "dnf",
    "mvnw": "mvn",
    "paru yay": "pacman",
    "pip2 pip3 pipx": "pip",
    "docker-compose nerdctl podman": "docker",
    "py.test": "pytest",
    "tofu": "terraform",
    "yarnpkg": "yarn",
}
"""Names of programs that take the same arguments as another."""
