"""Which variables of an environment hold secrets, by what they are called and what they hold."""

from collections.abc import Iterator, Mapping

from overt.core.codec import decode

WORDS = frozenset(
    "key keys token tokens secret secrets password passwords passwd passphrase pass credential credentials apikey"
    " pat pwd otp totp".split()
)
ENDINGS = ("password", "passwd", "passphrase", "secret", "token", "apikey")
"""`PGPASSWORD`: of words without a seam between them."""
PLACES_OF_SHELLS = ("PWD", "OLDPWD")
ABOUT = frozenset(
    "file path dir folder type name size limit length count ttl expiry timeout algorithm layout repeat helper store"
    " provider backend".split()
)
"""Last words of names that tell something about a secret: TOKEN_FILE, KEY_SIZE."""

PLACES = (
    "/home/",
    "/root/",
    "/usr/",
    "/etc/",
    "/var/",
    "/run/",
    "/tmp/",
    "/opt/",
    "/mnt/",
    "/Users/",
    "~",
    "./",
    "../",
)
MIXED, UNIFORM, LINE = 8, 16, 24
"""The shortest value believed to be a secret: of letters and others mixed, of one kind; and a line of a long one."""


def secret_values(variables: Mapping[str, str]) -> tuple[str, ...]:
    """The values to keep from every screen and file. Words and numbers that stand everywhere are not among them:
    hiding `postgres` or `true` would protect nothing and spoil what is read."""
    return tuple(dict.fromkeys(value for name, held in variables.items() for value in _of(name, held)))


def _of(name: str, held: str) -> Iterator[str]:
    value = held.strip()
    if "://" in value and "@" in value:
        password = value.partition("://")[2].rpartition("@")[0].partition(":")[2]
        if _strong(password):
            yield password
    if not says_secret(name) or not _strong(value) or value.startswith(PLACES):
        return
    yield value
    if value.startswith("{"):
        yield from secret_values(_strings(value))
    if "\n" in value:
        yield from (line for each in value.splitlines() if len(line := each.strip()) >= LINE and "-----" not in line)


def _strings(value: str) -> dict[str, str]:
    """The texts of a JSON object, as credentials of cloud services are."""
    try:
        held = decode(value)
    except ValueError:
        return {}
    return {name: item for name, item in held.items() if isinstance(item, str)}


def says_secret(name: str) -> bool:
    """`awsSecretKey` and `AWS_SECRET_KEY` do, `KEYBOARD` and `TOKEN_FILE` do not."""
    words = _words(name)
    if name in PLACES_OF_SHELLS or words[-1] in ABOUT:
        return False
    return any(word in WORDS or word.endswith(ENDINGS) for word in words)


def _words(name: str) -> list[str]:
    """Split by hand: a pattern would be compiled at every start."""
    spaced = name
    if not name.isupper():
        spaced = "".join(
            f"_{char}" if char.isupper() and not before.isupper() else char
            for before, char in zip("_" + name, name, strict=False)
        )
    return [word for word in spaced.lower().replace("-", "_").replace(".", "_").split("_") if word] or [""]


def _strong(value: str) -> bool:
    if len(value) < MIXED:
        return False
    return len(value) >= UNIFORM or not (value.isalpha() or value.isdecimal())
