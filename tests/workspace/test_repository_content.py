"""The files of a commit are taken out of repositories, bundles and addresses, and nothing of them runs."""

import functools
import http.server
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from overt.core.errors import OvertError
from overt.workspace.git.repository_content import (
    GitContent,
    export_commit,
    fetch_address,
    find_commit,
    is_bundle,
    open_bundle,
    open_folder,
)

GIT = shutil.which("git") or "/usr/bin/git"
AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example", "-c", "commit.gpgsign=false")


def git(folder: Path, *words: str) -> str:
    done = subprocess.run([GIT, *AUTHOR, *words], cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


def commit(folder: Path, message: str = "next") -> str:
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-q", "--no-verify", "-m", message)
    return git(folder, "rev-parse", "HEAD")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    (folder / "plugin/hooks").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    (folder / "plugin/hooks/run.sh").write_text("echo one\n")
    (folder / "plugin/hooks/run.sh").chmod(0o755)
    (folder / "plugin/odd ü.txt").write_text("text")
    (folder / "plugin/link").symlink_to("hooks/run.sh")
    commit(folder, "first")
    return folder


def export(content: GitContent | None, wanted: str, path: str, target: Path) -> str:
    assert content is not None
    found = find_commit(GIT, content, wanted)
    assert export_commit(GIT, content, found, path, str(target)) == ()
    return found


def assert_exported(target: Path) -> None:
    assert sorted(os.listdir(target)) == ["hooks", "link", "odd ü.txt"]
    assert (target / "hooks/run.sh").read_text() == "echo one\n"
    assert os.access(target / "hooks/run.sh", os.X_OK) and not os.access(target / "odd ü.txt", os.X_OK)
    assert os.readlink(target / "link") == "hooks/run.sh"


def test_a_folder_of_a_repository_is_exported_as_it_was_committed(repository: Path, tmp_path: Path) -> None:
    (repository / "plugin/hooks/run.sh").write_text("not committed")
    head = export(open_folder(str(repository)), "", "plugin", tmp_path / "out")
    assert head == git(repository, "rev-parse", "HEAD")
    assert_exported(tmp_path / "out")


def test_a_bare_repository_and_a_linked_worktree_are_read(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare.git")
    export(open_folder(str(tmp_path / "bare.git")), "main", "plugin", tmp_path / "one")
    git(repository, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "other")
    export(open_folder(str(tmp_path / "tree")), "", "plugin", tmp_path / "two")
    assert_exported(tmp_path / "one")
    assert_exported(tmp_path / "two")


def test_a_bundle_is_read_and_one_that_needs_more_is_refused(repository: Path, tmp_path: Path) -> None:
    first = git(repository, "rev-parse", "HEAD")
    git(repository, "tag", "v1")
    (repository / "plugin/hooks/run.sh").write_text("echo two\n")
    commit(repository)
    bundle, thin = tmp_path / "all.bundle", tmp_path / "thin.bundle"
    git(repository, "bundle", "create", "-q", str(bundle), "--all")
    git(repository, "bundle", "create", "-q", str(thin), "HEAD", f"^{first}")
    assert is_bundle(str(bundle)) and not is_bundle(str(repository / "plugin/odd ü.txt"))
    content = open_bundle(GIT, str(bundle), str(tmp_path / "scratch.git"))
    assert export(content, "v1", "plugin", tmp_path / "old") == first
    assert_exported(tmp_path / "old")
    export(content, "", "plugin", tmp_path / "new")
    assert (tmp_path / "new/hooks/run.sh").read_text() == "echo two\n"
    with pytest.raises(OvertError, match="commits that it does not hold"):
        open_bundle(GIT, str(thin), str(tmp_path / "other.git"))


def test_nothing_that_a_repository_names_runs(repository: Path, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    script = repository / "evil.sh"
    script.write_text(f"#!/bin/sh\ntouch {mark}\ncat\n")
    script.chmod(0o755)
    (repository / ".gitattributes").write_text("* filter=evil diff=evil\n")
    commit(repository)
    for key in ("filter.evil.smudge", "filter.evil.process", "diff.evil.textconv", "core.fsmonitor", "core.pager"):
        git(repository, "config", key, str(script))
    for hook in ("post-checkout", "reference-transaction", "post-index-change"):
        shutil.copy(script, repository / ".git/hooks" / hook)
    export(open_folder(str(repository)), "", "plugin", tmp_path / "out")
    assert_exported(tmp_path / "out")
    assert not mark.exists()


def test_what_is_missing_is_said(repository: Path, tmp_path: Path) -> None:
    content = open_folder(str(repository))
    assert content is not None and open_folder(str(repository / "plugin")) is None
    with pytest.raises(OvertError, match="has no v9"):
        find_commit(GIT, content, "v9")
    with pytest.raises(OvertError, match="git: "):
        export_commit(GIT, content, find_commit(GIT, content, ""), "elsewhere", str(tmp_path / "out"))


@pytest.fixture
def address(repository: Path, tmp_path: Path) -> Iterator[str]:
    """A server of plain files, which can send neither single commits nor short histories."""
    git(tmp_path, "clone", "-q", "--bare", str(repository), "www/plugin.git")
    git(tmp_path / "www/plugin.git", "update-server-info")
    handler = functools.partial(QuietHandler, directory=str(tmp_path / "www"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/plugin.git"
        server.shutdown()
        thread.join()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.mark.parametrize("wanted", ["main", "HEAD", "commit"])
def test_a_repository_is_fetched_from_an_address(repository: Path, tmp_path: Path, address: str, wanted: str) -> None:
    head = git(repository, "rev-parse", "HEAD")
    wanted = head if wanted == "commit" else wanted
    content = fetch_address(GIT, address, str(tmp_path / "scratch.git"), wanted=[wanted], variables={})
    assert export(content, "" if wanted == "HEAD" else wanted, "plugin", tmp_path / "out") == head
    assert_exported(tmp_path / "out")


def test_an_address_that_cannot_be_fetched_is_named(tmp_path: Path, address: str) -> None:
    with pytest.raises(OvertError, match=r"/other\.git could not be fetched: git: "):
        fetch_address(GIT, address.replace("/plugin", "/other"), str(tmp_path / "s.git"), wanted=["HEAD"], variables={})
