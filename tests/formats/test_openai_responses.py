"""Responses API items, as OpenAI's reference spells them."""

import json
from typing import Any

import pytest
from tests.formats.breaking import never_breaks
from tests.formats.checked import read, surface
from tests.formats.reading import answers, lines, of, results, said, where

from refold.events import FormatError, Opaque, Reasoning, RequestHeader, Text, ToolCall, ToolUse, Usage, UserMessage
from refold.events.formats._source import Source
from refold.events.formats.openai_responses import FORMAT, write


def prompt(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def answer(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}


def call(call_id: str, name: str = "read") -> dict[str, Any]:
    return {"type": "function_call", "id": "fc_1", "call_id": call_id, "name": name, "arguments": '{"path": "a"}'}


def output(call_id: str, said: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": said}


THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "let me"}, {"type": "summary_text", "text": "see"}],
    "encrypted_content": "gAAA",
}
ITEMS = [
    prompt("go"),
    THOUGHT,
    call("c1"),
    call("c2"),
    output("c1", "first"),
    output("c2", [{"type": "input_text", "text": "second"}, {"type": "input_image", "image_url": "x"}]),
    answer("done"),
]


def test_the_items_of_one_answer_are_one_step() -> None:
    (session,) = read(FORMAT, json.dumps(ITEMS))

    assert where(session) == [(1, 1), (1, 2)]
    first, second = answers(session)
    assert first.content == (
        Reasoning("let me\n\nsee", "gAAA", '{"id":"rs_1"}'),
        ToolUse("c1", "read", '{"path": "a"}', '{"id":"fc_1"}'),
        ToolUse("c2", "read", '{"path": "a"}', '{"id":"fc_1"}'),
    )
    assert said(second) == "done"
    assert [(result.call_id, said(result)) for result in results(session)] == [("c1", "first"), ("c2", "second")]
    assert results(session)[1].content[1] == Opaque('{"type":"input_image","image_url":"x"}')


def test_a_request_that_follows_a_response_sends_only_what_is_new() -> None:
    first = {
        "request": {
            "model": "m",
            "instructions": "Be brief.",
            "input": "go",
            "tools": [{"type": "function", "name": "read"}],
        },
        "response": {
            "id": "resp_1",
            "object": "response",
            "output": [call("c1")],
            "usage": {"input_tokens": 50, "input_tokens_details": {"cached_tokens": 20}, "output_tokens": 9},
        },
    }
    second = {
        "request": {"model": "m", "previous_response_id": "resp_1", "input": [output("c1", "text")]},
        "response": {"id": "resp_2", "output": [answer("done")], "usage": {"input_tokens": 70, "output_tokens": 3}},
    }
    (session,) = read(FORMAT, lines(first, second).data)

    assert surface(session) == ["user: go", "assistant: ", "tool: text", "assistant: done"]
    assert [found.usage for found in answers(session)] == [Usage(30, 9, 20), Usage(70, 3)]
    assert of(session, RequestHeader)[0].system == "Be brief."


def test_calls_of_other_kinds_are_calls_when_the_client_runs_them() -> None:
    (session,) = read(
        FORMAT,
        json.dumps(
            [
                prompt("go"),
                {"type": "custom_tool_call", "call_id": "c1", "name": "sh", "input": "ls -la"},
                {
                    "type": "local_shell_call",
                    "id": "ls_1",
                    "call_id": "c2",
                    "action": {"type": "exec", "command": ["ls"]},
                },
                {"type": "web_search_call", "id": "ws_1", "status": "completed"},
                {"type": "custom_tool_call_output", "call_id": "c1", "output": "a"},
                {"type": "local_shell_call_output", "call_id": "c2", "output": "b"},
            ]
        ),
    )

    assert [(found.call_id, found.name, found.arguments) for found in of(session, ToolCall)] == [
        ("c1", "sh", "ls -la"),
        ("c2", "local_shell", '{"type":"exec","command":["ls"]}'),
    ]
    (found,) = answers(session)
    assert found.content[2] == Opaque('{"type":"web_search_call","id":"ws_1","status":"completed"}')
    assert [said(result) for result in results(session)] == ["a", "b"]


def test_a_compaction_item_stands_for_everything_before_it() -> None:
    packed = {"type": "compaction", "id": "cmp_1", "encrypted_content": "gBBB"}
    (session,) = read(FORMAT, json.dumps([prompt("go"), answer("ok"), packed, prompt("next"), answer("done")]))

    (summary,) = [message for message in of(session, UserMessage) if message.replaces]
    assert summary.content == (Opaque('{"type":"compaction","id":"cmp_1","encrypted_content":"gBBB"}'),)
    assert surface(session) == ["user: ", "user: next", "assistant: done"]


@pytest.mark.parametrize("data", [b"", b"[]", b'[{"role":"user","content":"plain"}]', b'{"input": "go"}', b"{"])
def test_what_any_api_could_hold_is_not_recognised(data: bytes) -> None:
    assert not FORMAT.detect(Source(data, "x"))


def test_a_list_without_items_is_refused() -> None:
    with pytest.raises(FormatError):
        FORMAT.read(Source(b'{"input": []}', "x"))


def test_broken_input_is_refused_or_read_in_good_order() -> None:
    never_breaks(FORMAT, Source(json.dumps(ITEMS).encode(), "items"))


def test_only_the_cut_output_changes() -> None:
    data = json.dumps({"model": "m", "input": ITEMS}, indent=1).encode()
    source = Source(data, "x")
    (session,) = FORMAT.read(source)
    first, second = results(session)

    assert write(source, {}) == data
    assert write(source, {first.seq: (Text("1"),)}) == data.replace(b'"first"', b'"1"')
    assert write(source, {second.seq: (Text("2"), second.content[1])}) == data.replace(b'"second"', b'"2"')
    cleared = json.loads(write(source, {second.seq: (Text("gone"),)}))["input"][5]["output"]
    assert cleared == [{"type": "input_text", "text": "gone"}]
