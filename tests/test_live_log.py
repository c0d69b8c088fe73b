"""Sessions recorded from the real harness: what a log derives to is what the harness sent, call by call."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.wire import as_sent, unsigned

from refold.events import AssistantMessage, CompactionSummary, Overflow, RequestHeader, ToolResult
from refold.files import open_log
from refold.reducer import Dsh, DshEstimator, Reducer, presets

ROOT = Path(__file__).parents[1]
DATA = ROOT / "tests" / "data" / "dsh"
SESSION = ROOT / "examples" / "session.v4.jsonl.zstd"
OVERFLOW = DATA / "overflow.v4.jsonl.zstd"


def sent(name: str) -> Iterator[list[dict[str, Any]]]:
    with zstandard.open(DATA / name, "rt", encoding="utf-8") as stored:
        yield from (unsigned(json.loads(line)["messages"]) for line in stored)


@pytest.mark.parametrize(
    ("log", "requests", "calls"),
    [(SESSION, "session.requests.jsonl.zst", 40), (OVERFLOW, "overflow.requests.jsonl.zst", 11)],
    ids=["a long session, resumed", "an overflow, pruned and summarised"],
)
def test_messages_before_each_answer_are_those_the_harness_sent(log: Path, requests: str, calls: int) -> None:
    reducer = Reducer(presets.none(), Dsh(4))
    view, asked = reducer.start(), sent(requests)
    for event in open_log(log):
        if isinstance(event, AssistantMessage | Overflow):
            calls -= 1
            assert as_sent(reducer.messages(view)) == next(asked), f"before seq {event.seq}"
        elif isinstance(event, CompactionSummary):
            calls -= 1
            next(asked)  # the harness's own request for the summary, no step of the session
        view = reducer.fold(view, event)
    assert calls == 0
    assert next(asked, None) is None


def test_surface_and_tools_cost_what_the_harness_counted() -> None:
    # Its own figures for this session, from the contextBreakdown it kept in storages/session_projcache.
    reducer = Reducer(presets.none(), Dsh(4))
    events = list(open_log(OVERFLOW))
    assert reducer.measure(reducer.fold_all(reducer.start(), events)).surface_tokens == 5158
    tools = {event.tools for event in events if isinstance(event, RequestHeader)}
    assert [DshEstimator(4).header(None, text) for text in tools] == [4899]


def test_the_pruner_preset_plans_what_the_harness_pruned_at_the_overflow() -> None:
    reducer = Reducer(presets.pruner(), Dsh(4))
    view, planned, pruned = reducer.start(), [], []
    for event in open_log(OVERFLOW):
        if isinstance(event, ToolResult) and event.replaces:
            pruned.append((event.replaces[0], event.content))
        view = reducer.fold(view, event)
        if isinstance(event, Overflow):
            planned = [(operation.seq, operation.content) for operation in reducer.plan(view)]
    assert len(pruned) == 3
    assert planned == pruned
    assert reducer.plan(view) == ()
