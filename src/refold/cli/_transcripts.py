"""`SESSION...`: every session of every source that is named, sub-agents' too."""

from collections.abc import Iterator

import click
import msgspec

from refold.events import Event, LogError, RefoldError, StepStart
from refold.transcripts import sessions_of


class Transcript(msgspec.Struct, frozen=True):
    """A session with at least one call. `name` is its source's, with its id where the source holds several."""

    name: str
    events: tuple[Event, ...]


def transcripts(sources: tuple[str, ...], format: str | None) -> tuple[list[Transcript], bool]:
    """The sessions with a model call, and whether all sources were read: what was not, and what readers had to leave
    out, goes to standard error. Raises LogError for no session at all, and the error of a source that is the only one.
    """
    found: list[Transcript] = []
    whole = True
    for source in sources:
        try:
            found += _within(source, format)
        except (RefoldError, OSError) as error:
            if len(sources) == 1:
                raise
            whole = False
            told = f"{source}: {error.strerror}" if isinstance(error, OSError) else str(error)
            click.echo(f"refold: {told}; left out", err=True)
    if not found:
        raise LogError("holds no session with a model call", path=", ".join(sources))
    return found, whole


def _within(source: str, format: str | None) -> Iterator[Transcript]:
    _, sessions = sessions_of(source, format=format)
    called = [session for session in sessions if any(isinstance(event, StepStart) for event in session.events)]
    for session in called:
        name = source if len(called) == 1 else f"{source}#{session.id}"
        for note in session.notes:
            click.echo(f"refold: {name}: {note}", err=True)
        yield Transcript(name, session.events)
