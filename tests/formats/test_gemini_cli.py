"""Gemini CLI recordings. Excerpts: entireio/cli and jazzyalex/agent-sessions (see NOTICE)."""

import json
from typing import Any

import pytest
from tests.formats.breaking import never_breaks
from tests.formats.checked import check
from tests.formats.reading import answers, excerpt, lines, of, results, said, shown, texts, where

from refold.events import EndSeed, FormatError, Reasoning, SurfaceRewind, Text, ToolResult, ToolUse, Usage, UserMessage
from refold.events.formats._source import Session, Source
from refold.events.formats.gemini_cli import FORMAT

HEADER = {"sessionId": "s", "projectHash": "h", "startTime": "2026-01-01T00:00:00.000Z", "kind": "main"}


def read(name: str) -> Session:
    (session,) = FORMAT.read(excerpt(name))
    check(session)
    return session


def made(*found: dict[str, Any]) -> Session:
    (session,) = FORMAT.read(lines(HEADER, *found))
    check(session)
    return session


def user(key: str, text: str) -> dict[str, Any]:
    return {"id": key, "type": "user", "content": [{"text": text}], "timestamp": "2026-01-01T00:00:01.000Z"}


def gemini(key: str, text: str = "", **fields: Any) -> dict[str, Any]:
    return {"id": key, "type": "gemini", "content": text, "timestamp": "2026-01-01T00:00:02.000Z", **fields}


def tool(call_id: str, output: str | None = None, status: str = "success", word: str = "output") -> dict[str, Any]:
    call: dict[str, Any] = {"id": call_id, "name": "read_file", "args": {"path": "x"}, "status": status}
    if output is not None:
        call["result"] = [{"functionResponse": {"id": call_id, "name": "read_file", "response": {word: output}}}]
    return call


def context(*messages: dict[str, Any]) -> dict[str, Any]:
    return {"$set": {"messages": list(messages), "lastUpdated": "2026-01-01T00:00:03.000Z"}}


def test_one_message_of_the_model_is_one_step() -> None:
    session = read("gemini_cli_session.json")
    assert session.id == "faff42ab-6ea5-4f78-b8c4-f7dd6272af08"
    assert where(session) == [(1, 1), (2, 1), (2, 2), (2, 3)]
    assert [answer.model for answer in answers(session)] == ["gemini-2.5-flash"] * 4


def test_cached_tokens_are_taken_out_of_the_input_and_thoughts_added_to_the_output() -> None:
    assert [answer.usage for answer in answers(read("gemini_cli_session.json"))] == [
        Usage(input_tokens=12874, output_tokens=18 + 31),
        Usage(input_tokens=11998 - 11868, output_tokens=12 + 105, cache_read_tokens=11868),
        Usage(input_tokens=12018 - 11769, output_tokens=21 + 82, cache_read_tokens=11769),
        Usage(input_tokens=12075 - 11693, output_tokens=19 + 14, cache_read_tokens=11693),
    ]


def test_a_call_and_its_result_stand_in_one_message_and_are_two_events() -> None:
    session = read("gemini_cli_session.json")
    assert [(r.call_id, r.turn, r.step, said(r)) for r in results(session)] == [
        ("read_file-1768010961326-7266fc4bc8133", 2, 1, "hello from gemini"),
        (
            "write_file-1768010964047-e2271ae09efa58",
            2,
            2,
            "Successfully overwrote file: /Users/exampleuser1/Documents/entire/devenv/entireio/cli/test-gemini.txt.",
        ),
    ]
    assert [type(block) for block in answers(session)[1].content] == [Reasoning, Reasoning, ToolUse]


def test_the_log_of_later_versions_reads_the_same_way() -> None:
    session = read("gemini_cli_log.jsonl")
    assert (session.id, session.partial) == ("gemini_stage0_jsonl", False)
    assert [answer.usage for answer in answers(session)] == [
        Usage(input_tokens=11855, output_tokens=81),
        Usage(input_tokens=12069 - 11502, output_tokens=147, cache_read_tokens=11502),
    ]
    assert [said(result) for result in results(session)] == [
        "Output: AgentSessions/\nREADME.md\nProcess Group PGID: 12345"
    ]


def test_a_message_written_again_keeps_its_first_place_and_its_last_content() -> None:
    session = made(
        user("u", "go"),
        gemini("g", toolCalls=[tool("c", status="executing")]),
        user("u2", "next"),
        gemini("g", toolCalls=[tool("c", "found")]),
        gemini("g2", "done"),
    )
    assert texts(session) == ["go", "", "found", "next", "done"]
    assert where(session) == [(1, 1), (2, 1)]


def test_errors_are_told_by_status_or_response() -> None:
    session = made(
        user("u", "go"),
        gemini(
            "g", toolCalls=[tool("a", "x", "error"), tool("b", "no such file", word="error"), tool("c", "Exit Code: 1")]
        ),
    )
    assert [(said(r), r.is_error) for r in results(session)] == [
        ("x", True),
        ("no such file", True),
        ("Exit Code: 1", False),
    ]


def test_a_rewind_drops_the_message_it_names_and_all_after_it() -> None:
    session = made(
        user("u1", "keep"),
        gemini("g1", "kept"),
        user("u2", "gone"),
        gemini("g2", "gone too"),
        {"$rewindTo": "u2"},
        user("u3", "after"),
        gemini("g3", "yes"),
    )
    assert len(of(session, SurfaceRewind)) == 1
    assert texts(session) == ["keep", "kept", "after", "yes"]


def test_a_new_context_replaces_what_it_does_not_hold_and_keeps_the_end_it_shares() -> None:
    session = made(
        user("u1", "first"),
        gemini("g1", "one", toolCalls=[tool("c1", "old")]),
        user("u2", "second"),
        gemini("g2", "two", toolCalls=[tool("c2", "kept")]),
        {"id": "i", "type": "info", "content": "Chat history compressed from 9000 to 1200 tokens."},
        context(
            user("x1", "<state_snapshot>sum</state_snapshot>"),
            gemini("x2", "Got it."),
            user("u2", "second"),
            gemini("g2", "two", toolCalls=[tool("c2", "kept")]),
        ),
        user("u3", "third"),
        gemini("g3", "three"),
    )
    (summary,) = [event for event in of(session, UserMessage) if event.replaces is not None]
    assert summary.content == (Text("<state_snapshot>sum</state_snapshot>"), Text("Got it."))
    assert texts(session)[1:] == ["second", "two", "kept", "third", "three"]


def test_a_result_masked_in_the_new_context_is_a_rewritten_result() -> None:
    session = made(
        user("u1", "first"),
        gemini("g1", toolCalls=[tool("c1", "a long output")]),
        context(user("u1", "first"), gemini("g1", toolCalls=[tool("c1", "<masked>")])),
        gemini("g2", "done"),
    )
    (masked,) = [event for event in of(session, ToolResult) if event.replaces is not None]
    assert masked.replaces == (results(session)[0].seq,) * 2
    assert texts(session) == ["first", "", "<masked>", "done"]


def test_a_context_that_ends_earlier_is_a_rewind() -> None:
    session = made(user("u1", "cancel me"), gemini("g1", "half"), context(user("u1", "cancel me")))
    assert texts(session) == ["cancel me"]


def test_a_session_id_written_again_is_a_resume() -> None:
    session = made(
        user("u", "go"), gemini("g", "ok"), {"$set": {"sessionId": "s"}}, user("u2", "on"), gemini("g2", "k")
    )
    assert len(of(session, EndSeed)) == 1


def test_results_told_twice_count_once() -> None:
    answer = {"functionResponse": {"id": "c", "name": "read_file", "response": {"output": "found"}}}
    session = made(
        user("u", "go"),
        gemini("g", toolCalls=[tool("c", "found")]),
        {"id": "r", "type": "user", "content": [answer]},
        gemini("g2", "done"),
    )
    assert texts(session) == ["go", "", "found", "done"]
    assert shown(session)[2] == results(session)[0]


def test_a_torn_document_is_refused_and_a_torn_log_is_partial() -> None:
    with pytest.raises(FormatError, match="not JSON"):
        FORMAT.read(Source(excerpt("gemini_cli_session.json").data[:-100]))
    (session,) = FORMAT.read(Source(excerpt("gemini_cli_log.jsonl").data[:-40]))
    assert session.partial
    assert len(answers(session)) == 1


def test_a_document_of_another_kind_is_not_taken_for_a_recording() -> None:
    other = Source(json.dumps({"sessionId": "s", "messages": [{"role": "user", "content": "x"}]}, indent=1).encode())
    assert not FORMAT.detect(other)
    with pytest.raises(FormatError, match="no Gemini CLI recording"):
        FORMAT.read(other)


@pytest.mark.parametrize("name", ["gemini_cli_session.json", "gemini_cli_log.jsonl"])
def test_broken_input_never_breaks_the_reader(name: str) -> None:
    never_breaks(FORMAT, excerpt(name))
