"""refold against the official DSH packages (npm, log format V0): the same cuts, surfaces and tokens, or a refusal.

The official code is asked about generated input, so nothing expected here was ever computed by refold.
"""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any
from zlib import crc32

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from tests.broken_logs import METER, SURFACE
from tests.generated import Json, pruner_inputs, pruner_settings
from tests.generated_logs import Session, sessions
from tests.oracle_client import Oracle, Refusal
from tests.refold_side import Refused, refold_measure, refold_prune, refold_surface, spelled_out, stored

pytestmark = pytest.mark.oracle

BREAKS = SURFACE | METER
# Each of these must have come up, or the run has tested nothing of it.
# fmt: off
WANTED = (
    "ordinary", "parallel calls", "repeated call id", "empty call id", "tool error", "call that never started",
    "empty answer", "step without an answer", "result holds image", "result holds x-chart", "result holds tool-result",
    "text with extra fields", "CJK", "emoji", "lone surrogate", "failed attempt", "overflow inside a step",
    "interrupted", "max tokens", "stream: whole", "stream: no end", "stream: no start", "stream: end only",
    "stream: late", "stream: confused", "blocks stream side by side", "answer without sources",
    "answer of a known empty stream", "answer differs from its stream", "answer cites its chunks backwards",
    "answer cites some of its chunks", "usage: high", "usage: low", "usage: none", "no header", "header again",
    "completed turn", "aborted turn", "blocked turn", "resumed", "compaction", "manual compaction",
    "compaction that failed", "prune record", "result rewritten", "replacement changes nothing",
    "replacement cites more", "replacement with its keys in another order", "user message over a node",
    "header again: nothing", "header again: keys in another order", "header again: model", "header again: stop",
    "header again: setting that goes uncompared", "header again: no adapter defaults", "header again: adapter default",
    "header again: system", "header again: empty system", "header again: no tools", "header again: one more tool",
    "answer over a node", "rewrite between turns", "rewrite inside a step", "log ends in the middle",
)
# fmt: on


def examples(seed: str, count: int, phases: tuple[Phase, ...] = (Phase.generate, Phase.shrink)) -> Callable[..., Any]:
    settings = hypothesis.settings(
        max_examples=count, phases=phases, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    return lambda test: hypothesis.seed(seed)(settings(test))


def as_javascript(value: Any) -> Any:
    """A JSON value after a trip through text, which joins the halves of a surrogate pair."""
    return json.loads(json.dumps(value))


def check_log(oracle: Oracle, events: list[Json], *, packed: bool) -> Json:
    """Compare surface and measure of one log; returns what the official packages answered."""
    surface, meters, lines = oracle.ask(*({"op": op, "events": events} for op in ("surface", "meters", "lines")))
    log = stored(lines) if packed else spelled_out(events)
    if isinstance(surface, Refusal):
        with pytest.raises(Refused) as refused:
            refold_surface(log)
        assert refused.value.at == surface.at, f"official: {surface.message}; refold: {refused.value}"
        return {"surface": surface}
    nodes, replacements = refold_surface(log)
    assert nodes == surface["nodes"]
    assert replacements == len(surface["replacements"])
    measured = refold_measure(log)
    for position, (total, tokens) in measured.after.items():
        if position <= len(meters["after"]):
            assert [total, tokens] == meters["after"][position - 1], f"measured after {position} events"
        else:
            assert total is None, f"the official meter refused event {len(meters['after'])}: {meters['refusal']}"
    if meters["refusal"] is None:
        assert measured.refusal is None
        assert measured.nodes == [(node["seq"], node["tokens"]) for node in meters["nodes"]]
    else:
        assert measured.refusal is not None
    return {"surface": surface, "meters": meters}


def one_in_ten_broken(events: list[Json]) -> list[Json]:
    """The log itself picks whether and how: drawn, a break comes in clusters, for Hypothesis varies what it had."""
    pick = crc32(json.dumps(events).encode())
    return events if pick % 10 else BREAKS[sorted(BREAKS)[pick // 10 % len(BREAKS)]](events)


def test_pruned_content_is_the_official_one_to_the_block(oracle: Oracle, seed: str, record_property: Any) -> None:
    seen: Counter[str] = Counter()

    @examples(seed, 500)
    @given(st.tuples(*[pruner_inputs] * 4))
    def compare(inputs: tuple[tuple[Json, list[Json]], ...]) -> None:
        requests = [{"op": "prune", "config": config, "blocks": blocks} for config, blocks in inputs]
        for (config, blocks), official in zip(inputs, oracle.ask(*requests), strict=True):
            assert as_javascript(refold_prune(config, blocks)) == official
            seen["block lists"] += 1
            seen["cut" if official else "left"] += 1

    compare()
    record_property("generated", dict(seen))
    assert seen["block lists"] >= 2_000
    assert min(seen["cut"], seen["left"]) >= 400


def test_pruner_settings_are_refused_where_the_official_pruner_refuses_them(
    oracle: Oracle, seed: str, record_property: Any
) -> None:
    seen: Counter[str] = Counter()

    @examples(seed, 400)
    @given(pruner_settings)
    def compare(config: Json) -> None:
        official = oracle.one("prune", config=config, blocks=[])
        if isinstance(official, Refusal):
            with pytest.raises(Refused):
                refold_prune(config, [])
        else:
            assert refold_prune(config, []) is None
        seen["refused" if isinstance(official, Refusal) else "taken"] += 1

    compare()
    record_property("generated", dict(seen))
    assert min(seen["refused"], seen["taken"]) >= 20


def test_surface_and_tokens_are_the_official_ones_after_every_event(
    oracle: Oracle, seed: str, record_property: Any
) -> None:
    seen: Counter[str] = Counter()
    traits: Counter[str] = Counter()

    @examples(seed, 500)
    @given(sessions(), st.booleans())
    def compare(session: Session, packed: bool) -> None:
        official = check_log(oracle, one_in_ten_broken(session.events), packed=packed)
        seen["logs"] += 1
        if isinstance(official["surface"], Refusal) or official["meters"]["refusal"]:
            seen["refused by both"] += 1
        else:
            seen["accepted by both"] += 1
            seen["accepted with a replacement"] += bool(official["surface"]["replacements"])
            traits.update(session.traits)

    compare()
    record_property("generated", dict(seen))
    assert seen["logs"] >= 500
    assert seen["accepted by both"] >= 400
    assert seen["refused by both"] >= 20
    assert seen["accepted with a replacement"] >= 200
    assert not {name: traits[name] for name in WANTED if traits[name] < 5}, "too rare to test anything"


@pytest.fixture(scope="module")
def few_sessions(seed: str) -> list[Session]:
    drawn: list[Session] = []

    @examples(seed, 6, (Phase.generate,))
    @given(sessions())
    def draw(session: Session) -> None:
        drawn.append(session)

    draw()
    return drawn


@pytest.mark.parametrize("name", SURFACE)
def test_a_broken_surface_is_refused_at_the_same_event(name: str, oracle: Oracle, few_sessions: list[Session]) -> None:
    for session in few_sessions:
        events = SURFACE[name](session.events)
        official = check_log(oracle, events, packed=False)["surface"]
        assert isinstance(official, Refusal)


@pytest.mark.parametrize("name", METER)
def test_a_log_that_the_official_meter_refuses_has_a_surface_and_no_measure(
    name: str, oracle: Oracle, few_sessions: list[Session]
) -> None:
    for session in few_sessions:
        events = METER[name](session.events)
        official = check_log(oracle, events, packed=False)["meters"]
        assert official["refusal"]["at"] == len(events) - 1
