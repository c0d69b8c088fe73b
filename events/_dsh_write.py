"""Writing to a DSH log: the log as it stands, and behind it the rows that commit replacements of tool results."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any

import msgspec

from refold.events import _json as js
from refold.events import _zstd as zstd
from refold.events._blocks import Block, Opaque
from refold.events._dsh_read import MAX_LINE, Reader
from refold.events._errors import LogError, SurfaceError
from refold.events._events import (
    AssistantMessage,
    DeveloperMessage,
    Event,
    SystemMessage,
    ToolResult,
    TurnEnd,
    TurnStart,
    UserMessage,
)

Blocks = Callable[[], Iterable[bytes]]
Json = dict[str, Any]
Message = SystemMessage | DeveloperMessage | UserMessage | AssistantMessage | ToolResult


class Replacement(msgspec.Struct, frozen=True):
    """Other content for a tool result on the surface; `seq` is that of the node that stands there now.

    `shadowed_tokens` is what the node's message costs by DSH's estimator: its harness has no other way to learn of it.
    """

    seq: int
    content: tuple[Block, ...]
    shadowed_tokens: int


def append_replacements(
    blocks: Blocks, replacements: Sequence[Replacement], *, name: str = "log", max_line: int = MAX_LINE
) -> Iterator[bytes]:
    """A whole new log: the accepted part of the old one byte for byte, then a prune record and a result for each
    replacement, in the order given; each may replace what one before it wrote.

    `blocks` gives the old log anew each time it is called. Where no turn is open, the rows get a turn of their own,
    because DSH refuses a rewrite outside one; an open turn is left open, for the harness to close. A zstd log gets one
    more frame, and is framed anew where rows were left out or the header shares its frame, which DSH refuses. Without
    replacements the log is given as it is.

    Raises LogError for a log that breaks a rule, SurfaceError for a seq that is no tool result on the surface, both
    before the first byte is given.
    """
    if not replacements:
        return iter(blocks())
    size = 0

    def counted() -> Iterator[bytes]:
        nonlocal size
        for block in blocks():
            size += len(block)
            yield block

    wanted = frozenset(replacement.seq for replacement in replacements)
    log = Reader(counted(), name, max_line, wanted)
    end = _End()
    for event in log.events():
        end.saw(event)
    if log._upgrade._unnumbered:
        raise LogError("its rows carry no seq, as fixtures of the harness do: nothing can follow them", path=name)
    rows = _rows(log, end, replacements)
    if not log.compressed:
        return chain(_bytes_of(blocks, log.accepted, name), rows)
    old = _bytes_of(blocks, size, name)
    if log.torn or not _header_has_a_frame(_bytes_of(blocks, size, name)):
        old = _framed_anew(old, log)
    return chain(old, (zstd.packed(b"".join(rows)),))


class _End:
    """What a log comes to: the results on its surface, its last turn and whether that is open, its last time."""

    def __init__(self) -> None:
        self.results: set[int] = set()
        self.turn = self.time = 0
        self.turn_open = False
        self._nodes: list[int] = []

    def saw(self, event: Event) -> None:
        self.time = event.time
        if isinstance(event, TurnStart):
            self.turn, self.turn_open = event.turn, True
        elif isinstance(event, TurnEnd):
            self.turn_open = False
        elif isinstance(event, Message):
            self._put(event)

    def _put(self, event: Message) -> None:
        start = end = len(self._nodes)
        if event.replaces is not None:
            try:
                start, end = map(self._nodes.index, event.replaces)
            except ValueError:
                raise SurfaceError(f"replaces {event.replaces}, not both on the surface", seq=event.seq) from None
            end += 1
        self.results.difference_update(self._nodes[start:end])
        self._nodes[start:end] = [event.seq]
        if isinstance(event, ToolResult):
            self.results.add(event.seq)


def _rows(log: Reader, end: _End, replacements: Sequence[Replacement]) -> list[bytes]:
    """The new rows, whole lines."""
    rows: list[bytes] = []
    held = {seq: js.parse(row)["data"] for seq, row in log.kept.items() if seq in end.results}

    def add(kind: str, data: Json, **rest: Any) -> int:
        seq = log.seq + len(rows)
        row = {"type": kind, "seq": seq, "time": end.time, "data": data, **rest}
        rows.append(js.text(row).encode() + b"\n")
        return seq

    turn = end.turn + 1
    if not end.turn_open:
        add("turn/start", {"turn": turn})
    first, last = ("start", "end") if log.version < 3 else ("startSeq", "endSeq")
    for replacement in replacements:
        old = replacement.seq
        if old not in held:
            raise SurfaceError("is no tool result on the surface, and cannot be replaced", seq=old)
        data = _with_content(held.pop(old), replacement.content, log.version)
        prune = {
            "shadowedRange": {"start": old, "end": old},
            "shadowedSeqs": [old],
            "shadowedTokenCount": replacement.shadowed_tokens,
        }
        add("compaction/prune", prune)
        op = {"op": "replace", first: old, last: old}
        held[add("tool/result", data, sourceEventSeqs=[old], surfaceOp=op)] = data
    if not end.turn_open:
        add("turn/end", {"turn": turn, "reason": {"kind": "completed"}})
    return rows


def _with_content(data: Json, content: Sequence[Block], version: int) -> Json:
    message: Json = data["message"]
    if version >= 4:
        return {**data, "message": {**message, "content": _spelled(content, message["content"])}}
    (result,) = message["content"]
    result = {**result, "content": _spelled(content, result["content"])}
    return {**data, "message": {**message, "content": [result]}}


def _spelled(content: Sequence[Block], before: list[Any]) -> list[Any]:
    """The blocks as JSON; one that was there before as it stood, with its keys in their order."""
    values = [_value(block) for block in content]
    return [next((old for old in before if old == value), value) for value in values]


def _value(block: Block) -> Any:
    if isinstance(block, Opaque):
        return js.parse(_bytes(block.json))
    extra = js.parse(_bytes(block.extra)) if block.extra else {}
    kind = type(block).__struct_config__.tag
    names = [name for name in ("id", "name", "arguments", "text") if hasattr(block, name)]
    return {"type": kind, **{name: getattr(block, name) for name in names}, **extra}


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


# --- the bytes of the new log


def _bytes_of(blocks: Blocks, size: int, name: str) -> Iterator[bytes]:
    """The first `size` bytes; what has been written behind them since the log was read is not of this log."""
    left = size
    for block in blocks():
        yield block[:left]
        left -= min(left, len(block))
        if not left:
            return
    raise LogError("became shorter while it was read; try again when nobody writes to it", path=name)


def _header_has_a_frame(old: Iterator[bytes]) -> bool:
    """Whether the first frame holds the header line and nothing else, as DSH wants it."""
    import zstandard

    frame = zstandard.ZstdDecompressor().decompressobj()
    plain = b""
    for piece in old:
        plain += frame.decompress(piece)
        if frame.eof or b"\n" in plain[:-1]:
            break
    return frame.eof and plain.find(b"\n") == len(plain) - 1


def _framed_anew(old: Iterator[bytes], log: Reader) -> Iterator[bytes]:
    """The accepted rows in two frames: the header's, and one for all the others."""
    plain = b"".join(zstd.unpacked(old, log.name))[: log.accepted]
    header = plain.index(b"\n") + 1
    yield zstd.packed(plain[:header])
    if plain[header:]:
        yield zstd.packed(plain[header:])
