"""A session's events, read once, in order."""

from collections.abc import Iterator
from typing import Any

from refold.events._events import Event


class Log:
    """One session's log: iterate over it, once, for its events in seq order.

    `format` is the log's format, `name` what the caller calls it, `id` the session's, `version` the format version,
    `header` the log's first line. `notes`, complete when the iteration has ended, say what had to be left out or taken
    on trust. While it is iterated the log raises LogError where it breaks a rule of its format; what came before the
    error must then not be taken for a whole session.
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
    ) -> None:
        self.format, self.name, self.id, self.version, self.header = format, name, id, version, header
        self.notes = notes
        self._events = events

    def __iter__(self) -> Iterator[Event]:
        return self._events
