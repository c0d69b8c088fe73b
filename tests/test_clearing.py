"""Clearing: the official pruner's session cases, round and step clearing, compositions, and what may be summarised."""

from pathlib import Path

import pytest
from tests.sessions import Script

from refold.commit import Commit
from refold.events import (
    CompactionPrune,
    Envelope,
    Opaque,
    Overflow,
    RequestContext,
    Text,
    ToolResult,
    ToolUse,
)
from refold.reducer import Dsh, DshEstimator, Reducer, compaction_range, presets, results, surface_seqs

EXAMPLE = Path(__file__).parents[1] / "examples" / "session.v4.jsonl.zstd"

SMALL = {"threshold": 50, "head": 4, "tail": 3}


def fold(script, policy, mode="commit", version=0):
    reducer = Reducer(policy, Dsh(version), mode)
    return reducer, reducer.fold_all(reducer.start(), script.events)


def under_pressure(script):
    """A window so small that every measure is pressure."""
    script.add(RequestContext, "p", "m", 10)


def planned(script, policy):
    reducer, view = fold(script, policy)
    return [operation.seq for operation in reducer.plan(view)]


def committed(script, policy, version=0):
    reducer, view = fold(script, policy, version=version)
    return Commit(reducer, view, version)


# The official pruner's session cases


def test_s1_one_long_result_keeps_everything_but_its_content():
    script = Script()
    script.start_turn()
    script.start_step()
    script.answer(ToolUse("c", "read", "{}"))
    envelope = Envelope("r1", '{"name":"X","code":"Y"}', '{"exitCode":0}', '{"data":{"futureField":1}}', True)
    original = script.result("x" * 100, "c", script.call("read", "c"), is_error=True, envelope=envelope)
    script.end_step()
    script.end_turn()
    script.start_turn()
    under_pressure(script)

    commit = committed(script, presets.pruner(**SMALL))

    (operation,) = commit.operations
    (replacement,) = commit.replacements
    assert (operation.chars_before, operation.chars_after) == (100, 46)
    assert replacement.seq == original
    assert replacement.shadowed_tokens == DshEstimator(0).message(operation.before) == 25 + 12
    (standing,) = [seq for seq in surface_seqs(commit.view) if seq > original]
    assert standing == commit.written[0] == script.events[-1].seq + 2
    assert original not in surface_seqs(commit.view)
    after = commit.view.slots[1].message
    assert (after.turn, after.step, after.is_error, after.envelope) == (1, 1, True, envelope)


def test_s2_long_results_go_in_surface_order_and_a_second_pass_finds_nothing():
    script = Script()
    script.start_turn()
    first, _, third = script.tool_step("x" * 100, "short", "x" * 80)
    under_pressure(script)

    commit = committed(script, presets.pruner(**SMALL))

    assert [operation.seq for operation in commit.operations] == [first, third]
    assert sum(o.chars_before - o.chars_after for o in commit.operations) == 54 + 34
    reducer = Reducer(presets.pruner(**SMALL), Dsh(0))
    assert reducer.plan(commit.view) == ()


def test_s5_under_the_defaults_8192_stays_and_8193_goes():
    script = Script()
    script.start_turn()
    _, over = script.tool_step("x" * 8192, "x" * 8193)
    under_pressure(script)

    assert planned(script, presets.pruner()) == [over]


def test_s6_an_error_is_pruned_unlike_in_keep3():
    script = Script()
    script.start_turn()
    (error,) = script.tool_step("x" * 20_000, tool="anything", is_error=True)
    under_pressure(script)

    assert planned(script, presets.pruner()) == [error]
    assert planned(script, presets.keep3(gate=0)) == []


@pytest.mark.parametrize(("window", "due"), [(1_000, False), (999, True)])
def test_pressure_begins_at_eight_tenths_of_the_window_rounded_down(window, due):
    """floor(0.8 x 999) = 799 and floor(0.8 x 1,000) = 800, around a prompt that measures 799."""
    script = Script()
    script.start_turn()
    script.tool_step("x" * 3_000)
    reducer, view = fold(script, presets.none())
    rest = 799 - reducer.measure(view).tokens
    script.user("y" * (4 * (rest - 8)))
    script.add(RequestContext, "p", "m", window)
    reducer, view = fold(script, presets.pruner(**SMALL))

    assert reducer.measure(view).tokens == 799
    assert bool(reducer.plan(view)) is due


def test_overflow_inside_a_step_prunes_without_any_pressure():
    script = Script()
    script.start_turn()
    (seq,) = script.tool_step("x" * 9_000)
    script.start_step()
    assert planned(script, presets.pruner()) == []

    script.add(Overflow, 1, 2)

    assert planned(script, presets.pruner()) == [seq]


def test_no_plan_replaces_a_content_by_an_equal_one():
    """The original's "nudge", an identical rewrite that starts a new request series, is not reproduced."""
    placeholder = presets.round_().parts[0].how.template.format(tool="read", turn=1, step=1, chars=0)
    script = Script()
    script.start_turn()
    script.tool_step(placeholder)
    script.end_turn()

    assert planned(script, presets.round_(exact=True)) == []


# Clearing by round and by step

LONG = "line of output\n" * 40


def test_round_clears_what_earlier_turns_left_errors_too_and_names_turn_and_step():
    script = Script()
    script.start_turn()
    script.plain_step()
    (first,) = script.tool_step(LONG)
    (error,) = script.tool_step(LONG, is_error=True)
    during = planned(script, presets.round_())
    script.end_turn()
    script.start_turn()
    reducer, view = fold(script, presets.round_())
    operations = reducer.plan(view)

    assert during == []
    assert [operation.seq for operation in operations] == [first, error]
    assert operations[0].content == (
        Text("[第 1 轮 第 2 步工具结果已清除归档，可用 read_tool_result_log(turn: 1, step: 2) 读取]"),
    )


def test_round_leaves_a_result_that_its_line_would_not_shrink_and_exact_clears_it():
    script = Script()
    script.start_turn()
    (small,) = script.tool_step("ok")
    script.end_turn()
    script.start_turn()

    assert planned(script, presets.round_()) == []
    assert planned(script, presets.round_(exact=True)) == [small]
    assert "shrink" in presets.round_(exact=True).broken


def test_round_leaves_what_anyone_has_rewritten():
    script = Script()
    script.start_turn()
    (seq,) = script.tool_step(LONG)
    original = script.events[seq]
    script.add(ToolResult, (Text(LONG[:300]),), 1, 1, original.call_id, replaces=(seq, seq), sources=(seq,))
    script.end_turn()
    script.start_turn()

    assert planned(script, presets.round_()) == []


def test_a_turn_without_a_step_counts_for_no_policy():
    two_turns = presets.Policy(
        "two",
        (
            presets.Part(
                "two", presets.Always(), presets.Which(("*",)), presets.Turns(2), presets.round_().parts[0].how
            ),
        ),
    )
    script = Script()
    script.start_turn()
    (seq,) = script.tool_step(LONG)
    script.end_turn()
    for _ in range(3):
        script.start_turn()
        script.end_turn("blocked")
    assert planned(script, two_turns) == []

    script.start_turn()
    script.plain_step()
    script.end_turn()

    assert planned(script, two_turns) == [seq]


def test_overclock_clears_with_a_lag_of_one_step():
    script = Script()
    script.start_turn()
    (first,) = script.tool_step(LONG * 3)
    assert planned(script, presets.overclock()) == []
    (second,) = script.tool_step(LONG)
    assert planned(script, presets.overclock()) == [first]
    script.plain_step()
    assert planned(script, presets.overclock()) == [first, second]


def test_overclocks_first_line_of_a_turn_explains_the_rule():
    script = Script()
    script.start_turn()
    script.tool_step(LONG * 3)
    script.tool_step(LONG)
    script.plain_step()
    reducer, view = fold(script, presets.overclock())
    first, second = reducer.plan(view)

    assert first.content[0].text.startswith("[第 1 轮工具结果已清除归档。可见性规则（overclock）：")
    assert (
        second.content[0].text
        == "[第 1 轮 第 2 步工具结果已清除归档，可用 read_tool_result_log(turn: 1, step: 2) 读取]"
    )


def test_overclock_falls_back_to_round_where_a_log_has_no_steps():
    script = Script()
    script.start_turn()
    script.answer(ToolUse("c", "read", "{}"))
    seq = script.result(LONG * 3, "c", script.call("read", "c"))
    script.answer(Text("done"))
    assert planned(script, presets.overclock()) == []
    script.end_turn()

    assert planned(script, presets.overclock()) == [seq]


def test_the_cleared_image_is_listed_in_the_operation():
    image = Opaque('{"type":"image","attachment":{"attachmentId":"sha256:00"}}')
    script = Script()
    script.start_turn()
    script.start_step()
    script.answer(ToolUse("c", "read", "{}"))
    script.result((Text(LONG), image), "c", script.call("read", "c"))
    script.end_step()
    script.end_turn()
    reducer, view = fold(script, presets.round_())
    (operation,) = reducer.plan(view)

    assert operation.dropped == (image,)
    assert [type(block) for block in operation.content] == [Text]


def test_switching_the_policy_in_mid_session_leaves_what_was_cut_cut():
    script = Script()
    script.start_turn()
    script.tool_step(LONG * 3)
    script.end_turn()
    script.start_turn()
    commit = committed(script, presets.round_())
    script.events += _appended(commit)
    script._next = commit.view.position

    for policy in (presets.overclock(), presets.none(), presets.keep3(gate=0), presets.round_()):
        reducer, view = fold(script, policy)
        assert reducer.plan(view) == ()
        (shown,) = [m for m in reducer.messages(view) if isinstance(m, ToolResult)]
        assert shown.content == commit.operations[0].content


def _appended(commit):
    """The pairs that a host inside an open turn would append for a commit."""
    events = []
    for operation, replacement, seq in zip(commit.operations, commit.replacements, commit.written, strict=True):
        events.append(CompactionPrune(seq - 1, 0, (operation.seq,), replacement.shadowed_tokens))
        before = operation.before
        events.append(
            ToolResult(
                seq, 0, operation.content, before.turn, before.step, before.call_id, before.is_error, before.envelope,
                (operation.seq, operation.seq), (operation.seq,),
            )
        )  # fmt: skip
    return events


# Composition


def test_parts_run_one_after_the_other_and_target_a_node_once():
    script = Script()
    script.start_turn()
    (seq,) = script.tool_step("x" * 20_000, tool="bash")
    script.end_turn()
    policy = presets.keep3(gate=0, keep=1) + presets.round_()
    script.start_turn()
    script.plain_step()
    script.plain_step()
    reducer, view = fold(script, presets.keep3(gate=0, keep=1) + presets.pruner())
    under_pressure(script)
    reducer, view = fold(script, policy)
    (operation,) = reducer.plan(view)

    assert (operation.seq, operation.reason) == (seq, "keep3")


def test_order_matters_and_the_first_part_wins():
    script = Script()
    script.start_turn()
    script.tool_step("x" * 20_000, tool="bash")
    script.plain_step()
    script.plain_step()
    script.end_turn()
    keep3 = presets.keep3(gate=0, keep=2)
    one = fold(script, keep3 + presets.round_())
    other = fold(script, presets.round_() + keep3)

    assert [operation.reason for operation in one[0].plan(one[1])] == ["keep3"]
    assert [operation.reason for operation in other[0].plan(other[1])] == ["round"]


def test_the_later_part_sees_the_measure_after_the_earlier_one():
    """Alone the pruner is under pressure; behind a part that frees enough it is not."""
    script = Script()
    script.start_turn()
    (old,) = script.tool_step("x" * 40_000, tool="bash")
    for _ in range(3):
        script.plain_step()
    (new,) = script.tool_step("x" * 9_000, tool="other")
    reducer, view = fold(script, presets.none())
    tokens = reducer.measure(view).tokens
    script.add(RequestContext, "p", "m", tokens * 10 // 8)

    alone = planned(script, presets.pruner())
    behind = planned(script, presets.keep3(gate=0) + presets.pruner())

    assert alone == [old, new]
    assert behind == [old]


# What a host that summarises may replace


def test_the_range_starts_at_the_head_and_never_parts_a_call_from_its_result():
    script = Script()
    script.start_turn()
    script.start_step()
    user = script.user("a" * 400)
    answer = script.answer(ToolUse("c", "read", "{}"))
    result = script.result("b" * 400, "c", script.call("read", "c"))
    script.end_step()
    script.start_step()
    script.answer(Text("done"))
    script.end_step()
    _, view = fold(script, presets.none())

    assert compaction_range(view, 0) == (user, result)
    assert compaction_range(view, 20) == (user, user)
    assert compaction_range(view, 100_000) is None
    assert answer in surface_seqs(view)


def test_after_a_compaction_gone_nodes_are_gone():
    script = Script()
    script.start_turn()
    script.start_step()
    first = script.user("go")
    script.answer(ToolUse("c", "read", "{}"))
    result = script.result("x" * 20_000, "c", script.call("read", "c"))
    script.end_step()
    script.plain_step()
    _, view = fold(script, presets.none())
    shadowed = surface_seqs(view)[: surface_seqs(view).index(result) + 1]
    script.user("summary", replaces=(first, result), sources=shadowed)
    for _ in range(4):
        script.plain_step()

    for policy in (
        presets.keep3(gate=0),
        presets.overclock(),
        presets.round_(),
        presets.debt(),
        presets.microcompact(),
    ):
        reducer, view = fold(script, policy)
        assert reducer.plan(view) == ()
        assert results(reducer, view) == ()


def test_a_settled_odometer_is_stamped_with_what_stands_and_read_as_it_stood():
    """One turn of ten steps, then another: the newest six spans before it stay whole, the other four are summarised."""
    script = Script()
    script.start_turn()
    script.start_step()
    script.user("go")
    script.end_step()
    seqs = [seq for _ in range(10) for seq in script.tool_step(LONG)]
    script.end_turn()
    script.start_turn()

    assert planned(script, presets.microcompact(retain=6)) == seqs[:4]
