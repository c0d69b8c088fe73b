"""Where the official DSH packages (log format V0) are wrong, or throw, on input that a log can hold."""

import pytest
from tests.generated import MARKER, Json
from tests.oracle_client import Oracle, Refusal
from tests.refold_side import refold_measure, refold_prune, spelled_out

pytestmark = pytest.mark.oracle


def message_of(*blocks: Json) -> list[Json]:
    data = {"id": "u", "role": "user", "source": {"kind": "user"}, "content": list(blocks)}
    return [{"type": "user/message", "seq": 0, "time": 0, "data": data, "surfaceOp": "append"}]


def answered(*inside: Json, usage: Json | None) -> list[Json]:
    """A step under a header: what is in it, then an answer of no blocks that reports this usage."""
    header = {"header": {"config": {"provider": "p", "model": "m"}}, "reason": "initial"}
    message = {
        "id": "a",
        "role": "assistant",
        "source": {"kind": "model", "provider": "p", "model": "m"},
        "content": [],
    }
    events = [
        {"type": "request/header", "data": header},
        {"type": "step/start", "data": {"turn": 1, "step": 1}},
        *inside,
        {
            "type": "assistant/message",
            "data": {"turn": 1, "step": 1, "message": message, "usage": usage},
            "surfaceOp": "append",
        },
    ]
    return [{**event, "seq": seq, "time": 0} for seq, event in enumerate(events)]


MALFORMED = [
    pytest.param({"type": "text"}, 12, id="text without text"),
    pytest.param({"type": "text", "text": None}, 15, id="text null"),
    pytest.param({"type": "tool-call", "id": "x", "name": "n"}, 18, id="call without arguments"),
    pytest.param({"type": "tool-result"}, 14, id="nested result without content"),
]


@pytest.mark.parametrize(("block", "tokens"), MALFORMED)
def test_the_official_meter_throws_on_a_malformed_block_which_refold_prices_as_its_json(
    block: Json, tokens: int, oracle: Oracle
) -> None:
    official = oracle.one("meters", events=message_of(block))
    assert official["refusal"]["at"] == 0
    assert refold_measure(spelled_out(message_of(block))).after == {1: (tokens, tokens)}


def test_the_official_meter_has_no_number_for_a_text_that_is_a_number_which_refold_prices_as_its_json(
    oracle: Oracle,
) -> None:
    events = message_of({"type": "text", "text": 5})
    assert oracle.one("meters", events=events)["after"] == [[None, None]]
    assert refold_measure(spelled_out(events)).after == {1: (14, 14)}


def test_the_official_pruner_throws_on_a_text_block_without_text_which_refold_carries_through(oracle: Oracle) -> None:
    config = {"thresholdChars": 50, "headChars": 4, "tailChars": 3}
    blocks: list[Json] = [{"type": "text"}, {"type": "text", "text": "x" * 51}]
    assert isinstance(oracle.one("prune", config=config, blocks=blocks), Refusal)
    assert refold_prune(config, blocks) == [{"type": "text"}, {"type": "text", "text": f"xxxx{MARKER}xxx"}]


def test_the_official_meter_throws_on_usage_null_which_refold_takes_as_none_reported(oracle: Oracle) -> None:
    events = answered(usage=None)
    assert oracle.one("meters", events=events)["refusal"]["at"] == 2
    assert refold_measure(spelled_out(events)).after[3] == (0, 0)


def test_the_official_meter_counts_a_prompt_twice_until_the_next_answer_and_so_does_refold(oracle: Oracle) -> None:
    (prompt,) = message_of({"type": "text", "text": "abcd"})
    events = answered(prompt, usage={"inputTokens": 100, "outputTokens": 1})
    assert oracle.one("meters", events=events)["after"][-1] == [110, 9]
    assert refold_measure(spelled_out(events)).after[4] == (110, 9)
