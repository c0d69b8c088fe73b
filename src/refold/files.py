"""Files: opening what a user names, and writing so that nothing is lost. The one place where refold touches a disk
for logs."""

import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from refold.events import Log, LogError, RefoldError, read_dsh

BLOCK = 1 << 16
_GENERATION = re.compile(r"session(?:\.v([1-9]\d*))?\.jsonl(\.zstd?)?")


class OutputError(RefoldError):
    """The output cannot be written as asked; the message says why and what to do."""


def open_log(session: str, *, max_line: int = 64 << 20, blocks: Iterable[bytes] | None = None) -> Log:
    """The DSH log that `session` names: a file, a session directory (its highest generation), or - for standard input.

    `blocks` are its bytes where the caller has them. Raises LogError, and OSError where the file cannot be opened.
    """
    path = log_path(session)
    named = _GENERATION.fullmatch(os.path.basename(path))
    version = int(named[1] or 0) if named else None
    return read_dsh(blocks_of(path) if blocks is None else blocks, name=session, max_line=max_line, version=version)


def log_path(session: str) -> str:
    """The file that a session's name stands for. Raises LogError for a directory without a log, or with two that are
    equally new."""
    if session == "-" or not os.path.isdir(session):
        return session
    found = [(int(match[1] or 0), entry) for entry in os.listdir(session) if (match := _GENERATION.fullmatch(entry))]
    if not found:
        raise LogError("is a directory without a session log (session.jsonl, session.vN.jsonl, .zstd)", path=session)
    newest = max(found)[0]
    logs = sorted(entry for generation, entry in found if generation == newest)
    if len(logs) > 1:
        raise LogError(f"is a directory with {' and '.join(logs)}; name the one to read", path=session)
    return os.path.join(session, logs[0])


def blocks_of(session: str) -> Iterator[bytes]:
    """The bytes of what `session` names, block by block. Raises OSError, LogError."""
    path = log_path(session)
    if path == "-":
        if sys.stdin is None:
            raise LogError("standard input is closed", path=session)
        while block := sys.stdin.buffer.read(BLOCK):
            yield block
        return
    with open(path, "rb") as file:
        while block := file.read(BLOCK):
            yield block


@contextmanager
def at_rest(session: str) -> Iterator[Callable[[], Iterator[bytes]]]:
    """A function that gives the bytes of what `session` names, from the start and the same at each call.

    They are read once, into a temporary file: standard input cannot be read twice, and the log of a running harness
    grows. Raises OSError, LogError.
    """
    with tempfile.TemporaryFile() as copy:
        for block in blocks_of(session):
            copy.write(block)

        def blocks() -> Iterator[bytes]:
            at = 0
            while copy.seek(at) == at and (block := copy.read(BLOCK)):
                at += len(block)
                yield block

        yield blocks


def save(output: str, pieces: Iterable[bytes], *, force: bool = False, original: str | None = None) -> None:
    """Write a file whole or not at all: to a temporary name beside it, then renamed.

    The file gets the permissions that any new file of the user gets. `original` is the session that it comes from,
    which is not overwritten even with `force`. Raises OutputError where `output` exists and `force` is not set, and
    where no file can have that name; OSError, and whatever `pieces` raises. Then nothing is left behind.
    """
    path = Path(output)
    if path.is_dir():
        raise OutputError(f"{output} is a directory; name the file to write")
    if original is not None and _is_file_of(original, path):
        raise OutputError(f"{output} is the log itself, which is never changed; choose another name")
    if not force and path.exists():
        raise OutputError(f"{output} exists; choose another name, or overwrite it with --force")
    if path.exists() and not path.is_file():
        raise OutputError(f"{output} is no regular file; choose another name")
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except OSError as error:
        raise OutputError(f"{output} cannot be written: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            for piece in pieces:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        if force:
            os.replace(temporary, path)
        else:
            _link(temporary, path)
    except BaseException:
        if os.path.exists(temporary):
            os.unlink(temporary)
        raise


def _is_file_of(session: str, path: Path) -> bool:
    """Is `path` the file that the session is read from, under whatever name?"""
    try:
        read = os.fstat(sys.stdin.fileno()) if session == "-" else os.stat(log_path(session))
        return os.path.samestat(read, path.stat())
    except (OSError, ValueError):  # no such file yet, or a standard input that is no file
        return False


def _link(temporary: str, path: Path) -> None:
    """Give the file its name, unless another process has taken the name meanwhile."""
    try:
        os.link(temporary, path)
    except FileExistsError:
        raise OutputError(f"{path} exists; choose another name, or overwrite it with --force") from None
    except OSError:  # a file system without hard links
        os.rename(temporary, path)
        return
    os.unlink(temporary)
