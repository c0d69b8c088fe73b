"""Replaying a log: what each call's prompt would have been, and how much of the one before it kept.

One prompt a step, taken where the model answers (or where the step ends without an answer). The work per step is
what was appended or replaced, never the whole prompt.
"""

from collections.abc import Iterable, Iterator

import msgspec

from refold.events import AssistantMessage, Event, StepEnd, StepStart, SurfaceEvent, SurfaceRewind
from refold.prompt import rendered_text
from refold.reducer import Reducer, View, message_at


class ReplayedStep(msgspec.Struct, frozen=True):
    """One step/start and the prompt its model call was sent.

    `tokens` by the reducer's meter, None where it refused the log; `cuts` the seqs of the results cut for this call;
    `prompt_chars` the prompt's length and `prefix_chars` how much of its head equals the previous prompt, both in
    code points of the prompt as `refold messages` prints it, compact.
    """

    turn: int
    step: int
    tokens: int | None
    cuts: tuple[int, ...]
    prefix_chars: int
    prompt_chars: int


def replay(reducer: Reducer, events: Iterable[Event]) -> Iterator[ReplayedStep]:
    """Each step of the log under the reducer, in order. Raises SurfaceError (and what `events` raises)."""
    view, prompt = reducer.start(), _Prompt()
    open_step: StepStart | None = None
    for event in events:
        if open_step is not None and isinstance(event, AssistantMessage | StepEnd | StepStart):
            yield _step(reducer, view, open_step, prompt)
            open_step = None
        before, view = view, reducer.fold(view, event)
        prompt.follow(event, before, view)
        if isinstance(event, StepStart):
            open_step = event
    if open_step is not None:
        yield _step(reducer, view, open_step, prompt)


def _step(reducer: Reducer, view: View, start: StepStart, prompt: "_Prompt") -> ReplayedStep:
    tokens = reducer.measure(view).tokens
    return ReplayedStep(start.turn, start.step, tokens, view.enforced, *prompt.take())


class _Prompt:
    """The rendered length of each message, in surface order, and where the prompt first differs from the last taken.

    Place i is the i-th append, as on the surface; place 0 is for the system text that older logs keep in a header.
    """

    def __init__(self) -> None:
        self._texts: list[str] = [""]
        self._sums = _Sums()
        self._sums.append(0)
        self._places: dict[int, int] = {}
        self._total = self._taken = 0
        self._changed: tuple[int, str] | None = None

    def follow(self, event: Event, before: View, after: View) -> None:
        """Take over what one folded event changed."""
        if after.system is not before.system:
            self._write(0, rendered_text(after.system) if after.system else "")
        if after.enforced is not before.enforced:
            for seq in after.enforced:
                cut = message_at(after, seq)
                if cut is not None and seq in self._places:
                    self._write(self._places[seq], rendered_text(cut))
        if isinstance(event, SurfaceRewind):
            start = self._places[event.to_seq] + 1 if event.to_seq >= 0 else 1
            self._clear(start, len(self._texts))
        elif isinstance(event, SurfaceEvent):
            self._put(event)

    def _put(self, event: SurfaceEvent) -> None:
        text = rendered_text(event)
        replaces = getattr(event, "replaces", None)
        if replaces is None:
            self._places[event.seq] = len(self._texts)
            self._texts.append(text)
            self._sums.append(len(text))
            self._total += len(text)
            return
        first, last = self._places[replaces[0]], self._places[replaces[1]]
        self._clear(first + 1, last + 1)
        self._places[event.seq] = first
        self._write(first, text)

    def _clear(self, start: int, end: int) -> None:
        for place in range(start, end):
            self._write(place, "")

    def _write(self, place: int, text: str) -> None:
        old = self._texts[place]
        if text == old:
            return
        if self._sums.before(place) < self._taken and (self._changed is None or place < self._changed[0]):
            self._changed = (place, old or self._next_text(place))
        self._texts[place] = text
        self._sums.add(place, len(text) - len(old))
        self._total += len(text) - len(old)

    def _next_text(self, place: int) -> str:
        return next((text for text in self._texts[place:] if text), "")

    def take(self) -> tuple[int, int]:
        """`prefix_chars` and `prompt_chars` of the prompt as it stands, which becomes the last one taken."""
        kept = self._taken
        if self._changed is not None:
            place, old = self._changed
            kept = self._sums.before(place) + _common(old, self._next_text(place))
        self._changed, self._taken = None, self._total
        return min(kept, self._total), self._total


class _Sums:
    """Prefix sums of a growing list of lengths (a Fenwick tree): appending, changing and summing are O(log n)."""

    def __init__(self) -> None:
        self._tree = [0]

    def append(self, value: int) -> None:
        place = len(self._tree)
        self._tree.append(value + self._sum(place - 1) - self._sum(place - (place & -place)))

    def add(self, index: int, change: int) -> None:
        place = index + 1
        while place < len(self._tree):
            self._tree[place] += change
            place += place & -place

    def before(self, index: int) -> int:
        return self._sum(index)

    def _sum(self, place: int) -> int:
        total = 0
        while place > 0:
            total += self._tree[place]
            place -= place & -place
        return total


def _common(one: str, other: str) -> int:
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
