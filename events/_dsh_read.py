"""Reading DSH's session log: bytes in, events out, a block of lines at a time.

Rules: the official JSONL backend (format V0, 0.1.1-rc.2) and, for later formats, its migration packages. A row that is
no JSON, or out of sequence, ends the log: what stands behind it is a torn tail, unless a later row ends a turn, which
makes the log corrupt. Any other broken rule is an error wherever it stands.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, groupby
from typing import Any

import msgspec

from refold.events import _json as js
from refold.events import _zstd as zstd
from refold.events._dsh_events import OVERFLOW, translations
from refold.events._dsh_upgrade import Upgrade
from refold.events._dsh_wire import ReasoningChunksRow, TextChunksRow, ToolCallChunksRow, citing, decoder, rows
from refold.events._errors import LogError
from refold.events._events import (
    AssistantChunks,
    Chunk,
    Event,
    Finish,
    Other,
    Overflow,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
)
from refold.events._lines import Lines
from refold.events._log import Log

NEWEST = 5
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
    return Log(
        "dsh", name, str(reader.header.get("id", "")), reader.version, reader.header, reader.events(), reader.notes
    )


class Reader:
    """The state of one reading: place in the file, place in the log, and what was accepted so far.

    After the iteration `accepted` is the number of unpacked bytes that hold the header and the accepted rows, `torn`
    whether anything stands behind them. `kept` maps each seq of `wanted` to the row it came from, as bytes.
    """

    def __init__(self, blocks: Iterable[bytes], name: str, max_line: int, wanted: frozenset[int] = frozenset()) -> None:
        self.name, self.wanted = name, wanted
        self.notes: list[str] = []
        self.kept: dict[int, bytes] = {}
        self.seq = self.line = self.accepted = 0
        self.torn = self.compressed = False
        pieces = iter(blocks)
        start = b""
        for piece in pieces:
            start += piece
            if len(start) >= len(zstd.MAGIC):
                break
        pieces = chain((start,), pieces)
        if start.startswith(zstd.MAGIC):
            self.compressed = True
            pieces = zstd.unpacked(pieces, name)
        self._lines = Lines(pieces, max_line)
        self._blocks = iter(self._lines)
        self.header, self._first = self._read_header()
        self.version: int = self.header["version"]
        self._decoder = decoder(self.version)
        self._translate = translations(self.version)
        self._chunk = rows(self.version).get("assistant/chunk")
        self._citing = citing(self.version)
        self._upgrade = Upgrade(self.version, str(self.header.get("id", "")))
        self._unknown: set[str] = set()

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
            header = js.parse(line)
        except ValueError as error:
            raise self._error(f"the header is {error}", 1) from None
        if not isinstance(header, dict) or header.get("type") != "session":
            raise self._error('the first line is no session header: {"type":"session","version":...} is wanted', 1)
        version = header.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 0:
            raise self._error(f"the header's version is {version!r}, a whole number from 0 on is wanted", 1)
        if version > NEWEST:
            raise self._error(
                f"the log has format version {version}, and {NEWEST} is the newest known: upgrade refold", 1
            )
        for retired in ("sandboxMode", "approvalPolicy"):
            if retired in header:
                raise self._error(f"the header holds {retired}, which DSH has retired and refuses", 1)
        self.line, self.accepted = 1, len(line) + 1
        return header, rest

    def events(self) -> Iterator[Event]:
        """The log's events. Raises LogError."""
        return chain.from_iterable(self._batches())

    def _batches(self) -> Iterator[list[Event]]:
        block: bytes | None = self._first or self._next_block()
        while block is not None:
            yield self._block(block)
            if self.torn:
                return
            block = self._next_block()
        if self._lines.rest:
            self.torn = True
            self.notes.append(f"line {self.line + 1} has no end and was left out: the log was being written")

    def _block(self, block: bytes) -> list[Event]:
        before = self.seq
        decoded = self._decoded(block)
        try:
            events = self._told(decoded) if decoded is not None else None
        except ValueError:
            events = None
        if decoded is None or events is None:
            self.seq = before
            return self._slowly(block)
        if not self.wanted.isdisjoint(range(before, self.seq)):
            self._keep(decoded, block)
        self.line += block.count(b"\n")
        self.accepted += len(block)
        return events

    def _decoded(self, block: bytes) -> list[Any] | None:
        """The block's rows, None where the strict types refuse one."""
        if (b"&" in block and b'"&' in block) or not _is_utf8(block):
            return None
        try:
            return self._decoder.decode_lines(block)
        except msgspec.MsgspecError:
            return None

    def _keep(self, decoded: list[Any], block: bytes) -> None:
        for row, line in zip(decoded, filter(bytes.strip, block.split(b"\n")), strict=True):
            seq = getattr(row, "seq", None)
            if seq in self.wanted:
                self.kept[seq] = line

    def _told(self, decoded: list[Any]) -> list[Event] | None:
        """The rows' events; None where a row breaks a rule, so that it must be looked at line by line."""
        events: list[Event] = []
        seq, translate, chunk = self.seq, self._translate, self._chunk
        for kind, group in groupby(decoded, type):
            if kind is chunk:
                run = list(group)
                if [row.seq for row in run] != list(range(seq, seq + len(run))):
                    return None
                events += _runs(run)
                seq += len(run)
                continue
            told = translate.get(kind)
            cites = kind in self._citing
            for row in group:
                if told is None:
                    chunks = _spelled_out(row)
                    if row.seq0 != seq or chunks is None:
                        return None
                    events.append(AssistantChunks(row.seq0, row.time0, row.data.turn, row.data.step, chunks))
                    seq += len(chunks)
                    continue
                if row.seq != seq or row.ignorable is not True or (cites and _citation_error(row)):
                    return None
                events.append(told(row))
                seq += 1
        self.seq = seq
        return events

    def _slowly(self, block: bytes) -> list[Event]:
        """Line by line: rows that the strict types refuse, and the one that breaks a rule."""
        events: list[Event] = []
        lines = block.split(b"\n")
        for place, line in enumerate(lines[:-1]):
            self.line += 1
            if line.strip():
                try:
                    events += self._row(line)
                except _Torn as torn:
                    self._tear(str(torn), lines[place + 1 : -1])
                    break
            self.accepted += len(line) + 1
        return events

    def _row(self, line: bytes) -> list[Event]:
        seq = self.seq
        try:
            row = js.parse(line)
        except ValueError as error:
            raise _Torn(str(error)) from None
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
        except ValueError as error:
            raise self._error(str(error), self.line, seq) from None
        if seq in self.wanted:
            self.kept[seq] = js.text(self._upgrade.raw(row)).encode("utf-8", "backslashreplace")
        known = rows(self.version).get(fixed["type"])
        if known is None:
            return [self._unknown_type(fixed)]
        try:
            decoded = msgspec.convert(fixed, known)
        except msgspec.ValidationError as error:
            raise self._error(f"{row['type']}: {error}", self.line, seq) from None
        cites = _citation_error(decoded)
        if cites:
            raise self._error(f"{row['type']}: {cites}", self.line, seq)
        try:
            events = self._told([decoded])
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
        if not isinstance(time, int) or isinstance(time, bool):
            raise self._error(f"the row's time is {time!r}, whole milliseconds are wanted", self.line, self.seq)
        self.seq += 1
        return Other(self.seq - 1, time, kind)

    def _tear(self, rule: str, rest: list[bytes]) -> None:
        """The accepted rows end here. Raises LogError where a later row shows that more was committed."""
        self.torn = True
        at, seq = self.line, self.seq
        while True:
            for line in rest:
                if b'"turn/end"' in line and _ends_turn(line):
                    raise self._error(f"{rule}, and a later row ends a turn: the log is corrupt", at, seq)
            block = self._next_block()
            if block is None:
                break
            rest = block.split(b"\n")
        self.notes.append(f"line {at}: {rule}; it and what stands behind it were left out as an uncommitted tail")


class _Torn(Exception):
    """A row that is no JSON, or out of sequence."""


_SLICE = 512


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


def _ends_turn(line: bytes) -> bool:
    try:
        row = js.parse(line)
    except ValueError:
        return False
    return isinstance(row, dict) and row.get("type") == "turn/end"


def _citation_error(row: Any) -> str | None:
    """What is wrong with the seqs a row cites, by DSH's rules of provenance; None where nothing is."""
    cited = getattr(row, "sourceEventSeqs", msgspec.UNSET)
    if cited is msgspec.UNSET:
        return None
    if len(cited) > 8 and cited == tuple(range(cited[0], cited[0] + len(cited))) and cited[-1] < row.seq:
        return None  # the usual case, an answer's whole stream, checked in C
    if not cited:
        empty = type(row).__struct_config__.tag == "assistant/message"
        return None if empty else "sourceEventSeqs must not be empty except on assistant/message"
    if any(type(entry) is tuple for entry in cited):
        if any(first < 0 or last < first for first, last in (e for e in cited if type(e) is tuple)):
            return "sourceEventSeqs holds a range that does not rise"
        if sum(e[1] - e[0] + 1 for e in cited if type(e) is tuple) > row.seq:
            return "sourceEventSeqs must name earlier events"
        cited = [seq for e in cited for seq in (range(e[0], e[1] + 1) if type(e) is tuple else (e,))]
    if min(cited) < 0:
        return "sourceEventSeqs must hold non-negative safe integers"
    if max(cited) >= row.seq:
        return f"sourceEventSeqs must name earlier events: {max(cited)} is not before {row.seq}"
    if len(set(cited)) != len(cited):
        return "sourceEventSeqs must not hold duplicates"
    return None


def _runs(run: list[Any]) -> list[Event]:
    """Chunk rows as runs of one step each, with each overflow as an event of its own."""
    data = [row.data for row in run]
    steps = [one.step for one in data]
    turns = [one.turn for one in data]
    chunks = tuple([one.chunk for one in data])
    kinds = [type(chunk) for chunk in chunks]
    if steps.count(steps[0]) == turns.count(turns[0]) == len(run) and (
        Finish not in kinds or not any(map(_is_overflow, chunks))
    ):
        return [AssistantChunks(run[0].seq, run[0].time, turns[0], steps[0], chunks)]
    events: list[Event] = []
    for (turn, step, over), group in groupby(
        zip(run, data, strict=True), lambda pair: (pair[1].turn, pair[1].step, _is_overflow(pair[1].chunk))
    ):
        rows = list(group)
        if over:
            events += [Overflow(row.seq, row.time, turn, step) for row, _ in rows]
        else:
            first = rows[0][0]
            events.append(AssistantChunks(first.seq, first.time, turn, step, tuple(one.chunk for _, one in rows)))
    return events


def _is_overflow(chunk: Any) -> bool:
    return type(chunk) is Finish and chunk.reason.failure.code == OVERFLOW


def _spelled_out(row: Any) -> tuple[Chunk, ...] | None:
    """The chunks that a packed row stands for; None where its members do not add up."""
    data = row.data
    texts = data.args if isinstance(row, ToolCallChunksRow) else data.texts
    if not texts or len(data.dt) != len(texts) - 1:
        return None
    if isinstance(row, TextChunksRow):
        deltas: list[Any] = [TextDelta(data.index, text) for text in texts]
    elif isinstance(row, ReasoningChunksRow):
        deltas = [ReasoningDelta(data.index, text) for text in texts]
    else:
        deltas = [ToolCallDelta(data.index, text, data.name) for text in texts]
    return tuple(deltas)
