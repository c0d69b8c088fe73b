"""What a reader of a foreign transcript is handed, and what it gives back."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from refold.events._blocks import Block
from refold.events._errors import FormatError, LogError
from refold.events._events import Event
from refold.events._lines import Lines

MAX_LINE = 64 << 20  # bytes
START = 4096
BOM = b"\xef\xbb\xbf"
LONG = 1 << 16
LONGEST_NUMBER = 308  # digits: JavaScript has no larger one
Pieces = Callable[[], Iterable[bytes]]


class Source:
    """The bytes of one transcript, whole or line by line. `name` is what error messages call it.

    `data` may be a function that gives the bytes in pieces, the same at each call: then what is read line by line is
    never held whole. A UTF-8 byte order mark before the content is no part of it: every format is told and read
    without, and `data` alone has it, so that a writer keeps it.
    """

    def __init__(self, data: bytes | Pieces, name: str = "transcript", max_line: int = MAX_LINE) -> None:
        self._data, self.name, self._max_line = data, name, max_line
        self._document: Any = None
        self._refusal: FormatError | None = None
        self._decoded = False

    @property
    def data(self) -> bytes:
        return self._data if isinstance(self._data, bytes) else b"".join(self._data())

    @property
    def content(self) -> bytes:
        """The data without a byte order mark."""
        return self.data.removeprefix(BOM)

    @property
    def start(self) -> bytes:
        """The first bytes but for blanks, a few thousand at least where there are so many; b"" where all is blank."""
        found = b""
        for piece in self._pieces():
            found = (found + piece).lstrip()
            if len(found) > START:
                break
        return found

    @property
    def is_one_long_line(self) -> bool:
        """Does nothing follow the first line, and is that a long one?"""
        size, ended = 0, False
        for piece in self._pieces():
            line, end, rest = (b"", b"", piece) if ended else piece.partition(b"\n")
            size += len(line)
            ended = ended or bool(end)
            if rest.strip():
                return False
        return size > LONG

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Each non-blank line with its 1-based number, without its line end. Raises FormatError for one too long."""
        for number, line in enumerate(self.whole_lines(), 1):
            stripped = line.removesuffix(b"\n").rstrip(b"\r")
            if stripped.strip():
                yield number, stripped

    def whole_lines(self) -> Iterator[bytes]:
        """Each line with its line end, which the last one may lack. Raises FormatError for one too long."""
        blocks = Lines(self._pieces(), self._max_line)
        try:
            for block in blocks:
                yield from (line + b"\n" for line in block[:-1].split(b"\n"))
        except LogError as error:
            raise FormatError(f"{self.name}: {error.rule}") from None
        if blocks.rest:
            yield blocks.rest

    def document(self) -> Any:
        """The whole source as one JSON value, decoded once: not to be changed. Raises FormatError where it is none."""
        if not self._decoded:
            self._decoded = True
            try:
                self._document = decode_json(self.content, self.name)
            except FormatError as error:
                self._refusal = error
        if self._refusal is not None:
            raise self._refusal
        return self._document

    def take(self) -> Any:
        """As `document`, but the value is the caller's own: the source does not keep it."""
        value = self.document()
        self._document, self._decoded = None, False
        return value

    def _pieces(self) -> Iterable[bytes]:
        return (self.content,) if isinstance(self._data, bytes) else _without_mark(self._data())


def _without_mark(pieces: Iterable[bytes]) -> Iterator[bytes]:
    held = b""
    rest = iter(pieces)
    for piece in rest:
        held += piece
        if len(held) >= len(BOM):
            break
    yield held.removeprefix(BOM)
    yield from rest


class TooDeep(FormatError):
    """JSON that no reader here can follow; it may be good all the same."""


def decode_json(data: bytes, where: str) -> Any:
    """One JSON value; a lone surrogate escape, which msgspec refuses and real logs contain, is kept as it is."""
    try:
        return msgspec.json.decode(data)
    except RecursionError:
        raise TooDeep(f"{where}: its JSON is nested too deeply to be read") from None
    except msgspec.DecodeError as error:
        if "trailing characters" in str(error):  # JSON lines: json would take them all for one text, to say the same
            raise FormatError(f"{where}: not JSON: more than one value") from None
    try:
        return json.loads(data, parse_int=_whole_number, parse_float=_number)
    except RecursionError:
        raise TooDeep(f"{where}: its JSON is nested too deeply to be read") from None
    except ValueError as error:
        raise FormatError(f"{where}: not JSON: {error}") from None


def _whole_number(digits: str) -> int:
    if len(digits) > LONGEST_NUMBER:
        raise ValueError(f"the number {digits[:20]}... is too large")
    return int(digits)


def _number(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits[:20]} is too large")
    return value


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
