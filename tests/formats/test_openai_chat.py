"""Chat Completions lists: requests that OpenHands logged through litellm, and lists as OpenAI's reference has them."""

import json
from typing import Any

import pytest
from tests.formats.breaking import never_breaks
from tests.formats.checked import read, read_file, surface
from tests.formats.reading import answers, excerpt, lines, of, results, said, where

from refold.events import (
    FormatError,
    Opaque,
    Overflow,
    Reasoning,
    RequestContext,
    RequestHeader,
    Text,
    ToolCall,
    ToolUse,
    TurnEnd,
    Usage,
    UserMessage,
)
from refold.events.formats import anthropic_messages, openai_responses
from refold.events.formats._source import Source
from refold.events.formats.openai_chat import FORMAT, write

CALL = {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}


def listed(*messages: dict[str, Any]) -> Source:
    return Source(json.dumps(messages).encode(), "made up")


def test_a_logged_request_is_its_messages_and_its_response() -> None:
    (session,) = read_file(FORMAT, "openai_chat_request.json")

    assert where(session) == [(1, 1), (1, 2), (1, 3)]
    assert [result.call_id for result in results(session)] == [
        "toolu_01AaHKJphyeTw3GFp4Xgiekv",
        "toolu_01MgS75uyxLSueHHFj1DXiRZ",
    ]
    assert [call.name for call in of(session, ToolCall)] == ["str_replace_editor", "terminal", "str_replace_editor"]
    assert [answer.usage for answer in answers(session)] == [None, None, Usage(6123, 120)]
    assert session.notes == ("1 call has no result",)


def test_system_tools_settings_and_window_go_into_the_request_frame() -> None:
    (session,) = read_file(FORMAT, "openai_chat_request.json")

    (header,) = of(session, RequestHeader)
    assert header.system == "You are OpenHands agent, a helpful AI assistant that can "
    assert [tool["function"]["name"] for tool in json.loads(header.tools)] == [
        "terminal",
        "str_replace_editor",
        "finish",
    ]
    assert header.config == '{"max_completion_tokens":64000,"temperature":0.0,"top_p":1.0}'
    (context,) = of(session, RequestContext)
    assert (context.model, context.context_window) == ("litellm_proxy/claude-sonnet-4-20250514", 200_000)


def test_only_what_this_request_adds_has_a_time() -> None:
    (session,) = read_file(FORMAT, "openai_chat_request.json")

    assert [answer.time for answer in answers(session)] == [0, 0, 1757015033221]
    assert [result.time for result in results(session)] == [0, 1757015029774], "the second came with this request"


def test_requests_that_repeat_the_list_are_one_session_and_each_usage_counts_once() -> None:
    (session,) = read_file(FORMAT, "openai_chat_requests.jsonl")

    assert surface(session) == [
        "user: Reply with exactly: OK",
        "assistant: OK",
        "user: Reply with exactly: OK2",
        "assistant: OK2",
        "user: Reply with exactly: OK3",
        "assistant: OK3",
    ]
    assert where(session) == [(1, 1), (2, 1), (3, 1)]
    assert [answer.usage for answer in answers(session)] == [
        Usage(3, 4, 4523, 178),  # prompt_tokens 4704 hold the 4523 read and the 178 written
        Usage(3, 5, 4701, 13),
        Usage(3, 5, 4714, 14),
    ]


def test_a_moved_cache_mark_is_no_other_message() -> None:
    (session,) = read_file(FORMAT, "openai_chat_requests.jsonl")

    marked = [message.content for message in of(session, UserMessage)]
    assert [text.extra for (text,) in marked if isinstance(text, Text)] == [
        '{"cache_control":{"type":"ephemeral"}}',
        '{"cache_control":{"type":"ephemeral"}}',
        '{"cache_control":{"type":"ephemeral"}}',
    ]


def test_a_growing_log_gives_the_session_of_its_last_request() -> None:
    logs = excerpt("openai_chat_requests.jsonl").data.splitlines()
    (grown,) = FORMAT.read(Source(b"\n".join(logs), "log"))
    (last,) = FORMAT.read(Source(logs[-1], "log"))

    assert surface(grown) == surface(last)
    assert where(grown) == where(last)


def test_results_join_their_calls_by_id_whatever_stands_between() -> None:
    other = {**CALL, "id": "c2"}
    source = listed(
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [CALL, other]},
        {"role": "tool", "tool_call_id": "c2", "content": "second"},
        {"role": "tool", "tool_call_id": "c1", "content": "first"},
    )
    (session,) = FORMAT.read(source)

    first, second = of(session, ToolCall)
    assert [(result.call_id, result.sources) for result in results(session)] == [
        ("c2", (second.seq,)),
        ("c1", (first.seq,)),
    ]


def test_an_orphan_result_is_kept_and_noted() -> None:
    (session,) = read(
        FORMAT,
        listed(
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "hm"},
            {"role": "tool", "tool_call_id": "unknown", "content": "r"},
        ).data,
    )

    assert [said(result) for result in results(session)] == ["r"]
    assert session.notes == ("a result answers no call",)
    assert not session.partial


def test_everything_an_answer_may_hold_becomes_a_block() -> None:
    (session,) = FORMAT.read(
        listed(
            {"role": "user", "content": "go"},
            {
                "role": "assistant",
                "reasoning_content": "let me see",
                "content": [{"type": "text", "text": "reading", "annotations": []}],
                "refusal": "no",
                "tool_calls": [CALL, {"id": "c2", "type": "custom", "custom": {"name": "sh", "input": "ls -la"}}],
            },
        )
    )

    (answer,) = answers(session)
    assert answer.content == (
        Reasoning("let me see"),
        Text("reading", '{"annotations":[]}'),
        Opaque('{"type":"refusal","refusal":"no"}'),
        ToolUse("c1", "read", '{"path": "a"}'),
        ToolUse("c2", "sh", "ls -la"),
    )


def test_an_image_is_carried_as_it_came() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    (session,) = FORMAT.read(listed({"role": "user", "content": [{"type": "text", "text": "look"}, image]}))

    (message,) = of(session, UserMessage)
    assert message.content[1] == Opaque('{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}')


def test_functions_of_the_first_api_are_calls_without_an_id() -> None:
    (session,) = FORMAT.read(
        listed(
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": None, "function_call": {"name": "read", "arguments": "{}"}},
            {"role": "function", "name": "read", "content": "text"},
        )
    )

    (call,) = of(session, ToolCall)
    (result,) = results(session)
    assert (call.call_id, call.name, result.call_id, result.sources) == ("", "read", "", (call.seq,))


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 7}, Usage(100, 7)),
        (
            {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 60}},
            Usage(40, 7, 60),
        ),
        ({"prompt_tokens": 1689, "completion_tokens": 7, "prompt_cache_hit_tokens": 1664}, Usage(25, 7, 1664)),
        # an older litellm counts Anthropic's cached tokens beside the prompt
        ({"prompt_tokens": 3, "completion_tokens": 7, "cache_read_input_tokens": 60}, Usage(3, 7, 60)),
        ({"prompt_tokens": 0, "completion_tokens": 0}, None),
        ({"prompt_tokens": "many", "completion_tokens": None}, None),
    ],
)
def test_usage_falls_into_disjoint_buckets(report: dict[str, Any], expected: Usage | None) -> None:
    body = {"messages": [{"role": "user", "content": "go"}]}
    answered = {"choices": [{"message": {"role": "assistant", "content": "ok"}}], "usage": report}
    (session,) = FORMAT.read(lines({**body, "response": answered}))

    assert [answer.usage for answer in answers(session)] == [expected]


def test_an_answer_cut_by_its_length_ends_the_turn_so() -> None:
    choice = {"message": {"role": "assistant", "content": "on and"}, "finish_reason": "length"}
    (session,) = FORMAT.read(
        lines({"messages": [{"role": "user", "content": "go"}], "response": {"choices": [choice]}})
    )

    assert [end.reason for end in of(session, TurnEnd)] == ["max-tokens"]


def test_a_prompt_refused_for_its_length_is_an_overflow_in_its_step() -> None:
    refused = {"error": {"code": "context_length_exceeded", "message": "too long"}}
    (session,) = read(FORMAT, lines({"messages": [{"role": "user", "content": "go"}], "response": refused}).data)

    assert [event.type for event in session.events] == [
        "turn/start",
        "step/start",
        "user/message",
        "overflow",
        "step/end",
        "turn/end",
    ]
    (overflow,) = of(session, Overflow)
    assert (overflow.turn, overflow.step) == (1, 1)


def test_a_result_in_the_words_of_a_user_message_is_no_prompt() -> None:
    (session,) = FORMAT.read(
        listed(
            {"role": "user", "content": "go"},
            {"role": "assistant", "content": "<function=terminal>...</function>"},
            {"role": "user", "content": "EXECUTION RESULT of [terminal]:\nok"},
            {"role": "assistant", "content": "done"},
        )
    )

    assert where(session) == [(1, 1), (1, 2)]
    assert [message.source for message in of(session, UserMessage)] == ["user", "tool"]


def test_a_cassette_of_another_recorder_holds_its_bodies_as_texts() -> None:
    asked = json.dumps({"model": "m", "messages": [{"role": "user", "content": "go"}]})
    answered = json.dumps({"choices": [{"message": {"role": "assistant", "content": "done"}}]})
    call = {"request": {"uri": "https://api.openai.com/v1/chat/completions", "body": asked}}
    call["response"] = {"status": {"code": 200}, "body": {"string": answered}}  # type: ignore[dict-item]
    stream = {**call, "response": {"status": {"code": 200}, "body": {"string": "data: {}\n\n"}}}
    other = {"request": {"uri": "https://example.org/", "body": "x"}, "response": {}}

    (session,) = read(FORMAT, f"interactions: {json.dumps([call, other, stream])}\nversion: 1\n")
    assert surface(session)[0] == "user: go"
    assert any("perhaps a stream" in note for note in session.notes)


def test_lines_of_single_messages_are_one_list() -> None:
    source = lines({"role": "user", "content": "go"}, {"role": "assistant", "content": "done"})

    assert FORMAT.detect(source)
    (session,) = FORMAT.read(source)
    assert surface(session) == ["user: go", "assistant: done"]


def test_what_is_no_message_is_left_out_and_the_session_says_so() -> None:
    (session,) = FORMAT.read(listed({"role": "user", "content": "go"}, {"role": "exit", "content": "x"}))

    assert session.partial
    assert session.notes == ("message 1 is left out: it has no role that the API knows",)


def test_a_torn_last_line_is_left_out_and_the_session_says_so() -> None:
    whole = lines({"role": "user", "content": "go"}, {"role": "assistant", "content": "done"}).data
    (session,) = FORMAT.read(Source(whole[:-9], "torn"))

    assert session.partial
    assert surface(session) == ["user: go"]


@pytest.mark.parametrize("data", [b"", b"{}", b"[]", b"[1]", b"no json", b'{"messages": []}', b"\xff\xfe", b"[" * 5000])
def test_what_holds_no_message_is_refused(data: bytes) -> None:
    assert not FORMAT.detect(Source(data, "x"))
    with pytest.raises(FormatError):
        FORMAT.read(Source(data, "x"))


def test_a_list_with_blocks_of_another_api_is_not_this_format() -> None:
    anthropic = listed({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "r"}]})
    responses = listed({"role": "user", "content": [{"type": "input_text", "text": "go"}]})

    for source, module in ((anthropic, anthropic_messages), (responses, openai_responses)):
        assert not FORMAT.detect(source)
        assert module.FORMAT.detect(source)


def test_a_broken_log_is_refused_or_read_in_good_order() -> None:
    never_breaks(FORMAT, excerpt("openai_chat_request.json"))
    never_breaks(FORMAT, excerpt("openai_chat_requests.jsonl"))


# writing


def test_nothing_replaced_is_the_same_bytes() -> None:
    source = excerpt("openai_chat_request.json")
    assert write(source, {}) == source.data


def test_only_the_cut_text_of_a_list_of_parts_changes() -> None:
    source = excerpt("openai_chat_request.json")
    (session,) = FORMAT.read(source)
    first, second = results(session)

    old = said(first).encode()
    assert source.data.count(old) == 1
    assert write(source, {first.seq: (Text("cut é"),)}) == source.data.replace(old, b"cut \\u00e9")
    both = write(source, {first.seq: (Text("one"),), second.seq: (Text("two"),)})
    assert [said(result) for result in results(FORMAT.read(Source(both, "x"))[0])] == ["one", "two"]


def test_a_text_stays_a_text_in_the_manner_of_its_file() -> None:
    data = (
        '[ {"role":"user","content":"gö"},\n'
        '  {"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":'
        '{"name":"read","arguments":"{}"}}]},\n'
        '  {"role":"tool",  "tool_call_id":"c1",\t"content" : "lang\\u00e9 \\ud800" }\n]\n'
    ).encode()
    (session,) = FORMAT.read(Source(data, "x"))
    (result,) = results(session)

    written = write(Source(data, "x"), {result.seq: (Text("kürz \ud800"),)})
    assert written == data.replace(rb'"lang\u00e9 \ud800"', '"kürz \\ud800"'.encode())


def test_elements_beside_a_cut_text_keep_their_bytes() -> None:
    data = (
        b'[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[{"id":"c1","type":"function","function":'
        b'{"name":"read","arguments":"{}"}}]},{"role":"tool","tool_call_id":"c1","content":[ {"type":"image_url",'
        b'"image_url":{"url":"x", "n":1e3}} ,{"text":"long","type":"text","cache_control":{"type":"ephemeral"}}]}]'
    )
    (session,) = FORMAT.read(Source(data, "x"))
    (result,) = results(session)
    image, text = result.content
    assert isinstance(text, Text)

    written = write(Source(data, "x"), {result.seq: (image, Text("short", text.extra))})
    assert written == data.replace(
        b'{"text":"long","type":"text","cache_control":{"type":"ephemeral"}}',
        b'{"text":"short","type":"text","cache_control":{"type":"ephemeral"}}',
    )
    alone = write(Source(data, "x"), {result.seq: (Text("cleared"),)})
    assert json.loads(alone)[2]["content"] == [
        {"type": "text", "text": "cleared", "cache_control": {"type": "ephemeral"}}
    ]


def test_the_last_request_of_a_log_is_the_one_that_changes() -> None:
    prompt = {"role": "user", "content": "go"}
    call = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    result = {"role": "tool", "tool_call_id": "c1", "content": "long"}
    source = lines(
        {"messages": [prompt, call, result]}, {"messages": [prompt, call, result, {**prompt, "content": "x"}]}
    )
    (session,) = FORMAT.read(source)

    written = write(source, {results(session)[0].seq: (Text("short"),)})
    first, second = source.data.splitlines(keepends=True)
    assert written == first + second.replace(b'"long"', b'"short"')


def test_a_result_on_a_line_of_its_own_changes_there() -> None:
    source = lines(
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "long"},
    )
    spaced = Source(source.data.replace(b"\n", b"\r\n\r\n"), "x")
    (session,) = FORMAT.read(spaced)

    assert write(spaced, {results(session)[0].seq: (Text("short"),)}) == spaced.data.replace(b'"long"', b'"short"')


@pytest.mark.parametrize("seq", [0, 2, 999])
def test_only_a_tool_result_can_be_replaced(seq: int) -> None:
    with pytest.raises(FormatError, match=f"event {seq} is no tool result"):
        write(excerpt("openai_chat_request.json"), {seq: (Text("x"),)})


def test_a_text_cannot_hold_an_image() -> None:
    source = listed(
        {"role": "user", "content": "go"},
        {"role": "assistant", "tool_calls": [CALL]},
        {"role": "tool", "tool_call_id": "c1", "content": "text"},
    )
    (session,) = FORMAT.read(source)
    with pytest.raises(FormatError, match="cannot hold other blocks"):
        write(source, {results(session)[0].seq: (Opaque("{}"),)})


def test_lines_without_a_change_are_written_back_byte_for_byte() -> None:
    data = b"\xef\xbb\xbf" + lines({"messages": [ASK]}, {"messages": [ASK, ASKED_FOR, RESULT]}).data

    assert FORMAT.write is not None
    assert FORMAT.write(Source(data, "x"), {}) == data


def test_a_change_keeps_the_mark_and_every_other_line() -> None:
    data = b"\xef\xbb\xbf" + lines(ASK, ASKED_FOR, RESULT).data
    (session,) = FORMAT.read(Source(data, "x"))

    assert FORMAT.write is not None
    written = FORMAT.write(Source(data, "x"), {results(session)[0].seq: (Text("cut"),)})
    assert written == data.replace(b'"long result"', b'"cut"')


def test_lines_that_hold_no_object_are_refused_by_what_they_are() -> None:
    with pytest.raises(FormatError, match="holds several JSON values, and none of them is an object"):
        FORMAT.read(Source(b'[{"role": "user", "content": "go"}]\n' * 2, "x"))


ASK = {"role": "user", "content": "go"}
ASKED_FOR = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "r", "arguments": "{}"}}]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "long result"}
