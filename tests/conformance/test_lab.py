"""The lab on real sessions: how well it predicts, what `debt` costs there, and how well regret agrees with a reader."""

import json
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from pathlib import Path
from statistics import median

import pytest
from tests.conformance.manifest import everything, source

from refold.events import AssistantMessage, Event, RefoldError, StepStart, ToolResult, ToolUse
from refold.events.formats import read
from refold.lab.compare import Compared, Contender, compare, debt_for
from refold.lab.ledger import Prices, Rules
from refold.lab.peers import PEERS
from refold.lab.prediction import predictions
from refold.lab.prices import rules_for
from refold.lab.providers import RULES
from refold.lab.regret import SIGNALS, Cut, Record, said
from refold.lab.totals import rows
from refold.reducer import Policy

pytestmark = pytest.mark.conformance

LABELS = Path(__file__).parents[1] / "data" / "regret" / "labels.json"


@cache
def sessions() -> tuple[tuple[str, str, tuple[Event, ...]], ...]:
    """Folder, file and events of every session that can be read."""
    found = []
    for folder, name in everything():
        try:
            found += [(folder, name, session.events) for session in read(source(folder, name))]
        except RefoldError:
            continue
    return tuple(found)


def rules_of(folder: str, events: tuple[Event, ...]) -> Rules:
    model = next((event.model for event in events if isinstance(event, AssistantMessage) and event.model), "")
    return RULES["kimi"] if folder == "kimi_cli" else rules_for(model)


def test_cached_reads_are_predicted_to_the_token_where_the_provider_tells_its_rules() -> None:
    errors = defaultdict(list)
    for folder, _, events in sessions():
        rules = rules_of(folder, events)
        errors[rules.name.partition("-")[0]] += [abs(each.error) for each in predictions(events, rules)]
    found = {provider: (len(each), median(each)) for provider, each in errors.items() if each}
    assert found == {
        "anthropic": (840, 1),
        "deepseek": (321, 0),
        "openai": (128, 128),
        "kimi": (41, 0),
        "gemini": (14, 356.0),
    }


def fixed(policy: Policy) -> Callable[[Prices, Rules], Policy]:
    return lambda prices, rules: policy


CONTENDERS = [Contender("debt", debt_for), *(Contender(name, fixed(make())) for name, make in PEERS.items())]


@cache
def compared(read_price: int) -> tuple[tuple[str, Compared], ...]:
    """Folder and outcome of every session of at least twenty calls."""
    prices = Prices(read_price, 1250)
    return tuple(
        (folder, compare(name, events, CONTENDERS, prices, rules_of(folder, events)))
        for folder, name, events in sessions()
        if sum(isinstance(event, StepStart) for event in events) >= 20
    )


def claude(read_price: int) -> tuple[Compared, ...]:
    return tuple(each for folder, each in compared(read_price) if folder == "claude_code")


@pytest.mark.parametrize(("read_price", "total", "worst"), [(100, 0.78, 1.01), (25, 0.78, 1.05)])
def test_debt_costs_at_most_this_on_the_claude_code_sessions(read_price: int, total: float, worst: float) -> None:
    found = claude(read_price)
    assert len(found) == 6
    row = rows(found)[0]
    assert row.cost_ratio <= total
    assert row.worst_ratio <= worst


@pytest.mark.parametrize("read_price", [100, 25])
def test_debt_costs_less_there_than_every_peer_with_no_more_regret(read_price: int) -> None:
    debt, *others = rows(claude(read_price))
    rivals = [row for row in others if row.regret <= debt.regret]
    assert len(rivals) >= 8
    assert all(debt.cost_ratio < row.cost_ratio for row in rivals)


@pytest.mark.parametrize(("read_price", "there", "everywhere"), [(100, 1.05, 1.05), (25, 1.05, 1.08)])
def test_debt_is_as_near_to_hindsight_as_the_docs_say(read_price: int, there: float, everywhere: float) -> None:
    every = tuple(each for _, each in compared(read_price))
    assert len(every) == 20
    assert all(each.hindsight is not None for each in every)
    for found, most in ((claude(read_price), there), (every, everywhere)):
        ratio = rows(found)[0].hindsight_ratio
        assert ratio is not None
        assert 1 <= ratio <= most


def test_regret_agrees_with_a_reader_on_forty_cuts() -> None:
    labels = json.loads(LABELS.read_text("utf-8"))
    right = wrong = missed = 0
    for name in {label["session"] for label in labels}:
        folder, _, file = name.partition("/")
        events = next(iter(read(source(folder, file)))).events
        record = Record(events)
        for label in labels:
            if label["session"] == name:
                need = record.need(_cut(events, label["result"], label["cut"]), SIGNALS)
                right += bool(need) and label["needed"]
                wrong += bool(need) and not label["needed"]
                missed += not need and label["needed"]
    assert (right, wrong, missed) == (10, 1, 4)


def _cut(events: tuple[Event, ...], result: int, call: int) -> Cut:
    asking: AssistantMessage | None = None
    for event in events:
        asking = event if isinstance(event, AssistantMessage) else asking
        if isinstance(event, ToolResult) and event.seq == result and asking is not None:
            (use,) = [block for block in asking.content if isinstance(block, ToolUse) and block.id == event.call_id]
            return Cut(result, call, use.name, use.arguments, said(event), 0)
    raise AssertionError(f"no result at seq {result}")
