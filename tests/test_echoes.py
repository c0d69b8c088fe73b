"""The audit of markers in the model's own voice."""

import pytest
from tests.sessions import Script

from refold.echoes import echoes
from refold.events import Reasoning, Text, ToolUse
from refold.reducer.how import MARKER
from refold.reducer.wire import STUB

OLD_EXTRACT = "[reasoning extract: 1234 chars omitted]"


def answered(*blocks, result=None):
    script = Script()
    script.start_turn()
    script.user()
    if result is not None:
        script.tool_step(result)
    script.start_step()
    seq = script.answer(*blocks)
    script.end_step()
    return script, seq


@pytest.mark.parametrize(
    ("text", "marker"),
    [
        (OLD_EXTRACT, "omission"),
        (MARKER, "omission"),
        ("[Old tool result content cleared]", "omission"),
        ("[cleared 3 results]", "omission"),
        ("\n...[truncated]...\n", "omission"),
        ("[summary] bash [exit=0] lines=5000 chars=120000", "summary"),
        ("[exit=0] workdir=/proj lines=8 chars=47", "summary"),
        ("[旧工具结果已清]", "clearing"),
        ("[第 3 轮工具结果已清除归档，可用 read_tool_result_log(turn: 3) 读取]", "clearing"),
        ("[bash · npm test · 84,231 字节 / 50 行 → 全文已落盘，此处是尾部 9 行]", "clearing"),
        ("content_excerpt:\nabc", "excerpt"),
        ('{"omitted_chars":99}', "omitted_chars"),
    ],
)
def test_the_markers_of_known_shapers_are_found_in_each_voice(text, marker):
    script, seq = answered(Reasoning(f"so\n{text}"), Text(text), ToolUse("1", "write", text))
    found = echoes(script.events).found

    assert {(echo.voice, echo.marker) for echo in found if echo.marker == marker} == {
        ("reasoning", marker),
        ("assistant_text", marker),
        ("tool_arguments", marker),
    }
    assert {echo.seq for echo in found} == {seq}


@pytest.mark.parametrize(
    "text",
    [
        "I truncated the file to 30 lines and pruned the tree.",
        "values[truncated] = pruned[0]; see [the docs](https://example.org/cleared)",
        "[1] [2] [x] done, see [output of 3 tools]",
        "- [ ] clear the 3 results",
        "summary: exit=0",
        "",
        "...",
    ],
)
def test_ordinary_words_are_no_markers(text):
    script, _ = answered(Reasoning(text), Text(text))

    assert echoes(script.events).found == ()


def test_what_a_tool_gave_back_is_no_echo_and_tells_where_the_model_saw_it():
    script, seq = answered(Reasoning(f"{OLD_EXTRACT}\nnext"), result=f"head{MARKER}tail")
    (echo,) = echoes(script.events).found

    assert (echo.seq, echo.voice, echo.text, echo.at, echo.leads) == (seq, "reasoning", OLD_EXTRACT, 0, True)
    assert echo.seen_at == 5


def test_the_first_echo_in_a_log_without_a_marker_was_seen_nowhere_and_the_next_in_the_first():
    script, first = answered(Reasoning(f" {OLD_EXTRACT}"))
    script.start_step()
    script.answer(Reasoning(f"hm {OLD_EXTRACT}"))

    one, two = echoes(script.events).found
    assert (one.leads, one.seen_at) == (True, None)
    assert (two.leads, two.seen_at) == (False, first)


def test_blocks_are_counted_as_the_authors_of_the_finding_counted_them():
    script = Script()
    for number in range(191):
        script.start_turn()
        script.start_step()
        script.answer(Reasoning(OLD_EXTRACT if number < 179 else "fresh thought"), Text("done"))

    assert echoes(script.events).blocks == {
        "reasoning": (179, 191),
        "assistant_text": (0, 191),
        "tool_arguments": (0, 0),
    }


def test_reasoning_that_is_refolds_own_stub_is_an_echo_of_it():
    script, _ = answered(Reasoning(STUB), Text("."))

    assert [(echo.marker, echo.voice) for echo in echoes(script.events).found] == [("stub", "reasoning")]
