"""Stream chunks of DSH's older logs: rows, one by one or packed, become runs of one step."""

from itertools import chain, count, groupby
from typing import Any

from refold.events._dsh_events import OVERFLOW, chunk_spells_own
from refold.events._dsh_wire import ReasoningChunksRow, TextChunksRow, ToolCallChunksRow
from refold.events._events import (
    AssistantChunks,
    BlockEnd,
    Chunk,
    Event,
    Finish,
    Overflow,
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    UnknownChunk,
)


def joined(run: list[AssistantChunks]) -> AssistantChunks:
    """Runs of one step that follow one another, as one."""
    first = run[0]
    if len(run) == 1:
        return first
    chunks = tuple(chain.from_iterable(one.chunks for one in run))
    return AssistantChunks(first.seq, first.time, first.turn, first.step, chunks)


def whole(events: list[Event]) -> list[Event]:
    """The events with neighbouring runs of one step as one."""
    found: list[Event] = []
    for step, group in groupby(events, _step_of):
        neighbours: Any = list(group)
        found += neighbours if step is None else [joined(neighbours)]
    return found


def _step_of(event: Event) -> tuple[int, int] | None:
    return (event.turn, event.step) if type(event) is AssistantChunks else None


_TELLING = frozenset((BlockEnd, Finish, UnknownChunk))


def runs(run: list[Any], seq: int, *, as_logged: bool) -> list[Event]:
    """Chunk rows from place `seq` on as runs of one step each, with each overflow as an event of its own.

    Raises ValueError where a row is out of sequence, or, `as_logged`, holds a name that only refold gives.
    """
    time, turn, step = run[0].time, run[0].data.turn, run[0].data.step
    chunks = tuple(
        [
            row.data.chunk
            for row, place in zip(run, count(seq))
            if row.seq == place and row.data.step == step and row.data.turn == turn
        ]
    )
    if len(chunks) == len(run):
        for chunk in [chunk for chunk in chunks if type(chunk) in _TELLING]:
            if _is_overflow(chunk) or (as_logged and chunk_spells_own(chunk)):
                break
        else:
            return [AssistantChunks(seq, time, turn, step, chunks)]
    if [row.seq for row in run] != list(range(seq, seq + len(run))):
        raise ValueError("a row is out of sequence")
    if as_logged and any(chunk_spells_own(row.data.chunk) for row in run):
        raise ValueError("a chunk holds a name that only refold gives")
    return _parted(run)


def _parted(run: list[Any]) -> list[Event]:
    events: list[Event] = []
    for (turn, step, over), group in groupby(
        run, lambda row: (row.data.turn, row.data.step, _is_overflow(row.data.chunk))
    ):
        rows = list(group)
        if over:
            events += [Overflow(row.seq, row.time, turn, step) for row in rows]
        else:
            chunks = tuple([row.data.chunk for row in rows])
            events.append(AssistantChunks(rows[0].seq, rows[0].time, turn, step, chunks))
    return events


def _is_overflow(chunk: Any) -> bool:
    return type(chunk) is Finish and chunk.reason.failure.code == OVERFLOW


def spelled_out(row: Any) -> tuple[Chunk, ...] | None:
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
