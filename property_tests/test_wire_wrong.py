"""Wrong shapers: each law of the wire catches the code that breaks it, and names it."""

from collections.abc import Callable
from typing import Any, ClassVar

import msgspec
import pytest
from msgspec.structs import replace

from refold.events import AssistantMessage, Reasoning, Text, ToolResult, ToolUse
from refold.laws.wire import Shaper, check_wire
from refold.reducer import Message, Reducer, View
from refold.reducer.wire import (
    ANTHROPIC_BOUND,
    NONE,
    About,
    Chain,
    Drop,
    Profile,
    Shaping,
    Truncate,
    shape,
)

SESSIONS = 8


def every(change: Callable[[Any, Any], Any]) -> Shaper:
    """A shaper that changes every block of an answer alone, whatever its age."""

    def shaper(reducer: Reducer, view: View) -> tuple[Message, ...]:
        return tuple(
            replace(message, content=tuple(change(message, block) for block in message.content))
            for message in reducer.messages(view)
        )

    return shaper


def cuts_signed(message: Message, block: Any) -> Any:
    return replace(block, text=block.text[:9]) if isinstance(block, Reasoning) else block


def strips_signatures(message: Message, block: Any) -> Any:
    return replace(block, signature="") if isinstance(block, Reasoning) else block


def announces(message: Message, block: Any) -> Any:
    if isinstance(block, Text) and isinstance(message, AssistantMessage) and len(block.text) > 8:
        return replace(block, text=f"[{len(block.text) - 4} chars omitted]")
    return block


def halves_arguments(message: Message, block: Any) -> Any:
    return replace(block, arguments=block.arguments[:40]) if isinstance(block, ToolUse) else block


def same(message: Message, block: Any) -> Any:
    return block


def fades(reducer: Reducer, view: View) -> tuple[Message, ...]:
    """Shortens reasoning more with each request."""
    shaping = Shaping(reasoning=Chain((Truncate(max(0, 400 - 20 * view.steps)),)))
    return shape(reducer, view, shaping).messages


def edits_under_bound_blocks(reducer: Reducer, view: View) -> tuple[Message, ...]:
    """Old results go, and the reasoning behind them stays."""
    shaping = Shaping(tool_result=Chain((Drop(),), after_views=1))
    return shape(reducer, view, shaping, NONE).messages


def drops_calls(reducer: Reducer, view: View) -> tuple[Message, ...]:
    messages = reducer.messages(view)
    return tuple(message for message in messages[:-8] if isinstance(message, ToolResult)) + messages[-8:]


@pytest.mark.parametrize(
    ("shaper", "profile", "law"),
    [
        (every(cuts_signed), NONE, "signed"),
        (every(strips_signatures), NONE, "signed"),
        (edits_under_bound_blocks, ANTHROPIC_BOUND, "bound"),
        (every(announces), NONE, "no echo"),
        (fades, NONE, "steady"),
        (every(halves_arguments), NONE, "paired"),
        (drops_calls, NONE, "paired"),
        (every(same), NONE, "untouched"),
    ],
)
def test_a_wrong_shaper_is_caught_by_the_law_it_breaks(shaper: Shaper, profile: Profile, law: str, seed: int) -> None:
    report = check_wire(shaper, profile, sessions=SESSIONS, seed=seed)

    assert report.laws[law].startswith(f"failed: {law}: "), str(report)


class Counts(msgspec.Struct, frozen=True):
    """Remembers how often it was asked: another text each time."""

    asked: ClassVar[list[str]] = []

    def shaped(self, text: str, about: About) -> str | None:
        self.asked.append(text)
        return text[: len(self.asked) % 7]


def test_an_operation_that_keeps_state_breaks_steady(seed: int) -> None:
    report = check_wire(Shaping(assistant_text=Chain((Counts(),))), sessions=SESSIONS, seed=seed)

    assert report.laws["steady"].startswith("failed: steady: ")
    assert report.laws["no echo"] == "ok"


def test_a_right_shaper_of_ones_own_breaks_none(seed: int) -> None:
    shaping = Shaping(reasoning=Chain((Truncate(9),), after_views=1))

    assert check_wire(lambda reducer, view: shape(reducer, view, shaping).messages, sessions=SESSIONS, seed=seed).ok
