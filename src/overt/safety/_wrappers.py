"""The table of programs that run others, for `_runners` to see through."""

import re

from msgspec import Struct


class Wrap(Struct, frozen=True, kw_only=True):
    """`takes`: options with a value in the next word. `skip`: operands before the command. `own`: why the wrapper is
    dangerous by itself. `text`: the words are joined and given to a shell. `code`: options whose value is a command
    text. `writes`: options whose value is a file it writes. `maybe`: an operand that may stand before the command."""

    takes: str = ""
    skip: int = 0
    own: str = ""
    text: bool = False
    code: str = ""
    writes: str = ""
    least: str = "harmless"
    net: bool = False
    maybe: str = ""


ROOT = "runs with other rights"
ESCAPES = "runs in other namespaces or with other rights"
TRACES = "-a -b -e -E -I -O -o -p -P -s -S -u -U -X -l -n --output --trace --attach"

WRAPPERS: dict[str, Wrap] = {
    **dict.fromkeys("nohup setsid command builtin coproc entr".split(), Wrap()),
    **dict.fromkeys("valgrind firejail bwrap cross-env".split(), Wrap(least="ordinary")),
    **dict.fromkeys("strace ltrace".split(), Wrap(takes=TRACES, writes="-o --output")),
    "sudo": Wrap(takes="-u -g -h -p -C -D -R -T -U -r -t --user --group --host --prompt --chdir --chroot", own=ROOT),
    "doas": Wrap(takes="-u -C", own=ROOT),
    "pkexec": Wrap(takes="--user", own=ROOT),
    "gosu": Wrap(skip=1, own=ROOT),
    "setpriv": Wrap(takes="--reuid --regid --groups --bounding-set --inh-caps", own=ROOT),
    "su": Wrap(takes="-g -s -w -G --shell", skip=1, own=ROOT, code="-c --command --session-command"),
    "runuser": Wrap(takes="-u -g -s -G --user", own=ROOT, code="-c --command"),
    "unshare": Wrap(takes="-S -G -R -w --setuid --setgid --root --wd", own=ESCAPES),
    "nsenter": Wrap(takes="-t -S -G --target --setuid --setgid", own=ESCAPES),
    "chroot": Wrap(skip=1, own=ESCAPES),
    "systemd-run": Wrap(
        takes="-u -p -E -M -H --unit --property --setenv --slice --description --uid --gid", own=ESCAPES
    ),
    "nice": Wrap(takes="-n --adjustment"),
    "ionice": Wrap(takes="-c -n -p -P -u --class --classdata"),
    "chrt": Wrap(takes="-T -P -D", skip=1),
    "taskset": Wrap(skip=1),
    "stdbuf": Wrap(takes="-i -o -e --input --output --error"),
    "timeout": Wrap(takes="-s -k --signal --kill-after", skip=1),
    "time": Wrap(takes="-f -o --format --output", writes="-o --output"),
    "exec": Wrap(takes="-a"),
    "setarch": Wrap(
        maybe=r"""i[3-6]86|x86_64|linux(?:32|64)|athlon|x32|(?:ppc|powerpc|arm|aarch|mips|sparc|s390|parisc|alpha|riscv
        |loongarch|ia)\w*|uname26""".replace("\n        ", "")
    ),
    "flock": Wrap(takes="-w -E --timeout --wait --conflict-exit-code", skip=1, code="-c --command"),
    "prlimit": Wrap(takes="-p --pid"),
    "fakeroot": Wrap(takes="-l -i -s -b"),
    "faketime": Wrap(takes="-f", skip=1),
    "xvfb-run": Wrap(takes="-n -e -s -f --server-args --server-num", least="ordinary"),
    "torsocks": Wrap(net=True),
    "proxychains": Wrap(takes="-f", net=True),
    "watch": Wrap(takes="-n -q --interval --equexit", text=True),
    "screen": Wrap(takes="-S -c -e -h -p -s -t -T", least="ordinary"),
    "parallel": Wrap(text=True),
    "sem": Wrap(takes="-j --id", text=True),
    "hyperfine": Wrap(
        takes="-w -r -m -M -L -P -n -S", text=True, code="-p -c --prepare --cleanup --setup", least="ordinary"
    ),
    "watchexec": Wrap(takes="-w -e -i -f -d -s", text=True, least="ordinary"),
    "nodemon": Wrap(code="-x --exec", takes="-w -e -i --watch --ext", least="ordinary"),
    "concurrently": Wrap(takes="-n -c --names", text=True, least="ordinary"),
    "npx": Wrap(takes="-p --package -w", code="-c --call", least="ordinary", net=True),
    "bunx": Wrap(takes="-p --package", least="ordinary", net=True),
    "uvx": Wrap(takes="--from --with -p --python", least="ordinary", net=True),
    "dotenv": Wrap(takes="-e -f", least="ordinary"),
    "sg": Wrap(skip=1, own=ROOT, code="-c"),
    "newgrp": Wrap(own=ROOT),
}

SUBCOMMANDS: dict[str, str] = {
    **dict.fromkeys("poetry pipenv hatch pdm conda pipx".split(), "run"),
    **dict.fromkeys("bundle pyenv".split(), "exec"),
    **dict.fromkeys("npm pnpm yarn bun".split(), "exec; x; dlx"),
    **dict.fromkeys("kubectl oc lxc direnv".split(), "exec *"),
    **dict.fromkeys(
        "docker podman nerdctl docker-compose".split(),
        "exec *; run *; compose exec *; compose run *; container exec *; container run *",
    ),
    "uv": "run; tool run",
    "nix": "run; shell; develop",
    "perf": "stat; record; trace",
    "rustup": "run *",
    "flatpak-spawn": "--host",
    "vagrant": "ssh",
}
"""Subcommands behind which another command stands, after options and as many operands as there are stars."""

SUB_TAKES = frozenset(
    """-e -v -w -u -p -n -c -h -l -m --env --volume --workdir --user --name --network --mount --entrypoint --publish
        --namespace --container --context --platform --cpus --memory --label --hostname --env-file --with --python
        --from --extra --group --index-url -C --directory --package --filter --shell --profile -i --add-host --device
        --gpus --ulimit --net --pid --ipc --cap-add --security-opt --restart --tmpfs --dns""".split()
)
HOST_MOUNTS = re.compile(
    r"(?:^|source=|src=)(?:/(?:etc|root|home|var|usr|boot|dev|proc|sys)?(?:/[^:,]*)?|~|\$HOME)(?:[:,/]|$)"
)
