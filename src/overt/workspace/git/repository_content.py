"""Take the files of one commit out of a repository that is not ours: a folder, a bundle or an address.

No file of the repository is checked out by git, so no filter, attribute or hook of it runs: the tree is listed and its
contents are read one by one. Only a git that fetches from an address may start another program, the one of git
that speaks HTTP, in a new repository without any configuration of its own.
"""

import os
import re
from collections.abc import Mapping, Sequence

from msgspec import Struct

from overt.core.errors import OvertError
from overt.workspace.git.process import SETTINGS, VARIABLES, GitPlaces, start_git, start_git_with_helpers, wait_for_git
from overt.workspace.git.state import find_repository

TIMEOUT_S = 60.0
FETCH_TIMEOUT_S = 600.0
BUNDLE = re.compile(rb"# v[23] git bundle\n")
MOST_HEADER_BYTES = 1024 * 1024
MOST_BUNDLE_BYTES = 1024**3
MOST_FILES = 20_000
MOST_BYTES = 512 * 1024 * 1024
PASSED_ON = ("http_proxy", "https_proxy", "all_proxy", "no_proxy", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "CURL_CA_BUNDLE")


class GitContent(Struct, frozen=True, kw_only=True):
    """A repository to take files from. `heads` are the refs of a bundle, which the new repository does not have."""

    places: GitPlaces
    heads: dict[str, str] = {}


def is_bundle(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return BUNDLE.match(file.read(32)) is not None
    except OSError:
        return False


def open_folder(folder: str) -> GitContent | None:
    """Return the repository whose root a folder is, bare or with a working tree; None if it is none."""
    if os.path.isdir(f"{folder}/objects") and os.path.isfile(f"{folder}/HEAD"):
        return GitContent(places=GitPlaces(git_dir=folder, cwd=folder, read=(folder,)))
    repository = find_repository(folder) if os.path.lexists(f"{folder}/.git") else None
    if repository is None:
        return None
    read = (repository.git_dir, repository.common_dir)
    return GitContent(places=GitPlaces(git_dir=repository.git_dir, cwd=folder, read=read))


def open_bundle(program: str, bundle: str, scratch: str) -> GitContent:
    """Unpack a bundle into a new repository in the folder `scratch`."""
    with open(bundle, "rb") as file:
        header = file.read(MOST_HEADER_BYTES)
        end = header.find(b"\n\n")
        lines = header[:end].decode("utf-8", "replace").split("\n") if end > 0 else [""]
        if any(line.startswith("-") for line in lines):
            raise OvertError(
                f"{bundle}: needs commits that it does not hold; make it with `git bundle create FILE --all`"
            )
        if any(line.startswith("@") and line != "@object-format=sha1" for line in lines) or end < 0:
            raise OvertError(f"{bundle}: is a bundle of a kind that Overt cannot read")
        file.seek(end + 2)
        pack = file.read(MOST_BUNDLE_BYTES)
    places = _new_repository(program, scratch)
    child = start_git(program, ["index-pack", "--stdin", "--strict"], places, feed=True)
    wait_for_git(child, pack, timeout_s=FETCH_TIMEOUT_S)
    heads = {ref: commit for commit, _, ref in (line.partition(" ") for line in lines[1:]) if ref}
    return GitContent(places=places, heads=heads)


def fetch_address(
    program: str, address: str, scratch: str, *, wanted: Sequence[str], variables: Mapping[str, str]
) -> GitContent:
    """Fetch from an https address into a new repository: the first of the `wanted` refs or commits that it has.

    A server that cannot send one commit alone sends all of its branches.
    """
    places = _new_repository(program, scratch)
    passed = {name: variables[name] for name in (*PASSED_ON, *CERTIFICATES) if name in variables}
    problem = ""
    single = [["--depth=1", "--", address, each] for each in wanted]
    for words in (*single, *(words[1:] for words in single), ["--", address, "+refs/*:refs/remote/*"]):
        try:
            _run_fetch(program, words, places, passed)
        except OvertError as error:
            problem = problem or error.message
        else:
            return GitContent(places=places, heads=dict.fromkeys((words[-1], "HEAD"), _first_fetched(places)))
    raise OvertError(f"{address} could not be fetched: {problem}")


def find_commit(program: str, content: GitContent, wanted: str) -> str:
    """Return the full commit of a ref, a branch, a tag or a commit; of HEAD if nothing is wanted."""
    names = (wanted, f"refs/heads/{wanted}", f"refs/tags/{wanted}") if wanted else ("HEAD", "refs/heads/main")
    names = (*names, *((f"refs/remote/heads/{wanted}", f"refs/remote/tags/{wanted}") if wanted else ()))
    for name in (content.heads.get(each, each) for each in names):
        child = start_git(
            program, ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}"], content.places
        )
        if found := wait_for_git(child, timeout_s=TIMEOUT_S, none_is_error=False).decode().strip():
            return found
    first = next(iter(content.heads.values()), "")
    if not wanted and first:
        return first
    raise OvertError(f"the repository has no {wanted or 'commit'}")


def export_commit(program: str, content: GitContent, commit: str, path: str, target: str) -> tuple[str, ...]:
    """Write the files of a commit, or of the folder `path` in it, into a new folder. Return what was left out."""
    tree = f"{commit}:{path}" if path else commit
    listing = wait_for_git(
        start_git(program, ["ls-tree", "-r", "-z", "-l", "--full-tree", tree], content.places), timeout_s=TIMEOUT_S
    )
    files: list[tuple[str, str, str]] = []
    problems: list[str] = []
    total = 0
    for row in filter(None, listing.split(b"\0")):
        about, _, name = row.partition(b"\t")
        mode, kind, hash, size = about.decode().split()
        relative = os.fsdecode(name)
        if kind != "blob":
            problems.append(f"{relative}: a submodule is left out")
            continue
        if not _is_plain(relative):
            raise OvertError(f"the repository holds the path {relative!r}, which no folder may hold")
        files.append((mode, hash, relative))
        total += int(size)
    if len(files) > MOST_FILES or total > MOST_BYTES:
        raise OvertError(f"the repository is too large: {len(files)} files, {total} bytes")
    os.makedirs(target, mode=0o700)
    feed = "".join(f"{hash}\n" for _, hash, _ in files).encode()
    contents = wait_for_git(
        start_git(program, ["cat-file", "--batch"], content.places, feed=True), feed, timeout_s=FETCH_TIMEOUT_S
    )
    _write_files(files, contents, target)
    return tuple(problems)


def _write_files(files: Sequence[tuple[str, str, str]], contents: bytes, target: str) -> None:
    links: list[tuple[str, bytes]] = []
    at = 0
    for mode, hash, relative in files:
        end = contents.index(b"\n", at)
        found, _, size = contents[at:end].decode().split()
        data = contents[end + 1 : end + 1 + int(size)]
        at = end + 2 + int(size)
        if found != hash:
            raise OvertError("git: an object of the repository could not be read")
        place = os.path.join(target, relative)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        if mode == "120000":
            links.append((place, data))
            continue
        with open(place, "xb") as file:
            file.write(data)
        os.chmod(place, 0o700 if mode == "100755" else 0o600)
    for place, data in links:  # last, so that no file is written through one of them
        os.symlink(data, os.fsencode(place))


def _is_plain(path: str) -> bool:
    parts = path.split("/")
    return not any(part in ("", ".", "..") or part.lower() == ".git" for part in parts)


def _new_repository(program: str, scratch: str) -> GitPlaces:
    places = GitPlaces(git_dir=scratch, cwd=os.path.dirname(scratch), write=(os.path.dirname(scratch),))
    wait_for_git(start_git(program, ["init", "--bare", "--quiet", "--template="], places), timeout_s=TIMEOUT_S)
    return places


def _first_fetched(places: GitPlaces) -> str:
    with open(f"{places.git_dir}/FETCH_HEAD", encoding="utf-8", errors="replace") as file:
        return file.readline().partition("\t")[0]


def _run_fetch(program: str, words: Sequence[str], places: GitPlaces, variables: Mapping[str, str]) -> None:
    """Run `git fetch` with the protocols https and, for servers on this machine, http."""
    settings = {
        **SETTINGS,
        "protocol.https.allow": "always",
        "protocol.http.allow": "always",
        "http.followRedirects": "true",
    }
    settings |= {"fetch.fsckObjects": "true", "transfer.unpackLimit": "1"}
    environment = {**VARIABLES, **variables, "GIT_DIR": places.git_dir, "GIT_ALLOW_PROTOCOL": "https:http"}
    del environment["GIT_EXEC_PATH"]
    environment |= {"PATH": "/usr/bin:/bin", "GIT_CONFIG_COUNT": str(len(settings))}
    for number, (key, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    words = ("fetch", "--quiet", "--no-tags", "--no-write-commit-graph", *words)
    child = start_git_with_helpers(program, words, places, environment)
    wait_for_git(child, timeout_s=FETCH_TIMEOUT_S)
