"""Everything that is read from and written to files: logs, standard input, DSH session directories, what is saved."""

import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

from refold.events import Log, LogError, RefoldError, read_dsh

PIECE = 1 << 16
STDIN = "-"
_GENERATION = re.compile(r"session(?:\.v([1-9][0-9]*))?\.jsonl(?:\.zstd)?")


def open_log(path: str | Path, *, max_line: int = 64 << 20) -> Log:
    """The DSH log at `path`: a file, `-` for standard input, or a session's directory (its newest generation).

    Raises LogError for what cannot be read, also while the log is iterated, and where a file name promises another
    format version than the header has (`session.jsonl` is format 0, `session.vN.jsonl` format N).
    """
    file = log_file(path)
    log = read_dsh(_pieces(file), name=file, max_line=max_line)
    promised = generation(file)
    if promised is not None and promised != log.version:
        raise LogError(
            f"the header says format {log.version}, and the file name says {promised}: one of the two was changed",
            path=file,
            line=1,
        )
    return log


def blocks_of(path: str | Path) -> Iterator[bytes]:
    """The bytes that `open_log` reads, in pieces; each call begins anew. Raises LogError."""
    return _pieces(log_file(path))


def log_file(path: str | Path) -> str:
    """The file that holds the log at `path`; `-` stays. Raises LogError for a directory without a log, or with two."""
    name = str(path)
    if name == STDIN or not os.path.isdir(name):
        return name
    found: dict[int, list[str]] = {}
    for entry in sorted(os.listdir(name)):
        number = generation(entry)
        if number is not None and os.path.isfile(os.path.join(name, entry)):
            found.setdefault(number, []).append(entry)
    if not found:
        raise LogError("the directory holds no session log (session.jsonl, session.vN.jsonl, or .zstd)", path=name)
    newest = found[max(found)]
    if len(newest) > 1:
        raise LogError(f"the directory holds {' and '.join(newest)}: name the one to be read", path=name)
    return os.path.join(name, newest[0])


def generation(path: str) -> int | None:
    """The format version that a session log's file name promises, None for a name of another kind."""
    match = _GENERATION.fullmatch(os.path.basename(path))
    return int(match[1] or 0) if match else None


def save(path: str | Path, pieces: Iterable[bytes], *, force: bool = False, original: str | Path | None = None) -> None:
    """Write a file whole or not at all: to a temporary name beside it, then renamed. `-` is standard output.

    A new file may be read by its owner alone, as the logs that DSH writes; one that is overwritten keeps its mode.
    Raises RefoldError if the file exists and `force` is not set, if it is the `original` that `pieces` were made from,
    or if it cannot be written; an error that comes while `pieces` are made leaves everything as it was.
    """
    name = str(path)
    if original is not None and os.path.realpath(name) == os.path.realpath(log_file(original)):
        raise RefoldError(f"{name}: is the log itself, which is never changed; name another file")
    if name == STDIN:
        for piece in pieces:
            sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
        return
    mode = _mode_to_write(name, force)
    made = ""
    try:
        handle, made = tempfile.mkstemp(prefix=".refold-", dir=os.path.dirname(os.path.realpath(name)))
        with os.fdopen(handle, "wb") as file:
            os.chmod(made, mode)
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        _mode_to_write(name, force)  # who came first since then keeps the name
        os.replace(made, os.path.realpath(name))
        made = ""
    except OSError as error:
        raise RefoldError(f"{name}: cannot be written: {error.strerror}") from None
    finally:
        if made:
            with suppress(OSError):
                os.unlink(made)


def _mode_to_write(name: str, force: bool) -> int:
    try:
        known = os.stat(name)
    except FileNotFoundError:
        return 0o600
    except OSError as error:
        raise RefoldError(f"{name}: cannot be written: {error.strerror}") from None
    if not stat.S_ISREG(known.st_mode):
        raise RefoldError(f"{name}: is no regular file, and only those are written")
    if not force:
        raise RefoldError(f"{name}: exists; it is overwritten only if that is asked for (--force)")
    return stat.S_IMODE(known.st_mode)


def _pieces(file: str) -> Iterator[bytes]:
    try:
        if file == STDIN:
            kept = _kept(sys.stdin.buffer)
            kept.seek(0)
            while piece := kept.read(PIECE):
                yield piece
            return
        with open(file, "rb") as opened:
            while piece := opened.read(PIECE):
                yield piece
    except OSError as error:
        raise LogError(f"cannot be read: {error.strerror or error}", path=file) from None


@cache
def _kept(stream: IO[bytes]) -> IO[bytes]:
    """A copy of what can be read only once, on disk: a log is gone through twice where something is appended."""
    kept = tempfile.TemporaryFile()  # noqa: SIM115 -- open as long as the process reads
    shutil.copyfileobj(stream, kept)
    return kept
