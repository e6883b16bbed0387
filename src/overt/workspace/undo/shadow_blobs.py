"""Read the contents of files from the undo store, a bounded number of bytes at once."""

from collections.abc import Iterator, Sequence

from overt.core.errors import OvertError
from overt.workspace.undo.shadow_git import Git

BATCH_BYTES = 32 * 1024**2


def read_blobs(git: Git, hashes: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Contents by their names in git."""
    for batch in _batches(git, hashes):
        out = git.run("cat-file", "--batch", feed="".join(f"{hash}\n" for hash in batch).encode())
        at = 0
        for hash in batch:
            end = out.index(b"\n", at)
            head = out[at:end].split(b" ")
            if head[1:2] != [b"blob"]:
                raise OvertError(f"the store of snapshots has lost {hash}")
            at = end + 2 + int(head[2])
            yield hash, out[end + 1 : at - 1]


def _batches(git: Git, hashes: Sequence[str]) -> Iterator[list[str]]:
    check = ("cat-file", "--batch-check=%(objectsize)")
    sizes = git.run(*check, feed="".join(f"{hash}\n" for hash in hashes).encode()).split(b"\n")
    batch: list[str] = []
    headroom = BATCH_BYTES
    for hash, size in zip(hashes, sizes, strict=False):
        needed = int(size) if size.isdigit() else 0
        if batch and needed > headroom:
            yield batch
            batch, headroom = [], BATCH_BYTES
        headroom -= needed
        batch.append(hash)
    if batch:
        yield batch
