"""Files: opening what a user names, and writing so that nothing is lost. The one place where refold touches a disk
for logs."""

import os
import re
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

from refold.events import Log, LogError, RefoldError, read_dsh
from refold.events import _zstd as zstd

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
    try:
        return read_dsh(blocks_of(path) if blocks is None else blocks, name=session, max_line=max_line, version=version)
    except LogError as error:
        if blocks is None and not named and error.line == 1:  # who has the bytes has told the format already
            hint = "transcripts of other formats are opened by refold.transcripts.open_session"
            raise LogError(f"{error.rule}; {hint}", path=session, line=1) from None
        raise


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
            try:
                copy.write(block)
                copy.flush()
            except OSError as error:
                raise OutputError(f"{tempfile.gettempdir()} takes no copy of {session}: {error.strerror}") from None

        def blocks() -> Iterator[bytes]:
            at = 0
            while copy.seek(at) == at and (block := copy.read(BLOCK)):
                at += len(block)
                yield block

        yield blocks


def as_named(output: str, pieces: Iterable[bytes], version: int) -> Iterator[bytes]:
    """The bytes of a DSH log in the form that the file's name tells: zstd for .zstd and .zst, plain for any other.

    Raises OutputError, at the call, for the name of another format version's log, which nobody would read.
    """
    named = _GENERATION.fullmatch(os.path.basename(output))
    if named and int(named[1] or 0) != version:
        right = (f"session.v{version}.jsonl" if version else "session.jsonl") + (named[2] or "")
        raise OutputError(
            f"{output} is the name of a V{named[1] or 0} log, and this one is V{version}: name it {right}"
        )
    return _packed(pieces) if is_packed_name(output) else _unpacked(pieces, output)


def is_packed_name(output: str) -> bool:
    return output.lower().endswith((".zstd", ".zst"))


def _packed(pieces: Iterable[bytes]) -> Iterator[bytes]:
    rest = iter(pieces)
    start = next(rest, b"")
    if start.startswith(zstd.MAGIC):
        return chain((start,), rest)
    while b"\n" not in start and (piece := next(rest, b"")):
        start += piece
    header, end, more = start.partition(b"\n")  # its harness wants the header alone in the first frame
    return chain(zstd.packed((header + end,)), zstd.packed(chain((more,), rest)))


def _unpacked(pieces: Iterable[bytes], name: str) -> Iterator[bytes]:
    rest = iter(pieces)
    start = next(rest, b"")
    again = chain((start,), rest)
    return iter(zstd.Unpacked(again, name)) if start.startswith(zstd.MAGIC) else again


def save(output: str, pieces: Iterable[bytes], *, force: bool = False, original: str | None = None) -> None:
    """Write a file whole or not at all: to a temporary name beside it, then renamed.

    `original` is the session that it comes from, which is not overwritten even with `force`. The file gets the
    permissions that any new file of the user gets, but gives others none that the original, or the file it takes the
    place of, does not. Raises OutputError where `output` exists and `force` is not set, where no file can have that
    name, and where it cannot be written; and whatever `pieces` raises. Then nothing is left behind; a killed process
    may leave a file `.refold-*.tmp`, which its user alone can read.
    """
    path = Path(output)
    if not output or "\0" in output:
        raise OutputError(f"{output!r} can be no file's name; name the file to write")
    if path.is_dir() or output.endswith(os.sep):
        raise OutputError(f"{output} is a directory; name the file to write")
    if path.exists() and not path.is_file():
        raise OutputError(f"{output} is no regular file; choose another name")
    if original is not None and _is_file_of(original, path):
        raise OutputError(f"{output} is the log itself, which is never changed; choose another name")
    if not force and path.exists():
        raise OutputError(f"{output} exists; choose another name, or overwrite it with --force")
    try:
        handle, temporary = tempfile.mkstemp(prefix=".refold-", suffix=".tmp", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.writelines(pieces)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, _permissions(original, path))
            if force:
                os.replace(temporary, path)
            else:
                _link(temporary, path)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise
    except OSError as error:
        raise OutputError(f"{output} cannot be written: {error.strerror or error}") from None


def _permissions(original: str | None, path: Path) -> int:
    mask = os.umask(0)
    os.umask(mask)
    mode = 0o666 & ~mask
    for read in (original, str(path)):
        found = None if read is None else _stat(read)
        if found is not None and stat.S_ISREG(found.st_mode):
            mode &= found.st_mode | stat.S_IRWXU
    return mode


def _stat(session: str) -> os.stat_result | None:
    """Of the file that a session is read from, None where there is none."""
    try:
        return os.fstat(sys.stdin.fileno()) if session == "-" else os.stat(log_path(session))
    except (OSError, ValueError, LogError):  # no such file, or a standard input that is no file
        return None


def _is_file_of(session: str, path: Path) -> bool:
    """Is `path` the file that the session is read from, under whatever name?"""
    read, there = _stat(session), _stat(str(path))
    return read is not None and there is not None and os.path.samestat(read, there)


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
