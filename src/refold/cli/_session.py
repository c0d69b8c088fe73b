"""`SESSION`: opening what a command reads, and the reducer that fits it."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click
from rich.console import Console
from rich.progress import Progress

from refold.cli._output import plain
from refold.cli._policy import policy_of
from refold.events import Event, Log, LogError, SurfaceError
from refold.reducer import Counted, Dsh, Meter, Mode, Reducer, Reported, View
from refold.transcripts import Watch, open_session


def opened(
    session: str,
    max_line: int,
    format: str | None = None,
    chosen: str | None = None,
    blocks: Iterable[bytes] | None = None,
) -> Log:
    with reading(session) as watch:
        return open_session(session, format=format, chosen=chosen, max_line=max_line, blocks=blocks, watch=watch)


@contextmanager
def reading(name: str) -> Iterator[Watch]:
    """What shows a bar for the bytes of a transcript while they are read: on a terminal, and nowhere else."""
    out = Console(stderr=True, markup=False)
    with Progress(console=out, disable=not out.is_terminal, transient=True) as progress:

        def watch(pieces: Iterable[bytes], size: int | None) -> Iterator[bytes]:
            task = progress.add_task(f"reading {plain(name)}", total=size)
            try:
                for piece in pieces:
                    yield piece
                    progress.advance(task, len(piece))
            finally:  # also where only the first lines are wanted
                progress.remove_task(task)

        yield watch


def told(log: Log) -> Iterator[Event]:
    """The log's events; when it ends, what the reader had to leave out goes to standard error."""
    yield from log
    for note in log.notes:
        click.echo(f"refold: {log.name}: {note}", err=True)


@contextmanager
def located(log: Log) -> Iterator[None]:
    """An event that cannot follow those before it becomes an error of the log, with file and line. Raises LogError."""
    try:
        yield
    except SurfaceError as error:
        raise LogError(error.rule, path=log.name, line=log.line_of(error.seq), seq=error.seq) from None


def folded(reducer: Reducer, log: Log) -> View:
    """The view of the whole log. Raises LogError, also for an event that cannot follow those before it."""
    with located(log):
        return reducer.fold_all(reducer.start(), told(log))


def reducer_for(log: Log, policy: str, meter: str | None, mode: Mode) -> Reducer:
    return Reducer(policy_of(policy), _meter(log, meter), mode)


def _meter(log: Log, name: str | None) -> Meter:
    if name == "tiktoken":
        return Counted()
    if name == "usage" or (name is None and log.format != "dsh"):
        return Reported()
    return Dsh(log.version)


def about(reducer: Reducer) -> dict[str, str]:
    """The facts that every JSON document names."""
    meter = {Dsh: "dsh", Counted: "tiktoken", Reported: "usage"}[type(reducer.meter)]
    return {"policy": reducer.policy.name, "mode": reducer.mode, "meter": meter, "fingerprint": reducer.fingerprint}
