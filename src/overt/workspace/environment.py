"""What a child program may know of our environment: an allow-list, and never a secret by its name."""

import re
from collections.abc import Mapping, Sequence

from overt.lib.redaction.secret_values import ENDINGS, PLACES_OF_SHELLS, WORDS

ALLOWED = (
    "PATH HOME USER LOGNAME SHELL LANG LANGUAGE LC_* TZ TMPDIR TMP TEMP HOSTNAME "
    "XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CONFIG_DIRS XDG_DATA_DIRS "
    "PYTHON* VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV PYENV_ROOT UV_CACHE_DIR UV_PYTHON PIP_CACHE_DIR "
    "NODE* npm_* NVM_DIR NVM_BIN PNPM_HOME YARN_CACHE_FOLDER DENO_DIR BUN_INSTALL "
    "GOPATH GOROOT GOCACHE GOMODCACHE GOPROXY GOFLAGS CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME RUSTFLAGS RUST_BACKTRACE "
    "JAVA_HOME JDK_HOME GRADLE_USER_HOME MAVEN_HOME MAVEN_OPTS ANDROID_HOME ANDROID_SDK_ROOT "
    "GEM_HOME GEM_PATH RBENV_ROOT BUNDLE_PATH DOTNET_ROOT "
    "CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS LD_LIBRARY_PATH PKG_CONFIG_PATH MAKEFLAGS CMAKE_PREFIX_PATH CUDA_HOME "
    "SSL_CERT_FILE SSL_CERT_DIR REQUESTS_CA_BUNDLE CURL_CA_BUNDLE SOURCE_DATE_EPOCH CI NO_COLOR "
    "http_proxy https_proxy all_proxy no_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY"
).split()

UNLISTED = WORDS | {"auth"}
"""`npm_*` and its like can hold logins; what a person names in `env.pass` may well be `SSH_AUTH_SOCK`."""

ADDED = {
    "OVERT": "1",
    "TERM": "dumb",
    "PAGER": "cat",
    "MANPAGER": "cat",
    "GIT_PAGER": "cat",
    "GIT_EDITOR": "true",
    "GIT_TERMINAL_PROMPT": "0",
    # A folder that merely looks like a repository must not have its configuration, and so its programs, run.
    "GIT_CONFIG_COUNT": "2",
    "GIT_CONFIG_KEY_0": "safe.bareRepository",
    "GIT_CONFIG_VALUE_0": "explicit",
    "GIT_CONFIG_KEY_1": "core.fsmonitor",
    "GIT_CONFIG_VALUE_1": "false",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "SUDO_ASKPASS": "/bin/false",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}
"""Nobody sits at a child's terminal: what would ask or page has to go on or fail."""


SHORTEST_SECRET = 8
SCHEME = r"[A-Za-z][A-Za-z0-9+.-]*://"
LOGIN = rf"({SCHEME})\S*@"
ADDRESSES = ("_proxy", "_registry", "goproxy")
"""Endings of variables whose values are addresses, with or without a scheme."""
PLAIN_ADDRESS = rf"(?:{SCHEME})?(?:[^\s:/@]+|\[[0-9A-Fa-f:.]+\])(?::\d*)?(?:/\S*)?"
OPTIONS = ("OPTS", "OPTIONS", "FLAGS", "ARGS")
ASSIGNED = r"(?:-D|--?)?([\w.-]+)=(\S?)"


def child_environment(
    environ: Mapping[str, str], passed: Sequence[str], *, secrets: Sequence[str] = ()
) -> dict[str, str]:
    """`passed` are names, with a trailing `*` for all that begin so; a secret's name is not passed either, nor a
    value that holds one of `secrets` or what any variable with a secret's name holds. Unless their variable is
    passed, addresses lose their logins, and options that name a secret are dropped."""
    known = {value for name, value in environ.items() if _secret(name) and not _place(name, value)} | set(secrets)
    known = {value for value in known if len(value) >= SHORTEST_SECRET}
    variables = {
        name: value if _matches(name, passed) else _without_login(name, value)
        for name, value in environ.items()
        if (_matches(name, ALLOWED) and not _words(name) & UNLISTED and not _secret(name) and not _assigns(name, value))
        or (_matches(name, passed) and not _secret(name))
    }
    variables = {name: value for name, value in variables.items() if not any(secret in value for secret in known)}
    return variables | {name: value for name, value in ADDED.items() if name not in passed}


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(name.startswith(it[:-1]) if it.endswith("*") else name == it for it in patterns)


def _words(name: str) -> frozenset[str]:
    """`awsSecretKey`, `AWS_SECRET_KEY` → aws, secret, key."""
    return frozenset(word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name))


def _secret(name: str) -> bool:
    if name in PLACES_OF_SHELLS:
        return False
    words = _words(name)
    return bool(words & WORDS) or any(word.endswith(ENDINGS) for word in words)


def _place(name: str, value: str) -> bool:
    """A folder that is named like a password: taken for one, it would take every path below it away."""
    return value.startswith("/") and bool(_words(name) & {"pass", "pwd"})


def _without_login(name: str, value: str) -> str:
    """Everything up to the last `@` goes, since a password may hold any sign; what is no address then, too."""
    if "@" not in value:
        return value
    if not name.lower().endswith(ADDRESSES):
        return re.sub(LOGIN, r"\1", value)
    elements = []
    for element in re.split(r"([,|\s])", value) if name.lower() == "goproxy" else [value]:
        scheme = re.match(SCHEME, element)
        bare = (scheme.group() if scheme and "@" in element else "") + element.rpartition("@")[2]
        elements.append(bare if len(element) < 2 or re.fullmatch(PLAIN_ADDRESS, bare) else "")
    return re.sub(r"^[,|\s]+|[,|\s]+$|([,|\s])[,|\s]+", r"\1", "".join(elements))


def _assigns(name: str, value: str) -> bool:
    """Whether options set something that is named like a secret; a key that is a path is a file's name."""
    if not name.endswith(OPTIONS):
        return False
    return any(_secret(each) and start not in ("/", "~") for each, start in re.findall(ASSIGNED, value))
