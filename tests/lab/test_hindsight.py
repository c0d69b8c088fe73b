"""The best schedule, against trying every choice of calls."""

from itertools import combinations
from typing import ClassVar, Literal

import msgspec
from tests.sessions import Script

from refold.lab.calls import calls
from refold.lab.hindsight import best_subset, chances, hindsight
from refold.lab.ledger import Ledger, Prices, charged
from refold.lab.providers import IDEAL
from refold.lab.remembered import METER
from refold.lab.sizes import Sizes
from refold.reducer import Part, Policy, Reducer
from refold.reducer.presets import debt
from refold.reducer.when import ALL, Facts

PRICES = Prices(100, 1250)


class At(msgspec.Struct, frozen=True, tag=True):
    """Everything ripe at the calls of these places."""

    steps: tuple[int, ...]
    unit: ClassVar[Literal["tokens", "chars"]] = "tokens"
    weighs: ClassVar[bool] = False
    revision: ClassVar[int] = 1

    def quota(self, facts: Facts) -> int:
        done = facts._state.steps  # type: ignore[attr-defined]
        return ALL if done in self.steps else 0

    def admits(self, part: object) -> bool:
        return True


def session() -> Script:
    script = Script()
    script.start_turn()
    for tokens in (300, 20, 900, 50, 400, 700, 5, 60):
        script.tool_step(" word" * tokens)
    return script


def cost(policy: Policy, script: Script) -> int:
    ledger = Ledger(IDEAL)
    return sum(map(PRICES.cost, charged(ledger, calls(Reducer(policy, METER, "what-if"), script.events))))


def test_no_choice_of_calls_is_cheaper_than_hindsight_and_one_is_as_cheap() -> None:
    script = session()
    part = debt(keep=2).parts[0]
    places = range(8)
    tried = [
        cost(Policy("at", (Part("at", At(chosen), part.which, part.ripe, part.how),)), script)  # type: ignore[arg-type]
        for size in range(5)
        for chosen in combinations(places, size)
    ]
    options = chances(Reducer(debt(keep=2), METER, "what-if"), script.events)
    assert hindsight(options, Ledger(IDEAL), PRICES, Sizes()).cost == min(tried)


def test_leaving_the_oldest_whole_can_be_cheaper_and_is_never_dearer() -> None:
    script = Script()
    script.start_turn()
    script.tool_step(" word" * 200)
    script.tool_step(" word" * 100_000, tool="write")
    for _ in range(30):
        script.tool_step(" word" * 2_400)
    options = chances(Reducer(debt(), METER, "what-if"), script.events)
    whole = best_subset(options, Ledger(IDEAL), PRICES, Sizes()).cost
    assert whole < 0.95 * hindsight(options, Ledger(IDEAL), PRICES, Sizes()).cost
