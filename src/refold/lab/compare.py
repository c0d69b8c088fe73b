"""One session through one policy after another: what each would have cost, and what it would have hurt."""

from collections.abc import Callable, Sequence

import msgspec

from refold.events import Event, ToolResult
from refold.lab.calls import Call, Tracker
from refold.lab.hindsight import Schedule, chances, hindsight
from refold.lab.ledger import Charge, Ledger, Prices, Rules, charged
from refold.lab.regret import Cut, Need, Record, said
from refold.lab.remembered import METER
from refold.lab.sizes import Sizes, fitted
from refold.reducer import Policy, Reducer
from refold.reducer import _surface as surface
from refold.reducer.presets import debt, none
from refold.replay import asked


class Contender(msgspec.Struct, frozen=True):
    """A policy to compare; `make` is told the prices and rules, because a schedule may follow them."""

    name: str
    make: Callable[[Prices, Rules], Policy]


class Beat(msgspec.Struct, frozen=True):
    """One call under a policy, in the provider's tokens; `rewritten` were in the prompt of the call before and had to
    be taken in again."""

    turn: int
    step: int
    prompt: int
    read: int
    rewritten: int
    cuts: tuple[int, ...]


class Outcome(msgspec.Struct, frozen=True):
    """A policy on a session: its calls, its cost in thousandths of an input token, and the cuts that were needed again.

    `regret_tokens` is what would have had to be brought back.
    """

    policy: str
    beats: tuple[Beat, ...]
    cost: int
    needs: tuple[Need, ...]
    regret_tokens: int

    @property
    def cuts(self) -> int:
        return sum(len(beat.cuts) for beat in self.beats)

    @property
    def sent(self) -> int:
        return sum(beat.prompt for beat in self.beats)

    @property
    def read(self) -> int:
        return sum(beat.read for beat in self.beats)

    @property
    def rewritten(self) -> int:
        return sum(beat.rewritten for beat in self.beats)


class Compared(msgspec.Struct, frozen=True):
    """A session's outcomes, and what never cutting and the best schedule for `debt`'s candidates would have cost.

    `weight` turns costs of sessions into one currency: the price of an input token, 1 where none was given.
    """

    session: str
    model: str
    rules: str
    prices: Prices
    weight: int
    calls: int
    none: int
    hindsight: int | None
    outcomes: tuple[Outcome, ...]


LONGEST_HINDSIGHT = 500
"""Calls of a session up to which the best schedule is worked out: the work grows with their cube."""


def compare(
    name: str,
    events: Sequence[Event],
    contenders: Sequence[Contender],
    prices: Prices,
    rules: Rules,
    done: Callable[[], None] = lambda: None,
) -> Compared:
    """Every contender on one session; `done` is called after each replay. Raises SurfaceError."""
    base, _ = _replayed(none(), events)
    sizes = fitted(base)
    ledger = Ledger(rules, sizes.shared)
    charges = list(charged(ledger, sizes.scaled(base)))
    fresh = _fresh(sizes.scaled(base))
    done()
    record = Record(events)
    outcomes = []
    for contender in contenders:
        calls, cuts = _replayed(contender.make(prices, rules), events)
        scaled = sizes.scaled(calls)
        paid = list(charged(ledger, scaled))
        needs = tuple(need for cut in cuts if (need := record.need(cut)) is not None)
        beats = tuple(map(_beat, scaled, paid, fresh))
        back = sum(need.cut.freed for need in needs) * sizes.per_mille // 1000
        outcomes.append(Outcome(contender.name, beats, sum(map(prices.cost, paid)), needs, back))
        done()
    best = None
    if len(base) <= LONGEST_HINDSIGHT:
        best = _best(events, ledger, prices, sizes).cost
    done()
    model = next((call.model for call in base if call.model), "")
    cost = sum(map(prices.cost, charges))
    return Compared(name, model, rules.name, prices, prices.input_nano or 1, len(base), cost, best, tuple(outcomes))


def debt_for(prices: Prices, rules: Rules) -> Policy:
    """The preset `debt` with the prices and the time to live that it is compared under."""
    return debt(prices.read, max(prices.read, prices.write), rules.seconds or 0)


def _best(events: Sequence[Event], ledger: Ledger, prices: Prices, sizes: Sizes) -> Schedule:
    reducer = Reducer(debt_for(prices, ledger.rules), METER, "what-if")
    return hindsight(chances(reducer, events), ledger, prices, sizes)


def _replayed(policy: Policy, events: Sequence[Event]) -> tuple[tuple[Call, ...], list[Cut]]:
    """The calls of a session under a policy, and all that it cut."""
    reducer = Reducer(policy, METER, "what-if")
    tracker = Tracker(reducer)
    results = {event.seq: event for event in events if isinstance(event, ToolResult)}
    calls: list[Call] = []
    cuts: list[Cut] = []
    for start, answer, view in asked(reducer, events, tracker.follow):
        call = tracker.call(start, answer, view)
        calls.append(call)
        for seq in call.cuts:
            node = surface.node_at(view, seq)
            if node is not None and seq in results:
                removed = removed_part(said(results[seq]), said(node.message))
                cuts.append(Cut(seq, start.seq, node.tool, node.arguments, removed, node.freed))
    return tuple(calls), cuts


def removed_part(before: str, after: str) -> str:
    """What of a text no longer stands: all but the head and the tail that both have."""
    head = next((at for at, (old, new) in enumerate(zip(before, after, strict=False)) if old != new), len(after))
    most = min(len(before), len(after)) - head
    ends = zip(reversed(before), reversed(after), strict=False)
    tail = next((at for at, (old, new) in enumerate(ends) if old != new), most)
    return before[head : len(before) - min(tail, most)]


def _fresh(calls: Sequence[Call]) -> list[int]:
    """Tokens of each uncut prompt that the one before did not hold: what any policy has to send anew."""
    last = 0
    fresh = []
    for call in calls:
        fresh.append(call.prompt - min(call.prefix, last))
        last = call.prompt
    return fresh


def _beat(call: Call, charge: Charge, fresh: int) -> Beat:
    rewritten = max(0, call.prompt - charge.read - fresh)
    return Beat(call.turn, call.step, call.prompt, charge.read, rewritten, call.cuts)
