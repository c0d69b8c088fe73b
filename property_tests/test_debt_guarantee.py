"""What `debt` may cost at most, on generated sessions: docs/economics.md, "The guarantee"."""

import hypothesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refold.events import AssistantMessage, Event, StepEnd, StepStart, Text, ToolCall, ToolResult, ToolUse, TurnStart
from refold.lab.calls import calls
from refold.lab.hindsight import best_subset, chances, hindsight
from refold.lab.ledger import Ledger, Prices, charged
from refold.lab.providers import IDEAL
from refold.lab.remembered import METER
from refold.lab.sizes import Sizes
from refold.reducer import Reducer
from refold.reducer.presets import debt, none

# A step's result: whether its tool may be cut, and its tokens; sizes that differ by orders of magnitude decide most.
STEPS = st.lists(
    st.tuples(st.booleans(), st.sampled_from((1, 40, 200, 2_000, 20_000))) | st.tuples(st.just(True), st.just(600)),
    min_size=4,
    max_size=45,
)
PRICES = st.sampled_from((Prices(100, 1250), Prices(25, 1250), Prices(20, 1000), Prices(500, 1000), Prices(0, 1250)))


def session(steps: list[tuple[bool, int]]) -> tuple[Event, ...]:
    events: list[Event] = [TurnStart(0, 0, 1)]
    for step, (dead, tokens) in enumerate(steps, 1):
        seq, tool = len(events), "read" if dead else "write"
        use = ToolUse(f"c{step}", tool, "{}")
        events += [
            StepStart(seq, 0, 1, step),
            AssistantMessage(seq + 1, 0, (use,), 1, step),
            ToolCall(seq + 2, 0, 1, step, use.id, tool, "{}"),
            ToolResult(seq + 3, 0, (Text(" word" * tokens),), 1, step, use.id, sources=(seq + 2,)),
            StepEnd(seq + 4, 0, 1, step),
        ]
    return tuple(events)


@hypothesis.seed(1)
@settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(STEPS, PRICES, st.sampled_from((1, 3)))
def test_debt_costs_less_than_twice_never_cutting_and_at_most_its_constant_times_hindsight(
    steps: list[tuple[bool, int]], prices: Prices, keep: int
) -> None:
    events, ledger, sizes = session(steps), Ledger(IDEAL), Sizes()
    reducer = Reducer(debt(prices.read, prices.write, 0, keep), METER, "what-if")
    never = sum(map(prices.cost, charged(ledger, calls(Reducer(none(), METER), events))))
    paid = sum(map(prices.cost, charged(ledger, calls(reducer, events))))
    options = chances(reducer, events)
    best = hindsight(options, ledger, prices, sizes).cost

    assert paid < 2 * never
    assert paid * prices.write <= (3 * prices.write - 2 * prices.read) * best
    assert best <= min(never, paid)
    assert best_subset(options, ledger, prices, sizes).cost <= best
