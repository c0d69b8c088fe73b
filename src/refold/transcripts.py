"""Opening a session of any format that refold reads, by its content."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from refold.events import Block, FormatError, Log, LogError
from refold.events._zstd import MAGIC
from refold.events.formats import FORMATS, Format, Session, Source, detect, named, read, refuse_other
from refold.events.formats._source import BOM, MAX_LINE
from refold.events.formats._tree import pack_tree
from refold.events.formats.dsh import other_packed
from refold.files import blocks_of, log_path, open_log

Watch = Callable[[Iterable[bytes], int | None], Iterable[bytes]]


def open_session(
    session: str,
    *,
    format: str | None = None,
    chosen: str | None = None,
    max_line: int = MAX_LINE,
    blocks: Iterable[bytes] | None = None,
    watch: Watch = lambda pieces, size: pieces,
) -> Log:
    """The session that `session` names: a file of any format, a session directory, or - for standard input.

    A DSH log is streamed, and a file of JSON lines read line by line; everything else is read whole. `format` is a
    format's name, None to tell by the content; `chosen` the id of one of the source's sessions (sub-agents are sessions
    of their own), None for the main one; `blocks` the source's bytes where the caller has them; `watch` is handed the
    bytes of a transcript and their number, None where it is not known, and gives the bytes again: once for each time
    that they are read. Raises FormatError, LogError, OSError.
    """
    if blocks is None and os.path.isdir(session) and _is_tree(session):
        return _log(_source(session), format, chosen)
    pieces = iter(blocks_of(session) if blocks is None else blocks)
    first = next(pieces, b"")
    first = first.removeprefix(BOM) or next(pieces, b"")
    again = chain((first,), pieces)
    if format == "dsh" and not _is_dsh(first) and os.path.isfile(session):
        refuse_other(_file(session, max_line, watch), named(format))
    if format in (None, "dsh") and (format == "dsh" or _is_dsh(first)):
        try:
            log = open_log(session, max_line=max_line, blocks=again)
        except LogError as error:
            raise other_packed(error, first, session) from None
        if chosen not in (None, log.id):
            raise FormatError(f"{session}: has no session {chosen!r}; it is {log.id}")
        return log
    if blocks is None and os.path.isfile(session):
        return _log(_file(session, max_line, watch), format, chosen)
    return _log(Source(b"".join(watch(again, None)), session), format, chosen)


def _file(path: str, max_line: int, watch: Watch) -> Source:
    """A file, read anew each time, but no further than it reached at first: that of a running session grows."""
    size = os.path.getsize(path)

    def pieces() -> Iterator[bytes]:
        left = size
        for block in blocks_of(path):
            yield block[:left]
            left -= len(block)
            if left <= 0:
                return

    return Source(lambda: watch(pieces(), size), path, max_line)


def _is_tree(folder: str) -> bool:
    """A directory that is no DSH session directory."""
    return not any(entry.startswith("session.") for entry in os.listdir(folder))


def _is_dsh(first: bytes) -> bool:
    """Does a source begin as a DSH log, or as nothing at all (which the log reader explains best)?"""
    if first.startswith(MAGIC) or not first.strip():
        return True
    line = first.split(b"\n", 1)[0]
    try:
        header = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and header.get("type") == "session" and "timestamp" not in header


def _source(folder: str) -> Source:
    """A directory of small JSON files as one source, its paths relative to it."""
    root = Path(folder)
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*.json*") if path.is_file()}
    if not files:
        log_path(folder)  # says what a session directory holds
    return pack_tree(files, folder)


def _log(source: Source, format: str | None, chosen: str | None) -> Log:
    known = named(format) if format else detect(source)
    session = _chosen(read(source, known), chosen, source.name)
    notes = list(session.notes)
    if session.partial:
        notes.append("the session is read in part; see the notes before")
    return Log(known.name, source.name, session.id, 0, {}, iter(session.events), notes)


def rewritten(data: bytes, name: str, format: str, contents: Mapping[int, tuple[Block, ...]]) -> bytes:
    """A transcript with other contents for the tool results of its main session, by seq, and all else as it was.

    Raises FormatError for a format that is only read.
    """
    known = named(format)
    if known.write is None:
        written = ", ".join(each.name for each in FORMATS if each.write is not None)
        raise FormatError(
            f"{name}: {format} transcripts are only read; the formats that are written are dsh, {written}"
        )
    return known.write(Source(data, name), contents)


def _chosen(sessions: tuple[Session, ...], chosen: str | None, name: str) -> Session:
    if chosen is None:
        return sessions[0]
    for session in sessions:
        if session.id == chosen:
            return session
    ids = ", ".join(session.id for session in sessions)
    raise FormatError(f"{name}: has no session {chosen!r}; there are {ids}")


def sessions_of(session: str, *, format: str | None = None) -> tuple[Format, tuple[Session, ...]]:
    """Every session in a source, with its format. Raises FormatError, LogError, OSError."""
    is_tree = os.path.isdir(session) and _is_tree(session)
    if is_tree:
        source = _source(session)
    elif os.path.isfile(session):
        source = _file(session, MAX_LINE, lambda pieces, size: pieces)
    else:
        source = Source(b"".join(blocks_of(session)), session)
    known = named(format) if format else detect(source)
    return known, read(source, known)
