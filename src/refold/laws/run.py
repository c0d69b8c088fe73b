"""What a live host remembers of a session: the log, every view, what refold answered and what the model was sent."""

from functools import cached_property

from msgspec import Struct

from refold.events import Event, ToolResult
from refold.reducer import Message, Operation, Reducer, View


class Beat(Struct, frozen=True):
    """A moment at which refold was asked: the plan of view number `at`, in force from view number `done` on."""

    at: int
    done: int
    operations: tuple[Operation, ...]
    overflow: bool


class Sent(Struct, frozen=True):
    """A request: what the model was sent of view number `at`.

    `operations` are those put into force since the request before; `quiet` says that nobody else replaced or took
    back a node since, and that system text and tools stayed; `same_process` that refold was not started again.
    """

    at: int
    messages: tuple[Message, ...]
    operations: tuple[Operation, ...]
    quiet: bool
    same_process: bool


class Run(Struct, frozen=True, dict=True):
    """What happened: `views[i]` is the view after the first i of `events`."""

    reducer: Reducer
    events: tuple[Event, ...]
    views: tuple[View, ...]
    beats: tuple[Beat, ...]
    sent: tuple[Sent, ...]
    labels: dict[int, tuple[int, int]]
    """For the seq of each result: which answer asked for it, and as which of its calls."""

    @cached_property
    def by_seq(self) -> dict[int, Event]:
        return {event.seq: event for event in self.events}

    @cached_property
    def origins(self) -> dict[int, int]:
        """For the seq of each result, rewritten ones too, that of the event that first stood in its place."""
        found: dict[int, int] = {}
        for event in self.events:
            if isinstance(event, ToolResult):
                found[event.seq] = found[event.replaces[0]] if event.replaces else event.seq
        return found
