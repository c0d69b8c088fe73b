"""A host's message list, folded as it grows.

The list is the log: what is cut follows from the list, the policy and the meter alone. Folds are kept only to be taken
up again by a longer list; one that is dropped, as all are when the host restarts, is made again from the list and gives
the same answers.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import is_
from threading import Lock
from typing import Any, NoReturn, Protocol

import msgspec

from refold.bridges.untold import check
from refold.events import AssistantMessage, Block, Event, FormatError, StepStart, ToolResult
from refold.events.formats._conversation import Conversation, Request
from refold.events.formats._journal import Journal
from refold.events.formats._messages import Message, Path, native, parts
from refold.reducer import Counted, Meter, Policy, Reducer, View, message_at

KEPT = 8
"""Conversations whose folds are kept at a time: agents that share one bridge run side by side."""

Cuts = dict[int, ToolResult]
"""What is shown of each result that is cut, by the result's seq."""


class Told(Protocol):
    """A session being told: its events so far, and where its results stand among the native messages."""

    journal: Journal
    origins: dict[int, Path]

    def settle(self) -> None:
        """All that was told is in the journal."""

    def open_step(self) -> None:
        """The model is asked now."""


Tell = Callable[[Any, Sequence[Any], int], None]
"""Tells a session (a Told of the host's own kind) what a list of native messages holds from a place on; the origins of
results start with the place in the list. Raises FormatError for what is no message."""

Change = Callable[[Any, Path, Sequence[Block]], Any]
"""A copy of a native message in which the content at the path says these blocks."""

Same = Callable[[Any, Any], bool]
"""Is a native message still the one it was? By identity, where comparing their contents may fail or take long."""

Read = Callable[[Any], list[Message]]
"""The messages that one native message holds; their origins start with 0."""

UNKNOWN = "unknown"
"""The source of a message that stands for what refold cannot read."""


class Fold:
    """One list and what follows from it, whether it is read at once or part by part."""

    def __init__(self, reducer: Reducer, told: Told, change: Change) -> None:
        self.items: list[Any] = []
        self.seen: list[Any] = []  # the items as they were when they were told
        self.told = told
        self.cuts: Cuts = {}
        self.answered = False  # the list ends with an answer, which a longer list may go on with
        self._made: dict[int, Any] = {}  # by place in the list: what was made of an item to show the cuts below
        self._made_for: Cuts = {}
        self._reducer, self._change = reducer, change
        self._view = reducer.start()

    def begins(self, items: Sequence[Any], same: Same) -> bool:
        """Does the list hold all of this one, and begin a new message behind it?"""
        known = len(self.seen)
        alike = known <= len(items) and all(map(same, self.seen, items))
        return alike and not (self.answered and known < len(items))

    def extend(self, items: Sequence[Any], tell: Tell, remember: Callable[[Any], Any]) -> None:
        """Take over what the list holds beyond what is known. Raises FormatError."""
        known = len(self.seen)
        tell(self.told, items, known)
        self.told.settle()
        events, said = self.told.journal.events, self.told.journal.upcoming
        first = next((event for event in events if isinstance(event, ToolResult | AssistantMessage)), None)
        if isinstance(first, ToolResult):
            raise FormatError(
                f"the list starts with a tool result (message {self.told.origins[first.seq][0]}, call id "
                f"{first.call_id!r}) and no answer stands before it that could have called for it: "
                "pass the whole list, or cut it before an assistant message"
            )
        self._view, self.cuts = self._folded(events[self._view.position :])
        self.items = list(items)
        self.seen += map(remember, items[known:])
        self.answered = bool(said) and said[-1].event.role == "assistant"

    def asked(self) -> tuple[View, Cuts]:
        """The view and the cuts in force for a model call made now. Nothing of the call is kept: its answer will tell
        of it."""
        trial = copy.copy(self.told)
        trial.journal = copy.copy(trial.journal)
        trial.journal.events, trial.journal.nodes = [*trial.journal.events], [*trial.journal.nodes]
        trial.open_step()
        return self._folded(trial.journal.events[self._view.position :])

    def shown(self, cuts: Cuts) -> list[Any]:
        """The list with what the cuts leave of its results. Only where no earlier call made them, work is done."""
        both = {**self._made_for, **cuts}
        stale = {self.told.origins[seq][0] for seq in both if cuts.get(seq) is not self._made_for.get(seq)}
        for place in stale:
            self._made.pop(int(place), None)
        for seq in cuts if stale else ():
            place, *inner = self.told.origins[seq]
            if place in stale:
                before = self._made.get(int(place), self.items[int(place)])
                self._made[int(place)] = self._change(before, tuple(inner), cuts[seq].content)
        self._made_for = cuts
        found = list(self.items)
        for at, item in self._made.items():
            found[at] = item
        return found

    def _folded(self, events: Sequence[Event]) -> tuple[View, Cuts]:
        view, cuts, done = self._view, dict(self.cuts), 0
        for start in [place for place, event in enumerate(events, 1) if isinstance(event, StepStart)]:
            view = self._reducer.fold_all(view, events[done:start])
            done = start
            for seq in view.enforced:
                shown = message_at(view, seq)
                assert isinstance(shown, ToolResult), "operations target results"
                cuts[seq] = shown
        return self._reducer.fold_all(view, events[done:]), cuts


def conversation() -> Conversation:
    """A session that a message list tells."""
    return Conversation("messages")


class History:
    """What a bridge is made of: a host's messages in, the messages for the model out.

    `tells` names what the messages say beyond themselves (`usage`, `times`). `meter` is Counted() where none is given.
    `remember` gives what `same` compares with a later list's message, where a host may change its own in place.
    Raises PolicyError for a policy or meter that needs more than the messages tell.
    """

    def __init__(
        self,
        policy: Policy,
        meter: Meter | None,
        tell: Tell,
        change: Change,
        tells: frozenset[str] = frozenset(),
        same: Same = is_,
        start: Callable[[], Told] = conversation,
        remember: Callable[[Any], Any] = lambda item: item,
    ) -> None:
        meter = Counted() if meter is None else meter
        check(policy, meter, tells)
        self.reducer = Reducer(policy, meter, mode="derive")
        self._tell, self._change, self._same, self._start, self._remember = tell, change, same, start, remember
        self._folds: list[Fold] = []
        self._lock = Lock()

    def shown(self, items: Sequence[Any]) -> list[Any]:
        """The list to send now; what no cut touches are the same objects. Raises what `folded` raises."""
        with self.folded(items) as fold:
            return fold.shown(fold.asked()[1])

    @contextmanager
    def folded(self, items: Sequence[Any]) -> Iterator[Fold]:
        """The fold of the list, meanwhile nobody else's. Raises FormatError for what is no message, and for a tool
        result that stands before every answer."""
        with self._lock:
            fold = next((fold for fold in self._folds if fold.begins(items, self._same)), None)
            if fold is not None:
                self._folds.remove(fold)
        fold = fold or Fold(self.reducer, self._start(), self._change)
        fold.extend(items, self._tell, self._remember)
        yield fold
        with self._lock:
            self._folds = [fold, *self._folds[: KEPT - 1]]


def change_json(value: Any, path: Path, content: Sequence[Block]) -> Any:
    """Change for native messages that are JSON values."""
    if not path:
        return native(value, parts(value), content)
    key = path[0]
    if isinstance(value, Mapping):
        return {**value, key: change_json(value[key], path[1:], content)}
    return [change_json(each, path[1:], content) if at == key else each for at, each in enumerate(value)]


def copied(value: Any) -> Any:
    """JSON's objects and lists anew, all else as it is: what is put into the old ones later does not show here."""
    if isinstance(value, dict):
        return {key: copied(each) for key, each in value.items()}
    return [copied(each) for each in value] if isinstance(value, list) else value


def tell(told: Conversation, messages: Sequence[Message], known: int) -> None:
    """Tell what a list goes on with after its first `known` native messages."""
    new = list(messages)
    if known and new and new[0].role == "system":  # it leads what is new, not the list
        new[0] = msgspec.structs.replace(new[0], role="developer")
    told.ask(Request(messages=new, system=told.system, follows="what is known"))


def read_each(items: Sequence[Any], known: int, read: Read) -> list[Message]:
    """The messages of a list beyond its first `known` native ones. An agent must go on, so what cannot be read has its
    place as a developer's message, which no policy cuts and which opens no turn and no step."""
    found: list[Message] = []
    for place, item in enumerate(items[known:], known):
        try:
            found += placed(read(item), place)
        except (FormatError, AttributeError, TypeError, ValueError, RecursionError):
            found.append(unknown())
    return found


def unknown(content: tuple[Block, ...] = ()) -> Message:
    """A message that stands for what refold does not know."""
    return Message(role="developer", content=content, source=UNKNOWN)


def refuse(complaint: str) -> NoReturn:
    """For a reader that leaves out what is no message: nothing the model is sent may be left out."""
    raise FormatError(complaint)


def placed(messages: Sequence[Message], place: int) -> list[Message]:
    """The messages of one native message, which stands at this place in the list."""
    return [
        msgspec.structs.replace(message, origin=(place, *message.origin[1:])) if message.origin else message
        for message in messages
    ]
