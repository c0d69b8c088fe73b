"""The reducer: fold a session's events into a view, ask the view what is due.

Theory of operation. An event is folded on a mutable twin of the view that shares its persistent collections: thaw,
run the rule of the event's type, freeze; if the rule refuses, the twin is dropped and the old view stands. Nothing
rescans the past: the surface, the measure, the queues and their sums are all moved by the events themselves. A plan
reads the view. In `commit` mode its operations come back as events of the log; in `derive` and `what-if` the fold of
a step/start puts the plan of the view before it into force, and the fold of an overflow that of the view with it.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from refold.events import AssistantChunks, AssistantMessage, Event, PolicyError, SurfaceError, SurfaceEvent, ToolResult
from refold.reducer import _surface as surface
from refold.reducer._measure import Measure, Meter, measure_of
from refold.reducer._plan import due
from refold.reducer._policy import Policy, described
from refold.reducer._rows import Rows
from refold.reducer._rules import RULES, settle
from refold.reducer._view import Message, Operation, PartState, State, View, freeze, thaw
from refold.reducer.when import latch_of

Mode = Literal["commit", "derive", "what-if"]


@dataclass(frozen=True)
class Reducer:
    """A policy under a meter. Immutable and hashable; all it knows is in its three parameters.

    `mode` says how the host uses refold, which no log can tell. `commit`: the host appends the operations to its log
    before step/start. `derive`: nothing is appended, the cuts follow from the events. `what-if`: as derive, for a log
    whose requests were sent uncut: reported usage is lowered by what was already cut when that call was made.
    `fingerprint` names everything that shapes a prompt: policy, meter, mode and each member's revision. `price` gives
    a message's tokens, `latches` each part's line; both follow from the parameters and are kept for speed.
    """

    policy: Policy
    meter: Meter
    mode: Mode = "commit"
    fingerprint: str = field(init=False, compare=False)
    price: Callable[[SurfaceEvent], int] = field(init=False, compare=False, repr=False)
    latches: tuple[int | None, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.mode not in ("commit", "derive", "what-if"):
            raise PolicyError(f"must be commit, derive or what-if, got {self.mode!r}", field="mode")
        facts = {"policy": described(self.policy), "meter": described(self.meter), "mode": self.mode}
        digest = hashlib.sha256(msgspec.json.encode(facts)).hexdigest()
        object.__setattr__(self, "fingerprint", digest[:16])
        object.__setattr__(self, "price", self.meter.estimator.message)
        lines = (latch_of(part.when) for part in self.policy.parts)
        object.__setattr__(self, "latches", tuple(line.tokens if line else None for line in lines))

    def start(self) -> View:
        """The view before any event."""
        return View(
            self.fingerprint,
            parts=tuple(PartState(weights=Rows() if part.when.weighs else None) for part in self.policy.parts),
        )

    def fold(self, view: View, event: Event) -> View:
        """The view after one more event. Raises SurfaceError where the event cannot follow; `view` never changes."""
        return self.fold_all(view, (event,))

    def fold_all(self, view: View, events: Iterable[Event]) -> View:
        """The view after all the events, in order. Raises SurfaceError; then none of them has been folded."""
        self._check(view)
        state = thaw(view)
        position, rules = state.position, RULES
        for event in events:
            if event.seq != position:
                raise SurfaceError(f"out of order: the next event must be seq {position}", seq=event.seq)
            kind = type(event)
            rule = rules.get(kind)
            if rule is not None:
                rule(self, state, event)
            position += event.width if kind is AssistantChunks else 1
            if event.time:
                state.time = event.time
        state.position = position
        return freeze(state)

    def plan(self, view: View) -> tuple[Operation, ...]:
        """The operations due now, in surface order. Changes nothing; O(operations due)."""
        self._check(view)
        operations = due(self.policy, self.meter, view)
        return settle(self, thaw(view), operations) if operations and len(self.policy.parts) > 1 else operations

    def measure(self, view: View) -> Measure:
        """Tokens that the next request will carry, O(1)."""
        self._check(view)
        return measure_of(view)

    def messages(self, view: View) -> tuple[Message, ...]:
        """What the model is sent now, in order. A message that no operation touched is the event's own object.

        A system text kept in the request header (DSH V0 to V2) comes first; answers and system messages without
        content are left out, as DSH does.
        """
        self._check(view)
        shown: list[Message] = [view.system] if view.system is not None else []
        for _, node in surface.nodes(view):
            message = node.message
            if message.content or isinstance(message, ToolResult) or not _may_be_empty(message):
                shown.append(message)
        return tuple(shown)

    def _check(self, view: State) -> None:
        if view.fingerprint != self.fingerprint:
            raise PolicyError(
                f"the view was made by another policy, meter or mode: it has fingerprint {view.fingerprint}, "
                f"this reducer {self.fingerprint}; fold the log again",
                field="view",
            )


def _may_be_empty(message: Message) -> bool:
    return isinstance(message, AssistantMessage) or message.role == "system"
