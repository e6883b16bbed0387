"""Keys that the system's keyring keeps, and where each key that is wanted was found; values stay inside."""

from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from time import monotonic
from types import ModuleType
from typing import Literal

from msgspec import Struct

from overt.app.setting import Setting
from overt.config.trust import dotenv
from overt.core.errors import ConfigError
from overt.lib.logs.log import LOG
from overt.lib.redaction.secret_values import says_secret
from overt.providers.credentials import GENERAL, VENDOR_KEYS

SERVICE = "overt"
PATIENCE = 2.0
INSTALL = "pip install 'overt[keyring]'"
Where = Literal["environment", ".env", "keyring", ""]


class KeyRow(Struct, frozen=True, kw_only=True):
    """`where` is the first place that has it, the one that counts; empty when none does."""

    name: str
    where: Where
    wanted_by: tuple[str, ...] = ()


class Keyring:
    """The keyring for reading. A system without one, or with one that hangs, has no keys: quietly, and soon.

    All questions together get `patience` seconds, because many names are asked for in a row.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._left = patience

    def get(self, name: str) -> str | None:
        if self._left <= 0:
            return None
        found: list[str | None] = []
        began = monotonic()
        # Nobody waits for this thread when the program ends.
        asking = Thread(target=_ask, args=(name, found.append), name="keyring", daemon=True)
        asking.start()
        asking.join(self._left)
        self._left = self._left - (monotonic() - began) if found else 0.0
        return found[0] if found else None


_shared = Keyring()


def keyring_lookup(name: str) -> str | None:
    """The key kept under this name, or None, whatever the reason."""
    key = _shared.get(name)
    LOG.learn(key or "")
    return key


def _ask(name: str, answer: Callable[[str | None], None]) -> None:
    """A backend is anybody's code and may fail in any way, which means that there is no key."""
    with suppress(Exception):
        import keyring  # late: 39 ms

        answer(keyring.get_password(SERVICE, name) or None)


def key_rows(setting: Setting) -> tuple[KeyRow, ...]:
    """Every key that a configured provider or a known vendor goes by, those of the configuration first."""
    wanted: dict[str, list[str]] = {}
    for entry in setting.config.providers:
        if entry.api_key_env:
            wanted.setdefault(entry.api_key_env, []).append(entry.name)
    for host, names in VENDOR_KEYS.items():
        for name in names:
            wanted.setdefault(name, []).append(host)
    for name in GENERAL:
        wanted.setdefault(name, [])
    kept = dotenv(setting.roots.project, wanted, trusted=setting.trust)
    return tuple(
        KeyRow(name=name, where=_where(name, setting, kept), wanted_by=tuple(by)) for name, by in wanted.items()
    )


def _where(name: str, setting: Setting, kept: dict[str, str]) -> Where:
    if setting.environment.get(name).strip():
        return "environment"
    if kept.get(name, "").strip():
        return ".env"
    return "keyring" if keyring_lookup(name) else ""


def check_name(name: str) -> str:
    """A name of a variable that may hold a key. What is none is not quoted: it may be the key itself."""
    if not (name.isascii() and name.isidentifier() and name.isupper() and says_secret(name)):
        raise ConfigError("expected the name of a variable for a key, as in DEEPSEEK_API_KEY; the key is asked for")
    return name


def store_key(name: str, value: str) -> None:
    value = value.strip()
    LOG.learn(value)
    if not value or not value.isascii() or not value.isprintable() or " " in value:
        raise ConfigError(f"{name}: a key is one word of plain characters; nothing was stored")
    ring = _ring()
    try:
        ring.set_password(SERVICE, check_name(name), value)
        kept = ring.get_password(SERVICE, name)
    except (ring.errors.KeyringError, OSError, RuntimeError) as error:
        raise _refused(error, hide=value) from None
    if kept != value:
        raise ConfigError(f"{name}: the keyring took the key and does not have it; nothing was stored")


def remove_key(name: str) -> bool:
    """Whether there was one."""
    ring = _ring()
    try:
        if ring.get_password(SERVICE, check_name(name)) is None:
            return False
        ring.delete_password(SERVICE, name)
    except (ring.errors.KeyringError, OSError, RuntimeError) as error:
        raise _refused(error) from None
    return True


def _ring() -> ModuleType:
    try:
        import keyring  # late: 39 ms

        return keyring
    except ImportError:
        raise ConfigError(f"the system's keyring cannot be used: {INSTALL}") from None


def _refused(error: BaseException, *, hide: str = "") -> ConfigError:
    said = " ".join(str(error).split()) or type(error).__name__
    if hide:
        said = said.replace(hide, "[key]")
    return ConfigError(f"the system's keyring refused: {said[:300]}")
