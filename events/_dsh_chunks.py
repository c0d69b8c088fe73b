"""Stream chunks of DSH's older logs: rows, one by one or packed, become runs of one step."""

from collections.abc import Iterator
from itertools import chain, groupby
from typing import Any

from refold.events._dsh_events import OVERFLOW
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


def telling(run: list[Any]) -> Iterator[Chunk]:
    """The chunks among these rows that can hold more than plain text."""
    return (chunk for row in run if type(chunk := row.data.chunk) in (BlockEnd, UnknownChunk))


def runs(run: list[Any]) -> list[Event]:
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
