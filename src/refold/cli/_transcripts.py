"""`SESSION...`: transcripts of any format, each as its sessions of events."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from refold.events import Event, LogError, StepStart
from refold.events.formats import Source, detect, read
from refold.events.formats._tree import pack_tree
from refold.files import log_path, open_log


class Transcript(msgspec.Struct, frozen=True):
    """One session with at least one call. `name` is the file's, with the session's id where the file holds several."""

    name: str
    events: tuple[Event, ...]
    notes: tuple[str, ...] = ()


def transcripts(path: str, max_line: int = 64 << 20) -> Iterator[Transcript]:
    """The sessions in a file, a directory or standard input. Raises LogError, FormatError, OSError."""
    if os.path.isdir(path):
        yield from _directory(path, max_line)
        return
    source = Source(sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes(), path)
    if path != "-" and detect(source).name == "dsh":
        yield from _dsh(path, max_line)
        return
    yield from _sessions(source)


def asked_of(paths: tuple[str, ...], max_line: int = 64 << 20) -> list[Transcript]:
    """Every session of every path; what readers had to leave out goes to standard error. Raises LogError for none."""
    found = [transcript for path in paths for transcript in transcripts(path, max_line)]
    for transcript in found:
        for note in transcript.notes:
            click.echo(f"refold: {transcript.name}: {note}", err=True)
    if not found:
        raise LogError("holds no session with a model call", path=", ".join(paths))
    return found


def _directory(path: str, max_line: int) -> Iterator[Transcript]:
    try:
        log_path(path)
    except LogError:
        root = Path(path)
        files = {each.relative_to(root).as_posix(): each.read_bytes() for each in root.rglob("*.json")}
        if not files:
            raise
        yield from _sessions(pack_tree(files, path))
        return
    yield from _dsh(path, max_line)


def _dsh(path: str, max_line: int) -> Iterator[Transcript]:
    log = open_log(path, max_line=max_line)
    events = tuple(log)
    if _called(events):
        yield Transcript(path, events, tuple(log.notes))


def _sessions(source: Source) -> Iterator[Transcript]:
    found = [session for session in read(source) if _called(session.events)]
    for session in found:
        name = source.name if len(found) == 1 else f"{source.name}#{session.id}"
        yield Transcript(name, session.events, session.notes)


def _called(events: tuple[Event, ...]) -> bool:
    return any(isinstance(event, StepStart) for event in events)
