"""Hindsight: what the best schedule would have cost, known only when the session is over.

A policy's candidates ripen whatever it does with them, so one replay that cuts nothing tells all that a schedule can
choose from. `hindsight` is the cheapest choice of calls at which everything ripe is cut; `best_subset` may also leave
the oldest of them whole for good. Both by dynamic programming over call x first candidate that is still whole.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Final, Literal

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
    return _cheapest([(chance, _Row(chance.standing)) for chance in chances], ledger, prices, sizes, 0)


def best_subset(chances: Sequence[Chance], ledger: Ledger, prices: Prices, sizes: Sizes) -> Schedule:
    """The cheapest choice of calls where the oldest candidates, as many as one likes, may stay whole for good.

    Tries every head, each as long as `hindsight` takes.
    """
    rows = [(chance, _Row(chance.standing)) for chance in chances]
    heads = {place for chance in chances for place in chance.standing} | {0}
    return min((_cheapest(rows, ledger, prices, sizes, head) for head in sorted(heads)), key=lambda found: found.cost)


def _cheapest(
    rows: Sequence[tuple[Chance, "_Row"]], ledger: Ledger, prices: Prices, sizes: Sizes, head: int
) -> Schedule:
    """The cheapest schedule that leaves the places before `head` whole."""
    best: dict[int, tuple[int, Ledger, tuple[int, Any] | None]] = {head: (0, ledger, None)}
    before = _Row({})
    for number, (chance, row) in enumerate(rows):
        found: dict[int, tuple[int, Ledger, tuple[int, Any] | None]] = {}
        for done, (spent, known, history) in best.items():
            for upto in {done, max(done, chance.ripe)}:
                call = _cut(chance.call, row, before, head, done, upto)
                charge, behind = known.charge(sizes.scaled((call,))[0])
                cost = spent + prices.cost(charge)
                if upto not in found or cost < found[upto][0]:
                    found[upto] = (cost, behind, (number, history) if upto > done else history)
        best, before = found, row
    cost, _, history = min(best.values(), key=lambda end: end[0])
    return Schedule(cost, _told(history))


def _told(history: tuple[int, Any] | None) -> tuple[int, ...]:
    cuts: list[int] = []
    while history is not None:
        number, history = history
        cuts.append(number)
    return tuple(reversed(cuts))


LATEST: Final = 1 << 62
"""Behind every place of a queue."""


class _Row:
    """The candidates in one prompt, in the order of their places: sums over a range of them by two look-ups.

    That needs them to stand in the prompt as they stand in the queue. Where a rewrite by others has broken that,
    `ordered` is false and the sums are taken one by one.
    """

    def __init__(self, standing: dict[int, Standing]) -> None:
        pairs = sorted(standing.items())
        self.places = [place for place, _ in pairs]
        self.items = [each for _, each in pairs]
        self.starts = [each.at for each in self.items]
        self.sums = [0, *accumulate(each.gain for each in self.items)]
        self.ordered = all(one.at < other.at for one, other in pairwise(self.items))

    def gone(self, head: int, upto: int) -> int:
        """Tokens that are gone when the places from `head` to `upto` are cut."""
        first, last = (bisect_left(self.places, place) for place in (head, max(head, upto)))
        return self.sums[last] - self.sums[first]

    def without(self, head: int, upto: int, position: int) -> int:
        """Where a position of the uncut prompt stands when the places from `head` to `upto` are cut."""
        first, last = (bisect_left(self.places, place) for place in (head, max(head, upto)))
        if not self.ordered:
            return position - sum(_lost(each, position) for each in self.items[first:last])
        last = max(first, min(last, bisect_left(self.starts, position)))
        if last == first:
            return position
        return position - (self.sums[last - 1] - self.sums[first]) - _lost(self.items[last - 1], position)

    def between(self, done: int, upto: int) -> list[Standing]:
        """The candidates from `done` to `upto` that can be first in the prompt."""
        first, last = (bisect_left(self.places, place) for place in (done, upto))
        return self.items[first : min(last, first + 1) if self.ordered else last]


def _cut(call: Call, row: _Row, before: _Row, head: int, done: int, upto: int) -> Call:
    """The call as it is when candidates from `head` to `done` were cut earlier and those up to `upto` are cut now."""
    prefix, whole = (before.without(head, done, position) for position in (call.prefix, call.whole))
    places = call.prefix_places
    for each in row.between(done, upto):
        prefix = min(prefix, before.without(head, done, each.at + each.common))
        whole = min(whole, before.without(head, done, each.at))
        places = min(places, each.places)
    cut = replace(call, prompt=call.prompt - row.gone(head, upto), prefix=prefix, whole=whole, prefix_places=places)
    waiting = min(row.between(upto, LATEST), key=lambda each: each.at, default=None)
    if waiting is None:
        return replace(cut, waiting=None)
    return replace(cut, waiting=row.without(head, upto, waiting.at), waiting_places=waiting.places)


def _lost(each: Standing, position: int) -> int:
    """Tokens before a position that the candidate's cut takes."""
    return max(0, min(each.gain, position - each.at - each.common))
