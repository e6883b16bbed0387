"""Store the full output of commands in private files that `read` and `grep` may open.

While a command runs, its bytes go to a file without a name: a crash leaves nothing behind. Only when the result has to
be cut, they are made plain, secrets are taken out, and the text gets a name in the folder of the session.

    first 32 MB, as they come | last 32 MB, a ring          raw file, no name
    plain text without secrets, a gap where bytes are lost   <data dir>/output/<session>/<number>.txt
"""

import fcntl
import os
import re
from collections.abc import Iterator
from itertools import chain

from overt.lib.atomic import write_all
from overt.lib.redaction.redact import BEGIN, PEM_END, Redactor
from overt.workspace.output_text import Spool, complete_length, plain_text
from overt.workspace.undo.content_store import make_private

HALF = 32 * 1024 * 1024
BLOCK = 1024 * 1024
LONGEST_LINE = 4 * BLOCK
NEAR = 64 * 1024
"""Bytes beside a gap in which the end of a line is looked for."""
NOT_KEPT = "the rest was not kept"
HINT = "to see all, redirect the output to a file and read parts of it"
"""The hint if the output is not stored."""
UNSAVED = "unsaved-"
"""Prefix of the folders of sessions that are not stored."""


class FileSpool(Spool):
    """A spool that also writes everything to an unnamed file in `folder`, once it does not hold it all itself.

    Of a stream that is longer than two halves, the file holds the beginning and the end.
    """

    def __init__(self, folder: str, *, head: int, tail: int) -> None:
        super().__init__(head=head, tail=tail)
        self.failure = ""
        """Why the file is not complete."""
        self._folder = folder
        self._fd = -1
        self._written = 0

    @property
    def lost(self) -> int:
        return max(self._written - 2 * HALF, 0)

    @property
    def has_file(self) -> bool:
        return self._fd >= 0

    def feed(self, chunk: bytes | memoryview) -> None:
        if not self.has_file and not self.failure and self.size + len(chunk) > self._bounds[0]:
            self._open()
            self._write(bytes(self._head))
        self._write(chunk)
        super().feed(chunk)

    def beginning(self) -> Iterator[bytes]:
        """Yield all bytes, or the first half if some were lost."""
        return self._blocks(0, HALF if self.lost else self._written)

    def end(self) -> Iterator[bytes]:
        """Yield the second half of a stream that did not fit."""
        start = HALF + (self._written - HALF) % HALF
        yield from self._blocks(start, 2 * HALF)
        yield from self._blocks(HALF, start)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    __del__ = close

    def _open(self) -> None:
        try:
            make_private(self._folder)
            path = f"{self._folder}/.raw-{os.getpid()}-{os.urandom(4).hex()}"
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            os.unlink(path)
        except OSError as error:
            self._fail(error)

    def _write(self, chunk: bytes | memoryview) -> None:
        while chunk and self.has_file:
            at = self._written if self._written < HALF else HALF + (self._written - HALF) % HALF
            try:
                count = os.pwrite(self._fd, chunk[: HALF - at % HALF], at)
            except OSError as error:
                self._fail(error)
                return
            self._written += count
            chunk = chunk[count:]

    def _blocks(self, start: int, stop: int) -> Iterator[bytes]:
        while start < stop and (block := os.pread(self._fd, min(BLOCK, stop - start), start)):
            yield block
            start += len(block)

    def _fail(self, error: OSError) -> None:
        self.failure = error.strerror or "input/output error"
        self.close()


class OutputFiles:
    """The kept outputs of one session. `readable` are the folders that file tools may open because of it.

    A session that is not `stored` has a folder that goes with the program; one that a killed program left goes with
    the next command that keeps something. `earlier` are sessions that this one began as a copy of.
    """

    def __init__(
        self, base: str, session: str, *, stored: bool, redactor: Redactor, earlier: tuple[str, ...] = ()
    ) -> None:
        self._stored = stored
        self.folder = f"{base}/{session if stored else f'{UNSAVED}{os.getpid()}-{session}'}"
        self.readable = (self.folder, *(f"{base}/{each}" for each in (session, *earlier) if each))
        self._base = base
        self._redactor = redactor
        self._lock = -1

    def spool(self, *, head: int, tail: int) -> FileSpool:
        return FileSpool(self.folder, head=head, tail=tail)

    def save(self, spool: FileSpool) -> str:
        """Write what a command printed to a new file, and return for the model where it is or why it is not there."""
        if spool.failure:
            return f"{NOT_KEPT}: {spool.failure}"
        path = ""
        try:
            self._prepare()
            fd, path = self._create()
            try:
                self._write(fd, spool)
            finally:
                os.close(fd)
        except OSError as error:
            if path:
                os.unlink(path)
            return f"{NOT_KEPT}: {error.strerror or 'input/output error'}"
        which = "its first and last 32 MB are" if spool.lost else "all of it is"
        return f"{which} in {path}, for read and grep"

    def close(self) -> None:
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1
        if not self._stored:
            remove_folder(self.folder)

    def _write(self, fd: int, spool: FileSpool) -> None:
        redactor = self._redactor.copy()
        head, _, tail = spool.since(0)
        blocks = spool.beginning() if spool.has_file else iter((head + tail,))
        texts = [clean_blocks(blocks, redactor, broken_off=spool.lost > 0)]
        if spool.lost:
            texts += [iter((f"\n[... {spool.lost} bytes were not kept ...]\n",))]
            texts += [clean_blocks(spool.end(), redactor, begun=True)]
        for text in chain.from_iterable(texts):
            write_all(fd, text.encode("utf-8", "replace"))

    def _prepare(self) -> None:
        make_private(self.folder)
        if self._stored or self._lock >= 0:
            return
        self._lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        fcntl.flock(self._lock, fcntl.LOCK_SH)
        for name in os.listdir(self._base):
            path = f"{self._base}/{name}"
            if name.startswith(UNSAVED) and path != self.folder and _abandoned(path):
                remove_folder(path)

    def _create(self) -> tuple[int, str]:
        number = len(os.listdir(self.folder)) + 1
        while True:
            path = f"{self.folder}/{number}.txt"
            try:
                return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600), path
            except FileExistsError:
                number += 1


def clean_blocks(
    blocks: Iterator[bytes], redactor: Redactor, *, broken_off: bool = False, begun: bool = False
) -> Iterator[str]:
    """Plain text without secrets, wherever the blocks are cut.

    Text is cut only where both sides come out the same as the whole does, so no secret is cut in two. If the stream is
    `broken_off` or had already `begun`, what may be a part of a secret beside the gap is left out.
    """
    reach = max(redactor.longest, 1)
    pending = ""
    for text in _plain_lines(blocks, begun=begun):
        pending += text
        if begun and len(pending) >= 2 * reach:
            pending, begun = _after_key(pending, reach), False
        cut = _safe_cut(pending, redactor, reach)
        if cut:
            yield redactor.clean(pending[:cut])
            pending = pending[cut:]
    if begun:
        pending = _after_key(pending, reach)
    if broken_off:
        pending = pending[: pending.rfind("\n", max(len(pending) - NEAR, 0)) + 1 or len(pending)]
        end = len(pending) - 2 * reach
        pending = pending[: max(end, 0) + redactor.unfinished(pending[max(end, 0) :])]
    yield redactor.clean(pending)


def remove_folder(path: str) -> None:
    """Remove a folder of stored outputs, which contains only files. Do nothing if it does not exist."""
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                os.unlink(entry.path)
        os.rmdir(path)
    except OSError:
        pass  # a session may be deleted although this stays


def _safe_cut(text: str, redactor: Redactor, reach: int) -> int:
    """Where the text may be cut in two, far enough from its end that what lies before is complete; 0: nowhere."""
    latest = len(text) - 2 * reach
    for _ in range(4):
        if latest <= 0:
            return 0
        cut = text.rfind("\n", max(latest - reach, 0), latest) + 1 or latest
        around = text[max(cut - reach, 0) : cut + reach]
        middle = min(cut, reach)
        if redactor.clean(around[:middle]) + redactor.clean(around[middle:]) == redactor.clean(around):
            return cut
        latest = cut - reach
    return 0


def _after_key(text: str, reach: int) -> str:
    """Return the text without the end of a private key whose beginning was lost."""
    end = re.search(PEM_END, text[: 2 * reach])
    return text[end.end() :] if end and BEGIN not in text[: end.start()] else text


def _plain_lines(blocks: Iterator[bytes], *, begun: bool) -> Iterator[str]:
    """Plain text of whole lines, since escapes and progress bars do not cross them."""
    waiting = b""
    for block in blocks:
        if begun:
            line = block.find(b"\n", 0, NEAR)
            block = block[line + 1 if line >= 0 else NEAR :]
            begun = False
        waiting += block
        cut = waiting.rfind(b"\n") + 1
        if not cut and len(waiting) < LONGEST_LINE:
            continue
        cut = cut or complete_length(waiting)
        yield plain_text(waiting[:cut])
        waiting = waiting[cut:]
    yield plain_text(waiting)


def _abandoned(path: str) -> bool:
    """True if no running program holds the folder."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(fd)
    return True
