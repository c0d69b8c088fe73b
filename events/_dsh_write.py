"""Writing DSH's session log: the log as it was, with replacements of tool results appended.

What is appended is valid for the harness that wrote the log: the keys of its own format version, each replacement
behind its shadow price (`compaction/prune`), inside an open turn. The original bytes are never changed, only followed;
a torn tail, which the harness would not read either, is left behind.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec

from refold.events import _json as js
from refold.events import _zstd as zstd
from refold.events._blocks import Block, Opaque, Text
from refold.events._dsh_read import MAX_LINE, Reader
from refold.events._errors import LogError, SurfaceError
from refold.events._events import Event, SurfaceEvent, ToolResult, TurnEnd, TurnStart

_DIRECT_SINCE = 4  # the first format version whose tool results hold their content directly
_SEQ_KEYS_SINCE = 3  # the first whose replacements say startSeq and endSeq


class Replacement(msgspec.Struct, frozen=True):
    """New content for the tool result whose current event is `seq`, and the price in tokens of what stood there.

    The price is DSH's estimate for the log's format version. `seq` may be that of an earlier replacement of the same
    batch, by the seq it gets in the log.
    """

    seq: int
    content: tuple[Block, ...]
    shadowed_tokens: int


def append_replacements(
    blocks: Callable[[], Iterable[bytes]],
    replacements: Sequence[Replacement],
    *,
    name: str = "log",
    max_line: int = MAX_LINE,
    notes: list[str] | None = None,
) -> Iterator[bytes]:
    """The bytes of the log with the replacements appended; without any, the log's own bytes.

    `blocks` gives the log's bytes from the start each time it is called; what was written behind them since the first
    call is left out. A log whose last turn has ended gets a turn of its own around the replacements; one that stops
    inside a turn is left open for its harness to close. A zstd log grows by one frame, and is framed anew where its
    first frame holds more than the header, which the harness refuses to read; `notes` is told so. Rows without seq and
    time, as in DSH's own fixtures, are followed by such rows.

    At the call, before the first byte: raises LogError, and SurfaceError for a seq that is no tool result's on the
    surface. On the way: raises LogError where the log is no longer what it was at the first reading.
    """
    if not replacements:
        return iter(blocks())
    source = _Source(blocks, name)
    reader = Reader(source.first(), name, max_line, frozenset(replacement.seq for replacement in replacements))
    end = _End()
    for event in reader.events():
        end.pass_by(event)
    rows = "".join(row + "\n" for row in _rows(reader, end, replacements)).encode("utf-8", "backslashreplace")
    if reader.compressed and not reader.header_alone and notes is not None:
        notes.append("was framed anew: its harness wants the header alone in the first zstd frame")
    return _followed(source, reader, rows)


def _followed(source: "_Source", reader: Reader, rows: bytes) -> Iterator[bytes]:
    if not reader.compressed:
        left = reader.accepted
        for piece in source.again():
            yield piece[: max(left, 0)]
            left -= len(piece)
        yield rows
        return
    if reader.header_alone:
        yield from source.again()
    else:
        pieces = iter(zstd.Unpacked(source.again(), source.name))
        start = b""
        while len(start) < reader.header_size:
            start += next(pieces)
        yield from zstd.packed((start[: reader.header_size],))
        yield from zstd.packed(chain((start[reader.header_size :],), pieces))
    yield from zstd.packed((rows,))


class _Source:
    """A log's bytes, the second time exactly those of the first time."""

    def __init__(self, blocks: Callable[[], Iterable[bytes]], name: str) -> None:
        self.name = name
        self._blocks, self._size, self._digest = blocks, 0, hashlib.sha256()

    def first(self) -> Iterator[bytes]:
        for piece in self._blocks():
            self._size += len(piece)
            self._digest.update(piece)
            yield piece

    def again(self) -> Iterator[bytes]:
        """Raises LogError where the bytes differ, or end before those of the first time."""
        left, digest = self._size, hashlib.sha256()
        for piece in self._blocks():
            known = piece[:left]
            left -= len(known)
            digest.update(known)
            yield known
            if not left:
                break
        if left or digest.digest() != self._digest.digest():
            raise LogError("was changed while it was read; try again when its harness has stopped", path=self.name)


class _End:
    """Where a log ends: the place behind its last event, whether a turn is open, and what stands on the surface."""

    def __init__(self) -> None:
        self.next_seq = self.time = self.turn = 0
        self.turn_open = False
        self._nodes: list[int] = []
        self._results: set[int] = set()

    def pass_by(self, event: Event) -> None:
        self.next_seq, self.time = event.seq + event.width, event.time
        if isinstance(event, TurnStart):
            self.turn, self.turn_open = event.turn, True
        elif isinstance(event, TurnEnd):
            self.turn_open = False
        elif isinstance(event, SurfaceEvent):
            self._place(event.seq, event.replaces)  # type: ignore[attr-defined]
            if isinstance(event, ToolResult):
                self._results.add(event.seq)

    def _place(self, seq: int, replaces: tuple[int, int] | None) -> None:
        if replaces is None:
            self._nodes.append(seq)
            return
        try:
            first, last = map(self._nodes.index, replaces)
        except ValueError:
            first, last = 1, 0
        if first > last:
            raise SurfaceError(f"replaces the nodes {replaces[0]} to {replaces[1]}, no range of the surface", seq=seq)
        self._nodes[first : last + 1] = [seq]

    def results(self) -> set[int]:
        """The seqs of the tool results on the surface."""
        return self._results.intersection(self._nodes)


def _rows(reader: Reader, end: _End, replacements: Sequence[Replacement]) -> Iterator[str]:
    seq = end.next_seq

    def row(kind: str, data: object, **rest: object) -> str:
        nonlocal seq
        seq += 1
        place = {} if reader.unnumbered else {"seq": seq - 1, "time": end.time}
        return js.text({"type": kind, **place, "data": data, **rest})

    if not end.turn_open:
        yield row("turn/start", {"turn": end.turn + 1})
    standing = end.results()
    current = {at: _data(reader, at) for at in standing.intersection(reader.kept)}
    for replacement in replacements:
        old = replacement.seq
        if old not in standing:
            raise SurfaceError("is no tool result on the surface, so nothing can stand in its place", seq=old)
        standing.remove(old)
        standing.add(seq + 1)
        yield row("compaction/prune", price(old, replacement.shadowed_tokens))
        content = [block_json(block) for block in replacement.content]
        current[seq] = _put(current[old], content_path(reader.version), content)
        yield row("tool/result", current[seq], **replacing(old, reader.version))
    if not end.turn_open:
        yield row("turn/end", {"turn": end.turn + 1, "reason": {"kind": "completed"}})


def _data(reader: Reader, seq: int) -> dict[str, Any]:
    try:
        return js.parse(reader.kept[seq])["data"]  # type: ignore[no-any-return]
    except ValueError as error:
        raise LogError(
            f"cannot be written again: {error}", path=reader.name, line=reader.line_of(seq), seq=seq
        ) from None


def _put(value: Any, path: Sequence[str | int], content: list[Any]) -> Any:
    if not path:
        return content
    key, *rest = path
    put: Any = list(value) if isinstance(value, list) else dict(value)
    put[key] = _put(value[key], rest, content)
    return put


def price(seq: int, tokens: int) -> dict[str, Any]:
    """The data of the `compaction/prune` that goes before a replacement of the event `seq`."""
    return {
        "shadowedRange": {"start": seq, "end": seq},
        "shadowedSeqs": [seq],
        "shadowedTokenCount": tokens,
    }


def replacing(seq: int, version: int) -> dict[str, Any]:
    """What stands beside the data of an event that replaces the event `seq`, in the keys of its log version."""
    names = ("start", "end") if version < _SEQ_KEYS_SINCE else ("startSeq", "endSeq")
    return {"sourceEventSeqs": [seq], "surfaceOp": {"op": "replace", **dict.fromkeys(names, seq)}}


def content_path(version: int) -> list[str | int]:
    """Where the content stands in the data of a `tool/result`."""
    return ["message", "content"] if version >= _DIRECT_SINCE else ["message", "content", 0, "content"]


def block_json(block: Block) -> dict[str, Any]:
    """A block as the log spells it."""
    if isinstance(block, Opaque):
        return js.parse(block.json.encode("utf-8", "surrogatepass"))  # type: ignore[no-any-return]
    extra = js.parse(block.extra.encode("utf-8", "surrogatepass")) if block.extra else {}
    if isinstance(block, Text):
        return {"type": "text", "text": block.text, **extra}
    fields = msgspec.structs.asdict(block)
    names = [name for name in ("text", "id", "name", "arguments") if name in fields]
    return {"type": type(block).__struct_config__.tag, **{name: fields[name] for name in names}, **extra}
