"""Hindsight: what the best schedule would have cost, known only when the session is over.

A policy's candidates ripen whatever it does with them, so one replay that cuts nothing tells all that a schedule can
choose from. `hindsight` is the cheapest choice of calls at which everything ripe is cut; `best_subset` may also leave
the oldest of them whole for good. Both by dynamic programming over call x first candidate that is still whole.
"""

from collections.abc import Iterable, Sequence
from typing import Any, ClassVar, Literal

import msgspec
from msgspec.structs import replace

from refold.events import Event, StepStart, ToolResult
from refold.lab.calls import Call, Tracker, common_blocks
from refold.lab.ledger import Ledger, Prices
from refold.lab.sizes import Sizes
from refold.reducer import Part, Policy, Reducer, View
from refold.reducer import _queue as queue
from refold.reducer._view import PartState
from refold.replay import asked


class Held(msgspec.Struct, frozen=True, tag=True):
    """A `when` under which nothing is ever due; what its parts would admit is a candidate all the same."""

    parts: tuple[Any, ...]
    unit: ClassVar[Literal["tokens", "chars"]] = "tokens"
    weighs: ClassVar[bool] = False
    revision: ClassVar[int] = 1

    def quota(self, facts: object) -> int:
        return 0

    def admits(self, part: PartState) -> bool:
        return all(rule.admits(part) for rule in self.parts)


class Standing(msgspec.Struct, frozen=True, gc=False):
    """A candidate in a prompt: `at` tokens and `places` are before it; its cut keeps its first `common` tokens and
    takes the `gain` behind them."""

    at: int
    places: int
    common: int
    gain: int


class Chance(msgspec.Struct, frozen=True):
    """A call at which nothing is cut: the candidates in its prompt by their place in the queue, and the number of
    places that are ripe."""

    call: Call
    standing: dict[int, Standing]
    ripe: int


class Schedule(msgspec.Struct, frozen=True):
    """A schedule's cost in thousandths of an input token, and the calls (by their place) at which it cuts."""

    cost: int
    cuts: tuple[int, ...]


def chances(reducer: Reducer, events: Iterable[Event]) -> tuple[Chance, ...]:
    """Each call of a log with what a one-part policy could cut then. Raises SurfaceError."""
    (part,) = reducer.policy.parts
    held = Part(part.name, Held((part.when,)), part.which, part.ripe, part.how, part.grow)  # type: ignore[arg-type]
    reducer = Reducer(Policy(reducer.policy.name, (held,)), reducer.meter, reducer.mode)
    tracker = Tracker(reducer)
    ripe = 0
    cuts: dict[int, tuple[int, int]] = {}

    def follow(event: Event, before: View, after: View) -> None:
        nonlocal ripe
        tracker.follow(event, before, after)
        if isinstance(event, StepStart):
            ripe = before.parts[0].boundary

    found = []
    for start, answer, view in asked(reducer, events, follow):
        call = tracker.call(start, answer, view)
        standing: dict[int, Standing] = {}
        queued = view.parts[0]
        for place in range(queued.head, queued.end):
            node = queue.holder(view, 0, place)
            if node is None:
                continue
            if node.seq not in cuts:
                made = queue.cut_content(held, reducer.meter, node)
                assert made is not None, "only what can be cut is queued"
                assert isinstance(node.message, ToolResult)
                after = replace(node.message, content=made[0])
                common = reducer.meter.estimator.blocks(common_blocks(node.message, after))
                cuts[node.seq] = (common, node.tokens - made[1])
            standing[place] = Standing(*tracker.before(node.seq), *cuts[node.seq])
        found.append(Chance(call, standing, ripe))
    return tuple(found)


def hindsight(chances: Sequence[Chance], ledger: Ledger, prices: Prices, sizes: Sizes) -> Schedule:
    """The cheapest choice of calls at which everything ripe is cut."""
    best: dict[int, tuple[int, Ledger, tuple[int, Any] | None]] = {0: (0, ledger, None)}
    before: dict[int, Standing] = {}
    for number, chance in enumerate(chances):
        found: dict[int, tuple[int, Ledger, tuple[int, Any] | None]] = {}
        for done, (spent, known, history) in best.items():
            for upto in {done, max(done, chance.ripe)}:
                charge, behind = known.charge(sizes.scaled((_cut(chance, before, done, upto),))[0])
                cost = spent + prices.cost(charge)
                if upto not in found or cost < found[upto][0]:
                    found[upto] = (cost, behind, (number, history) if upto > done else history)
        best, before = found, chance.standing
    cost, _, history = min(best.values(), key=lambda end: end[0])
    return Schedule(cost, _told(history))


def _told(history: tuple[int, Any] | None) -> tuple[int, ...]:
    cuts: list[int] = []
    while history is not None:
        number, history = history
        cuts.append(number)
    return tuple(reversed(cuts))


def _cut(chance: Chance, before: dict[int, Standing], done: int, upto: int) -> Call:
    """The call as it is when candidates up to `done` were cut earlier and those up to `upto` are cut now."""
    call = chance.call
    gone = sum(each.gain for place, each in chance.standing.items() if place < upto)
    old = [each for place, each in before.items() if place < done]
    prefix, whole, places = _without(old, call.prefix), _without(old, call.whole), call.prefix_places
    for place, each in chance.standing.items():
        if done <= place < upto:
            prefix = min(prefix, _without(old, each.at + each.common))
            whole = min(whole, _without(old, each.at))
            places = min(places, each.places)
    return replace(call, prompt=call.prompt - gone, prefix=prefix, whole=whole, prefix_places=places)


def _without(cut: Iterable[Standing], position: int) -> int:
    """Where a position of the uncut prompt stands when these are cut."""
    return position - sum(max(0, min(each.gain, position - each.at - each.common)) for each in cut)
