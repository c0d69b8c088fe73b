"""A session's events, read once, in order."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

from refold.events._errors import LogError
from refold.events._events import Event


class Log:
    """One session's log: iterate over it, once, for its events in seq order.

    `format` is the log's format, `name` what the caller calls it, `id` the session's, `version` the format version,
    `header` the log's first line. `notes`, complete when the iteration has ended, say what had to be left out or taken
    on trust; `line_of` gives the 1-based line of an event that has been read, None where the log has no lines. While it
    is iterated the log raises LogError where it breaks a rule of its format; what came before the error must then not
    be taken for a whole session. Iterating again goes on where the iteration was left, and raises LogError where that
    was at the end: a log read twice must not look like an empty one.
    """

    def __init__(
        self,
        format: str,
        name: str,
        id: str,
        version: int,
        header: dict[str, Any],
        events: Iterator[Event],
        notes: list[str],
        line_of: Callable[[int], int | None] = lambda seq: None,
    ) -> None:
        self.format, self.name, self.id, self.version, self.header = format, name, id, version, header
        self.notes, self.line_of = notes, line_of
        self._events = chain(events, self._end())
        self._ended = False

    def __iter__(self) -> Iterator[Event]:
        if self._ended:
            raise LogError("has been read to its end; open it again", path=self.name)
        return self._events

    def _end(self) -> Iterator[Event]:
        self._ended = True
        yield from ()
