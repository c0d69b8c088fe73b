"""A session recorded from the real harness: what its log derives to is what the harness sent, call by call."""

import json
from pathlib import Path

import zstandard
from tests.wire import as_sent, unsigned

from refold.events import AssistantMessage
from refold.files import open_log
from refold.reducer import Dsh, Reducer, presets

ROOT = Path(__file__).parents[1]


def test_messages_before_each_answer_are_those_the_harness_sent() -> None:
    with zstandard.open(ROOT / "tests" / "data" / "session.v4.requests.jsonl.zst", "rt", encoding="utf-8") as stored:
        requests = [json.loads(line) for line in stored]
    reducer = Reducer(presets.none(), Dsh())
    view, derived = reducer.start(), []
    for event in open_log(ROOT / "examples" / "session.v4.jsonl.zstd"):
        if isinstance(event, AssistantMessage):
            derived.append(as_sent(reducer.messages(view)))
        view = reducer.fold(view, event)
    assert len(derived) == 40
    for call, (messages, request) in enumerate(zip(derived, requests, strict=True)):
        assert messages == unsigned(request["messages"]), f"call {call}"
