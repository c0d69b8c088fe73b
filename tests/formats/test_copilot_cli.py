"""Copilot CLI session events. Excerpts: jazzyalex/agent-sessions (see NOTICE)."""

from typing import Any

import pytest
from tests.formats.breaking import never_breaks
from tests.formats.checked import check
from tests.formats.reading import answers, excerpt, lines, of, results, said, shown, texts, where

from refold.events import (
    DeveloperMessage,
    EndSeed,
    FormatError,
    Opaque,
    Reasoning,
    RequestHeader,
    SurfaceRewind,
    Text,
    ToolCall,
    TurnEnd,
    UserMessage,
)
from refold.events.formats._source import Session, Source
from refold.events.formats.copilot_cli import FORMAT


def event(key: str, kind: str, parent: str | None = None, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": data, "id": key, "timestamp": "2026-01-01T00:00:00.000Z", "parentId": parent}


START = event("e0", "session.start", sessionId="s", selectedModel="gpt-5")


def user(key: str, text: str, **data: Any) -> dict[str, Any]:
    return event(key, "user.message", content=text, **data)


def assistant(key: str, text: str = "", *calls: str, **data: Any) -> dict[str, Any]:
    requests = [{"toolCallId": call, "name": "bash", "arguments": {"command": "ls"}} for call in calls]
    return event(key, "assistant.message", messageId=key, content=text, toolRequests=requests, **data)


def done(key: str, call: str, text: str, **data: Any) -> dict[str, Any]:
    fields: dict[str, Any] = {"success": True, "result": {"content": text}} | data
    return event(key, "tool.execution_complete", toolCallId=call, **fields)


def made(*found: dict[str, Any]) -> Session:
    session = FORMAT.read(lines(START, *found))[0]
    check(session)
    return session


def test_one_message_of_the_assistant_is_one_step() -> None:
    main, _ = FORMAT.read(excerpt("copilot_cli_events.jsonl"))
    assert (main.id, where(main)) == ("copilot_stage0_small", [(1, 1), (1, 2)])
    assert [answer.model for answer in answers(main)] == ["gpt-5-mini", "gpt-5-mini"]
    assert texts(main)[1:4] == ["List the files", "Listing the files.", "a.txt\nb.txt\n"]
    assert of(main, ToolCall)[0].arguments == '{"command":"ls"}'


def test_output_tokens_alone_are_no_usage() -> None:
    main, _ = FORMAT.read(excerpt("copilot_cli_events.jsonl"))
    assert [answer.usage for answer in answers(main)] == [None, None]
    assert "usage" not in FORMAT.tells


def test_events_of_a_sub_agent_are_a_session_of_their_own() -> None:
    main, side = FORMAT.read(excerpt("copilot_cli_events.jsonl"))
    assert side.parent == main.id
    assert [(said(result), result.is_error) for result in results(side)] == [("[trimmed for fixture]", True)]
    assert any("answers no call" in note for note in main.notes)  # the fixture's parent call is not in the log


def test_each_prompt_opens_a_turn() -> None:
    (session,) = FORMAT.read(excerpt("copilot_cli_plain.jsonl"))
    assert where(session) == [(1, 1), (2, 1), (2, 2), (3, 1)]
    assert [said(result) for result in results(session)] == ["line1\nline2\nline3\n"]
    assert "a tool that no answer asked for was run" in session.notes


def test_the_system_prompt_is_the_header_and_other_roles_are_messages() -> None:
    session = made(
        event("m", "system.message", content="You are.", role="system"),
        event("d", "system.message", content="rules", role="developer"),
        event("n", "system.notification", content="agent done"),
        user("u", "go"),
        assistant("a", "ok"),
    )
    assert [header.system for header in of(session, RequestHeader)] == ["You are."]
    assert [said(message) for message in of(session, DeveloperMessage)] == ["rules"]
    assert [(message.source, said(message)) for message in of(session, UserMessage)] == [
        ("notification", "agent done"),
        ("user", "go"),
    ]


def test_the_model_sees_the_transformed_prompt_and_its_attachments() -> None:
    session = made(
        user("u", "go", transformedContent="<now>go", attachments=[{"type": "file", "path": "x"}]),
        user("k", "skill text", source="skill-pdf"),
        assistant("a", "ok"),
    )
    first, second = of(session, UserMessage)
    assert first.content == (Text("<now>go"), Opaque('{"type":"file","path":"x"}'))
    assert second.source == "skill-pdf"


def test_chunks_of_one_api_call_are_one_step() -> None:
    session = made(
        user("u", "go"),
        assistant("a1", "one ", apiCallId="api", chunkCount=2, chunkIndex=0),
        assistant("a2", "two", "c", apiCallId="api", chunkCount=2, chunkIndex=1),
        done("r", "c", "out"),
    )
    assert where(session) == [(1, 1)]
    assert said(answers(session)[0]) == "one two"


def test_reasoning_is_told_once() -> None:
    session = made(
        user("u", "go"),
        event("t", "assistant.reasoning", reasoningId="r", content="thinking"),
        assistant("a", "ok", reasoningText="thinking", reasoningOpaque="proof"),
    )
    assert answers(session)[0].content == (Reasoning("thinking", "proof"), Text("ok"))


def test_errors_are_those_that_did_not_succeed() -> None:
    session = made(
        user("u", "go"),
        assistant("a", "", "c1", "c2"),
        done("r1", "c1", "bad", success=False),
        event("r2", "tool.execution_complete", toolCallId="c2", success=False, error={"message": "denied"}),
    )
    assert [(said(result), result.is_error) for result in results(session)] == [("bad", True), ("denied", True)]


def test_a_compaction_leaves_what_was_said_after_it_began() -> None:
    session = made(
        user("u1", "first"),
        assistant("a1", "one"),
        user("u2", "second"),
        assistant("a2", "", "c"),
        event("s", "session.compaction_start"),
        done("r", "c", "out"),
        event("c", "session.compaction_complete", success=True, summaryContent="the summary"),
        assistant("a3", "three"),
    )
    assert texts(session) == ["the summary", "", "out", "three"]
    assert shown(session)[2] == results(session)[0]


def test_a_compaction_that_failed_changes_nothing() -> None:
    session = made(
        user("u1", "first"),
        assistant("a1", "one"),
        event("s", "session.compaction_start"),
        event("c", "session.compaction_complete", success=False, error="x"),
    )
    assert texts(session) == ["first", "one"]


def test_a_truncation_drops_the_oldest_messages_and_no_result_without_its_call() -> None:
    session = made(
        user("u1", "first"),
        assistant("a1", "", "c1", "c2"),
        done("r1", "c1", "one"),
        done("r2", "c2", "two"),
        user("u2", "second"),
        event("t", "session.truncation", messagesRemovedDuringTruncation=2),
        assistant("a2", "done"),
    )
    assert texts(session) == ["", "second", "done"]
    assert any("the oldest were taken" in note for note in session.notes)


def test_a_rewind_keeps_everything_up_to_the_event_it_names() -> None:
    session = made(
        user("u1", "first"),
        assistant("a1", "one"),
        user("u2", "second"),
        assistant("a2", "two"),
        event("w", "session.snapshot_rewind", upToEventId="a1", eventsRemoved=2),
        user("u3", "instead"),
        assistant("a3", "three"),
    )
    assert len(of(session, SurfaceRewind)) == 1
    assert texts(session) == ["first", "one", "instead", "three"]


def test_a_resume_ends_the_seed_and_an_abort_ends_the_turn() -> None:
    session = made(
        user("u1", "first"),
        assistant("a1", "one"),
        event("x", "abort", reason="user initiated"),
        event("r", "session.resume", resumeTime="t"),
        user("u2", "second"),
        assistant("a2", "two"),
    )
    assert [end.reason for end in of(session, TurnEnd)] == ["aborted", "completed"]
    assert [seed.inherited for seed in of(session, EndSeed)] == [False]


def test_a_torn_last_line_makes_the_session_partial() -> None:
    (session,) = FORMAT.read(Source(excerpt("copilot_cli_plain.jsonl").data[:-40]))
    assert session.partial


def test_a_file_without_a_message_is_refused() -> None:
    with pytest.raises(FormatError, match="no Copilot CLI session"):
        FORMAT.read(lines(START))


@pytest.mark.parametrize("name", ["copilot_cli_events.jsonl", "copilot_cli_plain.jsonl"])
def test_broken_input_never_breaks_the_reader(name: str) -> None:
    never_breaks(FORMAT, excerpt(name))
