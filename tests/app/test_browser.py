"""Pages are opened with programs that stand in for those of a desktop."""

import time
from pathlib import Path

import pytest

from overt.app.chat import browser
from overt.core.errors import OvertError

URL = "https://example.org/a?b=c&d=%20"


class Desktop:
    """Programs that note the words they were started with. `workspace` may hold programs as well."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bin, self.workspace = folder / "bin", folder / "work"
        self._monkeypatch = monkeypatch
        for each in (self.bin, self.workspace):
            each.mkdir()
        self._notes = folder / "notes"
        monkeypatch.setenv("PATH", f"{self.workspace}:.:{self.bin}")
        monkeypatch.delenv("BROWSER", raising=False)

    def program(self, name: str, *, end: str = "exit 0", folder: Path | None = None) -> Path:
        path = (folder or self.bin) / name
        path.write_text(f'#!/bin/sh\necho "{name}" "$@" >> {self._notes}\n{end}\n')
        path.chmod(0o755)
        return path

    def open(self, variable: str = "", url: str = URL) -> str:
        """Open the page. Return what was started with it, or why nothing was."""
        if variable:
            self._monkeypatch.setenv("BROWSER", variable)
        self._notes.write_text("")
        try:
            browser.open_page(url, str(self.workspace))
        except OvertError as error:
            return error.message
        return self._notes.read_text().strip()


@pytest.fixture
def desktop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Desktop:
    return Desktop(tmp_path, monkeypatch)


def test_the_program_of_the_desktop_gets_the_page_as_one_word(desktop: Desktop) -> None:
    desktop.program("xdg-open")
    assert desktop.open() == f"xdg-open {URL}"


@pytest.mark.parametrize(
    ("variable", "started"),
    [
        ("fox", f"fox {URL}"),
        ("missing:fox --new", f"fox --new {URL}"),
        ("fox --url=%s --end", f"fox --url={URL} --end"),
        ("'unclosed", f"xdg-open {URL}"),
        ("./fox", f"xdg-open {URL}"),
    ],
)
def test_the_browser_of_the_user_goes_first(desktop: Desktop, variable: str, started: str) -> None:
    for name in ("fox", "xdg-open"):
        desktop.program(name)
    assert desktop.open(variable) == started


def test_no_program_of_the_workspace_is_started(desktop: Desktop) -> None:
    inside = desktop.program("xdg-open", folder=desktop.workspace)
    (desktop.bin / "open").symlink_to(inside)
    assert desktop.open() == "No browser was found. Open the address yourself, or set BROWSER."
    assert desktop.open(str(inside)).startswith("No browser was found.")


def test_a_failure_is_told(desktop: Desktop) -> None:
    desktop.program("xdg-open", end="exit 3")
    assert desktop.open() == "xdg-open could not open the page (exit code 3). Open the address yourself."
    (desktop.bin / "xdg-open").write_text("#!/nowhere/sh\n")
    assert desktop.open().startswith("xdg-open could not be started: ")


@pytest.mark.parametrize("url", ["file:///etc/passwd", "javascript:alert(1)", "--help", ""])
def test_only_web_pages_are_opened(desktop: Desktop, url: str) -> None:
    desktop.program("xdg-open")
    assert desktop.open(url=url) == "Cannot open this address: only http and https pages can be opened."


def test_a_program_that_stays_has_opened_the_page(desktop: Desktop, monkeypatch: pytest.MonkeyPatch) -> None:
    fifo = desktop.bin / "quit"
    desktop.program("xdg-open", end=f"while [ ! -e {fifo} ]; do /bin/sleep 0.02; done; : > {fifo}.done")
    monkeypatch.setattr(browser, "FAILS_WITHIN_S", 0.3)
    assert desktop.open() == f"xdg-open {URL}"
    fifo.write_text("")
    deadline = time.monotonic() + 20
    while not Path(f"{fifo}.done").exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)
