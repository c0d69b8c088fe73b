"""Writing DSH's session log: the log as it was, with replacements of tool results appended.

What is appended is valid for the harness that wrote the log: the keys of its own format version, each replacement
behind its shadow price (`compaction/prune`), inside an open turn. The original bytes are never changed, only followed;
a torn tail, which the harness would not read either, is left behind.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import msgspec

from refold.events import _json as js
from refold.events import _zstd as zstd
from refold.events._blocks import Block, Opaque, Text
from refold.events._dsh_read import MAX_LINE, Reader
from refold.events._errors import SurfaceError
from refold.events._events import Event, TurnEnd, TurnStart

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
) -> Iterator[bytes]:
    """The bytes of the log with the replacements appended; without any, the log's own bytes.

    `blocks` gives the log's bytes from the start each time it is called. A log whose last turn has ended gets a turn
    of its own around the replacements; one that stops inside a turn is left open for its harness to close. A zstd log
    grows by one frame. Raises LogError, and SurfaceError for a seq that is no tool result's.
    """
    if not replacements:
        yield from blocks()
        return
    reader = Reader(blocks(), name, max_line, frozenset(replacement.seq for replacement in replacements))
    end = _Place()
    for event in reader.events():
        end.pass_by(event)
    rows = "".join(row + "\n" for row in _rows(reader, end, replacements)).encode("utf-8", "backslashreplace")
    if not reader.compressed:
        yield from _first_bytes(blocks(), reader.accepted)
        yield rows
    elif not reader.torn:
        yield from blocks()
        yield zstd.packed(rows)
    else:
        whole = b"".join(_first_bytes(zstd.unpacked(blocks(), name), reader.accepted))
        header, _, rest = whole.partition(b"\n")
        yield zstd.packed(header + b"\n")
        if rest:
            yield zstd.packed(rest)
        yield zstd.packed(rows)


class _Place:
    """Where a log ends: its last event, and whether a turn is open."""

    def __init__(self) -> None:
        self.next_seq = self.time = self.turn = 0
        self.turn_open = False

    def pass_by(self, event: Event) -> None:
        self.next_seq, self.time = event.seq + event.width, event.time
        if isinstance(event, TurnStart):
            self.turn, self.turn_open = event.turn, True
        elif isinstance(event, TurnEnd):
            self.turn_open = False


def _first_bytes(pieces: Iterable[bytes], count: int) -> Iterator[bytes]:
    for piece in pieces:
        if count <= 0:
            return
        yield piece[:count]
        count -= len(piece)


def _rows(reader: Reader, end: _Place, replacements: Sequence[Replacement]) -> Iterator[str]:
    seq = end.next_seq

    def row(kind: str, data: object, **rest: object) -> str:
        nonlocal seq
        seq += 1
        return js.text({"type": kind, "seq": seq - 1, "time": end.time, "data": data, **rest})

    if not end.turn_open:
        yield row("turn/start", {"turn": end.turn + 1})
    current = {at: js.parse(kept)["data"] for at, kept in reader.kept.items()}
    for replacement in replacements:
        old = replacement.seq
        if not isinstance(current.get(old), dict) or "message" not in current[old]:
            raise SurfaceError("is no tool result of this log, so nothing can stand in its place", seq=old)
        span = {"start": old, "end": old}
        price = {"shadowedRange": span, "shadowedSeqs": [old], "shadowedTokenCount": replacement.shadowed_tokens}
        yield row("compaction/prune", price)
        current[seq] = _with_content(current[old], replacement.content, reader.version)
        named = span if reader.version < _SEQ_KEYS_SINCE else {"startSeq": old, "endSeq": old}
        yield row("tool/result", current[seq], sourceEventSeqs=[old], surfaceOp={"op": "replace", **named})
    if not end.turn_open:
        yield row("turn/end", {"turn": end.turn + 1, "reason": {"kind": "completed"}})


def _with_content(data: dict[str, Any], content: tuple[Block, ...], version: int) -> dict[str, Any]:
    shown = [block_json(block) for block in content]
    message = data["message"]
    if version >= _DIRECT_SINCE:
        return {**data, "message": {**message, "content": shown}}
    return {**data, "message": {**message, "content": [{**message["content"][0], "content": shown}]}}


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
