"""FailureReason a server could not be reached, in words and with a remedy: names, networks, certificates, proxies."""

import errno

from msgspec import Struct

PROXY_LOGIN = "Put them into the proxy's URL, as in http://name:password@host:port."
TRUST_IT = (
    "If you know it, name the authority that signed it in `ca_file` of this provider, or in the variable SSL_CERT_FILE."
)
NO_NETWORK = (errno.ENETUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL)
NAME_SERVERS_SILENT = -3  # EAI_AGAIN, without loading `socket` for it
EXPIRED, NOT_YET = 10, 9
OTHER_HOST = (62, 64)
UNVOUCHED = (2, 18, 19, 20, 21)
"""Codes of OpenSSL's verification: no issuer to be found, or one that only vouches for itself."""
NOT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")


class FailureReason(Struct, frozen=True, kw_only=True):
    """`passing`: it may be over in a moment, so that another attempt is worth it."""

    text: str
    advice: str = ""
    passing: bool = True


def explain_failure(reason: OSError | UnicodeError | str) -> FailureReason:
    if isinstance(reason, str):
        return FailureReason(text=reason)
    name = type(reason).__name__
    if name == "SSLCertVerificationError":
        return _certificate(reason)
    if name.startswith("SSL"):
        return _tls(str(getattr(reason, "reason", None) or reason))
    if name == "gaierror":
        if reason.args[:1] == (NAME_SERVERS_SILENT,):
            return FailureReason(
                text="its name could not be looked up, for no name server answered", advice="Is there a network?"
            )
        return FailureReason(text="the host name is unknown", advice="Check the address for a slip, and the network.")
    if isinstance(reason, UnicodeError):
        return FailureReason(text="the host name is unknown", advice="Check the address for a slip.", passing=False)
    if reason.errno in NO_NETWORK:
        return FailureReason(
            text="there is no network that leads to it", advice="Connect this machine, or check its routes."
        )
    return FailureReason(text=(reason.strerror or str(reason) or name).lower())


def _certificate(reason: OSError | UnicodeError) -> FailureReason:
    code = getattr(reason, "verify_code", 0)
    said = str(getattr(reason, "verify_message", "") or reason)
    if code == EXPIRED:
        text, advice = "its certificate has expired", "Whoever runs it must renew it; or is this machine's clock wrong?"
    elif code == NOT_YET:
        text, advice = "its certificate is not valid yet", "Is this machine's clock right?"
    elif code in OTHER_HOST:
        text, advice = "its certificate was made for another host", "Check the address; use the name it was made for."
    else:
        text = f"its certificate is not trusted ({said})"
        advice = TRUST_IT if code in UNVOUCHED else "Check who signed it."
    return FailureReason(text=text, advice=advice, passing=False)


def _tls(reason: str) -> FailureReason:
    plain = reason.lower().replace("_", " ")
    if reason in NOT_TLS:
        advice = "If it speaks plain HTTP, begin its URL with http:// instead of https://."
        return FailureReason(text=f"TLS failed, for it does not speak TLS ({plain})", advice=advice, passing=False)
    if "CERTIFICATE_REQUIRED" in reason or "HANDSHAKE_FAILURE" in reason or "BAD_CERTIFICATE" in reason:
        advice = "If it wants to know who you are, set `client_cert` and `client_key` of this provider."
        return FailureReason(text=f"TLS failed, it refused us ({plain})", advice=advice, passing=False)
    return FailureReason(
        text=f"TLS failed ({plain})", advice="Check the address and what both sides support.", passing=False
    )
