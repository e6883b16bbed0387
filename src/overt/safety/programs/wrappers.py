"""Programs that run other programs, as a table and as handlers: what they run is classified in their place."""

import re
from collections.abc import Callable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from overt.safety.programs.options import read_options
from overt.safety.programs.program_call import ProgramCall, shown
from overt.safety.shell.words import NAMED, UNKNOWN, Word, literal


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


def wrapped(call: ProgramCall, wrap: Wrap) -> None:
    """Classify what a wrapper runs. When that is a name nobody knows, a dangerous one behind it counts as well."""
    takes = frozenset(f"{wrap.takes} {wrap.code} {wrap.writes}".split())
    start = command_start(call.args, takes, wrap.skip)
    if wrap.maybe and start < len(call.args) and re.fullmatch(wrap.maybe, call.args[start].text):
        start += 1 + command_start(call.args[start + 1 :], takes, 0)
    options = read_options(call.args[:start], takes)
    if wrap.own:
        call.dangerous(wrap.own)
    elif wrap.least == "ordinary":
        call.ordinary("runs another program")
    else:
        call.harmless()
    if wrap.net and not call.installed(start):
        call.online()
    for option in wrap.writes.split():
        for value in options.values(option):
            call.write(value)
    every = read_options(call.args, takes) if wrap.code else options
    for option in wrap.code.split():
        for value in every.values(option):
            call.script(value)
    rest = call.args[start:]
    if rest and wrap.text and not options.has("-x", "--exec"):
        texts = list(rest) if wrap.code or call.name == "concurrently" else [_joined(rest)]
        for text in texts:
            call.script(text)
    elif rest:
        call.run(rest, call.feed)


def command_start(args: Sequence[Word], takes: frozenset[str], skip: int) -> int:
    """Where the wrapped command begins: after options, their values, assignments and `skip` operands."""
    place = 0
    while place < len(args):
        text = args[place].text
        if text == "--":
            place += 1
            while skip and place < len(args):
                place, skip = place + 1, skip - 1
            return place
        if text.startswith("-") and len(text) > 1 and not args[place].leads:
            alone = text in takes or (
                not text.startswith("--") and f"-{text[-1]}" in takes and len(text) > 2 and f"-{text[1]}" not in takes
            )
            place += 2 if alone else 1
        elif skip:
            place, skip = place + 1, skip - 1
        else:
            return place
    return len(args)


def _joined(words: Sequence[Word]) -> Word:
    return Word(
        text=shown(words),
        plain=" ".join(word.plain for word in words),
        hole=any(word.hole for word in words),
        computed=any(word.computed for word in words),
    )


def command_(call: ProgramCall) -> None:
    if call.options().has("-v", "-V"):
        call.harmless()
    else:
        wrapped(call, WRAPPERS["command"])


def screen(call: ProgramCall) -> None:
    texts = [word.text for word in call.args]
    if texts[:1] in (["-ls"], ["-list"]):
        call.harmless()
    elif "-X" in texts or "-wipe" in texts:
        call.dangerous("stops sessions or types into them", kind="process")
    else:
        wrapped(call, WRAPPERS["screen"])


def script(call: ProgramCall) -> None:
    """`script -c COMMAND FILE`: writes down what it shows."""
    options = call.options(
        "-t -T -I -O -B -m -E -c --command -o --output-limit --log-out --log-in --log-io --log-timing"
    )
    call.ordinary("starts a shell")
    for text in options.values("-c", "--command", exact=False):
        call.script(text)
    for word in [*options.operands[:1], *options.values("-O", "-B", "-I", "-T", "--log-out", "--log-in", "--log-io")]:
        call.write(word, append=options.has("-a", "--append"))
    if options.operands[1:]:
        call.run(options.operands[1:])


def env(call: ProgramCall) -> None:
    args = list(call.args)
    takes = frozenset("-u -C -S -P --unset --chdir --split-string".split())
    place = command_start(args, takes, 0)
    options = read_options(args[:place], takes)
    call.harmless()
    for folder in options.values("-C", "--chdir"):
        call.classifier.enter(folder)
    while place < len(args) and "=" in args[place].text and not args[place].leads:
        name, _, text = args[place].text.partition("=")
        value = Word(text=text, plain=text, hole=args[place].hole, computed=args[place].computed)
        call.classifier.set_variable(name, value)
        place += 1
    split = [*options.values("-S", "--split-string")]
    if split:
        call.script(_joined([*split, *args[place:]]))
    elif args[place:]:
        call.run(args[place:], call.feed)


SHELL_TAKES = frozenset("-o +o -O +O --rcfile --init-file".split())


def shell(call: ProgramCall) -> None:
    args = list(call.args)
    place, code, stdin = 0, False, False
    while place < len(args) and args[place].text[:1] in "-+" and len(args[place].text) > 1:
        text = args[place].text
        if text == "--":
            place += 1
            break
        if text in ("-O", "+O") and (args[place + 1 : place + 2] or [UNKNOWN])[0].text == "dotglob":
            call.dangerous("changes what a pattern matches", kind="environment")
        if text in ("--rcfile", "--init-file"):
            call.dangerous("runs a start file", kind="code")
        if text[0] == "-" and text[1] != "-":
            code |= "c" in text
            stdin |= "s" in text
        place += 2 if text in SHELL_TAKES or (text[-1] == "o" and text[1] != "-") else 1
    rest = args[place:]
    flags = [word.text for word in args[:place]]
    dry = any(re.fullmatch(r"-[a-z]*n[a-z]*|--no-execute", flag) for flag in flags) and "+n" not in flags
    if dry:
        call.harmless()  # it only looks at the syntax
    elif code:
        call.harmless()
        if rest:
            call.script(rest[0], rest[1:])
    elif rest and not stdin and rest[0].text != "-":
        script = rest[0]
        if script.stream or script.computed or script.text.startswith(("/dev/", "/proc/")):
            call.unreadable("runs a script that cannot be read here")
        else:
            call.ordinary("runs a script")
    elif call.feed.kind == "text":
        call.harmless()
        call.classifier.script(call.feed.text, depth=call.depth + 1)
    elif call.feed.kind == "stream":
        call.unreadable("runs what it is sent")
    else:
        call.ordinary("starts a shell")


def eval_(call: ProgramCall) -> None:
    call.harmless()
    if call.args:
        call.script(_joined(call.args))


def source(call: ProgramCall) -> None:
    if not call.args:
        return call.harmless()
    script = call.args[0]
    if script.stream or script.computed or script.text.startswith(("/dev/", "/proc/")):
        return call.unreadable("runs a script that cannot be read here")
    return call.ordinary("runs a script")


def busybox(call: ProgramCall) -> None:
    if not call.args or call.args[0].text.startswith("--list"):
        call.harmless()
    elif call.args[0].text.startswith("-"):
        call.ordinary()
    else:
        call.run(call.args, call.feed)


SSH_TAKES = "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B"


def ssh(call: ProgramCall) -> None:
    takes = frozenset(SSH_TAKES.split())
    start = command_start(call.args, takes, 1)
    options = read_options(call.args[:start], takes)
    if options.has("-V", "-G", "-Q"):
        return call.harmless()
    call.online()
    call.ordinary("works on another machine")
    if any(
        re.search(r"(?i)command|localforward.*/", value.text) or value.computed for value in options.values("-o", "-F")
    ):
        call.dangerous("runs a program of its own", kind="code")
    if call.args[start:]:
        call.script(_joined(call.args[start:]))
    elif call.feed.kind != "none":
        call.unreadable("runs on another machine what it is sent")
    return None


def parallel(call: ProgramCall) -> None:
    takes = frozenset(
        "-j -n -N -L -S -a -I -d -P --jobs --max-args --arg-file --colsep --delay --timeout --joblog --results".split()
    )
    start = command_start(call.args, takes, 0)
    rest = list(call.args[start:])
    cut = next((at for at, word in enumerate(rest) if word.text.startswith(":::")), len(rest))
    if cut == 0 or rest[0].text.startswith("{"):
        call.unreadable("runs what it reads")
        return
    if read_options(call.args[:start], takes).has("-S", "--sshlogin", "--onall", "--nonall"):
        call.dangerous("runs on other machines", kind="published")
    call.harmless()
    text = _joined(rest[:cut])
    places = PLACES.sub('"$1"', text.text)
    if places == text.text:
        places += ' "$1"'
    listed = cut == len(rest) and call.feed.names
    words = rest[cut + 1 :] or [NAMED if listed else UNKNOWN]
    crafted = any(word.crafted or word.text[:1] == "-" for word in words)
    call.script(replace(text, text=places), [literal("parallel"), UNKNOWN if crafted else NAMED])


PLACES = re.compile(r"\{(?:|\.|/|//|/\.|#|%|\d+\.?)\}")
"""Where `parallel` puts what it is given."""


ELSEWHERE = frozenset("docker docker-compose podman nerdctl kubectl oc".split())
"""A command given to these runs where they say, and nothing else does."""


def subcommand_wraps(call: ProgramCall) -> bool:
    """`docker exec NAME COMMAND` and its like; False when this use runs nothing."""
    for form in SUBCOMMANDS[call.name].split(";"):
        words = form.split()
        names = [word for word in words if word != "*"]
        stars = words.count("*")
        place = command_start(call.args, SUB_TAKES, 0)
        if [word.text for word in call.args[place : place + len(names)]] != names:
            continue
        behind = call.args[place + len(names) :]
        start = command_start(behind, SUB_TAKES, stars)
        options = read_options(behind[:start], SUB_TAKES)
        if options.has("--help"):
            call.harmless()
            return True
        if "exec" in names and call.name in ELSEWHERE:
            call.harmless()
        else:
            call.ordinary("runs another program")
        if options.has("--privileged", "--pid", "--device", "--cap-add", "--userns", "--security-opt"):
            call.dangerous("runs a container that is not shut in")
        mounts = [*options.values("-v", "--volume", "--mount")]
        if any(HOST_MOUNTS.search(word.text) or "docker.sock" in word.text for word in mounts):
            call.dangerous("gives a container a folder of the system")
        for value in options.values("--entrypoint"):
            call.run([value, *behind[start:]])
        if behind[start:]:
            call.run(behind[start:], call.feed)
        return True
    return False


HANDLERS: dict[str, Callable[[ProgramCall], None]] = {
    "command": command_,
    "env": env,
    "screen": screen,
    "script": script,
    "eval": eval_,
    **dict.fromkeys("source .".split(), source),
    **dict.fromkeys("busybox toybox".split(), busybox),
    **dict.fromkeys("ssh slogin rsh mosh autossh".split(), ssh),
    "parallel": parallel,
    **dict.fromkeys("sh bash dash zsh ksh mksh ash fish rbash posh yash csh tcsh elvish xonsh nu oksh".split(), shell),
}
