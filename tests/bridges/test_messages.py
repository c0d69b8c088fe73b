"""The stateless use of refold on a host's own message list."""

import copy
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from refold.bridges.messages import Shaper, events_of, shape
from refold.events import FormatError, PolicyError, StepStart, ToolResult
from refold.reducer import Counted, Dsh, Part, Policy, Reducer, Reported, how, presets, ripe, when
from refold.reducer.which import Which

Message = dict[str, Any]
SEEN_ONCE = Policy(
    "once", (Part("once", when.Always(), Which(("*",), errors=True), ripe.Views(1), how.Placeholder("cut")),)
)
LONG = "long " * 20


def call(name: str) -> Message:
    function = {"name": "read", "arguments": "{}"}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": name, "type": "function", "function": function}],
    }


def result(name: str, content: Any = LONG) -> Message:
    return {"role": "tool", "tool_call_id": name, "content": content}


def rounds(count: int) -> list[Message]:
    """A prompt, and so many calls with their results."""
    turns = [message for number in range(count) for message in (call(f"c{number}"), result(f"c{number}"))]
    return [{"role": "system", "content": "s"}, {"role": "user", "content": "go"}, *turns]


def contents(messages: list[Mapping[str, Any]]) -> list[Any]:
    return [message["content"] for message in messages if message["role"] == "tool"]


def test_a_result_is_cut_once_the_model_has_seen_it_and_stays_cut() -> None:
    assert [contents(shape(rounds(count), SEEN_ONCE)) for count in (1, 2, 3)] == [
        [LONG],
        ["cut", LONG],
        ["cut", "cut", LONG],
    ]


def test_untouched_messages_are_the_same_objects_and_the_list_is_not_changed() -> None:
    messages = rounds(3)
    before = copy.deepcopy(messages)
    shaped = shape(messages, SEEN_ONCE)

    assert messages == before
    assert [shown is given for shown, given in zip(shaped, messages, strict=True)] == [
        *(True, True),
        *(True, False),
        *(True, False),
        *(True, True),
    ]
    assert shaped[3] == {"role": "tool", "tool_call_id": "c0", "content": "cut"}


def test_keep3_cuts_before_the_fourth_sending() -> None:
    policy = presets.keep3(gate=0, tools=("read",))
    big = "x" * 9000
    lengths = []
    for count in range(1, 6):
        messages = rounds(count)
        messages[3] = result("c0", big)
        lengths.append(len(contents(shape(messages, policy))[0]))

    assert lengths == [9000, 9000, 9000, 4096 + 39 + 1024, 4096 + 39 + 1024]


def test_a_list_of_parts_stays_one_and_keeps_what_is_no_text() -> None:
    image = {"type": "image_url", "image_url": {"url": "x"}}
    text = {"type": "text", "text": "abcdefghij" * 20, "cache_control": {"type": "ephemeral"}}
    policy = Policy("ends", (Part("ends", when.Always(), Which(("*",)), ripe.Views(1), how.HeadTail(2, 2)),))
    messages = [*rounds(0), call("c"), result("c", [image, text]), call("d"), result("d", "x")]

    (shown, _) = contents(shape(messages, policy))
    assert shown[0] is image
    assert shown[1] == {**text, "text": "ab\n\n[... tool result middle pruned ...]\n\nij"}


def test_each_of_several_results_in_an_anthropic_message_is_cut_alone() -> None:
    uses: list[Message] = [{"type": "tool_use", "id": name, "name": "read", "input": {}} for name in ("a", "b")]
    back: list[Message] = [
        {"type": "tool_result", "tool_use_id": name, "content": said} for name, said in (("a", LONG), ("b", "x"))
    ]
    messages: list[Message] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": uses},
        {"role": "user", "content": [*back, {"type": "text", "text": "and?"}]},
        {"role": "assistant", "content": [{**uses[0], "id": "c"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": LONG}]},
    ]
    shaped = shape(messages, SEEN_ONCE)

    assert [shown is given for shown, given in zip(shaped, messages, strict=True)] == [True, True, False, True, True]
    first, second, text = shaped[2]["content"]
    assert first == {**back[0], "content": "cut"}
    assert second is back[1], "a cut would not be shorter"
    assert text is messages[2]["content"][2]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(["prompt", "call", "two calls", "answer", "remark"]), max_size=12), st.integers(1, 3))
def test_what_is_cut_is_what_a_derive_fold_of_the_events_cuts(story: list[str], seen: int) -> None:
    policy = Policy("n", (Part("n", when.Always(), Which(("*",)), ripe.Views(seen), how.Placeholder("cut")),))
    messages: list[Message] = [{"role": "user", "content": "go"}]
    for number, kind in enumerate(story):
        match kind:
            case "call":
                messages += [call(f"c{number}"), result(f"c{number}")]
            case "two calls":
                both = call(f"c{number}")
                both["tool_calls"] += call(f"d{number}")["tool_calls"]
                messages += [both, result(f"d{number}"), result(f"c{number}")]
            case "answer":
                messages.append({"role": "assistant", "content": f"answer {number}"})
            case _:
                messages.append({"role": "user", "content": f"{kind} {number}"})

    reducer = Reducer(policy, Dsh(), mode="derive")
    view = reducer.fold_all(reducer.start(), events_of(messages))
    folded = [
        "cut" if any(block.text == "cut" for block in shown.content) else LONG  # type: ignore[union-attr]
        for shown in reducer.messages(view)
        if isinstance(shown, ToolResult)
    ]
    assert contents(shape(messages, policy, Dsh())) == folded
    seqs = [event.seq for event in events_of(messages)]
    assert seqs == list(range(len(seqs)))


def test_what_is_cut_for_one_call_is_cut_for_every_later_one() -> None:
    messages = rounds(6)
    earlier: list[Any] = []
    for end in range(4, len(messages) + 1, 2):
        now = contents(shape(messages[:end], SEEN_ONCE))
        assert [shown for shown, before in zip(now, earlier, strict=False) if before == "cut"] == [
            "cut"
        ] * earlier.count("cut")
        earlier = now


@pytest.mark.parametrize("last", [{"role": "user", "content": "more"}, result("c0")])
def test_a_list_about_to_be_sent_ends_in_an_open_step(last: Message) -> None:
    messages = [
        *rounds(1)[:3],
        *([] if last["role"] == "tool" else [result("c0"), {"role": "assistant", "content": "a"}]),
    ]
    events = events_of([*messages, last])

    starts = [event for event in events if isinstance(event, StepStart)]
    assert len(starts) == sum(message["role"] == "assistant" for message in messages) + 1
    assert "step/end" not in [event.type for event in events[starts[-1].seq :]]


def test_a_list_that_ends_with_an_answer_asks_nothing() -> None:
    events = events_of([{"role": "user", "content": "go"}, {"role": "assistant", "content": "done"}])
    assert [event.type for event in events] == ["turn/start", "step/start", "user/message", "assistant/message"]


def test_an_empty_list_stays_empty() -> None:
    assert events_of([]) == ()
    assert shape([], SEEN_ONCE) == []


def test_a_list_that_starts_with_an_orphan_result_is_refused() -> None:
    with pytest.raises(FormatError, match="starts with a tool result"):
        shape([{"role": "system", "content": "s"}, result("c0"), *rounds(1)[1:]], SEEN_ONCE)


@pytest.mark.parametrize("head", [[], [{"role": "system", "content": "s"}]])
def test_an_orphan_result_behind_a_first_prompt_is_refused_from_the_list_and_from_a_kept_fold(
    head: list[Message],
) -> None:
    trimmed = [*head, {"role": "user", "content": "go"}, result("zz"), call("b"), result("b")]
    kept = Shaper(SEEN_ONCE)
    kept(trimmed[: len(head) + 1])
    for shaper in (kept, Shaper(SEEN_ONCE)):
        with pytest.raises(FormatError, match=rf"message {len(head) + 1}, call id 'zz'.*cut it before an assistant"):
            shaper(trimmed)


def deep(levels: int) -> Any:
    block: Any = "x"
    for _ in range(levels):
        block = {"in": block}
    return block


CYCLE: Any = {"type": "x"}
CYCLE["self"] = CYCLE


@pytest.mark.parametrize(
    ("block", "why"),
    [
        (deep(600), "nested too deeply, or holds itself"),
        (deep(100_000), "nested too deeply, or holds itself"),
        (CYCLE, "nested too deeply, or holds itself"),
        ({"type": "x", "value": object()}, "what is no JSON"),
    ],
)
def test_a_message_that_no_json_can_hold_is_refused_and_named(block: Any, why: str) -> None:
    with pytest.raises(FormatError, match=f"message 3 is refused: it .*{why}"):
        shape([*rounds(0), call("a"), result("a", [block])], SEEN_ONCE)


def test_a_kept_fold_names_the_message_by_its_place_in_the_whole_list() -> None:
    kept = Shaper(SEEN_ONCE)
    kept(rounds(1))
    with pytest.raises(FormatError, match=r"^message 4 is refused: its role is 'narrator', not one of system, "):
        kept([*rounds(1), {"role": "narrator", "content": "x"}])


def test_what_is_no_message_is_refused_and_named() -> None:
    with pytest.raises(FormatError, match="message 2"):
        shape([*rounds(0), {"role": "narrator", "content": "x"}], SEEN_ONCE)
    with pytest.raises(FormatError, match="message 0"):
        events_of(["text"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("policy", "wanted"),
    [
        (Policy("p", (Part("p", when.Idle(60), Which(("*",)), ripe.Now(), how.Drop()),)), "event times"),
        (presets.pruner(), "context window"),
        (presets.debt(), "event times"),
        (
            Policy("p", (Part("p", when.Least((when.Always(), when.Idle(1))), Which(("*",)), ripe.Now(), how.Drop()),)),
            "times",
        ),
    ],
)
def test_a_policy_that_needs_what_no_list_tells_is_refused(policy: Policy, wanted: str) -> None:
    with pytest.raises(PolicyError, match=wanted):
        shape(rounds(1), policy)


def test_a_meter_that_needs_usage_is_refused() -> None:
    with pytest.raises(PolicyError, match="usage"):
        shape(rounds(1), SEEN_ONCE, Reported())
    assert shape(rounds(1), SEEN_ONCE, Counted()) == rounds(1)
