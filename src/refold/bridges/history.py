"""A host's message list, folded as it grows.

The list is the log: what is cut follows from the list, the policy and the meter alone. Folds are kept only to be taken
up again by a longer list; one that is dropped, as all are when the host restarts, is made again from the list and gives
the same answers.
"""

import copy
from collections.abc import Callable, Iterable, Sequence
from threading import Lock
from typing import Any

from refold.bridges.untold import check
from refold.events import Block, Event, FormatError, StepStart, ToolResult
from refold.events.formats._conversation import Conversation, Request
from refold.events.formats._messages import Message, Path
from refold.reducer import Counted, Meter, Policy, Reducer, View, message_at

KEPT = 8
"""Conversations whose folds are kept at a time: agents that share one bridge run side by side."""

Cuts = dict[int, ToolResult]
"""What is shown of each result that is cut, by the result's seq."""

Read = Callable[[Sequence[Any]], list[Message]]
"""The messages that native ones hold; `origin` starts with the place in the sequence. Raises FormatError."""

Change = Callable[[Any, Path, Sequence[Block], Sequence[Block]], Any]
"""A copy of a native message in which the content at the path, once read as some blocks, says others."""


class Fold:
    """One list and what follows from it. A reader of a whole list never sees the difference to reading it in parts."""

    def __init__(self, reducer: Reducer) -> None:
        self.items: list[Any] = []
        self.told = Conversation("messages")
        self.cuts: Cuts = {}
        self.ends_with_answer = False
        self._reducer = reducer
        self._view = reducer.start()

    def begins(self, items: Sequence[Any]) -> bool:
        """Can this fold be taken up by a longer list? Not where an answer might go on in it."""
        known = len(self.items)
        same = known <= len(items) and all(one is other for one, other in zip(self.items, items, strict=False))
        return same and not (self.ends_with_answer and known < len(items))

    def extend(self, items: Sequence[Any], read: Read) -> None:
        """Fold what the list holds beyond what is known. Raises FormatError."""
        known = len(self.items)
        new = [_at(message, known) for message in read(items[known:])]
        if not new:
            return
        if known and new[0].role == "system":
            new[0] = copy.replace(new[0], role="developer")
        first = next((message for message in new if message.role not in ("system", "developer")), None)
        if not self.told.said and first is not None and first.role == "tool":
            raise FormatError(
                f"the list starts with a tool result (call id {first.call_id!r}) and holds no call for it: "
                "pass the whole list, or cut it before an assistant message"
            )
        self.told.ask(Request(messages=new, system=self.told.system, follows="what is known"))
        self.told.settle()
        self._view, self.cuts = self._folded(self.told.journal.events[self._view.position :])
        self.items, self.ends_with_answer = list(items), new[-1].role == "assistant"

    def asked(self) -> Cuts:
        """The cuts in force for a model call made now. The call itself is not kept: the answer will tell of it."""
        return self._folded(opened(self.told).journal.events[self._view.position :])[1]

    def _folded(self, events: Sequence[Event]) -> tuple[View, Cuts]:
        view, cuts = self._view, dict(self.cuts)
        starts = [place for place, event in enumerate(events) if isinstance(event, StepStart)]
        done = 0
        for start in starts:
            view = self._reducer.fold_all(view, events[done : start + 1])
            done = start + 1
            for seq in view.enforced:
                shown = message_at(view, seq)
                assert isinstance(shown, ToolResult), "an operation targets a result"
                cuts[seq] = shown
        return self._reducer.fold_all(view, events[done:]), cuts
