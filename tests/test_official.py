"""refold against the official DSH packages (npm, log format V0): the same cuts, surfaces and tokens, or a refusal.

The official code is asked about generated input, so nothing expected here was ever computed by refold.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import hypothesis
import pytest
from hypothesis import HealthCheck, Phase, given
from hypothesis import strategies as st
from tests.broken_logs import METER, SURFACE
from tests.generated import Json, pruner_inputs, pruner_settings, weighted
from tests.generated_logs import Session, sessions
from tests.oracle_client import Oracle, Refusal

from refold.cli._policy import policy_of
from refold.events import (
    Block,
    Event,
    LogError,
    Opaque,
    PolicyError,
    Reasoning,
    SurfaceError,
    Text,
    ToolResult,
    ToolUse,
    read_dsh,
)
from refold.reducer import Dsh, Reducer, presets, surface_seqs
from refold.reducer._surface import nodes
from refold.reducer._view import Node

pytestmark = pytest.mark.oracle

HEADER = '{"type":"session","version":0,"id":"session","createdAt":0,"delegationDepth":0}'
BREAKS = SURFACE | METER
PARAMETERS = {"thresholdChars": "threshold", "headChars": "head", "tailChars": "tail"}
# Each of these must have come up, or the run has tested nothing of it.
# fmt: off
WANTED = (
    "parallel calls", "repeated call id", "empty call id", "tool error", "call that never started", "empty answer",
    "step without an answer", "result holds image", "result holds x-chart", "result holds tool-result",
    "text with extra fields", "CJK", "emoji", "lone surrogate", "failed attempt", "overflow inside a step",
    "interrupted", "max tokens", "stream: whole", "stream: no end", "stream: no start", "stream: end only",
    "stream: late", "stream: confused", "blocks stream side by side", "answer without sources",
    "answer of a known empty stream", "answer differs from its stream", "answer cites its chunks backwards",
    "answer cites some of its chunks", "usage: high", "usage: low", "usage: none", "no header", "header again",
    "completed turn", "aborted turn", "blocked turn", "resumed", "compaction", "manual compaction",
    "compaction that failed", "prune record", "result rewritten", "replacement changes nothing",
    "replacement cites more", "replacement with its keys in another order", "user message over a node",
    "answer over a node", "rewrite between turns", "rewrite inside a step", "log ends in the middle",
)
# fmt: on


# --- refold's side: everything below asks refold through these


class Refused(Exception):
    """refold refused, at the event `at` where it concerns one."""

    def __init__(self, message: str, at: int | None) -> None:
        super().__init__(message)
        self.at = at


class Measured(NamedTuple):
    """Total and surface tokens after so many events, prices per node at the end, the reason if the meter refused."""

    after: dict[int, tuple[int | None, int]]
    nodes: list[tuple[int, int]]
    refusal: str | None


def refold_prune(config: Json, blocks: list[Json]) -> list[Json] | None:
    """What the `pruner` preset puts in the place of a result's content, None where it leaves it. Raises Refused."""
    settings = ",".join(f"{PARAMETERS.get(key, key)}={value}" for key, value in config.items())
    try:
        (part,) = policy_of(f"pruner:{settings}").parts
    except PolicyError as error:
        raise Refused(str(error), None) from error
    (event,) = read(spelled_out([tool_result(blocks)]))
    assert isinstance(event, ToolResult)
    node = Node(event.seq, event, tokens=0, born=event.seq, steps=0)
    content = None if part.which.refuses(node) else part.how.content(node)
    return None if content is None else [as_json(block) for block in content]


def refold_surface(log: bytes) -> tuple[list[int], int]:
    """The seqs on the surface, and how many replacements made it. Raises Refused."""
    reducer = Reducer(presets.none(), Dsh(0))
    try:
        view = reducer.fold_all(reducer.start(), read(log))
    except (LogError, SurfaceError) as error:
        raise Refused(str(error), error.seq) from error
    return list(surface_seqs(view)), view.replace_generation


def refold_measure(log: bytes) -> Measured:
    reducer = Reducer(presets.none(), Dsh(0))
    view = reducer.start()
    after = {}
    for event in read(log):
        view = reducer.fold(view, event)
        measure = reducer.measure(view)
        after[view.position] = (measure.tokens, measure.surface_tokens)
    prices = [(node.seq, node.tokens) for _, node in nodes(view)]
    return Measured(after, prices, reducer.measure(view).refusal)


def read(log: bytes) -> Iterable[Event]:
    return read_dsh([log], name="generated")


def as_json(block: Block) -> Json:
    match block:
        case Text(text=text):
            return {"type": "text", "text": text, **json.loads(block.extra or "{}")}
        case Reasoning(text=text):
            return {"type": "reasoning", "text": text, **json.loads(block.extra or "{}")}
        case ToolUse(id=id_, name=name, arguments=arguments):
            call = {"type": "tool-call", "id": id_, "name": name, "arguments": arguments}
            return {**call, **json.loads(block.extra or "{}")}
        case Opaque(json=text):
            return json.loads(text)


def tool_result(content: list[Json]) -> Json:
    result = {"type": "tool-result", "toolCallId": "call-1", "content": content}
    source = {"kind": "tool", "callId": "call-1"}
    message = {"id": "r", "role": "user", "source": source, "content": [result]}
    data = {"turn": 1, "step": 1, "message": message}
    return {"type": "tool/result", "seq": 0, "time": 0, "data": data, "surfaceOp": "append"}


# --- the comparison


def examples(seed: str, count: int, phases: tuple[Phase, ...] = (Phase.generate, Phase.shrink)) -> Callable[..., Any]:
    settings = hypothesis.settings(
        max_examples=count, phases=phases, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    return lambda test: hypothesis.seed(seed)(settings(test))


def stored(lines: list[str]) -> bytes:
    """A log as the official backend stores it: chunks packed, numbers and escapes as JavaScript writes them."""
    return "\n".join([HEADER, *lines, ""]).encode()


def spelled_out(events: list[Json]) -> bytes:
    """The same log by another writer: one event a line, blanks between, every other character escaped."""
    return "\n".join([HEADER, *map(json.dumps, events), ""]).encode()


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
    assert min(seen["refused"], seen["taken"]) >= 40


def test_surface_and_tokens_are_the_official_ones_after_every_event(
    oracle: Oracle, seed: str, record_property: Any
) -> None:
    seen: Counter[str] = Counter()
    traits: Counter[str] = Counter()
    broken = weighted((7, st.none()), (1, st.sampled_from(sorted(BREAKS))))

    @examples(seed, 500)
    @given(sessions(), broken, st.booleans())
    def compare(session: Session, broken: str | None, packed: bool) -> None:
        events = BREAKS[broken](session.events) if broken else session.events
        official = check_log(oracle, events, packed=packed)
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
