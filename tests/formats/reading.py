"""Reading an excerpt or a few made-up records, and what a model sees of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

from refold.events import AssistantMessage, Event, FormatError, StepStart, Text, ToolResult
from refold.events.formats._source import Format, Session, Source
from refold.reducer import Message, Reducer, Reported, presets

DATA = Path(__file__).parent.parent / "data" / "formats"
UNCUT = Reducer(presets.none(), Reported())
E = TypeVar("E", bound=Event)


def excerpt(name: str) -> Source:
    return Source((DATA / name).read_bytes(), name)


def lines(*found: Any) -> Source:
    return Source(b"".join(json.dumps(record).encode() + b"\n" for record in found), "made up")


def of(session: Session, kind: type[E]) -> list[E]:
    return [event for event in session.events if isinstance(event, kind)]


def shown(session: Session, until: int | None = None) -> tuple[Message, ...]:
    """What the model sees just before event `until`, or at the end; the fold refuses a session that is not in order."""
    return UNCUT.messages(UNCUT.fold_all(UNCUT.start(), session.events[:until]))


def said(message: Message) -> str:
    return "".join(block.text for block in message.content if isinstance(block, Text))


def texts(session: Session, until: int | None = None) -> list[str]:
    return [said(message) for message in shown(session, until)]


def kinds(session: Session) -> list[str]:
    return [event.type for event in session.events]


def where(session: Session) -> list[tuple[int, int]]:
    """The turn and step of each model call."""
    return [(event.turn, event.step) for event in of(session, StepStart)]


def answers(session: Session) -> list[AssistantMessage]:
    return of(session, AssistantMessage)


def results(session: Session) -> list[ToolResult]:
    """The results as they came, without those that were rewritten later."""
    return [event for event in of(session, ToolResult) if event.replaces is None]


def broken(source: Source) -> Iterator[Source]:
    """The source cut off at many places, and with one byte spoilt at as many."""
    for at in range(1, len(source.data), max(1, len(source.data) // 60)):
        yield Source(source.data[:at], f"cut at {at}")
        yield Source(source.data[:at] + b"\x00" + source.data[at + 1 :], f"spoilt at {at}")


def never_breaks(form: Format, source: Source) -> None:
    """Broken input is refused with a FormatError, or read as sessions that a reducer can fold."""
    for attempt in broken(source):
        form.detect(attempt)
        try:
            sessions = form.read(attempt)
        except FormatError:
            continue
        for session in sessions:
            shown(session)
