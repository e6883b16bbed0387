"""Certificates for tests, made by openssl: an authority, and pairs it signed for whatever name and time."""

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

OPENSSL = shutil.which("openssl")
needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="no openssl to make a certificate with")


class Authority:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "ca.pem"
        self._key = folder / "ca.key"
        extensions = ["-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"]
        files = ["-keyout", self._key, "-out", self.file]
        _openssl("req", "-x509", *_NEW, "-days", "2", "-subj", "/CN=Test authority", *extensions, *files)

    def pair(self, name: str, *, made: str = "") -> Path:
        """A file with key and certificate, good for two days from now or from the day it is said to be made."""
        stem = self.folder / name
        request, key, certificate = (stem.with_name(stem.name + end) for end in (".csr", ".key", ".crt"))
        _openssl("req", *_NEW, "-subj", f"/CN={name}", "-keyout", key, "-out", request)
        extension = stem.with_name(stem.name + ".ext")
        extension.write_text(f"subjectAltName=DNS:{name}\n")
        signed_by = ["-CA", self.file, "-CAkey", self._key, "-CAcreateserial", "-extfile", extension]
        _openssl("x509", "-req", "-in", request, *signed_by, "-days", "2", "-out", certificate, at=made)
        both = stem.with_name(stem.name + ".pem")
        both.write_text(key.read_text() + certificate.read_text())
        return both


_NEW = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]


def _openssl(*words: object, at: str = "") -> None:
    clock = ["faketime", at] if at else []
    command = [*clock, OPENSSL or "openssl", *map(str, words)]
    subprocess.run(command, check=True, capture_output=True, timeout=30)


def serving(pair: Path, *, clients_of: Path | None = None) -> ssl.SSLContext:
    """What a server needs; with `clients_of` it wants a certificate of that authority from its clients."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    if clients_of is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(clients_of)
    return context
