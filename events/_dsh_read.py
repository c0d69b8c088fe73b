"""Reading DSH's session log: bytes in, events out, a block of lines at a time.

Rules: the official JSONL backend (format V0, 0.1.1-rc.2) and, for later formats, its migration packages. A row that is
no JSON, or out of sequence, ends the log: what stands behind it is a torn tail, unless it or a later row ends a turn,
which makes the log corrupt. In a zstd log it always is: a frame is written whole. Any other broken rule is an error
wherever it stands.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import Any

import msgspec

from refold.events import _json as js
from refold.events import _zstd as zstd
from refold.events._dsh_chunks import joined, runs, spelled_out, whole
from refold.events._dsh_events import spells_own, translations
from refold.events._dsh_header import parse_header
from refold.events._dsh_upgrade import Upgrade
from refold.events._dsh_wire import PACKED, SAFE, decoder, rows, surface_rows
from refold.events._errors import LogError
from refold.events._events import AssistantChunks, Event, Other
from refold.events._lines import Lines
from refold.events._log import Log

MAX_LINE = 64 << 20


def read_dsh(
    blocks: Iterable[bytes], *, name: str = "log", max_line: int = MAX_LINE, version: int | None = None
) -> Log:
    """A DSH log of any format V0 to V5, plain or zstd, from its bytes cut anywhere.

    The header is read at once, the rest as the log is iterated. `version` is what the file's name promises, None for
    no promise; `max_line` the longest line read, in bytes. Raises LogError.
    """
    reader = Reader(blocks, name, max_line)
    if version is not None and reader.version != version:
        raise LogError(
            f"the header says format version {reader.version}, the file name says {version}; restore the name",
            path=name,
            line=1,
        )
    header = reader.header
    return Log("dsh", name, header["id"], reader.version, header, reader.events(), reader.notes, reader.line_of)


class Reader:
    """The state of one reading: place in the file, place in the log, and what was accepted so far.

    After the iteration `accepted` is the number of unpacked bytes that hold the header and the accepted rows, `torn`
    whether anything stands behind them, `header_alone` whether the header has a zstd frame of its own. `kept` maps each
    seq of `wanted` to the row it came from in its modern shape, as bytes.
    """

    def __init__(self, blocks: Iterable[bytes], name: str, max_line: int, wanted: frozenset[int] = frozenset()) -> None:
        self.name, self.wanted = name, wanted
        self.notes: list[str] = []
        self.kept: dict[int, bytes] = {}
        self.seq = self.line = self.accepted = 0
        self.torn = self.compressed = self.header_alone = False
        self._blank: list[int] = []
        self._packed: dict[int, int] = {}
        self._broken: LogError | None = None
        pieces = iter(blocks)
        start = b""
        for piece in pieces:
            start += piece
            if len(start) >= len(zstd.MAGIC):
                break
        pieces = chain((start,), pieces)
        if start.startswith(zstd.MAGIC):
            self.compressed = True
            self._frames = zstd.Unpacked(pieces, name)
            pieces = iter(self._frames)
        self._lines = Lines(pieces, max_line)
        self._blocks = iter(self._lines)
        self.header, self._first = self._read_header()
        self.version: int = self.header["version"]
        self._decoder = decoder(self.version)
        self._translate = dict(translations(self.version))
        self._chunk = rows(self.version).get("assistant/chunk")
        self._surface = surface_rows(self.version)
        self._upgrade = Upgrade(self.version, self.header["id"])
        self._unknown: set[str] = set()

    @property
    def unnumbered(self) -> bool:
        """Do the rows stand without seq and time, as in DSH's own fixtures?"""
        return self._upgrade.unnumbered

    def line_of(self, seq: int) -> int:
        """The 1-based line of the row that holds the event `seq`, which has been read."""
        blank = sum(at <= seq for at in self._blank)
        packed = sum(min(width, seq - at + 1) - 1 for at, width in self._packed.items() if at <= seq)
        return seq + 2 + blank - packed

    def _error(self, rule: str, line: int, seq: int | None = None) -> LogError:
        return LogError(rule, path=self.name, line=line, seq=seq)

    def _next_block(self) -> bytes | None:
        try:
            return next(self._blocks, None)
        except LogError as error:
            raise error if error.path else self._error(error.rule, self.line + 1) from None

    def _read_header(self) -> tuple[dict[str, Any], bytes]:
        block = self._next_block()
        if block is None:
            rule = "is empty" if not self._lines.rest else "has no whole first line: the session's header is torn off"
            raise self._error(f"{rule}; a session log begins with a line of type session", 1)
        line, _, rest = block.partition(b"\n")
        try:
            header = parse_header(line)
        except ValueError as error:
            raise self._error(str(error), 1) from None
        self.line, self.accepted = 1, len(line) + 1
        self.header_size = self.accepted
        return header, rest

    def events(self) -> Iterator[Event]:
        """The log's events; chunks of one step that follow one another are one, wherever a block ended.

        Raises LogError.
        """
        return chain.from_iterable(self._joined())

    def _joined(self) -> Iterator[list[Event]]:
        """The batches, where a run of chunks that ends one and begins the next is held back until it is whole."""
        held: list[AssistantChunks] = []
        for batch in self._batches():
            if held and batch:
                first = batch[0]
                if type(first) is not AssistantChunks or (first.turn, first.step) != (held[0].turn, held[0].step):
                    batch.insert(0, joined(held))
                    held = []
                elif len(batch) > 1:
                    batch[0] = joined([*held, first])
                    held = []
            if batch and type(batch[-1]) is AssistantChunks:
                held.append(batch[-1])
                batch.pop()
            yield batch
        if held:
            yield [joined(held)]
        if self._broken:
            raise self._broken

    def _batches(self) -> Iterator[list[Event]]:
        """Block by block; in a batch no two runs of one step stand beside each other."""
        block: bytes | None = self._first or self._next_block()
        while block is not None:
            yield self._block(block)
            if self.torn or self._broken:
                return
            block = self._next_block()
        if self._lines.rest:
            self.torn = True
            self.line += 1
            if self.compressed:
                raise self._in_frame("has no end", self.line, self.seq)
            self.notes.append(f"line {self.line} has no end and was left out: the log was being written")
        if self.compressed:
            self.header_alone = self._frames.first_frame == self.header_size

    def _in_frame(self, rule: str, line: int, seq: int) -> LogError:
        return self._error(f"{rule}, in a zstd frame that was written whole: the log is corrupt", line, seq)

    def _block(self, block: bytes) -> list[Event]:
        before, lines = self.seq, _line_ends(block)
        events = self._strictly(block, lines)
        if events is None or (self.wanted and not self.wanted.isdisjoint(range(before, self.seq))):
            self.seq = before
            return self._slowly(block)
        self.line += lines
        self.accepted += len(block)
        return events

    def _strictly(self, block: bytes, lines: int) -> list[Event] | None:
        """The events of rows that the wire types take as they stand, one to a line; None where any row is otherwise."""
        if not _is_utf8(block):
            return None
        try:
            decoded = self._decoder.decode_lines(block)
            return self._told(decoded, as_logged=True) if len(decoded) == lines else None
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return None

    def _told(self, decoded: list[Any], *, as_logged: bool) -> list[Event] | None:
        """The rows' events; None where a row breaks a rule, so that it must be looked at line by line.

        `as_logged`: the rows come straight from the log, so that none may hold a name that only refold gives. Raises
        ValueError where a row is refused for what it says.
        """
        kinds = list(map(type, decoded))
        events: list[Event] = []
        first, chunk, translate, surface = self.seq, self._chunk, self._translate, self._surface
        done = 0
        for place in [place for place, kind in enumerate(kinds) if kind is not chunk]:
            if done < place:
                events += runs(decoded[done:place], first + done, as_logged=as_logged)
            row, kind = decoded[place], kinds[place]
            if kind in PACKED:
                return self._told_packed(decoded, as_logged=as_logged)
            if row.seq != first + place or row.ignorable is not True:
                return None
            if as_logged and kind in surface and spells_own(row):
                return None
            events.append(translate[kind](row))
            done = place + 1
        if done < len(decoded):
            events += runs(decoded[done:], first + done, as_logged=as_logged)
        self.seq += len(decoded)
        return events

    def _told_packed(self, decoded: list[Any], *, as_logged: bool) -> list[Event] | None:
        """The same where some rows are packed: such a row stands for many places of the log."""
        events: list[Event] = []
        widths: dict[int, int] = {}
        for packed, group in groupby(decoded, lambda row: type(row) in PACKED):
            if not packed:
                told = self._told(list(group), as_logged=as_logged)
                if told is None:
                    return None
                events += told
                continue
            for row in group:
                chunks = spelled_out(row)
                if row.seq0 != self.seq or chunks is None:
                    return None
                events.append(AssistantChunks(row.seq0, row.time0, row.data.turn, row.data.step, chunks))
                widths[self.seq] = len(chunks)
                self.seq += len(chunks)
        self._packed.update(widths)
        return whole(events)

    def _slowly(self, block: bytes) -> list[Event]:
        """Line by line: rows that the strict types refuse, and the one that breaks a rule."""
        events: list[Event] = []
        lines = block.split(b"\n")
        for place, line in enumerate(lines[:-1]):
            self.line += 1
            if not line.strip():
                self._blank.append(self.seq)
            else:
                try:
                    events += self._row(line)
                except _Torn as torn:
                    self._tear(str(torn), lines[place:-1])
                    break
                except LogError as error:
                    self._broken = error  # the events before it come first, however the bytes were cut
                    break
            self.accepted += len(line) + 1
        return whole(events)

    def _row(self, line: bytes) -> list[Event]:
        seq = self.seq
        events = self._strictly(line, 1)
        if events is not None:
            if seq in self.wanted:
                self.kept[seq] = line
            return events
        try:
            row = js.parse(line)
        except (js.NotJson, js.NotUtf8) as error:
            raise _Torn(str(error)) from None
        except ValueError as error:
            raise self._error(str(error), self.line, seq) from None
        if not isinstance(row, dict) or not isinstance(row.get("type"), str):
            raise self._error("the row is no object with a type", self.line, seq)
        row = self._upgrade.numbered(row, seq)
        found = row.get("seq0") if "seq0" in row else row.get("seq")
        if found != seq or isinstance(found, bool):
            raise _Torn(f"the row has seq {found!r} where {seq} must follow")
        if row.get("ignorable", True) is not True:
            raise self._error("ignorable may only be true; leave it out for an event that counts", self.line, seq)
        try:
            fixed = self._upgrade.row(row)
            if seq in self.wanted:
                self.kept[seq] = js.text(self._upgrade.raw(row)).encode("utf-8", "backslashreplace")
        except ValueError as error:
            raise self._error(str(error), self.line, seq) from None
        known = rows(self.version).get(fixed["type"])
        if known is None:
            return [self._unknown_type(fixed)]
        try:
            decoded = msgspec.convert(fixed, known)
        except msgspec.ValidationError as error:
            raise self._error(f"{row['type']}: {error}", self.line, seq) from None
        except UnicodeEncodeError:  # msgspec looks for a block's type, and finds half a character
            raise self._error(f"{row['type']}: a lone surrogate stands where a name must", self.line, seq) from None
        try:
            events = self._told([decoded], as_logged=False)
        except ValueError as error:
            raise self._error(f"{row['type']}: {error}", self.line, seq) from None
        if events is None:
            raise self._error(f"{row['type']}: the row's members do not add up", self.line, seq)
        return events

    def _unknown_type(self, row: dict[str, Any]) -> Event:
        kind: str = row["type"]
        for surface in ("surfaceOp", "sourceEventSeqs"):
            if surface in row:
                raise self._error(
                    f"the unknown type {kind!r} carries {surface}: upgrade refold to read it", self.line, self.seq
                )
        strange = sorted(row.keys() - {"type", "seq", "time", "data", "ignorable"})
        if strange:
            raise self._error(f"the row has the unknown key {strange[0]!r}", self.line, self.seq)
        if kind not in self._unknown:
            self._unknown.add(kind)
            self.notes.append(f"line {self.line}: the type {kind!r} is unknown; it is taken to change nothing")
        time = row.get("time")
        if not isinstance(time, int) or isinstance(time, bool) or abs(time) > SAFE:
            raise self._error(f"the row's time is {time!r}, whole milliseconds are wanted", self.line, self.seq)
        if "data" not in row:
            raise self._error(f"{kind}: the row has no data", self.line, self.seq)
        self.seq += 1
        return Other(self.seq - 1, time, kind)

    def _tear(self, rule: str, rest: list[bytes]) -> None:
        """The accepted rows end before those of `rest`. An error where they show that more was committed."""
        self.torn = True
        at, seq = self.line, self.seq
        if self.compressed:
            self._broken = self._in_frame(rule, at, seq)
            return
        while True:
            for line in rest:
                if b'"turn/end"' in line and _ends_turn(line):
                    self._broken = self._error(
                        f"{rule}, and a turn ends there or behind it: the log is corrupt", at, seq
                    )
                    return
            block = self._next_block()
            if block is None:
                break
            rest = block.split(b"\n")
        self.notes.append(f"line {at}: {rule}; it and what stands behind it were left out as an uncommitted tail")


class _Torn(Exception):
    """A row that is no JSON, or out of sequence."""


_SLICE = 4096


def _is_utf8(block: bytes) -> bool:
    """Is it all UTF-8? Only slices that are not plain ASCII are decoded, those that touch together."""
    if block.isascii():
        return True
    start: int | None = None
    try:
        for at in range(0, len(block), _SLICE):
            if block[at : at + _SLICE].isascii():
                if start is not None:
                    block[start:at].decode()
                    start = None
            elif start is None:
                start = at
        if start is not None:
            block[start:].decode()
    except UnicodeDecodeError:
        return False
    return True


def _line_ends(block: bytes) -> int:
    # bytes.count looks at one byte after the other, bytes.replace searches with memchr: half the time.
    return len(block) - len(block.replace(b"\n", b""))


def _ends_turn(line: bytes) -> bool:
    try:
        row = js.parse(line)
    except ValueError:
        return False
    return isinstance(row, dict) and row.get("type") == "turn/end"
