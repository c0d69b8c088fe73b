"""DSH's estimator and the JavaScript lengths it rests on.

Where a test names no other source, its figures were computed by the official packages in Node 20:
`@deepseek-ai/dsh-token-meter` 0.1.0-rc.8 (log format V0) and 0.2.1-rc.2 (V4).
"""

import json

import pytest

from refold.events import (
    AssistantMessage,
    Block,
    DeveloperMessage,
    FormatError,
    Opaque,
    PolicyError,
    Reasoning,
    SystemMessage,
    Text,
    ToolResult,
    ToolUse,
    UserMessage,
)
from refold.reducer._estimate import DshEstimator
from refold.reducer._js import parse, stringified_length, utf16_length

V0, V3, V4 = DshEstimator(0), DshEstimator(3), DshEstimator(4)
MARKER = "\n\n[... tool result middle pruned ...]\n\n"
IMAGE = '{"type":"image","attachment":{"attachmentId":"sha256:00","mediaType":"image/png","width":1e3,"height":800.0}}'


def result(*content: Block) -> ToolResult:
    return ToolResult(seq=5, time=0, content=content, turn=1, step=1, call_id="c")


def user(*content: Block) -> UserMessage:
    return UserMessage(seq=1, time=0, content=content)


def assistant(*content: Block) -> AssistantMessage:
    return AssistantMessage(seq=2, time=0, content=content, turn=1, step=1)


def system(*content: Block) -> SystemMessage:
    return SystemMessage(seq=0, time=0, content=content)


@pytest.mark.parametrize(
    ("text", "written", "length"),
    [
        # [JSON text, JSON.stringify(JSON.parse(text)), its .length], printed by `node -e`, v20.20.2
        ("1.0", "1", 1),  # an integer has no decimals
        ("-0.0", "0", 1),  # nor a negative zero a sign
        ("1E+3", "1000", 4),
        ("1.50", "1.5", 3),
        ("1e20", "100000000000000000000", 21),  # plain digits below 1e21
        ("1e21", "1e+21", 5),  # the exponent from there on
        ("999999999999999999999", "1e+21", 5),
        ("9007199254740993", "9007199254740992", 16),  # a double holds no more
        ("12345678901234567890", "12345678901234567000", 20),
        ("1234567890123456789012", "1.2345678901234568e+21", 22),
        ("100000000000000000000.5", "100000000000000000000", 21),
        ("0.000001", "0.000001", 8),  # plain digits down to 1e-6, where Python has gone over to exponents
        ("0.0000015", "0.0000015", 9),
        ("0.000012345678901234567", "0.000012345678901234568", 23),
        ("1e-7", "1e-7", 4),  # an exponent of one digit, where Python writes 1e-07
        ("-1.5e-7", "-1.5e-7", 7),
        ("2.2250738585072014e-308", "2.2250738585072014e-308", 23),
        ("1.7976931348623157e308", "1.7976931348623157e+308", 23),
        ("-1e400", "null", 4),  # infinite
        ("1e-400", "0", 1),
        ('"\\u0041\\/"', '"A/"', 4),  # escapes that need not be go
        ('"\\n\\t\\b\\f\\r"', '"\\n\\t\\b\\f\\r"', 12),
        ('"\\u0000\\u001F"', '"\\u0000\\u001f"', 14),
        ('"\\u007f"', '"\x7f"', 3),
        ('"\\u2028\\u2029"', '"\u2028\u2029"', 4),  # line separators stay raw
        ('"\\ud83d\\ude00"', '"😀"', 4),  # two units
        ('"\\ud83d"', '"\\ud83d"', 8),  # a lone surrogate is escaped
        ('"\\ude00\\ud83d"', '"\\ude00\\ud83d"', 14),
        ('"\\ud83d\\ud83d\\ude00"', '"\\ud83d😀"', 10),
        ('"中文\\u00e9"', '"中文é"', 5),
        (' { "a" : 1.0 , "b" : [ 1 , 2.50 , true , null ] } ', '{"a":1,"b":[1,2.5,true,null]}', 29),
        ('{"a":"long value","b":2,"a":3}', '{"a":3,"b":2}', 13),  # the last of repeated keys counts
        ('{"10":1,"2":2,"x":3}', '{"2":2,"10":1,"x":3}', 20),
        ('{"__proto__":1,"toJSON":2}', '{"__proto__":1,"toJSON":2}', 26),
        ('{"\\ud800":"\\udc00"}', '{"\\ud800":"\\udc00"}', 19),
        ("[]", "[]", 2),
    ],
)
def test_json_is_as_long_as_javascript_writes_it(text: str, written: str, length: int) -> None:
    assert stringified_length(parse(text)) == length
    assert utf16_length(written) == length


def test_a_text_is_as_long_as_its_utf16_units() -> None:
    assert utf16_length("a😀b") == 4
    assert utf16_length("中文") == 2
    assert utf16_length("\ud83d") == 1
    assert utf16_length("\ud83d\ude00") == 2


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        # Published cases of the official repository.
        ((Text("abcd"),), 9),
        ((Text(""),), 8),
        ((), 4),
    ],
)
def test_a_message_costs_its_blocks_and_a_frame(content: tuple[Block, ...], tokens: int) -> None:
    assert V0.message(user(*content)) == tokens
    assert V4.message(user(*content)) == tokens


@pytest.mark.parametrize(("units", "quarter"), [(0, 0), (1, 1), (4, 1), (5, 2), (8192, 2048), (8193, 2049)])
def test_a_result_of_one_text_costs_a_quarter_of_its_units_and_three_frames_or_two_since_v4(
    units: int, quarter: int
) -> None:
    assert V0.message(result(Text("x" * units))) == quarter + 12
    # V3 by its source: the wrapper has a price there, and the official converter to V4 takes it away.
    assert V3.message(result(Text("x" * units))) == quarter + 12
    assert V4.message(result(Text("x" * units))) == quarter + 8


def test_the_default_cut_of_the_official_pruner_costs_1302() -> None:
    assert V0.message(result(Text("h" * 4096 + MARKER + "t" * 1024))) == 1302


def test_an_emoji_counts_twice_and_a_chinese_character_once() -> None:
    assert V0.blocks((Text("😀" * 4),)) == 2 + 4
    assert V0.blocks((Text("中" * 4),)) == 1 + 4


def test_each_text_of_a_block_is_rounded_up_alone() -> None:
    assert V0.blocks((Text("a"), Reasoning("b"))) == (1 + 4) + (1 + 4)
    assert V0.blocks((ToolUse("a-long-id-that-is-free", "Read", '{"p":1}'),)) == 1 + 2 + 4
    assert V0.blocks((ToolUse("", "a", "b"),)) == 1 + 1 + 4


def test_fields_beside_the_text_have_no_price() -> None:
    extra = '{"annotations":["' + "x" * 100 + '"]}'
    assert V0.blocks((Text("abcd", extra),)) == V0.blocks((Text("abcd"),))
    assert V0.blocks((Reasoning("abcd", "signature", extra),)) == V0.blocks((Text("abcd"),))
    assert V0.blocks((ToolUse("i", "abcd", "", extra),)) == V0.blocks((Text("abcd"),))


def test_an_image_costs_what_its_json_is_long() -> None:
    assert V0.blocks((Opaque(IMAGE),)) == 31  # 108 units
    assert V4.blocks((Opaque(IMAGE),)) == 31


def test_the_mark_of_an_offloaded_image_has_no_price_since_v4() -> None:
    marked = IMAGE.removesuffix("}") + ',"offloaded":true}'
    assert V0.blocks((Opaque(marked),)) == 36  # 125 units
    assert V4.blocks((Opaque(marked),)) == 31


def test_a_result_block_inside_another_message_costs_its_blocks_and_a_frame_before_v4() -> None:
    blocks = '{"type":"text","text":"abcde"},{"type":"custom","v":1.0}'
    nested = Opaque('{"type":"tool-result","toolCallId":"x","content":[' + blocks + "]}")
    assert V0.blocks((nested,)) == 4 + (2 + 4) + (6 + 4)
    assert V4.blocks((nested,)) == 31  # 106 units: a block of no type it knows


def test_an_empty_answer_sends_no_message_and_costs_nothing() -> None:
    assert V0.message(assistant()) == 0
    assert V4.message(assistant()) == 0
    assert V4.message(DeveloperMessage(seq=3, time=0, content=())) == 0


def test_an_empty_result_is_sent_and_costs_its_frames() -> None:
    assert V0.message(result()) == 8
    assert V4.message(result()) == 4


def test_a_system_message_is_one_text_without_block_frames() -> None:
    assert V3.message(system(Text("abcde"))) == 2 + 4
    assert V3.message(system(Text("abcde"), Text("fgh"))) == 2 + 4
    assert V3.message(system()) == 0
    assert V3.message(system(Text(""))) == 4


def test_what_is_no_text_in_a_system_message_counts_as_json() -> None:
    blocks = (Text("ab"), Reasoning("é", extra='{"x":1.0}'), ToolUse("i", "n", '{"a":1}'), Opaque('{"type":"z"}'))
    assert V4.message(system(*blocks)) == 33  # 2 + 37 + 64 + 12 units


def test_a_header_costs_its_system_text_and_its_tools_as_json() -> None:
    tools = json.dumps([{"name": "Read", "maximum": 1.0}])
    assert V0.header("abcde", tools) == (2 + 4) + (8 + 4)  # 29 units
    assert V0.header(None, "") == 0
    assert V0.header("abcde", "[]") == 6
    assert V0.header("", "") == 0


def test_a_block_that_is_no_json_is_refused_with_its_beginning() -> None:
    with pytest.raises(FormatError, match=r"no JSON .*'<img src="):
        V0.blocks((Opaque("<img src=" + "x" * 100 + ">"),))


def test_json_too_deep_for_the_parser_is_refused() -> None:
    with pytest.raises(FormatError, match="nests"):
        V0.blocks((Opaque("[" * 100_000 + "]" * 100_000),))


def test_nan_counts_as_the_null_javascript_would_write() -> None:
    assert stringified_length(parse("[NaN,-Infinity]")) == len("[null,null]")


def test_a_negative_version_is_refused() -> None:
    with pytest.raises(PolicyError, match=r"version.*-1"):
        DshEstimator(-1)
