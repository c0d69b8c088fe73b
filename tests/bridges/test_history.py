"""A list that grows is folded once; the answers are those of folding it whole, whatever came between."""

import copy
from collections.abc import Callable
from operator import eq, is_
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refold.bridges import history
from refold.bridges.history import History, Same, change_json
from refold.bridges.messages import Shaper, shape, tell_messages
from refold.reducer import Part, Policy, how, presets, ripe, when
from refold.reducer.which import Which

Message = dict[str, Any]
LONG = "long " * 20
SEEN_ONCE = Policy("once", (Part("once", when.Always(), Which(("*",)), ripe.Views(1), how.Placeholder("cut")),))
POLICIES = [SEEN_ONCE, presets.keep3(gate=60, threshold=60, head=10, tail=5, tools=("*",))]


def bridge(policy: Policy) -> History:
    return History(policy, None, tell_messages, change_json)


def call(name: str) -> Message:
    function = {"name": "read", "arguments": "{}"}
    calls = [{"id": name, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def result(name: str) -> Message:
    return {"role": "tool", "tool_call_id": name, "content": LONG}


@st.composite
def growing(draw: st.DrawFn) -> list[list[Message]]:
    """The lists of successive model calls: each holds the messages of the one before and more."""
    messages: list[Message] = [{"role": "user", "content": "go"}]
    if draw(st.booleans()):
        messages.insert(0, {"role": "system", "content": "s"})
    found = [list(messages)]
    for step in range(draw(st.integers(1, 7))):
        match draw(st.sampled_from(["calls", "calls", "calls", "talk", "prefill", "system", "again"])):
            case "calls":
                names = [f"{step}.{at}" for at in range(draw(st.integers(1, 3)))]
                messages += [message for name in names for message in (call(name), result(name))]
            case "talk":
                messages += [{"role": "assistant", "content": "well"}, {"role": "user", "content": f"and {step}?"}]
            case "prefill":
                messages += [{"role": "assistant", "content": f"so {step}"}]
            case "system":
                messages += [{"role": "system", "content": f"now {step}"}, {"role": "user", "content": "hm"}]
        found.append(list(messages))
    return found


@given(growing(), growing(), st.sampled_from(POLICIES))
@settings(max_examples=60, deadline=None)
def test_a_kept_fold_answers_as_one_made_from_the_whole_list(
    one: list[list[Message]], other: list[list[Message]], policy: Policy
) -> None:
    kept = bridge(policy)
    for at in range(max(len(one), len(other))):
        for lists in (one, other):  # two conversations side by side
            messages = lists[min(at, len(lists) - 1)]
            assert kept.shown(messages) == bridge(policy).shown(messages)


def test_a_list_that_was_cut_back_is_folded_anew() -> None:
    kept = bridge(SEEN_ONCE)
    rounds = [message for name in "abc" for message in (call(name), result(name))]
    messages = [{"role": "user", "content": "go"}, *rounds]
    shown = [kept.shown(messages[:length]) for length in (3, 5, 7, 3, 5)]

    assert shown[3:] == shown[:2]
    assert [[message["content"] for message in each if message["role"] == "tool"] for each in shown[:3]] == [
        [LONG],
        ["cut", LONG],
        ["cut", "cut", LONG],
    ]


@given(growing(), st.sampled_from(POLICIES))
@settings(max_examples=60, deadline=None)
def test_a_shaper_answers_as_shape_does(lists: list[list[Message]], policy: Policy) -> None:
    shaper = Shaper(policy)
    for messages in lists:
        assert shaper(messages) == shape(messages, policy)


@pytest.mark.parametrize(("same", "passed"), [(is_, list), (eq, copy.deepcopy)])
def test_each_message_is_read_once(same: Same, passed: Callable[[list[Message]], list[Message]]) -> None:
    read: list[int] = []

    def tell(told: Any, messages: Any, known: int) -> None:
        read.append(len(messages) - known)
        tell_messages(told, messages, known)

    kept = History(SEEN_ONCE, None, tell, change_json, same=same)
    messages: list[Message] = [{"role": "user", "content": "go"}]
    for name in "abcd":
        kept.shown(passed(messages))
        messages += [call(name), result(name)]

    assert read == [1, 2, 2, 2]


@pytest.mark.parametrize("deep", [False, True])
def test_a_shaper_sees_what_was_changed_in_place(deep: bool) -> None:
    """A short result is never cut and a long one is, so that the old decision would show."""
    content = [{"type": "text", "text": LONG}]
    messages = [{"role": "user", "content": "go"}, call("a"), {**result("a"), "content": content}, call("b")]
    kept = Shaper(SEEN_ONCE)
    assert kept([*messages, result("b")])[2]["content"] == [{"type": "text", "text": "cut"}]

    if deep:
        content[0]["text"] = "x"
    else:
        messages[2]["content"] = "x"
    shown = kept([*messages, result("b")])
    assert shown[2] is messages[2]
    assert kept([*messages, result("b"), call("c"), result("c")])[2] is messages[2]


def test_only_so_many_conversations_are_kept() -> None:
    kept = bridge(SEEN_ONCE)
    for number in range(history.KEPT + 5):
        kept.shown([{"role": "user", "content": f"go {number}"}])

    assert len(kept._folds) == history.KEPT
