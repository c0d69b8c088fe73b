"""Where the cache breakpoints of Anthropic's API are set. That its cache then keeps all it can: tests/hosts."""

import copy
import json
from typing import Any

import pytest

from refold.bridges.anthropic import BreakpointShaper, shape_with_breakpoints
from refold.events import FormatError
from refold.reducer import Part, Policy, how, presets, ripe, when
from refold.reducer.which import Which

SEEN_ONCE = Policy("once", (Part("once", when.Always(), Which(("*",)), ripe.Views(1), how.Placeholder("cut")),))
LONG = "long " * 20
MARK = {"type": "ephemeral"}


def asks(*names: str) -> Any:
    uses = [{"type": "tool_use", "id": name, "name": "read", "input": {}} for name in names]
    return {"role": "assistant", "content": uses}


def gives(*names: str) -> Any:
    return {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": name, "content": LONG} for name in names],
    }


def marks(messages: list[Any]) -> list[tuple[int, int]]:
    """Message and block of every breakpoint."""
    return [
        (at, place)
        for at, message in enumerate(messages)
        if not isinstance(message["content"], str)
        for place, block in enumerate(message["content"])
        if "cache_control" in block
    ]


def test_they_stand_before_this_cut_before_the_next_one_and_at_the_end() -> None:
    messages = [{"role": "user", "content": "go"}, asks("a"), gives("a"), asks("b"), gives("b")]
    shaped = shape_with_breakpoints(messages, SEEN_ONCE)

    assert shaped[2]["content"][0]["content"] == "cut"
    assert marks(shaped) == [(1, 0), (3, 0), (4, 0)]


def test_they_stand_inside_a_message_where_the_cut_does() -> None:
    messages = [{"role": "user", "content": "go"}, asks("a", "b"), gives("a", "b")]
    messages[2]["content"][0]["content"] = "short"

    assert marks(shape_with_breakpoints(messages, SEEN_ONCE)) == [(2, 0), (2, 1)]


def test_thinking_and_empty_text_are_passed_over_and_a_text_becomes_a_block() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    answer = {"role": "assistant", "content": [thought, {"type": "text", "text": ""}]}
    shaped = shape_with_breakpoints([{"role": "user", "content": "go"}, answer], presets.none())

    assert shaped == [{"role": "user", "content": [{"type": "text", "text": "go", "cache_control": MARK}]}, answer]


def test_breakpoints_that_the_list_brings_along_are_taken_out() -> None:
    marked = [{"type": "text", "text": "go", "cache_control": MARK}]
    messages = [{"role": "user", "content": marked}, asks("a"), gives("a")]
    shaped = shape_with_breakpoints(messages, presets.none())

    assert marks(shaped) == [(2, 0)]
    assert marks(messages) == [(0, 0)]


def test_those_inside_of_results_are_taken_out_and_what_a_call_is_given_is_no_breakpoint() -> None:
    page = {"type": "text", "text": "page", "cache_control": MARK}
    document = {"type": "document", "source": {"type": "content", "content": [page]}, "cache_control": MARK}
    messages = [{"role": "user", "content": "go"}, asks("a"), gives("a"), asks("b"), gives("b")]
    messages[1]["content"][0]["input"] = {"content": [page]}
    messages[2]["content"][0]["content"] = [page, document]
    before = copy.deepcopy(messages)
    shaped = shape_with_breakpoints(messages, presets.none())

    plain = {"type": "text", "text": "page"}
    assert shaped[2]["content"][0]["content"] == [
        plain,
        {"type": "document", "source": {"type": "content", "content": [plain]}},
    ]
    assert shaped[1] is messages[1]
    assert json.dumps(shaped).count("cache_control") == 2  # the end of the list, and what the call was given
    assert messages == before


@pytest.mark.parametrize(
    ("message", "why"),
    [
        ({"role": "assistant"}, "message 1 is refused: its content is missing; Anthropic's API takes a text or a list"),
        ({"role": "assistant", "content": None}, "message 1 is refused: its content is missing"),
        ({"role": "user", "content": 5}, "message 1 is refused: its content is of type int"),
        ({"role": "user", "content": ["go"]}, "message 1 is refused: block 0 of its content is of type str"),
        ("go", "message 1 is refused: it is of type str; pass a dict"),
        ({"role": "tool", "tool_call_id": "a", "content": "x"}, "message 1 is refused: it is one of OpenAI's.*Shaper"),
        (
            {"role": "assistant", "content": None, "tool_calls": [{"id": "a"}]},
            "message 1 is refused: it is one of Open",
        ),
    ],
)
def test_what_can_hold_no_breakpoint_is_refused_and_named(message: Any, why: str) -> None:
    first = {"role": "user", "content": "go"}
    kept = BreakpointShaper(SEEN_ONCE)
    kept([first])
    for shaper in (kept, BreakpointShaper(SEEN_ONCE)):
        with pytest.raises(FormatError, match=why):
            shaper([first, message])


def test_a_shaper_answers_call_by_call_as_the_function_does() -> None:
    policy = presets.keep3(gate=60, threshold=60, head=10, tail=5, tools=("*",))
    shaper = BreakpointShaper(policy)
    messages = [{"role": "user", "content": "go"}]
    for number in range(12):
        messages += [asks(f"{number}a", f"{number}b"), gives(f"{number}a", f"{number}b")]
        assert shaper(messages) == shape_with_breakpoints(messages, policy)
