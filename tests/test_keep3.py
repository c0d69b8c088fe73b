"""keep3, the seed of the project: the plugin's own cases, and where refold is meant to differ from it."""

import json
from pathlib import Path

import pytest
from tests.sessions import Script

from refold.events import Opaque, PolicyError, Text, ToolResult
from refold.reducer import Dsh, Reducer, frozen, presets, results, views
from refold.reducer.how import MARKER

VECTORS = json.loads((Path(__file__).parent / "data/vectors/keep3.json").read_text())
CASES = {case["name"]: case for case in VECTORS["cases"]}


def folded(script, policy, mode="commit"):
    reducer = Reducer(policy, Dsh(0), mode)
    return reducer, reducer.fold_all(reducer.start(), script.events)


def large(chars):
    return "x" * chars


def opened(script):
    """Fill the prompt until a gate of 1,000 tokens is open, with a result that the gate freezes."""
    script.start_turn()
    script.tool_step(large(6_000), tool="write")


def small_gate(**parameters):
    return presets.keep3(gate=1_000, **parameters)


def test_the_constants_are_the_plugins():
    part = presets.keep3().parts[0]
    constants = VECTORS["constants"]

    assert part.when.tokens == constants["gate"]
    assert part.which.over_chars == constants["threshold"]
    assert (part.how.head, part.how.tail) == (constants["head"], constants["tail"])
    assert part.ripe.n == constants["keepViews"]


def test_below_the_gate_nothing_is_cut():
    script = Script()
    script.start_turn()
    script.tool_step(large(20_000), tool="grep")
    for _ in range(9):
        script.plain_step()

    reducer, view = folded(script, presets.keep3())

    assert CASES["below gate"]["rewritten"] == []
    assert view.latch is None
    assert frozen(view) is None
    assert reducer.plan(view) == ()


def test_what_the_gate_found_stays_and_a_newer_grep_is_cut_after_three_views():
    script = Script()
    script.start_turn()
    (old,) = script.tool_step(large(20_000), tool="grep")
    (new,) = script.tool_step(large(20_000), tool="grep")
    planned = []
    reducer = Reducer(small_gate(), Dsh(0))
    for _ in range(4):
        view = reducer.fold_all(reducer.start(), script.events)
        planned.append([operation.seq for operation in reducer.plan(view)])
        script.plain_step()

    assert CASES["frozen stays, newer grep is cut"]["rewritten"] == ["new"]
    assert frozen(view) == (old,)
    assert planned == [[], [], [], [new]]


def test_the_cut_has_the_official_length_and_keeps_both_ends():
    script = Script()
    opened(script)
    (new,) = script.tool_step("a" * 4096 + large(6_880) + "b" * 1024, tool="grep")
    for _ in range(3):
        script.plain_step()

    reducer, view = folded(script, small_gate())
    (operation,) = reducer.plan(view)

    assert operation.seq == new
    assert operation.views == 3
    assert (operation.chars_before, operation.chars_after) == (12_000, CASES["third view reached"]["newLength"])
    assert operation.content == (Text("a" * 4096 + MARKER + "b" * 1024),)
    assert operation.cut_at == 4096


@pytest.mark.parametrize(("chars", "cut"), [(8_192, False), (8_193, True)])
def test_exactly_the_threshold_is_not_cut(chars, cut):
    script = Script()
    opened(script)
    script.tool_step(large(chars))
    for _ in range(5):
        script.plain_step()

    reducer, view = folded(script, small_gate())

    assert bool(reducer.plan(view)) is cut


def test_the_threshold_counts_code_points_not_utf16_units_or_bytes():
    script = Script()
    opened(script)
    script.tool_step("😀" * 8_192)
    (over,) = script.tool_step("😀" * 8_193)
    for _ in range(5):
        script.plain_step()

    reducer, view = folded(script, small_gate())

    assert [operation.seq for operation in reducer.plan(view)] == [over]


def test_the_latch_stays_open_when_the_tokens_fall():
    script = Script()
    opened(script)
    (new,) = script.tool_step(large(9_000))
    head = script.events[2].seq
    script.user("summary", replaces=(head, head + 2), sources=(head, head + 1, head + 2))
    for _ in range(3):
        script.plain_step()

    reducer, view = folded(script, small_gate())

    assert reducer.measure(view).tokens is not None
    assert [operation.seq for operation in reducer.plan(view)] == [new]


def test_a_measure_that_was_refused_opens_no_gate():
    script = Script()
    script.start_turn()
    script.start_step()
    script.start_step()
    script.answer(Text(large(9_000)))
    script.end_step()

    reducer, view = folded(script, small_gate())

    assert reducer.measure(view).tokens is None
    assert "arrived before turn 1, step 1 ended" in reducer.measure(view).refusal
    assert view.latch is None


def test_a_result_that_quotes_an_old_placeholder_is_cut_because_provenance_counts_not_words():
    """The plugin leaves such a result (case "old placeholder prefix"): it looks for words. refold looks at the log."""
    script = Script()
    opened(script)
    (quoting,) = script.tool_step("[旧工具结果已清]" + large(9_000))
    (marked,) = script.tool_step(large(5_000) + MARKER + large(5_000))
    for _ in range(9):
        script.plain_step()

    reducer, view = folded(script, small_gate())

    assert CASES["old placeholder prefix"]["rewritten"] == []
    assert [operation.seq for operation in reducer.plan(view)] == [quoting, marked]


def test_a_higher_threshold_leaves_what_is_below_it():
    """The case "official service present with threshold 20000": the service's numbers are the policy's here."""
    script = Script()
    opened(script)
    script.tool_step(large(9_000))
    for _ in range(9):
        script.plain_step()

    reducer, view = folded(script, small_gate(threshold=20_000))

    assert CASES["official service present with threshold 20000 returns null"]["rewritten"] == []
    assert reducer.plan(view) == ()


def test_errors_and_tools_off_the_list_are_left_and_the_view_says_why():
    script = Script()
    opened(script)
    (error,) = script.tool_step(large(9_000), is_error=True)
    (skill,) = script.tool_step(large(9_000), tool="skill")
    (small,) = script.tool_step("short")
    (waiting,) = script.tool_step(large(9_000), tool="mcp__browser-mcp__fetch_page")

    reducer, view = folded(script, small_gate())

    states = {result.seq: result.state for result in results(reducer, view)}
    assert states[error] == "error"
    assert states[skill] == "tool"
    assert states[small] == "small"
    assert states[waiting] == "waiting"


def test_retries_inside_a_step_count_one_view():
    script = Script()
    opened(script)
    (new,) = script.tool_step(large(9_000))
    script.start_step()
    script.answer(Text("first try"), interrupted=True)
    script.answer(Text("second try"))
    script.end_step()

    _, view = folded(script, small_gate())

    assert views(view)[new] == 1


def test_views_go_on_counting_in_later_turns():
    script = Script()
    opened(script)
    (new,) = script.tool_step(large(9_000))
    script.end_turn()
    for _ in range(3):
        script.start_turn()
        script.plain_step()
        script.end_turn()

    reducer, view = folded(script, small_gate())

    assert [operation.seq for operation in reducer.plan(view)] == [new]


def test_a_rewrite_by_someone_else_starts_the_views_again():
    script = Script()
    opened(script)
    (new,) = script.tool_step(large(20_000))
    script.plain_step()
    script.plain_step()
    original = script.events[new]
    assert isinstance(original, ToolResult)
    again = script.add(
        ToolResult, (Text(large(9_000)),), 1, original.step, original.call_id, replaces=(new, new), sources=(new,)
    )
    planned = []
    reducer = Reducer(small_gate(), Dsh(0))
    for _ in range(4):
        view = reducer.fold_all(reducer.start(), script.events)
        planned.append([operation.seq for operation in reducer.plan(view)])
        script.plain_step()

    assert planned == [[], [], [], [again]]


def test_resume_in_another_process_freezes_nothing_new():
    """The plugin forgets its frozen set at a restart and then freezes every candidate; here it follows from the log."""
    script = Script()
    opened(script)
    (candidate,) = script.tool_step(large(9_000))
    for _ in range(3):
        script.plain_step()
    reducer = Reducer(small_gate(), Dsh(0))
    live = reducer.start()
    for event in script.events:
        live = reducer.fold(live, event)

    resumed = reducer.fold_all(reducer.start(), script.events)

    assert resumed == live
    assert candidate not in frozen(resumed)
    assert [operation.seq for operation in reducer.plan(resumed)] == [candidate]


def test_images_survive_the_cut_in_place():
    script = Script()
    opened(script)
    image = Opaque('{"type":"image","attachment":{"attachmentId":"sha256:00"}}')
    script.start_step()
    cites = script.call("read", "c")
    script.result((Text(large(9_000)), image, Text("tail")), "c", cites)
    script.end_step()
    for _ in range(3):
        script.plain_step()

    reducer, view = folded(script, small_gate())
    (operation,) = reducer.plan(view)

    assert operation.dropped == ()
    assert [type(block) for block in operation.content] == [Text, Opaque, Text]
    assert operation.content[1] is image


@pytest.mark.parametrize("tools", ["mcp__*", ["bash"], (1,)])
def test_tools_that_are_no_tuple_of_texts_are_refused(tools):
    with pytest.raises(PolicyError, match=r"tools: must be a tuple of texts"):
        presets.keep3(tools=tools)
