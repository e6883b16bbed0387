"""Builtins of the shell, and the variables that decide what programs do."""

import re
from collections.abc import Callable

from overt.safety.programs.program_call import ProgramCall
from overt.safety.shell.words import Word

RISKY = re.compile(
    r"""PATH|IFS|ENV|BASH_ENV|BASH_FUNC.*|SHELLOPTS|BASHOPTS|SHELL|PS[0-4]|PROMPT_COMMAND|CDPATH|FPATH|ZDOTDIR|HOME|LD_.*
    |DYLD_.*|GCONV_PATH|LOCPATH|NLSPATH|GLOBIGNORE|EXECIGNORE|HISTFILE|INPUTRC|XDG_(?:CONFIG|DATA)_.*|BROWSER|TERMINFO.*
    |PYTHON(?:STARTUP|HOME|INSPECT|BREAKPOINT|USERBASE|EXECUTABLE|PLATLIBDIR|WARNINGS)|PERL5?(?:OPT|LIB|DB)|PERL5DB.*
    |RUBY(?:OPT|LIB)|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|JDK_JAVA_OPTIONS|MAVEN_OPTS|GRADLE_OPTS|MAKEFLAGS|MAKEFILES|GNUMAKEFLAGS|MFLAGS
    |LESSOPEN|LESSCLOSE|LESSKEY.*|MANOPT|GREP_OPTIONS|TAR_OPTIONS|ACK_PAGER.*|RIPGREP_CONFIG_PATH|HOSTALIASES|RES_OPTIONS
    |GIT_(?:DIR|WORK_TREE|CONFIG.*|EXEC_PATH|TEMPLATE_DIR|PROXY_COMMAND|INDEX_FILE|OBJECT_DIRECTORY|ALTERNATE_.*|COMMON_DIR
    |ATTR_.*|ALLOW_PROTOCOL|TRACE.*)|OPENSSL_CONF|SSL_CERT_.*|SSLKEYLOGFILE|CURL_HOME|WGETRC|CLASSPATH_PREFIX|NODE_EXTRA_CA_CERTS
    |npm_config_.*|NPM_CONFIG_.*|PIP_(?:INDEX_URL|CONFIG_FILE|EXTRA_INDEX_URL)|DOCKER_HOST|KUBECONFIG|BASH_XTRACEFD|FIGNORE
    |PKG_CONFIG.*|GOFLAGS_EXEC|RUSTC_WRAPPER|RUSTC|CARGO_BUILD_RUSTC.*|AWKPATH|AWKLIBPATH|COMP_WORDBREAKS|VIMINIT|EXINIT|GVIMINIT""",
    re.VERBOSE,
)
"""Variables that change which code runs, or what a word means."""

HOLDS_COMMAND = re.compile(
    r"""(?:GIT_)?(?:PAGER|EDITOR|SEQUENCE_EDITOR|SSH|SSH_COMMAND|ASKPASS|EXTERNAL_DIFF)|VISUAL|FCEDIT|SUDO_EDITOR|MANPAGER
    |SYSTEMD_PAGER|BAT_PAGER|DELTA_PAGER|SSH_ASKPASS|SUDO_ASKPASS|RSYNC_RSH|CVS_RSH|SVN_SSH|SYSTEMD_EDITOR|KUBE_EDITOR|DIFFPROG
    |MERGE_TOOL|.*_PAGER|.*_EDITOR|HGEDITOR|SVN_EDITOR|PSQL_EDITOR|PSQL_PAGER|LYNX_.*|FZF_.*COMMAND|WATCH_COMMAND""",
    re.VERBOSE,
)
"""Variables whose value some program runs: judged like a command."""

BUILDS = re.compile(
    r"PYTHONPATH|NODE_PATH|CLASSPATH|GOFLAGS|RUSTFLAGS|C(?:XX|PP)?FLAGS|LDFLAGS|CC|CXX|LD|AR|NODE_OPTIONS|RUBYLIB|GOPATH"
)
EVALUATED = re.compile(r"\$\(|`|\$\{")
SYSTEM_PATH = re.compile(r"(?:/(?:usr/(?:local/)?)?s?bin|/opt/homebrew/bin)(?::(?:/(?:usr/(?:local/)?)?s?bin))*")
CUTS = re.compile(r"[ \t\n,:;|.=@-]{0,3}|\$\{?\w*IFS\w*\}?")
"""What words are cut at; what is cut then counts as computed."""


def _settled(name: str, value: Word) -> bool:
    if name == "PATH":
        return value.literal and SYSTEM_PATH.fullmatch(value.text) is not None
    if name.startswith("GIT_TRACE"):
        return value.text in ("0", "1", "2", "true", "false")
    return name == "IFS" and CUTS.fullmatch(value.text) is not None


def variable(call: ProgramCall, name: str, value: Word) -> None:
    """One assignment, wherever it stands."""
    if RISKY.fullmatch(name) and not _settled(name, value):
        call.dangerous(f"changes {name}, which decides what runs", kind="environment")
    elif HOLDS_COMMAND.fullmatch(name):
        text = value.text.strip()
        if value.computed:
            call.unreadable(f"sets {name} to a computed command")
        elif text not in ("", "cat", "less", "more", "true", ":", "less -R", "less -FRX"):
            if re.match(r"ssh(?:\s|$)", text) and not re.search(r"(?i)command", text):
                call.ordinary(f"sets {name}")
            else:
                call.dangerous(f"sets {name}, which some programs run", kind="environment")
                call.script(value)
    elif BUILDS.fullmatch(name):
        call.ordinary(f"sets {name}")
    if EVALUATED.search(value.text) and not value.hole:
        call.unreadable("keeps a command in a variable")


def cd(call: ProgramCall) -> None:
    options = [word for word in call.args if not re.fullmatch(r"-[LPe@]+|--|-n", word.text)]
    call.harmless()
    call.classifier.enter(options[0] if options else None)


def declare(call: ProgramCall) -> None:
    call.harmless()
    for word in call.args:
        name, equals, value = word.text.partition("=")
        if name.startswith("-") and "n" in name and call.name != "export":
            call.unreadable("makes one variable another name of a second one")
        elif equals or call.name != "local":
            held = Word(text=value, plain=value, hole=word.hole, computed=word.computed)
            if equals:
                variable(call, name.rstrip("+"), held)
        if word.leads and word.computed:
            call.unreadable("sets variables that are computed")
        if EVALUATED.search(name) and not word.hole:
            call.unreadable("evaluates a quoted substitution")


def evaluating(call: ProgramCall) -> None:
    """Builtins that take names of variables and evaluate what stands in their brackets."""
    call.harmless()
    if any(EVALUATED.search(word.text) and not word.hole for word in call.args):
        call.unreadable("evaluates a quoted substitution")
    for word in call.args:
        if RISKY.fullmatch(word.text):
            call.dangerous(f"changes {word.text}, which decides what runs", kind="environment")


def printf(call: ProgramCall) -> None:
    texts = [word.text for word in call.args]
    if texts and texts[0].startswith("-v"):
        evaluating(call)
    else:
        call.harmless()


def mapfile(call: ProgramCall) -> None:
    if any(word.text.startswith("-C") for word in call.args):
        call.dangerous("runs a callback", kind="code")
    else:
        evaluating(call)


def trap(call: ProgramCall) -> None:
    args = [word for word in call.args if word.text != "--"]
    call.harmless()
    if len(args) > 1 and args[0].text not in ("-", "", "-l", "-p"):
        call.script(args[0])


def alias(call: ProgramCall) -> None:
    call.harmless()
    for word in call.args:
        _, equals, value = word.text.partition("=")
        if equals:
            call.dangerous("changes what a name runs", kind="environment")
            call.script(Word(text=value, plain=value, hole=word.hole, computed=word.computed))


def shopt(call: ProgramCall) -> None:
    if any(word.hole or word.text in ("dotglob", "expand_aliases", "extdebug") for word in call.args):
        call.dangerous("changes what a name runs or a pattern matches", kind="environment")
    else:
        call.harmless()


def date(call: ProgramCall) -> None:
    options = call.options("-d -f -r -s -I -v -j --date --file --reference --set")
    if options.has("-s", "--set", exact=False):
        call.dangerous("changes the clock")
    elif options.has("-j", "-d", "-r", "--date") or all(
        word.text.startswith("+") or word.hole for word in options.operands
    ):
        call.harmless()
    else:
        call.dangerous("changes the clock")


def less(call: ProgramCall) -> None:
    options = call.options("-o -O -P -p -t -T -k -b -j -x -y -z -D -#")
    for word in options.values("-o", "-O", "--log-file", "--LOG-FILE"):
        call.write(word)
    if any(re.match(r"\+.*[!|vs:]", word.text) for word in call.args) or options.has(
        "-k", "--lesskey-file", "--lesskey-src"
    ):
        call.dangerous("may run a command", kind="code")
    else:
        call.harmless()


HANDLERS: dict[str, Callable[[ProgramCall], None]] = {
    **dict.fromkeys("cd pushd popd chdir".split(), cd),
    **dict.fromkeys("export declare typeset local readonly".split(), declare),
    **dict.fromkeys("unset test [ [[ read let wait getopts set".split(), evaluating),
    "printf": printf,
    **dict.fromkeys("mapfile readarray".split(), mapfile),
    "trap": trap,
    "alias": alias,
    "shopt": shopt,
    "date": date,
    **dict.fromkeys("less zless bzless xzless more most pg".split(), less),
}
