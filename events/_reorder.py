"""Putting a delivery back in order: what stands between an unreliable transport and the fold."""

from refold.events._errors import SurfaceError
from refold.events._events import Event


class Reorder:
    """Hands events on in the order of their seqs, however a transport shuffled and repeated them.

    `window` is the number of events that may be held back while an earlier one is missing, which is as far as any
    event of a delivery may stand from its own place, repetitions left out. `start` is the first seq expected. Of what
    it handed on it remembers the last `window + 1` events, to tell a repetition from another event under that seq.
    Raises ValueError for a window below 0.
    """

    def __init__(self, window: int, start: int = 0) -> None:
        if window < 0:
            raise ValueError(f"a window must be at least 0 events, got {window}")
        self._window = window
        self._next = start
        self._held: dict[int, Event] = {}
        self._past: tuple[Event, ...] = ()

    def push(self, event: Event) -> tuple[Event, ...]:
        """Take one event as it arrives; gives the events that are in order now, often none.

        An exact repetition within the window is dropped. Raises SurfaceError, and is as before, for another event at a
        place that is taken, for one from before the window, and where a gap stays open with the window full.
        """
        rivals = [known for known in (*self._past, *self._held.values()) if _share_a_place(known, event)]
        if event in rivals:
            return ()
        if rivals:
            raise SurfaceError(f"another event, {_named(rivals[0])}, already has this place", seq=event.seq)
        if event.seq < self._next:
            raise SurfaceError(
                f"came too late: all before seq {self._next} were handed on, and only the last {self._window + 1} "
                "events are remembered; use a wider window",
                seq=event.seq,
            )
        if event.seq > self._next and len(self._held) >= self._window:
            raise SurfaceError(
                f"seq {self._next} is missing and {len(self._held)} events wait for it, as many as the window holds",
                seq=event.seq,
            )
        self._held[event.seq] = event
        return self._in_order()

    def flush(self) -> tuple[Event, ...]:
        """The end of the delivery: gives (). Raises SurfaceError where events still wait for one that never came."""
        if self._held:
            raise SurfaceError(
                f"the delivery ended while seq {self._next} was missing before {len(self._held)} events",
                seq=min(self._held),
            )
        return ()

    def _in_order(self) -> tuple[Event, ...]:
        ready: list[Event] = []
        while self._next in self._held:
            ready.append(self._held.pop(self._next))
            self._next += ready[-1].width
        known = (*self._past, *ready)
        self._past = known[-self._window - 1 :]
        return tuple(ready)


def _share_a_place(one: Event, other: Event) -> bool:
    """A run of stream chunks takes many places; any one of them counts."""
    return one.seq < other.seq + other.width and other.seq < one.seq + one.width


def _named(event: Event) -> str:
    return f"{event.type} at seq {event.seq}"
