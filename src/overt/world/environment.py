"""What a child program may know of our environment: an allow-list, and never a secret by its name."""

import re
from collections.abc import Mapping, Sequence

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

SECRET = frozenset(
    "key keys token tokens secret secrets password passwords passwd passphrase credential credentials apikey".split()
)
UNLISTED = SECRET | {"auth"}
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
    "GIT_CONFIG_COUNT": "1",
    "GIT_CONFIG_KEY_0": "safe.bareRepository",
    "GIT_CONFIG_VALUE_0": "explicit",
    "SSH_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "SUDO_ASKPASS": "/bin/false",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}
"""Nobody sits at a child's terminal: what would ask or page has to go on or fail."""


def child_environment(environ: Mapping[str, str], passed: Sequence[str]) -> dict[str, str]:
    """`passed` are names, with a trailing `*` for all that begin so; a secret's name is not passed either."""
    kept = {
        name: value
        for name, value in environ.items()
        if (_matches(name, ALLOWED) and not _words(name) & UNLISTED)
        or (_matches(name, passed) and not _words(name) & SECRET)
    }
    return kept | {name: value for name, value in ADDED.items() if name not in passed}


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(name.startswith(it[:-1]) if it.endswith("*") else name == it for it in patterns)


def _words(name: str) -> frozenset[str]:
    """`awsSecretKey`, `AWS_SECRET_KEY` → aws, secret, key."""
    return frozenset(word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+", name))
