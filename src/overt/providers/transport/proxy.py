"""A proxy between us and a server."""

from msgspec import Struct


class Proxy(Struct, frozen=True, kw_only=True):
    """`login` is name and password as the URL had them, and never shown; `origin` is who named the proxy."""

    scheme: str
    host: str
    port: int
    login: str = ""
    origin: str = "proxy"

    @property
    def shown(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def __repr__(self) -> str:
        return f"Proxy({self.shown})"
