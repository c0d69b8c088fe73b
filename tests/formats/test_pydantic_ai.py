"""pydantic-ai histories, written by pydantic-ai 2.68, and a trace of two agents that Langfuse exported."""

import json
from typing import Any

import pytest
from tests.formats.breaking import never_breaks
from tests.formats.checked import read, read_file, surface
from tests.formats.reading import answers, excerpt, of, results, said, where

from refold.events import (
    FormatError,
    Opaque,
    Reasoning,
    RequestHeader,
    Text,
    ToolCall,
    ToolUse,
    TurnEnd,
    Usage,
    UserMessage,
)
from refold.events.formats._source import Source
from refold.events.formats.pydantic_ai import FORMAT, write


def history(*messages: dict[str, Any]) -> Source:
    return Source(json.dumps(messages).encode(), "made up")


def test_a_response_is_a_step_and_a_prompt_a_turn() -> None:
    (session,) = read_file(FORMAT, "pydantic_ai_history.json")

    assert where(session) == [(1, 1), (1, 2), (1, 3), (2, 1)]
    assert surface(session)[0] == "user: What is in a.txt and b.txt?"
    assert [end.reason for end in of(session, TurnEnd)] == ["completed", "max-tokens"]


def test_what_a_response_holds_becomes_blocks() -> None:
    (session,) = read_file(FORMAT, "pydantic_ai_history.json")

    assert answers(session)[0].content == (
        Reasoning("I should read both.", "sig1"),
        Text("Reading."),
        ToolUse("c1", "read_file", '{"path": "a.txt"}'),
        ToolUse("c2", "read_file", '{"path":"b.txt"}'),
    )
    assert [call.arguments for call in of(session, ToolCall)][2] == "", "args: null"


def test_a_retry_that_answers_a_tool_is_its_failed_result() -> None:
    (session,) = read_file(FORMAT, "pydantic_ai_history.json")

    assert [(result.call_id, said(result), result.is_error) for result in results(session)] == [
        ("c1", "alpha é\n", False),
        ("c2", "no such file: b.txt", True),
        ("c3", '{"size":3,"name":"b"}', False),
    ]


@pytest.mark.parametrize(
    ("outcome", "failed"), [("success", False), ("failed", True), ("retried", True), ("denied", False)]
)
def test_an_outcome_marks_an_error_as_the_model_is_told_it(outcome: str, failed: bool) -> None:
    call = {"part_kind": "tool-call", "tool_name": "t", "args": "{}", "tool_call_id": "c"}
    back = {"part_kind": "tool-return", "tool_name": "t", "content": "r", "tool_call_id": "c", "outcome": outcome}
    source = history({"kind": "response", "parts": [call]}, {"kind": "request", "parts": [back]})
    (session,) = FORMAT.read(source)

    assert [result.is_error for result in results(session)] == [failed]


def test_cached_tokens_are_part_of_the_input_reported() -> None:
    (session,) = read_file(FORMAT, "pydantic_ai_history.json")

    assert [answer.usage for answer in answers(session)] == [
        Usage(5, 30, 100, 15),
        Usage(200, 5),
        Usage(260, 14),
        Usage(300, 4),
    ]


def test_instructions_hold_for_the_request_that_has_them() -> None:
    (session,) = read_file(FORMAT, "pydantic_ai_history.json")

    assert [header.system for header in of(session, RequestHeader)] == ["Be brief.", "Be brief.\n\nAnswer in English."]


def test_instructions_that_are_not_given_again_are_gone() -> None:
    prompt = {"part_kind": "user-prompt", "content": "go"}
    answer = {"kind": "response", "parts": [{"part_kind": "text", "content": "ok"}]}
    source = history(
        {"kind": "request", "parts": [prompt], "instructions": "Once."},
        answer,
        {"kind": "request", "parts": [prompt]},
        answer,
    )
    (session,) = FORMAT.read(source)

    assert [header.system for header in of(session, RequestHeader)] == ["Once.", None]


def test_times_are_those_of_the_parts() -> None:
    (session,) = read_file(FORMAT, "pydantic_ai_history.json")

    start = 1_767_323_045_000  # 2026-01-02T03:04:05Z
    assert [answer.time - start for answer in answers(session)] == [2000, 5000, 8000, 62_000]
    assert [result.time - start for result in results(session)] == [3000, 3000, 6000]


def test_a_picture_in_a_prompt_is_carried_as_it_came() -> None:
    (session,) = read_file(FORMAT, "pydantic_ai_history.json")

    text, picture = of(session, UserMessage)[-1].content
    assert text == Text("look at this")
    assert isinstance(picture, Opaque)
    assert json.loads(picture.json)["url"] == "https://x/y.png"


def test_a_compaction_part_stands_for_everything_before_it() -> None:
    source = history(
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "go"}]},
        {"kind": "response", "parts": [{"part_kind": "text", "content": "ok"}]},
        {"kind": "request", "parts": [{"part_kind": "compaction", "content": "so far"}]},
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": "on"}]},
    )
    (session,) = read(FORMAT, source.data)

    assert surface(session) == ["user: so far", "user: on"]


def test_a_trace_with_two_agents_is_two_sessions() -> None:
    jokes, critic = read_file(FORMAT, "pydantic_ai_trace.json")

    assert where(jokes) == [(1, 1), (1, 2), (2, 1)]
    assert [said(result)[:9] for result in results(jokes)] == ["Pun idea:", "Dad joke ", "One-liner"]
    assert [answer.usage for answer in answers(jokes)] == [Usage(265, 73), Usage(417, 53), Usage(502, 14)]
    assert [answer.usage for answer in answers(critic)] == [Usage(131, 69)]
    assert [call.name for call in of(critic, ToolCall)] == ["final_result"], "structured output: nothing answers it"
    assert results(critic) == []


@pytest.mark.parametrize("data", [b"", b"[]", b'[{"kind": "request"}]', b'[{"kind": "other", "parts": []}]', b"{}"])
def test_other_lists_are_not_recognised(data: bytes) -> None:
    assert not FORMAT.detect(Source(data, "x"))
    with pytest.raises(FormatError):
        FORMAT.read(Source(data, "x"))


def test_several_histories_in_one_file_are_refused() -> None:
    one = {"kind": "request", "parts": []}
    with pytest.raises(FormatError, match="2 histories"):
        FORMAT.read(
            Source(json.dumps({"messages": [one]}).encode() + b"\n" + json.dumps({"messages": [one]}).encode(), "x")
        )


def test_broken_input_is_refused_or_read_in_good_order() -> None:
    never_breaks(FORMAT, excerpt("pydantic_ai_history.json"))


# writing


def test_only_the_cut_return_changes() -> None:
    source = excerpt("pydantic_ai_history.json")
    (session,) = FORMAT.read(source)
    first, second, _ = results(session)

    assert write(source, {}) == source.data
    assert write(source, {first.seq: (Text("ä"),)}) == source.data.replace('"alpha é\\n"'.encode(), '"ä"'.encode())
    assert write(source, {second.seq: (Text("x"),)}) == source.data.replace(b'"no such file: b.txt"', b'"x"')


def test_a_return_that_was_an_object_becomes_a_text() -> None:
    source = excerpt("pydantic_ai_history.json")
    (session,) = FORMAT.read(source)

    written = json.loads(write(source, {results(session)[2].seq: (Text("gone"),)}))
    assert written[4]["parts"][0]["content"] == "gone"


def test_a_list_of_texts_and_files_stays_one() -> None:
    picture = {"kind": "image-url", "url": "x"}
    call = {"part_kind": "tool-call", "tool_name": "t", "args": "{}", "tool_call_id": "c"}
    back = {"part_kind": "tool-return", "tool_name": "t", "content": ["long", picture], "tool_call_id": "c"}
    source = history({"kind": "response", "parts": [call]}, {"kind": "request", "parts": [back]})
    (session,) = FORMAT.read(source)
    (result,) = results(session)

    assert write(source, {result.seq: (Text("s"), result.content[1])}) == source.data.replace(b'"long"', b'"s"')


def test_a_trace_cannot_be_written() -> None:
    source = excerpt("pydantic_ai_trace.json")
    with pytest.raises(FormatError, match="recording"):
        write(source, {9: (Text("x"),)})
