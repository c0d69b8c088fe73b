"""How much of one prompt's head the next one keeps, in any measure: code points, tokens, places where a cache looks.

The work per event is what it appends, replaces or drops, never the whole prompt.
"""

from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from refold.events import AssistantMessage, Event, SurfaceEvent, SurfaceRewind, SystemMessage
from refold.reducer import View, message_at

Frame = TypeVar("Frame")


class Kept(msgspec.Struct, frozen=True):
    """Of a prompt of `total`: `whole` in leading messages that stand as the last prompt had them, `part` of the next.

    All in the measure that the prompt is kept in; `whole + part` is what both prompts begin with.
    """

    whole: int
    part: int
    total: int


class Prompt(Generic[Frame]):
    """A prompt that grows and changes with the log, and where it first differs from the last one that was taken.

    `length` measures a message, or the frame: what stands before all messages and is no event, None for nothing.
    `common` measures what two of them begin with. Place i is the i-th append, as on the surface; place 0 the frame's.
    """

    def __init__(
        self,
        length: Callable[[SurfaceEvent | Frame], int],
        common: Callable[[SurfaceEvent | Frame, SurfaceEvent | Frame], int],
    ) -> None:
        self._length, self._common = length, common
        self._items: list[SurfaceEvent | Frame | None] = [None]
        self._lengths = [0]
        self._sums = _Sums()
        self._sums.append(0)
        self._places: dict[int, int] = {}
        self._total = self._taken = 0
        self._changed: tuple[int, SurfaceEvent | Frame | None] | None = None

    def follow(self, event: Event, before: View, after: View) -> None:
        """Take over what one folded event changed on the surface."""
        if after.enforced is not before.enforced:
            for seq in after.enforced:
                cut = message_at(after, seq)
                if cut is not None and seq in self._places:
                    self._write(self._places[seq], cut)
        if isinstance(event, SurfaceRewind):
            start = self._places[event.to_seq] + 1 if event.to_seq >= 0 else 1
            self._clear(start, len(self._items))
        elif isinstance(event, SurfaceEvent):
            self._put(event)

    def frame(self, frame: Frame | None) -> None:
        """What stands before all messages from here on."""
        self._write(0, frame)

    def take(self) -> Kept:
        """What the prompt as it stands keeps of the last one taken; it becomes the last one taken."""
        whole, part = self._taken, 0
        if self._changed is not None:
            place, old = self._changed
            whole, new = self._sums.before(place), self._next(place)
            part = self._common(old, new) if old is not None and new is not None else 0
        self._changed, self._taken = None, self._total
        whole = min(whole, self._total)
        return Kept(whole, min(part, self._total - whole), self._total)

    def before(self, seq: int) -> int:
        """What stands before the message of this event, or before what it was replaced by."""
        return self._sums.before(self._places[seq])

    def stretch(self) -> None:
        """What was appended since counts as taken: the answer, which some providers hold with the prompt it is to."""
        if self._changed is None:
            self._taken = self._total

    def _put(self, event: SurfaceEvent) -> None:
        replaces = getattr(event, "replaces", None)
        if replaces is None:
            length = self._measured(event)
            self._places[event.seq] = len(self._items)
            self._items.append(event)
            self._lengths.append(length)
            self._sums.append(length)
            self._total += length
            return
        first, last = self._places[replaces[0]], self._places[replaces[1]]
        self._clear(first + 1, last + 1)
        self._places[event.seq] = first
        self._write(first, event)

    def _clear(self, start: int, end: int) -> None:
        for place in range(start, end):
            self._write(place, None)

    def _write(self, place: int, new: SurfaceEvent | Frame | None) -> None:
        old = self._items[place]
        if same(old, new):
            return
        if self._sums.before(place) < self._taken and (self._changed is None or place < self._changed[0]):
            self._changed = (place, old if self._lengths[place] else self._next(place))
        length = self._measured(new)
        grown = length - self._lengths[place]
        self._items[place], self._lengths[place] = new, length
        self._sums.add(place, grown)
        self._total += grown

    def _measured(self, item: SurfaceEvent | Frame | None) -> int:
        return 0 if item is None or never_sent(item) else self._length(item)

    def _next(self, place: int) -> SurfaceEvent | Frame | None:
        return next((self._items[at] for at in range(place, len(self._items)) if self._lengths[at]), None)


def same(one: object, other: object) -> bool:
    """Are they sent as the same bytes? Position and time are in no prompt."""
    if isinstance(one, SurfaceEvent) and type(one) is type(other):
        told = ("content", "call_id", "is_error")
        return all(getattr(one, name, None) == getattr(other, name, None) for name in told)
    return one == other


def never_sent(item: object) -> bool:
    """Answers and system messages without content are left out of every prompt."""
    return isinstance(item, AssistantMessage | SystemMessage) and not item.content


class _Sums:
    """Prefix sums of a growing list of lengths (a Fenwick tree): appending, changing and summing are O(log n)."""

    def __init__(self) -> None:
        self._tree = [0]

    def append(self, value: int) -> None:
        place = len(self._tree)
        self._tree.append(value + self.before(place - 1) - self.before(place - (place & -place)))

    def add(self, index: int, change: int) -> None:
        place = index + 1
        while place < len(self._tree):
            self._tree[place] += change
            place += place & -place

    def before(self, place: int) -> int:
        """The sum of the first `place` lengths."""
        total = 0
        while place > 0:
            total += self._tree[place]
            place -= place & -place
        return total


def common_text(one: str, other: str) -> int:
    """Length of the longest common prefix, by halving: each comparison runs in C."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
