"""Sessions of which every one is checked for what must hold whatever its format, and their surface in short."""

from collections.abc import Iterable

from tests.formats.reading import DATA, said

from refold.events import (
    AssistantMessage,
    Event,
    StepEnd,
    StepStart,
    SurfaceEvent,
    ToolCall,
    ToolResult,
    TurnEnd,
    TurnStart,
)
from refold.events.formats._source import Format, Session, Source
from refold.reducer import Dsh, Reducer, View, presets, surface_seqs


def read(form: Format, data: bytes | str, name: str = "transcript") -> tuple[Session, ...]:
    """The sessions of a source that the format recognises, each of them checked."""
    source = Source(data.encode() if isinstance(data, str) else data, name)
    assert form.detect(source)
    sessions = form.read(source)
    for session in sessions:
        check(session)
    return sessions


def read_file(form: Format, name: str) -> tuple[Session, ...]:
    return read(form, (DATA / name).read_bytes(), name)


def surface(session: Session, until: int | None = None) -> list[str]:
    """Role and text of what stands on the surface after the event `until`, or at the end."""
    events = session.events if until is None else session.events[: until + 1]
    by_seq = {event.seq: event for event in events if isinstance(event, SurfaceEvent)}
    return [f"{by_seq[seq].role}: {said(by_seq[seq])}" for seq in surface_seqs(folded(events))]


def folded(events: Iterable[Event]) -> View:
    reducer = Reducer(presets.none(), Dsh())
    return reducer.fold_all(reducer.start(), events)


def check(session: Session) -> None:
    """Seqs count from 0, turns and steps nest and count from 1, answers and calls stand in the step they name, a
    result names a step that has begun, and the reducer takes every event: what is replaced or rewound to is on the
    surface, and the official meter would measure the log."""
    assert [event.seq for event in session.events] == list(range(len(session.events)))
    turn = step = 0
    in_turn = in_step = False
    for event in session.events:
        match event:
            case TurnStart():
                assert not in_turn
                assert event.turn == turn + 1
                turn, step, in_turn = event.turn, 0, True
            case StepStart():
                assert in_turn
                assert not in_step
                assert (event.turn, event.step) == (turn, step + 1)
                step, in_step = event.step, True
            case StepEnd():
                assert in_step
                assert (event.turn, event.step) == (turn, step)
                in_step = False
            case TurnEnd():
                assert in_turn
                assert not in_step
                assert event.turn == turn
                in_turn = False
            case AssistantMessage() | ToolCall():
                assert in_step
                assert (event.turn, event.step) == (turn, step)
            case ToolResult() if event.replaces is None:
                assert (event.turn, event.step) <= (turn, step)
    assert not in_turn
    assert not in_step
    assert folded(session.events).refusal is None
