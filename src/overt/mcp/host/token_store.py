"""Logins to remote servers: in the keyring of the system, or in private files. Several processes share them.

Each server has one record. It names the issuer of the tokens, and credentials are only ever sent to that issuer.
"""

import asyncio
import fcntl
import hashlib
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from msgspec import MsgspecError, Raw, Struct, json

from overt.lib.atomic import replace

KEYRING_SERVICE = "overt-mcp"
KEYRING_LIMIT_S = 5.0
LOCK_POLL_S = 0.02
REFRESH_EARLY_S = 300.0
REFRESH_EARLY_SHARE = 0.1


class StoredLogin(Struct, frozen=True, kw_only=True):
    """Tokens of one server. `client` is our registration with the issuer, as JSON of the SDK's model.

    `expires_at` is 0 if the issuer does not say when the access token expires.
    """

    issuer: str
    token_endpoint: str
    client: Raw
    resource: str = ""
    access_token: str
    refresh_token: str = ""
    scope: str = ""
    expires_at: float = 0.0
    lifetime_s: float = 0.0

    def needs_refresh(self) -> bool:
        """True if the access token has expired or soon will: five minutes before, or 10 % of a short life."""
        early = min(REFRESH_EARLY_S, self.lifetime_s * REFRESH_EARLY_SHARE)
        return bool(self.expires_at) and time.time() >= self.expires_at - early


class TokenStore:
    """The login of one server, by its URL."""

    def __init__(self, folder: str, url: str) -> None:
        self._folder = folder
        self._key = hashlib.sha256(url.encode()).hexdigest()[:32]
        self._path = os.path.join(folder, f"{self._key}.json")

    async def load(self) -> StoredLogin | None:
        for data in (await _read_keyring(self._key), self._read_file()):
            if data:
                with suppress(MsgspecError):
                    return json.decode(data, type=StoredLogin)
        return None

    async def save(self, login: StoredLogin) -> None:
        data = json.encode(login)
        if await _write_keyring(self._key, data.decode()):
            with suppress(FileNotFoundError):
                os.unlink(self._path)
            return
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        replace(self._path, data, mode=0o600)

    @asynccontextmanager
    async def locked(self) -> AsyncIterator[None]:
        """Exclude all other processes. The lock of a process that dies is free at once."""
        os.makedirs(self._folder, mode=0o700, exist_ok=True)
        path = os.path.join(self._folder, f"{self._key}.lock")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    await asyncio.sleep(LOCK_POLL_S)
            yield
        finally:
            os.close(descriptor)

    def _read_file(self) -> bytes:
        try:
            with open(self._path, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NOFOLLOW)) as file:
                return file.read()
        except OSError:
            return b""


async def _read_keyring(key: str) -> bytes:
    def ask() -> bytes:
        # A backend is anybody's code and may fail in any way, which means that nothing is stored there.
        with suppress(Exception):
            import keyring  # late: 39 ms

            return (keyring.get_password(KEYRING_SERVICE, key) or "").encode()
        return b""

    with suppress(TimeoutError):
        return await asyncio.wait_for(asyncio.to_thread(ask), KEYRING_LIMIT_S)
    return b""


async def _write_keyring(key: str, value: str) -> bool:
    """Store a value. Return False if there is no keyring, or one that does not keep what it is given."""

    def tell() -> bool:
        with suppress(Exception):
            import keyring  # late: 39 ms

            keyring.set_password(KEYRING_SERVICE, key, value)
            return keyring.get_password(KEYRING_SERVICE, key) == value
        return False

    with suppress(TimeoutError):
        return await asyncio.wait_for(asyncio.to_thread(tell), KEYRING_LIMIT_S)
    return False
