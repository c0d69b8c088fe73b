"""Why a cache was lost: one session for each cause."""

from typing import Any

import pytest
from msgspec.structs import replace
from tests.sessions import Script

from refold.events import AssistantMessage, Event, RequestHeader, StepStart, Text, ToolResult, Usage
from refold.lab.audit import Loss, audit
from refold.lab.ledger import Prices
from refold.lab.providers import RULES

RULES_ = RULES["anthropic"]
WORDS = " word" * 20_000


def lost(*between: str) -> Loss:
    """A session of two calls with something between them, of which the second reads nothing; its loss."""
    script = Script()
    script.start_turn()
    script.add(RequestHeader, "be brief")
    (result,) = script.tool_step(WORDS)
    script.plain_step()
    if "cut" in between:
        node: Any = next(event for event in script.events if event.seq == result)
        script.add(ToolResult, (Text("cut"),), 1, 1, node.call_id, replaces=(result, result), sources=(result,))
    if "frame" in between:
        script.add(RequestHeader, "be long")
    script.plain_step()
    known: list[Event] = []
    for event in script.events:
        later = 400_000 if "idle" in between and event.seq >= script.events[-4].seq else 0
        if isinstance(event, AssistantMessage):
            place = sum(isinstance(other, AssistantMessage) for other in known)
            used = (Usage(20, 5), Usage(20, 5, 20_000), Usage(20_040, 5))[place]
            model = "other" if "model" in between and place == 2 else "one"
            event = replace(event, usage=used, model=model)
        known.append(replace(event, time=event.time + later))
    assert isinstance(known[-3], StepStart)
    (loss,) = audit(known, RULES_, Prices(100, 1250)).losses
    return loss


@pytest.mark.parametrize(
    ("between", "cause"),
    [
        ((), "unknown"),
        (("idle",), "idle gap"),
        (("cut",), "cut"),
        (("frame",), "system prompt or tools"),
        (("model",), "model switch"),
        (("model", "frame", "cut", "idle"), "model switch"),
        (("frame", "cut"), "system prompt or tools"),
    ],
)
def test_a_loss_is_put_down_to_what_changed_first_in_the_prompt(between: tuple[str, ...], cause: str) -> None:
    assert lost(*between).cause == cause


def test_a_loss_costs_what_taking_in_costs_beyond_reading() -> None:
    loss = lost("frame")
    assert loss.rewritten == 20_020
    assert loss.cost == (1250 - 100) * 20_020
