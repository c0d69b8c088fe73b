"""Where the cache breakpoints of Anthropic's API are set. That its cache then keeps all it can: tests/hosts."""

from typing import Any

from refold.bridges.anthropic import BreakpointShaper, shape_with_breakpoints
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


def test_a_shaper_answers_call_by_call_as_the_function_does() -> None:
    policy = presets.keep3(gate=60, threshold=60, head=10, tail=5, tools=("*",))
    shaper = BreakpointShaper(policy)
    messages = [{"role": "user", "content": "go"}]
    for number in range(12):
        messages += [asks(f"{number}a", f"{number}b"), gives(f"{number}a", f"{number}b")]
        assert shaper(messages) == shape_with_breakpoints(messages, policy)
