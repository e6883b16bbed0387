"""Whom a TLS connection trusts and who we are on it: one context for each set of answers."""

from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from overt.core.errors import ProviderError

if TYPE_CHECKING:
    import ssl


class Tls(Struct, frozen=True, kw_only=True):
    """`ca_file` joins the authorities that this machine trusts; SSL_CERT_FILE and SSL_CERT_DIR stand for those."""

    ca_file: str = ""
    client_cert: str = ""
    client_key: str = ""


SYSTEM = Tls()


@cache
def context_for(tls: Tls) -> "ssl.SSLContext":
    """Made at first use: reading the authorities takes longer than a request."""
    import ssl  # late: 7 ms

    context = ssl.create_default_context()
    if tls.ca_file:
        try:
            context.load_verify_locations(cafile=tls.ca_file)
        except OSError as error:
            raise _unusable("ca_file", tls.ca_file, error, "certificates in PEM form") from None
    if tls.client_cert:
        try:
            # With a password at hand OpenSSL does not ask for one on the terminal.
            context.load_cert_chain(tls.client_cert, tls.client_key or None, password="")
        except OSError as error:
            expected = "a certificate and its key in PEM form, the key not encrypted"
            raise _unusable("client_cert", tls.client_cert, error, expected) from None
    return context


def _unusable(setting: str, path: str, error: OSError, expected: str) -> ProviderError:
    reason = getattr(error, "reason", None) or error.strerror or "it cannot be read"
    return ProviderError(
        f"{setting}: {path} cannot be used ({str(reason).lower().replace('_', ' ')}); expected {expected}.", kind="tls"
    )
