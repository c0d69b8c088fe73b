"""Reading an excerpt or a few made-up records, and what a model sees of them."""

import json
from pathlib import Path
from typing import Any, TypeVar

from refold.events import AssistantMessage, Event, StepStart, Text, ToolResult
from refold.events.formats._source import Session, Source
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
