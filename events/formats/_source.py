"""What a reader of a foreign transcript is handed, and what it gives back."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from refold.events._blocks import Block
from refold.events._errors import FormatError
from refold.events._events import Event


class Source:
    """The bytes of one transcript, whole or line by line. `name` is what error messages call it."""

    def __init__(self, data: bytes, name: str = "transcript") -> None:
        self.data, self.name = data, name

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Each non-blank line with its 1-based number, without its line end."""
        number = start = 0
        while start < len(self.data):
            end = self.data.find(b"\n", start)
            end = len(self.data) if end < 0 else end
            number += 1
            line = self.data[start:end].rstrip(b"\r")
            start = end + 1
            if line.strip():
                yield number, line

    def document(self) -> Any:
        """The whole source as one JSON value. Raises FormatError where it is none."""
        return decode_json(self.data, f"{self.name}")


def decode_json(data: bytes, where: str) -> Any:
    """One JSON value; a lone surrogate escape, which msgspec refuses and real logs contain, is kept as it is."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: not JSON: {error}") from None


class Session(msgspec.Struct, frozen=True):
    """One session's events in order, seq 0, 1, 2, ...

    `parent` is the id of the session that spawned it, None for a session of its own. `notes` say what a reader
    had to leave out or take on trust (an orphan result, a torn last line, an unknown record type), one text each.
    `partial` is True where the source breaks off or holds a record that could not be read.
    """

    id: str
    events: tuple[Event, ...]
    parent: str | None = None
    notes: tuple[str, ...] = ()
    partial: bool = False


class Format(msgspec.Struct, frozen=True):
    """A transcript format. `tells` names what its files can say: usage, cache, reasoning, errors, compaction, times.

    `detect` looks at content alone and says whether the source is of this format; it raises nothing. `read` gives
    the sessions, the main one first; it raises FormatError (or LogError) where there is nothing to be read. `write`
    gives the source with other contents for tool results of the main session, by their seq, and every other byte as
    it was; None for a format that is only read.
    """

    name: str
    title: str
    tells: frozenset[str]
    detect: Callable[[Source], bool]
    read: Callable[[Source], tuple[Session, ...]]
    write: Callable[[Source, Mapping[int, tuple[Block, ...]]], bytes] | None = None
