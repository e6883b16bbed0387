"""The table of developers' programs that a `Shape` can judge; see `_programs` for how to add one."""

from overt.safety._options import Shape, extend
from overt.safety.danger import Reason

CACHE = Reason("clears a cache", "rebuild")
PUBLISHES = Reason("publishes or withdraws a release", "published")
RUNS = Reason("runs a program of its own", "code")
IN_PLACE = Reason("edits files in place", "files")
BUILT = Reason("deletes what was built", "rebuild")
DELETES = Reason("deletes data")

VERSIONS = Shape(
    bad={
        "throws work away": """delete|del|remove|rm|revert|move|mv|rename|ren|cleanup|switch|merge|import|propset|strip
            |purge|rollback|rebase|histedit|backout|forget; update -C|--clean; push -f|--force; --config"""
    },
    fine="""status|st|log|info|diff|di|list|ls|cat|blame|annotate|propget|proplist|help|summary|id|identify|heads
        |branches|tags|parents|tip|root|manifest|files|paths|grep|version|showconfig|outgoing|incoming|timeline|finfo""",
)

SHAPES: dict[str, Shape] = {
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
                |pause|cp|update|rename|use|push|connect|disconnect|leave"""
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
